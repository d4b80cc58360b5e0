package kube_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/kube"
	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
)

type object = map[string]any

// TestKubeconfigBytesMatchClientGo checks that kubeconfigs, which are written without client-go, have
// the same bytes as client-go's.
func TestKubeconfigBytesMatchClientGo(t *testing.T) {
	t.Parallel()
	_, h := start(t, nil)
	config, err := clientcmd.Load(h.files[adminConf])
	if err != nil {
		t.Fatal(err)
	}
	want, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(h.files[adminConf]) {
		t.Error("client-go writes other bytes")
	}
}

func cluster(_, method, path string, _ []byte) answer {
	pod := func(namespace, name string, metadata object) object {
		metadata["namespace"], metadata["name"] = namespace, name
		return object{
			"metadata": metadata, "spec": object{"nodeName": "cp1", "containers": []any{
				object{"name": "c", "image": "registry.k8s.io/etcd:3", "command": []string{"etcd", "--a=1"}, "args": []string{"--b"}},
			}},
			"status": object{"phase": "Running", "conditions": []any{object{"type": "Ready", "status": "True"}}},
		}
	}
	switch path {
	case "/version":
		return answer{200, object{"gitVersion": "v1.36.3"}}
	case "/api/v1/nodes":
		return answer{200, object{"kind": "NodeList", "apiVersion": "v1", "items": []any{object{
			"metadata": object{"name": "cp1", "labels": object{"a": "b"}, "resourceVersion": "7"},
			"spec":     object{"taints": []any{object{"key": "t", "effect": "NoSchedule"}}},
			"status":   object{"nodeInfo": object{"kubeletVersion": "v1.36.3"}, "conditions": []any{object{"type": "Ready", "status": "True"}}},
		}}}}
	case "/api/v1/pods":
		return answer{200, object{"kind": "PodList", "apiVersion": "v1", "items": []any{
			pod("kube-system", "etcd-cp1", object{"annotations": object{"kubernetes.io/config.mirror": "h", "kubernetes.io/config.hash": "h"}}),
			pod("kube-system", "proxy", object{"ownerReferences": []any{object{"kind": "DaemonSet", "name": "proxy", "controller": true, "apiVersion": "apps/v1", "uid": "1"}}}),
			pod("shop", "cart", object{}),
		}}}
	case "/api/v1/namespaces/kube-system/configmaps/kubeadm-config":
		return answer{200, object{
			"kind": "ConfigMap", "apiVersion": "v1", "data": object{"x": "y"},
			"metadata": object{"name": "kubeadm-config", "namespace": "kube-system", "generation": 1, "managedFields": []any{object{"manager": "m"}}},
		}}
	case "/apis/example.com/v1":
		return answer{200, object{"kind": "APIResourceList", "resources": []any{
			object{"name": "widgets/status", "kind": "Widget"}, object{"name": "widgets", "kind": "Widget", "namespaced": true},
		}}}
	case "/apis/example.com/v1/namespaces/default/widgets/w":
		return answer{200, object{"kind": "Widget", "apiVersion": "example.com/v1", "metadata": object{"name": "w"}}}
	}
	return status(404, "NotFound")
}

