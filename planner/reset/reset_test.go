package reset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/reset"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// before makes kubewright's marks on a host record what was there before.
func before(t state.Target, pairs ...string) tt.Change {
	return tt.Host(t, func(r *state.Report) {
		if r.Marks.Before == nil {
			r.Marks.Before = map[string]string{}
		}
		for i := 0; i < len(pairs); i += 2 {
			r.Marks.Before[pairs[i]] = pairs[i+1]
		}
	})
}

// replaced makes a node be removed and join again.
func replaced(t state.Target) tt.Change {
	return func(v *topology.Fleet) {
		v.Replacements = map[state.Target]*topology.Replacement{t: {Reason: planner.ReasonRequested, Report: v.Reports[t]}}
	}
}

func recorded(items ...state.Item) tt.Change {
	return func(v *topology.Fleet) { v.Recorded.Items = items }
}

func fixed(name, value string) tt.Change {
	return func(v *topology.Fleet) { v.Recorded.Clusters[tt.Label].Fixed = map[string]string{name: value} }
}

// departs returns a node of a cluster of three control planes and two workers that is removed from it.
func departs(t state.Target, changes ...tt.Change) topology.Departure {
	return tt.Running(3, 2, changes...).DepartureOf(t)
}

// plain are the paths that are removed of a worker on a host that had nothing of Kubernetes.
var plain = []string{
	"/var/log/pods", "/var/log/containers", "/var/lib/kubelet", "/var/lib/kube-proxy", "/var/lib/cni", "/usr/libexec/kubernetes", "/run/flannel",
	"/etc/systemd/logind.conf.d/99-kubelet.conf", "/etc/systemd/logind.conf.d", "/etc/sysctl.d/99-kubewright.conf",
	"/etc/kubernetes/tmp", "/etc/kubernetes/super-admin.conf", "/etc/kubernetes/scheduler.conf", "/etc/kubernetes/pki", "/etc/kubernetes/manifests",
	"/etc/kubernetes/kubelet.conf", "/etc/kubernetes/controller-manager.conf", "/etc/kubernetes/bootstrap-kubelet.conf", "/etc/kubernetes/admin.conf", "/etc/kubernetes",
}

