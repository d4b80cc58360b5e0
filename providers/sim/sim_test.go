package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

const (
	pki       = "/etc/kubernetes/pki"
	manifests = "/etc/kubernetes/manifests"
	year      = 365 * 24 * time.Hour
)

// rig builds a cluster by operations, in kubeadm's order.
type rig struct {
	t     testing.TB
	w     *sim.World
	token int64
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return &rig{t: t, w: sim.New(7, sim.DefaultProfile()), token: 1}
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) batch(ops ...planner.Operation) providers.Batch {
	return providers.Batch{Token: r.token, Lineage: "lineage-1", Operations: ops}
}

func (r *rig) perform(address string, ops ...planner.Operation) []providers.Outcome {
	r.t.Helper()
	out, err := r.w.Host(address).Perform(context.Background(), r.batch(ops...))
	r.must(err)
	return out
}

func write(path, content, mode string) planner.WriteFile {
	return planner.WriteFile{Path: path, Mode: mode, Owner: "root:root", Content: planner.Content{Inline: content}}
}

func (r *rig) mark(address string) {
	r.t.Helper()
	r.perform(address, planner.Mark{Marks: state.Marks{Format: 1, Lineage: "lineage-1", Cluster: "prod", Node: state.NodeKeyTarget("n", address)}})
}

func (r *rig) cas(address string) {
	r.t.Helper()
	ctx, h := context.Background(), r.w.Host(address)
	for _, ca := range [][2]string{{"/ca", "kubernetes"}, {"/front-proxy-ca", "front-proxy-ca"}, {"/etcd/ca", "etcd-ca"}} {
		_, err := sim.Issuer{}.IssueCA(ctx, h, planner.IssueCA{CommonName: ca[1], Algorithm: "RSA-2048", Validity: 10 * year, To: pki + ca[0]}, r.batch())
		r.must(err)
	}
	_, err := sim.Issuer{}.IssueKeyPair(ctx, h, planner.IssueKeyPair{Algorithm: "RSA-2048", To: pki + "/sa"}, r.batch())
	r.must(err)
}

func (r *rig) copyCAs(from, to string) {
	r.t.Helper()
	op := planner.CopySecrets{From: state.NodeKeyTarget("n", from)}
	for _, name := range []string{"ca.crt", "front-proxy-ca.crt", "etcd/ca.crt", "sa.pub"} {
		op.Files = append(op.Files, planner.SecretFile{Path: pki + "/" + name, Mode: "0644", Owner: "root:root"})
	}
	for _, name := range []string{"ca.key", "front-proxy-ca.key", "etcd/ca.key", "sa.key"} {
		op.Files = append(op.Files, planner.SecretFile{Path: pki + "/" + name, Mode: "0600", Owner: "root:root"})
	}
	_, err := sim.Issuer{}.CopySecrets(context.Background(), r.w.Host(from), r.w.Host(to), op, r.batch())
	r.must(err)
}

func (r *rig) leaves(address string) {
	r.t.Helper()
	ips := []string{address, "127.0.0.1", "10.96.0.1"}
	for _, c := range []struct {
		base, ca, name string
		usages         []string
	}{
		{"/apiserver", "/ca", "kube-apiserver", []string{"server auth"}},
		{"/apiserver-kubelet-client", "/ca", "kube-apiserver-kubelet-client", []string{"client auth"}},
		{"/front-proxy-client", "/front-proxy-ca", "front-proxy-client", []string{"client auth"}},
		{"/etcd/server", "/etcd/ca", address, []string{"server auth", "client auth"}},
		{"/etcd/peer", "/etcd/ca", address, []string{"server auth", "client auth"}},
		{"/etcd/healthcheck-client", "/etcd/ca", "kube-etcd-healthcheck-client", []string{"client auth"}},
		{"/apiserver-etcd-client", "/etcd/ca", "kube-apiserver-etcd-client", []string{"client auth"}},
	} {
		h := r.w.Host(address)
		_, err := sim.Issuer{}.IssueCertificate(context.Background(), h, h, planner.IssueCertificate{
			CA: planner.Signer{Base: pki + c.ca}, CommonName: c.name, DNSNames: []string{"kubernetes", "api.example.com"},
			IPAddresses: ips, Usages: c.usages, Algorithm: "RSA-2048", Validity: year, To: pki + c.base,
		}, r.batch())
		r.must(err)
	}
}

