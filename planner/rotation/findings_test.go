package rotation_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/planner/upgrade"
	"github.com/kubewright/kubewright/state"
)

// wantFindings checks that there are as many findings as wanted, each with its severity, title and
// words.
func wantFindings(t *testing.T, got diag.Diagnostics, want ...[]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got  %d findings: %v\nwant %d: %q", len(got), got, len(want), want)
		return
	}
	for i, d := range got {
		for _, words := range want[i] {
			if !strings.Contains(d.String(), words) {
				t.Errorf("got  %s\nwant %q in it", d, words)
			}
		}
	}
}

// whole makes control planes have all CAs and keys that they share.
func whole(v *topology.Fleet) {
	for _, n := range v.Config.NodesOf(tt.Label, config.ControlPlane) {
		holds(n.Target, pki+"/front-proxy-ca.crt", "proxy-1")(v)
		holds(n.Target, pki+"/etcd/ca.crt", "etcd-1")(v)
		accepts(n.Target, "k1")(v)
		for _, key := range []string{"ca.key", "front-proxy-ca.key", "etcd/ca.key", "sa.key"} {
			tt.File(n.Target, pki+"/"+key, func(f *state.FileReport) { f.Exists, f.SHA256 = true, key })(v)
		}
		for leaf, ca := range map[string]string{
			"apiserver": "ca-1", "apiserver-kubelet-client": "ca-1", "front-proxy-client": "proxy-1",
			"apiserver-etcd-client": "etcd-1", "etcd/server": "etcd-1", "etcd/peer": "etcd-1", "etcd/healthcheck-client": "etcd-1",
		} {
			issued(n.Target, leaf, ca)(v)
		}
		confs(n.Target)(v)
	}
}

// issued makes a control plane have a certificate of a CA, and its key.
func issued(t state.Target, leaf, ca string) tt.Change {
	return func(v *topology.Fleet) {
		tt.File(t, pki+"/"+leaf+".crt", func(f *state.FileReport) {
			f.Exists, f.Certificates = true, []state.CertificateInfo{{CommonName: leaf, KeyDigest: leaf, IssuerKeyDigest: ca, NotAfter: tt.Now.AddDate(1, 0, 0)}}
		})(v)
		tt.File(t, pki+"/"+leaf+".key", func(f *state.FileReport) { f.Exists = true })(v)
	}
}

// confs makes a control plane have the kubeconfigs of its components.
func confs(t state.Target) tt.Change {
	return func(v *topology.Fleet) {
		for _, path := range []string{topology.ControllerConf, topology.SchedulerConf} {
			tt.File(t, path, func(f *state.FileReport) {
				f.Exists, f.Kubeconfig = true, &state.KubeconfigInfo{Server: "https://10.0.0.11:6443", CAs: []state.CertificateInfo{{KeyDigest: "ca-1"}}}
			})(v)
		}
	}
}

// rotating returns a fleet in which the version change and the rotations are known.
func rotating(planes, workers int, changes ...tt.Change) *topology.Fleet {
	v := tt.Running(planes, workers, append([]tt.Change{whole}, changes...)...)
	c := v.Clusters[0]
	c.Up = upgrade.AnalyzeUpgrade(c)
	c.Rotating, c.Keys = rotation.Rotations(c), rotation.KeyRotation(c)
	return v
}

// begun makes the rotation of the CA have begun on all control planes.
func begun(v *topology.Fleet) {
	for _, n := range v.Config.NodesOf(tt.Label, config.ControlPlane) {
		next(n.Target, "ca-2")(v)
		holds(n.Target, ca+".crt", "ca-1", "ca-2")(v)
	}
}