// TestRemovedPaths checks which paths a reset removes: what differs from those of a worker on a host
// that had nothing of Kubernetes.
func TestRemovedPaths(t *testing.T) {
	t.Parallel()
	if got := reset.RemovedPaths(departs(tt.W(1), before(tt.W(1)), tt.Without(tt.W(1)))); !slices.Equal(got, plain) {
		t.Errorf("got  %v\nwant %v", got, plain)
	}
	certificate := func(t state.Target, base string) state.Item {
		return state.Item{Address: topology.ItemAddress(t, topology.CertsPhase, "certificate", base), Kind: state.KindCertificate, Attributes: state.Map(nil)}
	}
	manifest := state.Item{
		Address: topology.ItemAddress(tt.CP(3), topology.EtcdPhase, "file", topology.Manifest("etcd")), Kind: state.KindStaticPod,
		Attributes: state.Map(map[string]state.Value{"args": state.Args([]state.Arg{{Name: "data-dir", Value: "/data/recorded"}})}),
	}
	folders := func(list ...string) tt.Change {
		return func(v *topology.Fleet) {
			for _, p := range list {
				before(tt.W(1), "folder:"+p, "0755 root:root")(v)
			}
		}
	}
	gone := func(v *topology.Fleet) { v.Config.Clusters, v.Config.Nodes = nil, nil }
	for _, c := range []struct {
		name    string
		target  state.Target
		changes []tt.Change
		want    string
	}{
		{"a control plane", tt.CP(3), nil, "+/var/lib/etcd"},
		{"another data folder of etcd", tt.CP(3), []tt.Change{tt.Cluster(func(c *config.Cluster) { c.Etcd.DataDir = "/data/etcd" })}, "+/data/etcd"},
		{"the data folder was another one when the cluster was created", tt.CP(3), []tt.Change{fixed("etcd.data_dir", "/data/first")}, "+/data/first"},
		{"the block of the cluster is gone", tt.CP(3), []tt.Change{recorded(manifest), gone}, "+/data/recorded"},
		{"an external etcd", tt.CP(3), []tt.Change{tt.Cluster(func(c *config.Cluster) { c.Etcd.External = &config.ExternalEtcd{} })}, ""},
		{"the cluster was created with an external etcd", tt.CP(3), []tt.Change{fixed("etcd", "external")}, ""},
		{"folders that were there before", tt.W(1), []tt.Change{folders("/etc/kubernetes", "/etc/kubernetes/pki", "/etc/kubernetes/tmp", "/etc/systemd/logind.conf.d", "/run/flannel")}, "-/etc/kubernetes -/etc/kubernetes/pki -/etc/kubernetes/tmp -/etc/systemd/logind.conf.d -/run/flannel"},
		{"a folder of kubeadm that is cleaned nevertheless", tt.W(1), []tt.Change{folders("/etc/kubernetes/tmp"), tt.Cluster(func(c *config.Cluster) { c.Reset.CleanupTmpDir = true })}, ""},
		{"a folder that is emptied", tt.W(1), []tt.Change{folders("/var/lib/kubelet")}, ""},
		{"kernel modules", tt.W(1), []tt.Change{before(tt.W(1), "module:br_netfilter", "")}, "+/etc/modules-load.d/kubewright.conf"},
		{"a folder that was made for certificates", tt.W(1), []tt.Change{before(tt.W(1), "folder:/data/pki", "")}, "+/data/pki"},
		{"recorded certificates", tt.W(1), []tt.Change{recorded(certificate(tt.W(1), "/data/pki/own"), certificate(tt.W(2), "/data/pki/other"))}, "+/data/pki/own.crt +/data/pki/own.key"},
		{"a rotation was interrupted", tt.CP(3), []tt.Change{tt.File(tt.CP(3), "/etc/kubernetes/pki/ca-next.key", func(f *state.FileReport) { f.Exists = true })}, "+/etc/kubernetes/pki/ca-next.key +/var/lib/etcd"},
		{"an adopted node", tt.W(1), []tt.Change{tt.Host(tt.W(1), func(r *state.Report) { r.Marks = nil })}, "+/etc/modules-load.d/kubewright.conf -/etc/systemd/logind.conf.d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			changes := append([]tt.Change{before(tt.W(1)), before(tt.CP(3)), tt.Without(c.target)}, c.changes...)
			if got := difference(reset.RemovedPaths(departs(c.target, changes...))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// difference returns what paths have more and less than plain.
func difference(paths []string) string {
	var out []string
	for _, p := range paths {
		if !slices.Contains(plain, p) {
			out = append(out, "+"+p)
		}
	}
	for _, p := range plain {
		if !slices.Contains(paths, p) {
			out = append(out, "-"+p)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestRemovedPathsOfReplacedNodes checks that a node that joins again on its host keeps the settings
// and the folders that its block may refer to, and loses its identity.
func TestRemovedPathsOfReplacedNodes(t *testing.T) {
	t.Parallel()
	got := reset.RemovedPaths(departs(tt.W(1), before(tt.W(1)), replaced(tt.W(1))))
	for path, want := range map[string]bool{
		"/etc/kubernetes": false, "/usr/libexec/kubernetes": false, "/etc/sysctl.d/99-kubewright.conf": false, "/etc/systemd/logind.conf.d": false,
		"/etc/kubernetes/kubelet.conf": true, "/etc/kubernetes/pki": true, "/etc/kubernetes/pki/ca.crt": true, "/var/lib/kubelet": true,
	} {
		if slices.Contains(got, path) != want {
			t.Errorf("%s: removed is %v, want %v", path, !want, want)
		}
	}
}

// TestRemovedPathsOrder checks that files come before the folders that contain them.
func TestRemovedPathsOrder(t *testing.T) {
	t.Parallel()
	got := reset.RemovedPaths(departs(tt.CP(3), before(tt.CP(3)), tt.Without(tt.CP(3))))
	for i, folder := range got {
		for _, p := range got[i+1:] {
			if strings.HasPrefix(p, folder+"/") {
				t.Errorf("%s comes after %s", p, folder)
			}
		}
	}
}

// described returns an operation in short.
func described(op planner.Operation) string {
	switch op := op.(type) {
	case planner.Unit:
		return op.Action + " " + op.Unit
	case planner.DeleteObject:
		return "delete " + op.Ref.Kind + " " + op.Ref.Name
	case planner.RemoveEtcdMember:
		return "remove member " + op.PeerURL
	case planner.RemovePath:
		if op.ContentsOnly {
			return "empty " + op.Path
		}
		return "remove " + op.Path
	case planner.Wait:
		return fmt.Sprintf("wait %s %s", op.For, op.URL)
	case planner.RemovePods:
		return "remove pods of " + op.Socket
	case planner.SetSysctl:
		return "sysctl " + op.Name + "=" + op.Value
	case planner.LoadModule:
		return fmt.Sprintf("module %s, unload %v", op.Module, op.Unload)
	case planner.EnsureDirectory:
		return "folder " + op.Path + " " + op.Mode + " " + op.Owner
	case planner.Swap:
		return fmt.Sprintf("swap %v %s", op.On, op.Boot)
	case planner.Mark:
		if op.Remove {
			return "remove mark"
		}
		return "mark " + op.Marks.Node.String()
	}
	return op.Op()
}

// TestResetStepLeavesItsCluster checks in which order a node leaves its cluster: its API server
// closes, its member is removed, its kubelet stops, its Node is deleted, and then its host is reset.
func TestResetStepLeavesItsCluster(t *testing.T) {
	t.Parallel()
	abandoned := func(t state.Target) tt.Change {
		return func(v *topology.Fleet) {
			tt.Down(t)(v)
			v.ForgetUnreachable = []state.Target{t}
		}
	}
	destroy := func(v *topology.Fleet) { v.Destroy = true }
	inactive := tt.Host(tt.CP(3), func(r *state.Report) { r.Units[topology.KubeletUnit] = state.UnitReport{Active: "inactive"} })
	closing := []string{"remove /etc/kubernetes/manifests/kube-apiserver.yaml", "wait closed https://10.0.0.13:6443/livez", "remove member https://10.0.0.13:2380"}
	const stop, w1, cp3, pods = "stop kubelet.service", "delete Node w1", "delete Node cp3", "remove pods of unix:///run/containerd/containerd.sock"
	api, etcd := "cluster.prod/control-plane-disruption", "cluster.prod/etcd-membership"
	for _, c := range []struct {
		name    string
		target  state.Target
		changes []tt.Change
		// first are the operations at the beginning, or all of them.
		first  []string
		all    bool
		limits []string
		gates  []string
		impact string
	}{
		{"a worker", tt.W(1), nil, []string{stop, w1, pods}, false, nil, nil, "stops the kubelet, removes all containers and every file that kubewright and Kubernetes created"},
		{"a control plane", tt.CP(3), nil, append(slices.Clone(closing), stop, cp3, pods), false, []string{api, etcd}, []string{planner.APIGate, planner.QuorumGate}, "stops the kubelet"},
		{"a control plane whose kubelet does not run", tt.CP(3), []tt.Change{inactive}, append(slices.Clone(closing[2:]), stop, cp3, pods), false, []string{api, etcd}, []string{planner.APIGate, planner.QuorumGate}, "stops the kubelet"},
		{"a control plane with an external etcd", tt.CP(3), []tt.Change{tt.Cluster(func(c *config.Cluster) { c.Etcd.External = &config.ExternalEtcd{} })}, []string{stop, cp3, pods}, false, []string{api}, []string{planner.APIGate}, "stops the kubelet"},
		{"a worker whose host is gone", tt.W(1), []tt.Change{abandoned(tt.W(1))}, []string{w1}, true, nil, []string{planner.GoneGate}, "its old host is not changed"},
		{"a control plane whose host is gone", tt.CP(3), []tt.Change{abandoned(tt.CP(3))}, []string{closing[2], cp3}, true, []string{api, etcd}, []string{planner.GoneGate, planner.APIGate, planner.QuorumGate}, "its old host is not changed"},
		{"a host that was reset already", tt.W(1), []tt.Change{tt.Wiped(tt.W(1))}, []string{w1}, true, nil, nil, "removes the node from the cluster through the others"},
		{"the cluster is destroyed", tt.CP(3), []tt.Change{destroy}, []string{stop, pods}, false, nil, nil, "stops the kubelet"},
		{"the cluster is destroyed and the host was reset already", tt.CP(3), []tt.Change{destroy, tt.Wiped(tt.CP(3))}, nil, true, nil, nil, "holds nothing of the cluster any more"},
		{"another runtime", tt.W(1), []tt.Change{recorded(state.Item{
			Address: topology.ItemAddress(tt.W(1), topology.KubeletStartPhase, "file", topology.KubeletFlags), Kind: state.KindEnvFile,
			Attributes: state.Map(map[string]state.Value{"args": state.Args([]state.Arg{{Name: "container-runtime-endpoint", Value: "unix:///run/crio/crio.sock"}})}),
		})}, []string{stop, w1, "remove pods of unix:///run/crio/crio.sock"}, false, nil, nil, "stops the kubelet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := reset.ResetStep(departs(c.target, append(c.changes, tt.Without(c.target))...))
			var got []string
			for _, op := range s.Operations {
				got = append(got, described(op))
			}
			if !c.all {
				if last := got[len(got)-1]; last != "remove mark" {
					t.Errorf("got  %s at the end\nwant remove mark", last)
				}
				got = got[:min(len(got), len(c.first))]
			}
			if !slices.Equal(got, c.first) {
				t.Errorf("got  %q\nwant %q", got, c.first)
			}
			if !slices.Equal(s.Limits, c.limits) || !slices.Equal(s.Gates, c.gates) {
				t.Errorf("got limits %v, gates %v; want limits %v, gates %v", s.Limits, s.Gates, c.limits, c.gates)
			}
			if !strings.Contains(s.Impact, c.impact) || s.Action != planner.Delete {
				t.Errorf("got  %s: %s\nwant %s: %s", s.Action, s.Impact, planner.Delete, c.impact)
			}
		})
	}
}

// TestResetStepRestoresHosts checks that a reset restores what was on the host before.
func TestResetStepRestoresHosts(t *testing.T) {
	t.Parallel()
	conf := func(name string) tt.Change {
		return tt.File(tt.W(1), "/etc/cni/net.d/"+name, func(f *state.FileReport) { f.Exists = true })
	}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    []string
		not     []string
	}{
		{"a sysctl", []tt.Change{before(tt.W(1), "sysctl:net.ipv4.ip_forward", "0")}, []string{"sysctl net.ipv4.ip_forward=0"}, nil},
		{"modules", []tt.Change{before(tt.W(1), "module:br_netfilter", "", "module:ip_vs", "loaded")}, []string{"module br_netfilter, unload true"}, []string{"module ip_vs, unload true"}},
		{"swap", []tt.Change{before(tt.W(1), "swap", "on")}, []string{"swap true "}, nil},
		{"swap at boot", []tt.Change{before(tt.W(1), "swap", "on", "swap_at_boot", "on")}, []string{"swap true " + planner.SwapReturns}, nil},
		{"a kubelet that ran", []tt.Change{before(tt.W(1), "unit:kubelet.service", "enabled active")}, []string{"start kubelet.service"}, []string{"disable kubelet.service"}},
		{"a kubelet that was disabled", []tt.Change{before(tt.W(1), "unit:kubelet.service", "disabled inactive")}, []string{"disable kubelet.service"}, []string{"start kubelet.service"}},
		{"a folder that was there", []tt.Change{before(tt.W(1), "folder:/var/lib/kubelet", "0750 root:root")}, []string{"empty /var/lib/kubelet", "folder /var/lib/kubelet 0750 root:root"}, []string{"remove /var/lib/kubelet"}},
		{"a folder that was not there", []tt.Change{before(tt.W(1))}, []string{"remove /var/lib/kubelet"}, []string{"empty /var/lib/kubelet"}},
		{"networks of pods", []tt.Change{before(tt.W(1), "entries:/etc/cni/net.d", "05-own.conflist"), conf("05-own.conflist"), conf("10-flannel.conflist"), conf("87-podman-bridge.conflist")}, []string{"remove /etc/cni/net.d/10-flannel.conflist"}, []string{
			"remove /etc/cni/net.d/05-own.conflist", "remove /etc/cni/net.d/87-podman-bridge.conflist", "remove /etc/cni/net.d",
		}},
		{"the folder of networks was not there", []tt.Change{before(tt.W(1), "entries:/etc/cni/net.d", ""), conf("10-flannel.conflist")}, []string{"remove /etc/cni/net.d/10-flannel.conflist", "remove /etc/cni/net.d"}, nil},
		{"a node that joins again keeps the settings of its host", []tt.Change{before(tt.W(1), "sysctl:net.ipv4.ip_forward", "0", "swap", "on"), replaced(tt.W(1))}, []string{`mark node.worker["w1"]`}, []string{"sysctl net.ipv4.ip_forward=0", "swap true ", "remove mark"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, op := range reset.ResetStep(departs(tt.W(1), c.changes...)).Operations {
				got = append(got, described(op))
			}
			for _, want := range c.want {
				if !slices.Contains(got, want) {
					t.Errorf("got  %q\nwant %q in it", got, want)
				}
			}
			for _, not := range c.not {
				if slices.Contains(got, not) {
					t.Errorf("got  %q\nwant no %q", got, not)
				}
			}
		})
	}
}
