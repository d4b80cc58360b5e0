package kubeadm_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm/kubeadmtest"
)

// surface lists every field of kubeadm's v1beta4 configuration of clusters and hosts, with its
// default ("" is absent). Lists of structures are walked; a list of words is one value, sorted.
var surface = map[string][][2]string{
	"ClusterConfiguration": {
		{"kubernetesVersion", "stable-1"},
		{"controlPlaneEndpoint", ""},
		{"clusterName", "kubernetes"},
		{"certificatesDir", "/etc/kubernetes/pki"},
		{"imageRepository", "registry.k8s.io"},
		{"featureGates.*", ""},
		{"encryptionAlgorithm", "RSA-2048"},
		{"certificateValidityPeriod", "8760h0m0s"},
		{"caCertificateValidityPeriod", "87600h0m0s"},
		{"networking.serviceSubnet", "10.96.0.0/12"},
		{"networking.podSubnet", ""},
		{"networking.dnsDomain", "cluster.local"},
		{"etcd.local.imageRepository", ""},
		{"etcd.local.imageTag", ""},
		{"etcd.local.dataDir", "/var/lib/etcd"},
		{"etcd.local.extraArgs.name", ""},
		{"etcd.local.extraArgs.value", ""},
		{"etcd.local.extraEnvs.name", ""},
		{"etcd.local.extraEnvs.value", ""},
		{"etcd.local.extraEnvs.valueFrom.*", ""},
		{"etcd.local.serverCertSANs", ""},
		{"etcd.local.peerCertSANs", ""},
		{"etcd.external.endpoints", ""},
		{"etcd.external.httpEndpoints", ""},
		{"etcd.external.caFile", ""},
		{"etcd.external.certFile", ""},
		{"etcd.external.keyFile", ""},
		{"apiServer.certSANs", ""},
		{"apiServer.extraArgs.name", ""},
		{"apiServer.extraArgs.value", ""},
		{"apiServer.extraEnvs.name", ""},
		{"apiServer.extraEnvs.value", ""},
		{"apiServer.extraEnvs.valueFrom.*", ""},
		{"apiServer.extraVolumes.name", ""},
		{"apiServer.extraVolumes.hostPath", ""},
		{"apiServer.extraVolumes.mountPath", ""},
		{"apiServer.extraVolumes.readOnly", "false"},
		{"apiServer.extraVolumes.pathType", ""},
		{"controllerManager.extraArgs.name", ""},
		{"controllerManager.extraArgs.value", ""},
		{"controllerManager.extraEnvs.name", ""},
		{"controllerManager.extraEnvs.value", ""},
		{"controllerManager.extraEnvs.valueFrom.*", ""},
		{"controllerManager.extraVolumes.name", ""},
		{"controllerManager.extraVolumes.hostPath", ""},
		{"controllerManager.extraVolumes.mountPath", ""},
		{"controllerManager.extraVolumes.readOnly", "false"},
		{"controllerManager.extraVolumes.pathType", ""},
		{"scheduler.extraArgs.name", ""},
		{"scheduler.extraArgs.value", ""},
		{"scheduler.extraEnvs.name", ""},
		{"scheduler.extraEnvs.value", ""},
		{"scheduler.extraEnvs.valueFrom.*", ""},
		{"scheduler.extraVolumes.name", ""},
		{"scheduler.extraVolumes.hostPath", ""},
		{"scheduler.extraVolumes.mountPath", ""},
		{"scheduler.extraVolumes.readOnly", "false"},
		{"scheduler.extraVolumes.pathType", ""},
		{"dns.imageRepository", ""},
		{"dns.imageTag", ""},
		{"dns.disabled", "false"},
		{"proxy.disabled", "false"},
	},
	"InitConfiguration": {
		{"bootstrapTokens.token", ""},
		{"bootstrapTokens.description", ""},
		{"bootstrapTokens.ttl", "24h0m0s"},
		{"bootstrapTokens.usages", "[authentication signing]"},
		{"bootstrapTokens.groups", "[system:bootstrappers:kubeadm:default-node-token]"},
		{"certificateKey", ""},
		{"localAPIEndpoint.advertiseAddress", ""},
		{"localAPIEndpoint.bindPort", "6443"},
		{"nodeRegistration.name", ""},
		{"nodeRegistration.criSocket", "unix:///var/run/containerd/containerd.sock"},
		{"nodeRegistration.taints.key", "node-role.kubernetes.io/control-plane"},
		{"nodeRegistration.taints.value", ""},
		{"nodeRegistration.taints.effect", "NoSchedule"},
		{"nodeRegistration.kubeletExtraArgs.name", ""},
		{"nodeRegistration.kubeletExtraArgs.value", ""},
		{"nodeRegistration.ignorePreflightErrors", ""},
		{"nodeRegistration.imagePullPolicy", "IfNotPresent"},
		{"nodeRegistration.imagePullSerial", "true"},
		{"patches.directory", ""},
		{"skipPhases", ""},
		{"timeouts.controlPlaneComponentHealthCheck", "4m0s"},
		{"timeouts.kubeletHealthCheck", "4m0s"},
		{"timeouts.kubernetesAPICall", "1m0s"},
		{"timeouts.etcdAPICall", "2m0s"},
		{"timeouts.tlsBootstrap", "5m0s"},
		{"timeouts.discovery", "5m0s"},
		{"timeouts.upgradeManifests", "5m0s"},
	},
	"JoinConfiguration": {
		{"caCertPath", "/etc/kubernetes/pki/ca.crt"},
		{"controlPlane.localAPIEndpoint.advertiseAddress", ""},
		{"controlPlane.localAPIEndpoint.bindPort", "6443"},
		{"discovery.bootstrapToken.token", ""},
		{"discovery.bootstrapToken.apiServerEndpoint", ""},
		{"discovery.bootstrapToken.unsafeSkipCAVerification", "false"},
		{"nodeRegistration.name", ""},
		{"nodeRegistration.criSocket", "unix:///var/run/containerd/containerd.sock"},
		{"nodeRegistration.taints.key", ""},
		{"nodeRegistration.taints.value", ""},
		{"nodeRegistration.taints.effect", ""},
		{"nodeRegistration.kubeletExtraArgs.name", ""},
		{"nodeRegistration.kubeletExtraArgs.value", ""},
		{"nodeRegistration.imagePullPolicy", "IfNotPresent"},
		{"nodeRegistration.imagePullSerial", "true"},
		{"patches.directory", ""},
	},
	"KubeletConfiguration":   {{"maxPods", ""}},
	"KubeProxyConfiguration": {{"mode", ""}, {"clusterCIDR", ""}},
}