// TestCheckRotationsRefusesOtherChanges checks what a rotation cannot be combined with, and what the
// plan says to do.
func TestCheckRotationsRefusesOtherChanges(t *testing.T) {
	t.Parallel()
	const title = "error: CA rotation cannot be combined with other changes"
	pods := []string{"warning: Pods may need a restart", "⟨apply +rotate=cluster.prod/ca +except=certs@reissue⟩"}
	unmanaged := func(labels map[string]string) tt.Change {
		return func(v *topology.Fleet) {
			v.ClusterReports[tt.Label].Nodes["old"] = state.NodeReport{Ready: true, Labels: labels, KubeletVersion: "v1.36.3"}
		}
	}
	forget := func(v *topology.Fleet) { v.Config.Removals = []config.Removal{{From: tt.W(1)}} }
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    [][]string
	}{
		{"no rotation", []tt.Change{tt.Wiped(tt.W(1))}, nil},
		{"a healthy cluster", []tt.Change{requests("ca")}, [][]string{pods}},
		{"the front proxy's CA", []tt.Change{requests("front-proxy-ca")}, nil},
		{"a rotation that has reissued certificates", []tt.Change{begun, signedBy(tt.W(1), "ca-2")}, nil},
		{"a node joins", []tt.Change{requests("ca"), tt.Wiped(tt.W(1))}, [][]string{{title, `cluster.prod/ca: node.worker["w1"] would join.`, "Make one change after the other."}}},
		{"a node joins in a rotation that has begun", []tt.Change{begun, tt.Wiped(tt.W(1))}, [][]string{{title, `node.worker["w1"] would join.`, "Its host holds nothing of the cluster any more", "⟨apply⟩"}}},
		{"a node is removed", []tt.Change{requests("ca"), tt.Without(tt.W(1))}, [][]string{{title, `node.worker["w1"] would be removed.`}}},
		{"a node whose host was reset is removed in a rotation that has begun", []tt.Change{begun, tt.Wiped(tt.W(1)), tt.Without(tt.W(1))}, [][]string{pods}},
		{"a node is replaced", []tt.Change{requests("ca"), func(v *topology.Fleet) {
			v.Replacements = map[state.Target]*topology.Replacement{tt.W(1): {Reason: planner.ReasonRequested, Report: v.Reports[tt.W(1)]}}
		}}, [][]string{{title, `node.worker["w1"] would be replaced.`}}},
		{"a node is forgotten", []tt.Change{requests("ca"), tt.Without(tt.W(1)), forget}, [][]string{{title, `the state would forget node.worker["w1"], which would keep the old CA`}}},
		{"a host does not answer", []tt.Change{requests("ca"), tt.Down(tt.W(1))}, [][]string{{title, `node.worker["w1"] could not be observed.`, `⟨apply +gone-host=node.worker["w1"]⟩`}}},
		{"the version changes", []tt.Change{requests("ca"), tt.From("1.35.8")}, [][]string{{title, "the version would change."}}},
		{"the endpoint moves", []tt.Change{requests("ca"), tt.Cluster(func(c *config.Cluster) { c.ControlPlaneEndpoint = "other.example.com:6443" })}, [][]string{{title, "the endpoint would move."}}},
		{"the plan has targets", []tt.Change{requests("ca"), func(v *topology.Fleet) { v.Targeted = true }}, [][]string{{title, "the plan is restricted to targets.", "Plan without ⟨+only⟩."}}},
		{"an unmanaged node", []tt.Change{requests("ca"), unmanaged(nil)}, [][]string{{title, "unmanaged nodes would be cut off (old)."}}},
		{"an unmanaged worker does not have the front proxy's CA", []tt.Change{requests("front-proxy-ca"), unmanaged(nil)}, nil},
		{"an unmanaged control plane has it", []tt.Change{requests("front-proxy-ca"), unmanaged(map[string]string{kubeadm.ControlPlaneRole: ""})}, [][]string{{title, "(old)"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, rotation.CheckRotations(rotating(2, 1, c.changes...)), c.want...)
		})
	}
}