func (r *rig) kubeconfig(address, path, server, name string, organizations ...string) {
	r.t.Helper()
	h := r.w.Host(address)
	_, err := sim.Issuer{}.WriteKubeconfig(context.Background(), h, h, planner.WriteKubeconfig{
		Path: path, CA: planner.Signer{Base: pki + "/ca"}, Cluster: "kubernetes", Server: server, User: name,
		CommonName: name, Organizations: organizations, Algorithm: "RSA-2048", Validity: year,
	}, state.Secret{}, r.batch())
	r.must(err)
}

func (r *rig) kubeconfigs(address string, founder bool) {
	r.t.Helper()
	local := "https://" + address + ":6443"
	r.kubeconfig(address, "/etc/kubernetes/admin.conf", "https://api.example.com:6443", "kubernetes-admin", "kubeadm:cluster-admins")
	r.kubeconfig(address, "/etc/kubernetes/controller-manager.conf", local, "system:kube-controller-manager")
	r.kubeconfig(address, "/etc/kubernetes/scheduler.conf", local, "system:kube-scheduler")
	if founder {
		r.kubeconfig(address, "/etc/kubernetes/super-admin.conf", local, "kubernetes-super-admin", "system:masters")
		r.kubeconfig(address, "/etc/kubernetes/kubelet.conf", local, "system:node:"+nodeName(address), "system:nodes")
	}
}

func nodeName(address string) string { return "host-" + strings.ReplaceAll(address, ".", "-") }

func podManifest(name, image string, args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    component: %s\n  name: %s\n  namespace: kube-system\nspec:\n  containers:\n  - command:\n    - %s\n", name, name, name)
	for _, a := range args {
		fmt.Fprintf(&b, "    - --%s\n", a)
	}
	fmt.Fprintf(&b, "    image: registry.k8s.io/%s\n    name: %s\n", image, name)
	b.WriteString("    volumeMounts:\n    - mountPath: /etc/kubernetes\n      name: kubernetes\n  volumes:\n  - hostPath:\n      path: /etc/kubernetes\n    name: kubernetes\n")
	return b.String()
}

func etcdManifest(address, initial, state string) string {
	args := []string{
		"advertise-client-urls=https://" + address + ":2379", "cert-file=" + pki + "/etcd/server.crt", "data-dir=/var/lib/etcd",
		"initial-advertise-peer-urls=https://" + address + ":2380", "initial-cluster=" + initial, "key-file=" + pki + "/etcd/server.key",
		"listen-client-urls=https://127.0.0.1:2379,https://" + address + ":2379", "listen-metrics-urls=http://127.0.0.1:2381",
		"listen-peer-urls=https://" + address + ":2380", "name=" + nodeName(address),
		"peer-cert-file=" + pki + "/etcd/peer.crt", "peer-key-file=" + pki + "/etcd/peer.key",
		"peer-trusted-ca-file=" + pki + "/etcd/ca.crt", "trusted-ca-file=" + pki + "/etcd/ca.crt",
	}
	if state != "" {
		args = append(args, "initial-cluster-state="+state)
	}
	return podManifest("etcd", "etcd:3.6.8-0", args...)
}

func apiManifest(address string, more ...string) string {
	return podManifest("kube-apiserver", "kube-apiserver:v1.36.3", append([]string{
		"advertise-address=" + address, "client-ca-file=" + pki + "/ca.crt", "enable-bootstrap-token-auth=true",
		"etcd-cafile=" + pki + "/etcd/ca.crt", "etcd-certfile=" + pki + "/apiserver-etcd-client.crt", "etcd-keyfile=" + pki + "/apiserver-etcd-client.key",
		"etcd-servers=https://127.0.0.1:2379", "secure-port=6443", "service-account-key-file=" + pki + "/sa.pub",
		"service-account-signing-key-file=" + pki + "/sa.key", "tls-cert-file=" + pki + "/apiserver.crt", "tls-private-key-file=" + pki + "/apiserver.key",
	}, more...)...)
}