// notOnSurface are the fields that no configuration sets, with the reason.
var notOnSurface = []struct{ what, why string }{
	{"dryRun", "a run of kubeadm's, nothing that is written"},
	{"bootstrapTokens.expires", "kubeadm refuses it in a file, since ttl is defaulted first"},
	{"nodeRegistration.taints.timeAdded", "set by the API for NoExecute, no wish of a configuration"},
	{
		"discovery.file, discovery.tlsBootstrapToken, discovery.bootstrapToken.caCertHashes, controlPlane.certificateKey",
		"ways for a host to find the cluster and its keys; they leave no trace in what is written",
	},
	{
		"timeouts, skipPhases, nodeRegistration.ignorePreflightErrors of JoinConfiguration",
		"how long and for what kubeadm join waits, and what it leaves out; InitConfiguration has the same fields, and some configuration sets each",
	},
	{"ResetConfiguration, UpgradeConfiguration", "what to do, not what to write"},
	{"Arg.mergeMethod", "kubeadm.k8s.io/v1, experimental in 1.37 and never stored"},
}

// TestConfigurationSurfaceIsCovered checks that every field differs from its default in some configuration that the
// language accepts, and that every field that is set has a row.
func TestConfigurationSurfaceIsCovered(t *testing.T) {
	set := map[string]map[string]bool{} // KIND.PATH → values
	refused := map[string]string{}
	for _, r := range kubeadmtest.Runs() {
		if why := refusal(r.Case); why != "" {
			refused[r.Case.Name] = cmp.Or(refused[r.Case.Name], why)
			continue
		}
		collect(t, set, r.Case.InitYAML())
		if r.Case.Joiner != nil {
			collect(t, set, r.Case.JoinYAML("10.77.0.11:6443"))
		}
	}
	fields, cases := 0, len(kubeadmtest.Cases())
	for kind, paths := range surface {
		for _, p := range paths {
			fields++
			if !departs(set[kind+"."+p[0]], p[1]) {
				t.Errorf("no configuration sets %s of %s to anything but %q", p[0], kind, p[1])
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(set)) {
		if kind, field, _ := strings.Cut(path, "."); !hasRow(kind, field) {
			t.Errorf("some configuration sets %s of %s, which has no row", field, kind)
		}
	}
	if cases < 40 {
		t.Errorf("only %d configurations", cases)
	}
	t.Logf("%d fields differ from their defaults in some of %d configurations that the language takes", fields, cases-len(refused))
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		t.Logf("refused by the language, and not counted: %s: %s", name, refused[name])
	}
	for _, row := range notOnSurface {
		t.Logf("not set: %s: %s", row.what, row.why)
	}
}

// refusal returns why the language refuses a configuration; "" for one that it accepts.
func refusal(c kubeadmtest.Case) string {
	cfg := &config.Config{Clusters: []*config.Cluster{c.Cluster}, Nodes: []*config.Node{c.Founder.Node}}
	if c.Joiner != nil {
		cfg.Nodes = append(cfg.Nodes, c.Joiner.Node)
	}
	for _, d := range cfg.Validate() {
		past := kubeadmtest.RefusedFor[c.Name]
		if d.Severity == diag.Error && (past == "" || !strings.Contains(d.Detail, past)) {
			return d.Detail
		}
	}
	return kubeadmtest.Refused[c.Name]
}

// hasRow reports whether a field is in one of the tables. The fields of the kubelet's and
// kube-proxy's configurations are not kubeadm's.
func hasRow(kind, field string) bool {
	if field == "apiVersion" || field == "kind" || strings.HasPrefix(kind, "Kube") || kind == "JoinConfiguration" && strings.HasPrefix(field, "timeouts.") {
		return true
	}
	return slices.ContainsFunc(surface[kind], func(row [2]string) bool { return row[0] == field })
}

func departs(values map[string]bool, byDefault string) bool {
	for v := range values {
		if v != byDefault {
			return true
		}
	}
	return false
}

func collect(t *testing.T, set map[string]map[string]bool, docs []byte) {
	t.Helper()
	for doc := range strings.SplitSeq(string(docs), "---\n") {
		var tree map[string]any
		if err := yaml.Unmarshal([]byte(doc), &tree); err != nil {
			t.Fatal(err)
		}
		collectLeaves(set, fmt.Sprint(tree["kind"]), tree)
	}
}

// collectLeaves records values by path; below a map with user-defined keys, or with types of
// corev1, the path ends with a star.
func collectLeaves(set map[string]map[string]bool, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if strings.HasSuffix(path, ".featureGates") || strings.HasSuffix(path, ".valueFrom") {
				k, e = "*", fmt.Sprint(e)
			}
			collectLeaves(set, path+"."+k, e)
		}
	case []any:
		words := []string{}
		for _, e := range v {
			if word, ok := e.(string); ok {
				words = append(words, word)
				continue
			}
			collectLeaves(set, path, e)
		}
		if len(words) > 0 {
			slices.Sort(words)
			note(set, path, words)
		}
	default:
		note(set, path, v)
	}
}

func note(set map[string]map[string]bool, path string, value any) {
	if set[path] == nil {
		set[path] = map[string]bool{}
	}
	set[path][fmt.Sprint(value)] = true
}