func TestObserveCluster(t *testing.T) {
	t.Parallel()
	a, h := start(t, cluster)
	api := open(t, h)
	config := state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "kubeadm-config"}
	widget := state.ObjectRef{APIVersion: "example.com/v1", Kind: "Widget", Name: "w"}
	report, err := api.Observe(t.Context(), state.ClusterQuery{Objects: []state.ObjectRef{
		config, widget,
		{APIVersion: "v1", Kind: "Secret", Namespace: "kube-system", Name: "absent"},
		{APIVersion: "gone.example.com/v1", Kind: "Nothing", Name: "absent"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if report.Version != "v1.36.3" || len(report.Objects) != 2 {
		t.Errorf("got version %s, objects %v", report.Version, report.Objects)
	}
	if got, _ := json.Marshal(report.Objects[config]); string(got) != `{"apiVersion":"v1","data":{"x":"y"},"kind":"ConfigMap","metadata":{"generation":1,"name":"kubeadm-config","namespace":"kube-system"}}` {
		t.Errorf("got %s", got)
	}
	n := report.Nodes["cp1"]
	if !n.Ready || n.Pods != 1 || n.KubeletVersion != "v1.36.3" || !slices.Equal(n.Taints, []state.Taint{{Key: "t", Effect: "NoSchedule"}}) {
		t.Errorf("got %+v", n)
	}
	p := report.StaticPods["etcd-cp1"]
	if len(report.StaticPods) != 1 || p.Hash != "h" || !p.Ready || !p.Running || !slices.Equal(p.Args, []string{"--a=1", "--b"}) {
		t.Errorf("got %+v", report.StaticPods)
	}
	if h.dials != 1 {
		t.Errorf("got %d connections, want 1", h.dials)
	}
	if a.saw("kubernetes-super-admin") != 0 {
		t.Error("the super administrator was needed")
	}
}

// TestClusterInfoCAsAreRead checks that the CAs in cluster-info are read, by which joining nodes verify
// the API.
func TestClusterInfoCAsAreRead(t *testing.T) {
	t.Parallel()
	info := ""
	_, h := start(t, func(user, method, path string, body []byte) answer {
		if path == "/api/v1/namespaces/kube-public/configmaps/cluster-info" {
			return answer{200, object{
				"kind": "ConfigMap", "apiVersion": "v1", "data": object{state.ClusterInfoKey: info},
				"metadata": object{"name": "cluster-info", "namespace": "kube-public"},
			}}
		}
		return cluster(user, method, path, body)
	})
	conf, err := pki.ParseKubeconfig(h.files[adminConf])
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		string(h.files[adminConf]): conf.CAKeyDigests(),
		"no kubeconfig":            nil,
		"clusters: [{name: '', cluster: {server: 'https://a:6443'}}]": nil,
	} {
		info = text
		report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{Objects: []state.ObjectRef{state.ClusterInfo}})
		if err != nil {
			t.Fatal(err)
		}
		if got := (&state.KubeconfigInfo{CAs: report.InfoCAs}).CAKeyDigests(); !slices.Equal(got, want) {
			t.Errorf("got %q of %q, want %q", got, text, want)
		}
	}
}

// TestForbiddenIsRepeatedAsSuperAdmin checks that requests forbidden to the administrator are repeated as super
// administrator, if there is one.
func TestForbiddenIsRepeatedAsSuperAdmin(t *testing.T) {
	t.Parallel()
	a, h := start(t, func(user, method, path string, body []byte) answer {
		if user == "kubernetes-admin" {
			return status(403, "Forbidden")
		}
		var o object
		_ = json.Unmarshal(body, &o)
		return answer{200, o}
	})
	binding := state.FromGo(object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": object{"name": "kubeadm:cluster-admins"}})
	if err := open(t, h).Apply(t.Context(), binding, false); err != nil {
		t.Fatal(err)
	}
	const request = "PATCH /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kubeadm:cluster-admins?fieldManager=kubewright&force=true"
	if a.saw("kubernetes-admin "+request) != 1 || a.saw("kubernetes-super-admin "+request) != 1 {
		t.Errorf("got requests %v", a.requests)
	}
	delete(h.files, superAdminConf)
	err := open(t, h).Apply(t.Context(), binding, false)
	if err == nil || !strings.Contains(err.Error(), "cannot apply rbac.authorization.k8s.io/v1/ClusterRoleBinding/kubeadm:cluster-admins: it is Forbidden") {
		t.Errorf("got %v", err)
	}
}

func TestCreateOnlyAndDeleteAreIdempotent(t *testing.T) {
	t.Parallel()
	a, h := start(t, func(_, method, _ string, _ []byte) answer {
		if method == "POST" {
			return status(409, "AlreadyExists")
		}
		return status(404, "NotFound")
	})
	api := open(t, h)
	o := state.FromGo(object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "n", "namespace": "s"}})
	if err := api.Apply(t.Context(), o, true); err != nil {
		t.Error(err)
	}
	ref := state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "s", Name: "n"}
	if err := api.Delete(t.Context(), ref); err != nil {
		t.Error(err)
	}
	if a.saw("kubernetes-admin DELETE /api/v1/namespaces/s/configmaps/n") != 1 {
		t.Errorf("got requests %v", a.requests)
	}
}