func (r *rig) controlPlane(address string) {
	r.t.Helper()
	r.perform(address,
		write(manifests+"/kube-apiserver.yaml", apiManifest(address), "0600"),
		write(manifests+"/kube-controller-manager.yaml", podManifest("kube-controller-manager", "kube-controller-manager:v1.36.3",
			"kubeconfig=/etc/kubernetes/controller-manager.conf", "cluster-signing-cert-file="+pki+"/ca.crt", "cluster-signing-key-file="+pki+"/ca.key"), "0600"),
		write(manifests+"/kube-scheduler.yaml", podManifest("kube-scheduler", "kube-scheduler:v1.36.3", "kubeconfig=/etc/kubernetes/scheduler.conf"), "0600"),
	)
}

const kubeletConfiguration = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
rotateCertificates: true
staticPodPath: /etc/kubernetes/manifests
`

func (r *rig) kubelet(address, flags string) {
	r.t.Helper()
	r.perform(address,
		planner.EnsureDirectory{Path: manifests, Mode: "0700", Owner: "root:root"},
		write("/var/lib/kubelet/kubeadm-flags.env", fmt.Sprintf("KUBELET_KUBEADM_ARGS=%q\n", flags), "0644"),
		write("/var/lib/kubelet/config.yaml", kubeletConfiguration, "0644"),
		planner.Unit{Unit: "kubelet.service", Action: "restart", Reload: true},
	)
}

func (r *rig) api(via string) providers.API {
	r.t.Helper()
	api, err := sim.Access{}.API(context.Background(), r.w.Host(via), via+":6443")
	r.must(err)
	return api
}

func (r *rig) etcd(via string, members ...string) providers.Etcd {
	r.t.Helper()
	var endpoints []string
	for _, m := range append(members, via) {
		endpoints = append(endpoints, "https://"+m+":2379")
	}
	etcd, err := sim.Access{}.Etcd(context.Background(), r.w.Host(via), endpoints, "")
	r.must(err)
	return etcd
}

// eventually polls on the world's clock, as a performer does.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	clock := r.w.Clock()
	for start := clock.Now(); clock.Now().Sub(start) < 2*time.Minute; {
		if ok() {
			return
		}
		r.must(clock.Sleep(context.Background(), time.Second))
	}
	r.t.Fatalf("%s did not happen within 2 minutes", what)
}

func (r *rig) ready(address string) bool {
	return r.api(address).Ready(context.Background()) == nil
}

func object(kind, apiVersion, namespace, name string, more map[string]any) state.Value {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	tree := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	for k, v := range more {
		tree[k] = v
	}
	return state.FromGo(tree)
}

func binding(name, role, group string) state.Value {
	return object("ClusterRoleBinding", "rbac.authorization.k8s.io/v1", "", name, map[string]any{
		"roleRef":  map[string]any{"kind": "ClusterRole", "name": role, "apiGroup": "rbac.authorization.k8s.io"},
		"subjects": []any{map[string]any{"kind": "Group", "name": group}},
	})
}

func (r *rig) apply(via string, v state.Value) {
	r.t.Helper()
	r.must(r.api(via).Apply(context.Background(), v, false))
}

// found bootstraps a cluster on one control plane.
func (r *rig) found(address string) {
	r.t.Helper()
	r.mark(address)
	r.cas(address)
	r.leaves(address)
	r.kubeconfigs(address, true)
	r.perform(address,
		planner.EnsureDirectory{Path: "/var/lib/etcd", Mode: "0700", Owner: "root:root"},
		write(manifests+"/etcd.yaml", etcdManifest(address, nodeName(address)+"=https://"+address+":2380", ""), "0600"))
	r.controlPlane(address)
	r.kubelet(address, "")
	r.eventually("API", func() bool { return r.ready(address) })
	r.apply(address, binding("kubeadm:cluster-admins", "cluster-admin", "kubeadm:cluster-admins"))
	r.apply(address, object("ConfigMap", "v1", "kube-public", "cluster-info", map[string]any{"data": map[string]any{"kubeconfig": "text"}}))
	r.apply(address, binding("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", "system:bootstrappers:kubeadm:default-node-token"))
	r.apply(address, binding("kubeadm:node-autoapprove-bootstrap", "nodeclient", "system:bootstrappers:kubeadm:default-node-token"))
	r.apply(address, binding("kubeadm:node-autoapprove-certificate-rotation", "selfnodeclient", "system:nodes"))
}

func (r *rig) newToken(via string) state.Secret {
	r.t.Helper()
	token, err := r.api(via).CreateToken(context.Background(), planner.CreateToken{
		Description: "join", TTL: 10 * time.Minute, Usages: []string{"signing", "authentication"},
		Groups: []string{"system:bootstrappers:kubeadm:default-node-token"},
	}, state.Secret{})
	r.must(err)
	return token
}

func (r *rig) bootstrapConf(address, seat, server string, token state.Secret) {
	r.t.Helper()
	_, err := sim.Issuer{}.WriteKubeconfig(context.Background(), r.w.Host(address), r.w.Host(seat), planner.WriteKubeconfig{
		Path: "/etc/kubernetes/bootstrap-kubelet.conf", CA: planner.Signer{Base: pki + "/ca"}, Cluster: "kubernetes",
		Server: server, User: "tls-bootstrap-token-user",
	}, token, r.batch())
	r.must(err)
}

// joinWorker joins a host as a worker and waits until its node is registered.
func (r *rig) joinWorker(address, seat string) {
	r.t.Helper()
	r.mark(address)
	_, err := sim.Issuer{}.CopySecrets(context.Background(), r.w.Host(seat), r.w.Host(address), planner.CopySecrets{
		From: state.NodeKeyTarget("n", seat), Files: []planner.SecretFile{{Path: pki + "/ca.crt", Mode: "0644", Owner: "root:root"}},
	}, r.batch())
	r.must(err)
	token := r.newToken(seat)
	r.bootstrapConf(address, seat, "https://api.example.com:6443", token)
	r.kubelet(address, "--register-with-taints=dedicated=batch:NoSchedule")
	r.eventually("node", func() bool { return r.node(seat, nodeName(address)) != nil })
	r.perform(address, planner.RemovePath{Path: "/etc/kubernetes/bootstrap-kubelet.conf"})
	r.must(r.api(seat).DeleteToken(context.Background(), token))
}

// joinControlPlane joins a further control plane, in the order of kubeadm 1.36.
func (r *rig) joinControlPlane(address, seat string) {
	r.t.Helper()
	ctx := context.Background()
	r.mark(address)
	r.copyCAs(seat, address)
	r.leaves(address)
	r.kubeconfigs(address, false)
	r.controlPlane(address)
	r.bootstrapConf(address, address, "https://"+address+":6443", r.newToken(seat))
	r.kubelet(address, "")
	etcd := r.etcd(seat)
	peer := "https://" + address + ":2380"
	r.must(etcd.AddLearner(ctx, peer))
	members, _, err := etcd.Members(ctx)
	r.must(err)
	var initial []string
	var id string
	for _, m := range members {
		name := m.Name
		if m.PeerURLs[0] == peer {
			name, id = nodeName(address), m.ID
		}
		initial = append(initial, name+"="+m.PeerURLs[0])
	}
	r.perform(address, write(manifests+"/etcd.yaml", etcdManifest(address, strings.Join(initial, ","), "existing"), "0600"))
	r.eventually("promotion", func() bool { return etcd.Promote(ctx, id) == nil })
	r.eventually("API", func() bool { return r.ready(address) })
	r.eventually("node", func() bool { return r.node(seat, nodeName(address)) != nil })
}

func (r *rig) node(via, name string) *state.NodeReport {
	r.t.Helper()
	n, err := r.api(via).(providers.ObjectReader).Node(context.Background(), name)
	if err != nil {
		return nil
	}
	return n
}

func (r *rig) observe(address string, q state.Query) *state.Report {
	r.t.Helper()
	report, err := r.w.Host(address).Observe(context.Background(), q)
	r.must(err)
	return report
}