// TestCheckRotationsRefusesUnreadyClusters checks in which condition a cluster has to be before a
// rotation begins.
func TestCheckRotationsRefusesUnreadyClusters(t *testing.T) {
	t.Parallel()
	pods := []string{"warning: Pods may need a restart"}
	notReady := tt.Node(tt.W(1), func(n *state.NodeReport) { n.Ready = false })
	arg := func(name, value string) tt.Change {
		return tt.Cluster(func(c *config.Cluster) {
			c.APIServer.Args = []config.Arg{{Name: name, Value: value}}
		})
	}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    [][]string
	}{
		{"the API is silent", []tt.Change{requests("ca"), tt.SilentAPI()}, [][]string{{"error: API does not answer", "the API did not answer: cannot reach the API"}}},
		{"the API is silent in a rotation that has begun", []tt.Change{begun, tt.SilentAPI()}, [][]string{{"warning: Rotation is paused", "continues with the first apply that reaches the API"}}},
		{"a node is not ready", []tt.Change{requests("ca"), notReady}, [][]string{{"warning: Node is not ready", `the Node of node.worker["w1"] is not Ready`}, pods}},
		{"a node is not ready in a rotation that has begun", []tt.Change{begun, notReady}, [][]string{pods}},
		{"a node is not ready while the front proxy's CA is rotated", []tt.Change{requests("front-proxy-ca"), notReady}, nil},
		{"a control plane lacks a key", []tt.Change{requests("ca"), tt.File(tt.CP(2), pki+"/etcd/ca.key", func(f *state.FileReport) { *f = state.FileReport{} })}, [][]string{
			{"error: PKI file is missing", `node.cp["cp2"] (10.0.0.12) has no /etc/kubernetes/pki/etcd/ca.key.`},
		}},
		{"a CA file has two CAs", []tt.Change{requests("ca"), holds(tt.CP(2), ca+".crt", "ca-1", "ca-7")}, [][]string{
			{"error: CA file has several CAs", `node.cp["cp2"] (10.0.0.12) has 2 certificates in /etc/kubernetes/pki/ca.crt.`},
		}},
		{"an argument names another CA file", []tt.Change{requests("ca"), arg("client-ca-file", "/etc/other.crt")}, [][]string{
			{"error: Flag names another file", `the configuration sets kube-apiserver's --client-ca-file to "/etc/other.crt" on node.cp["cp1"] (10.0.0.11)`, `it must be "/etc/kubernetes/pki/ca.crt"`},
		}},
		{"that argument does not concern another CA", []tt.Change{requests("front-proxy-ca"), arg("client-ca-file", "/etc/other.crt")}, nil},
		{"an argument names another key for tokens", []tt.Change{requests("service-account"), arg("service-account-signing-key-file", "/etc/other.key")}, [][]string{
			{"error: Service account keys are managed outside kubewright", "the configuration sets kube-apiserver's --service-account-signing-key-file"},
		}},
		{"a public key file cannot be read", []tt.Change{requests("service-account"), tt.File(tt.CP(2), sa+".pub", func(f *state.FileReport) { f.PublicKeys, f.Invalid = nil, "no PEM" })}, [][]string{
			{"error: Service account key cannot be read", `cannot read /etc/kubernetes/pki/sa.pub of node.cp["cp2"] (10.0.0.12): no PEM`},
		}},
		{"a public key file has two keys", []tt.Change{requests("service-account"), accepts(tt.CP(2), "k1", "k7")}, [][]string{{"error: Service account key file has several keys", "has 2 public keys"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, rotation.CheckRotations(rotating(2, 1, c.changes...)), c.want...)
		})
	}
}

// TestCheckRotationsRefusesRequests checks what is said of a request for which there is nothing to
// rotate.
func TestCheckRotationsRefusesRequests(t *testing.T) {
	t.Parallel()
	const title = "error: Nothing to rotate"
	for _, c := range []struct {
		name    string
		changes []tt.Change
		founds  bool
		want    []string
	}{
		{"a cluster without a block", []tt.Change{func(v *topology.Fleet) {
			v.Rotate = []topology.Rotation{{Cluster: state.ClusterTarget("test"), CA: "ca"}}
		}}, false, []string{title, "⟨+rotate=cluster.test/ca⟩: the configuration has no such cluster."}},
		{"a CA that does not exist", []tt.Change{requests("root")}, false, []string{title, "there is no such CA. There are ca, front-proxy-ca, etcd-ca, service-account."}},
		{"a cluster that does not exist", []tt.Change{requests("ca")}, true, []string{title, "the cluster does not exist yet."}},
		{"keys of a cluster that does not exist", []tt.Change{requests("service-account")}, true, []string{title, "the cluster does not exist yet."}},
		{"the CA of an external etcd", []tt.Change{requests("etcd-ca"), tt.Cluster(func(c *config.Cluster) {
			c.Etcd.External = &config.ExternalEtcd{Endpoints: []string{"https://10.0.2.1:2379"}}
		})}, false, []string{title, "the etcd of this cluster is external, and so is its CA."}},
		{"a rotation of which only files remain", []tt.Change{requests("ca"), holds(tt.CP(1), ca+".crt", "ca-2"), holds(tt.CP(2), ca+".crt", "ca-2"), holds(tt.CP(1), ca+"-next.crt", "ca-2")}, false, []string{
			"warning: Rotation is already complete", "This plan removes them.",
		}},
		{"an expired CA is being replaced", []tt.Change{requests("front-proxy-ca"), holds(tt.CP(1), ca+".crt", "ca-2"), holds(tt.CP(1), ca+"-ended.crt", "ca-1")}, false, []string{
			"warning: Replacement of an expired CA continues", "This plan continues it, and rotates nothing.",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(2, 0, append([]tt.Change{whole}, c.changes...)...)
			cluster := v.Clusters[0]
			cluster.Founding = c.founds
			cluster.Rotating, cluster.Keys = rotation.Rotations(cluster), rotation.KeyRotation(cluster)
			wantFindings(t, rotation.CheckRotations(v), c.want)
		})
	}
}