func TestPatchNodeLabelsAndTaints(t *testing.T) {
	t.Parallel()
	node := object{
		"kind": "Node", "apiVersion": "v1",
		"metadata": object{"name": "n", "resourceVersion": "7", "labels": object{"keep": "1", "old": "x", "same": "s"}},
		"spec": object{"taints": []any{
			object{"key": "others", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
			object{"key": "mine", "effect": "NoSchedule", "value": "a"},
		}},
	}
	a, h := start(t, func(_, method, path string, _ []byte) answer {
		if path == "/api/v1/nodes/absent" {
			return status(404, "NotFound")
		}
		return answer{200, node}
	})
	api := open(t, h)
	err := api.PatchNode(t.Context(), planner.PatchNode{
		Node: "n", Labels: map[string]string{"new": "", "same": "s"}, RemoveLabels: []string{"old", "never"},
		Taints:       []state.Taint{{Key: "cp", Effect: "NoSchedule"}},
		RemoveTaints: []state.Taint{{Key: "mine", Effect: "NoSchedule"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"labels":{"new":"","old":null},"resourceVersion":"7"},"spec":{"taints":[` +
		`{"key":"others","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"},{"key":"cp","effect":"NoSchedule"}]}}`
	if got := string(a.bodies["PATCH /api/v1/nodes/n"]); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if err := api.PatchNode(t.Context(), planner.PatchNode{Node: "n", Labels: map[string]string{"same": "s"}, RemoveTaints: []state.Taint{{Key: "cp", Effect: "NoSchedule"}}}, nil); err != nil {
		t.Error(err)
	}
	if a.saw("kubernetes-admin PATCH") != 1 {
		t.Error("a node that is as desired was changed")
	}
	label := planner.PatchNode{Node: "n", Labels: map[string]string{"keep": "2"}}
	other := &providers.Error{Kind: providers.ErrMoved, Do: "look"}
	if err := api.PatchNode(t.Context(), label, func(n state.NodeReport) error {
		if n.Labels["keep"] == "1" {
			return other
		}
		return nil
	}); !errors.Is(err, providers.ErrMoved) || a.saw("kubernetes-admin PATCH") != 1 {
		t.Errorf("a node that is not as expected was changed: %v", err)
	}
	if err := api.PatchNode(t.Context(), label, func(state.NodeReport) error { return nil }); err != nil {
		t.Error(err)
	}
	if got, want := string(a.bodies["PATCH /api/v1/nodes/n"]), `{"metadata":{"labels":{"keep":"2"},"resourceVersion":"7"}}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if err := api.PatchNode(t.Context(), planner.PatchNode{Node: "absent", Labels: map[string]string{"a": "b"}}, nil); !errors.Is(err, providers.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestBootstrapTokenSecrets(t *testing.T) {
	t.Parallel()
	a, h := start(t, func(_, method, _ string, _ []byte) answer {
		if method == "DELETE" {
			return status(404, "NotFound")
		}
		return answer{201, object{"kind": "Secret", "apiVersion": "v1"}}
	})
	api := open(t, h)
	token, err := api.CreateToken(t.Context(), planner.CreateToken{
		TTL: time.Hour, Usages: []string{"signing", "authentication"}, Groups: []string{"system:bootstrappers:a", "system:bootstrappers:b"},
	}, state.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	id, secret, _ := strings.Cut(string(token.Reveal()), ".")
	got := a.decoded(t, "POST /api/v1/namespaces/kube-system/secrets").(*corev1.Secret)
	want := map[string]string{
		"token-id": id, "token-secret": secret, "usage-bootstrap-signing": "true", "usage-bootstrap-authentication": "true",
		"auth-extra-groups": "system:bootstrappers:a,system:bootstrappers:b",
	}
	expiration, err := time.Parse(time.RFC3339, string(got.Data["expiration"]))
	if err != nil || time.Until(expiration) > time.Hour || !strings.HasSuffix(string(got.Data["expiration"]), "Z") {
		t.Errorf("got expiration %s", got.Data["expiration"])
	}
	delete(got.Data, "expiration")
	for k, v := range want {
		if string(got.Data[k]) != v {
			t.Errorf("%s: got %s, want %s", k, got.Data[k], v)
		}
	}
	if len(got.Data) != len(want) || got.Name != "bootstrap-token-"+id || got.Type != "bootstrap.kubernetes.io/token" || len(id) != 6 || len(secret) != 16 {
		t.Errorf("got %s of type %s with %d keys", got.Name, got.Type, len(got.Data))
	}
	if err := api.DeleteToken(t.Context(), token); err != nil {
		t.Error(err)
	}
	if a.saw("kubernetes-admin DELETE /api/v1/namespaces/kube-system/secrets/bootstrap-token-"+id) != 1 {
		t.Errorf("got requests %v", a.requests)
	}
}

// TestJoinTokensOfThisToolOnly checks that exactly the tokens that were created for joins, by this or an
// earlier version, are listed and deleted: neither those of other tools, nor those that the
// configuration keeps.
func TestJoinTokensOfThisToolOnly(t *testing.T) {
	t.Parallel()
	secret := func(id, description string) object {
		return object{"metadata": object{"name": "bootstrap-token-" + id, "namespace": "kube-system"}, "type": "bootstrap.kubernetes.io/token", "data": object{
			"description": base64.StdEncoding.EncodeToString([]byte(description)),
		}}
	}
	a, h := start(t, func(_, method, path string, _ []byte) answer {
		switch {
		case method == "DELETE" && strings.HasSuffix(path, "/bootstrap-token-shared"):
			return status(404, "NotFound") // the token cleaner was faster
		case method == "DELETE":
			return answer{200, object{"kind": "Status", "apiVersion": "v1", "status": "Success"}}
		case path == "/version":
			return answer{200, object{"gitVersion": "v1.36.3"}}
		case path == "/api/v1/namespaces/kube-system/secrets":
			return answer{200, object{"kind": "SecretList", "apiVersion": "v1", "items": []any{
				secret("w00001", planner.JoinTokenDescription("w1")), secret("others", "The default bootstrap token generated by 'kubeadm init'."),
				secret("none00", ""), secret("shared", "kubewright: for the nodes that join in one apply"), secret("kept00", planner.JoinTokenDescription("w2")),
			}}}
		case path == "/api/v1/nodes":
			return answer{200, object{"kind": "NodeList", "apiVersion": "v1"}}
		}
		return answer{200, object{"kind": "PodList", "apiVersion": "v1"}}
	})
	api := open(t, h)
	r, err := api.Observe(t.Context(), state.ClusterQuery{})
	if want := []string{"kept00", "shared", "w00001"}; err != nil || !slices.Equal(r.JoinTokens, want) {
		t.Errorf("seen: %v, %v, want %v", r, err, want)
	}
	if err := api.DeleteJoinTokens(t.Context(), []string{"kept00"}); err != nil {
		t.Error(err)
	}
	const deletes = "kubernetes-admin DELETE /api/v1/namespaces/kube-system/secrets/bootstrap-token-"
	if a.saw(deletes) != 2 || a.saw(deletes+"w00001") != 1 || a.saw(deletes+"shared") != 1 {
		t.Errorf("got requests %v", a.requests)
	}
}

// TestExistingTokenIsNotOverwritten checks that a token with an ID that is in use is not overwritten.
func TestExistingTokenIsNotOverwritten(t *testing.T) {
	t.Parallel()
	_, h := start(t, func(_, _, _ string, _ []byte) answer { return status(409, "AlreadyExists") })
	_, err := open(t, h).CreateToken(t.Context(), planner.CreateToken{TTL: time.Hour}, state.Secret{})
	if err == nil || !strings.HasSuffix(err.Error(), "create bootstrap token: its ID is taken; try again") {
		t.Errorf("got %v", err)
	}
}

func TestReadyAndErrorKinds(t *testing.T) {
	t.Parallel()
	_, h := start(t, func(_, _, path string, _ []byte) answer {
		switch path {
		case "/readyz":
			return answer{500, "[+]ping ok\n[-]etcd failed: reason withheld\n[-]informer-sync failed\nreadyz check failed\n"}
		case "/api/v1/namespaces/s/configmaps/busy":
			return status(503, "ServiceUnavailable")
		}
		return status(422, "Invalid")
	})
	api := open(t, h)
	err := api.Ready(t.Context())
	if !errors.Is(err, providers.ErrUnavailable) || !strings.Contains(err.Error(), "cannot use the API: failing checks: etcd, informer-sync") {
		t.Errorf("got %v", err)
	}
	apply := func(name string) error {
		return api.Apply(t.Context(), state.FromGo(object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name, "namespace": "s"}}), false)
	}
	if err := apply("busy"); !errors.Is(err, providers.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if err := apply("wrong"); err == nil || errors.Is(err, providers.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if err := api.Apply(t.Context(), state.FromGo(object{"apiVersion": "new.example.com/v1", "kind": "X", "metadata": object{"name": "x"}}), false); err == nil {
		t.Error("got no error for a kind that is not served")
	}
	h.mu.Lock()
	h.server = nil
	h.mu.Unlock()
	if err := open(t, h).Ready(t.Context()); !errors.Is(err, providers.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	const canary = "c2VjcmV0LWNhbmFyeQ"
	for _, tt := range []struct{ name, conf, want string }{
		{
			"another key", "kind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n" +
				"clusters: [{name: k, cluster: {server: 'https://a', certificate-authority-data: eA==}}]\nusers: [{name: u, user: {client-certificate-data: eA==, client-key-data: " + canary + "==}}]",
			"cannot use /etc/kubernetes/admin.conf: its client certificate, key and CA do not fit together",
		},
		{"absent", "", "cannot reach the API: /etc/kubernetes/admin.conf is not there"},
		{"broken", "users: [" + canary, "cannot use /etc/kubernetes/admin.conf: cannot parse kubeconfig: it is no YAML of that kind"},
		{
			"files of the operator's machine", "kind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n" +
				"clusters: [{name: k, cluster: {server: 'https://a', certificate-authority: /x}}]\nusers: [{name: u, user: {client-certificate: /x, tokenFile: /dev/zero, exec: {command: sh}}}]",
			`it does not hold the CA, the client certificate and its key; it sets clusters["k"].certificate-authority, users["u"].client-certificate, users["u"].exec, users["u"].tokenFile, which is not followed`,
		},
		{
			"token only", "kind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nclusters: [{name: k, cluster: {server: 'https://a'}}]\nusers: [{name: u, user: {token: " + canary + "}}]",
			"it does not hold the CA, the client certificate and its key",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := &host{files: map[string][]byte{}}
			if tt.conf != "" {
				h.files[adminConf] = []byte(tt.conf)
			}
			_, err := kube.Open(t.Context(), h, endpoint)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), canary) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestHostKubeconfigCannotNameLocalFiles checks that files named by a host's kubeconfig are not opened on the
// operator's machine: reading a pipe would block for ever.
func TestHostKubeconfigCannotNameLocalFiles(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"tokenFile", "client-certificate", "client-key"} {
		_, h := start(t, cluster)
		h.files[adminConf] = bytes.Replace(h.files[adminConf], []byte("  user:\n"), []byte("  user:\n    "+field+": "+pipe+"\n"), 1)
		if _, err := kube.Open(t.Context(), h, endpoint); err != nil {
			t.Errorf("%s: %v", field, err)
		}
	}
	_, h := start(t, cluster)
	h.files[adminConf] = bytes.Replace(h.files[adminConf], []byte("- cluster:\n"), []byte("- cluster:\n    certificate-authority: "+pipe+"\n"), 1)
	if _, err := kube.Open(t.Context(), h, endpoint); err != nil {
		t.Error(err)
	}
}

// silent is a host that reads no files.
type silent struct{ *host }

func (silent) ReadSecrets(context.Context, []string) (map[string]state.Secret, error) {
	return nil, providers.ErrDisconnected
}

// TestFailedReadErrorNamesRequest checks that the error for a failed read names the request.
func TestFailedReadErrorNamesRequest(t *testing.T) {
	t.Parallel()
	if _, err := kube.Open(t.Context(), silent{&host{}}, endpoint); !errors.Is(err, providers.ErrDisconnected) || !strings.HasPrefix(err.Error(), "cannot read the administrator's kubeconfig: ") {
		t.Errorf("got %v", err)
	}
	_, h := start(t, func(_, _, _ string, _ []byte) answer { return status(403, "Forbidden") })
	if _, err := open(t, h).RootCAs(t.Context()); err == nil || !strings.Contains(err.Error(), "read the root CAs of all namespaces: ") {
		t.Errorf("got %v", err)
	}
}

// TestServerOfOtherCAGetsNoRequest checks that no request goes to a server with another CA's certificate.
func TestServerOfOtherCAGetsNoRequest(t *testing.T) {
	t.Parallel()
	a, h := start(t, cluster)
	_, other := start(t, cluster)
	h.files[adminConf], h.files[superAdminConf] = other.files[adminConf], other.files[superAdminConf]
	_, err := open(t, h).Observe(t.Context(), state.ClusterQuery{})
	if err == nil || !strings.Contains(err.Error(), "certificate") || len(a.requests) != 0 {
		t.Errorf("got %v after %d requests", err, len(a.requests))
	}
}
