package drift_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// item returns an item of a node with attributes.
func item(t state.Target, phase, name string, kind state.Kind, attributes map[string]any) state.Item {
	class, id, _ := strings.Cut(name, ":")
	return state.Item{Address: topology.ItemAddress(t, phase, class, id), Kind: kind, Attributes: state.FromGo(attributes)}
}

// file returns a file with a mode.
func file(t state.Target, phase, path, mode string) state.Item {
	return item(t, phase, "file:"+path, state.KindFile, map[string]any{"mode": mode})
}

// labels returns the Node of w1 with a label.
func labels(value string) state.Item {
	it := item(tt.W(1), topology.MarkWorkerPhase, "node:w1", state.KindNodeObject, map[string]any{"labels": map[string]any{"pool": value}})
	it.Partial = true
	return it
}

func once(it state.Item, createOnly, expires bool) state.Item {
	it.CreateOnly, it.Expires = createOnly, expires
	return it
}

func snapshot(items ...state.Item) *state.Snapshot {
	s := &state.Snapshot{Items: items}
	s.Sort()
	return s
}

// recorded makes the state record items.
func recorded(items ...state.Item) tt.Change {
	return func(v *topology.Fleet) { v.Recorded.Items = items }
}

// unconfirmed makes the state record steps that were begun.
func unconfirmed(steps ...string) tt.Change {
	return func(v *topology.Fleet) { v.Recorded.Unseen = steps }
}

// leaves makes a node leave a value to others.
func leaves(t state.Target, path ...string) tt.Change {
	return func(v *topology.Fleet) {
		for _, n := range v.Config.Nodes {
			if n.Target == t {
				n.Lifecycle.IgnoreChanges = append(n.Lifecycle.IgnoreChanges, config.Ignored{Path: path})
			}
		}
	}
}

// described returns changes in short: the action, the item and what differs.
func described(changes []planner.Change) string {
	var out []string
	for _, c := range changes {
		text := string(c.Action) + " " + topology.ShortName(c.Address.Target) + "/" + c.Address.ID()
		for _, a := range c.Attributes {
			text += " " + a.Path + " " + a.Before.AsString() + ">" + a.After.AsString()
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// TestDriftIsWhatOthersChanged checks what counts as changed outside of kubewright.
func TestDriftIsWhatOthersChanged(t *testing.T) {
	t.Parallel()
	const prepare, path = topology.PreparePhase, "/etc/x"
	is, was := file(tt.W(1), prepare, path, "0600"), file(tt.W(1), prepare, path, "0644")
	changed := []state.Item{is}
	module := item(tt.W(1), prepare, "module:br_netfilter", state.KindModule, map[string]any{"loaded": true})
	cp3 := file(tt.CP(3), topology.ControlPlanePhase, "/etc/kubernetes/manifests/kube-apiserver.yaml", "0600")
	returned := func(v *topology.Fleet) {
		tt.Wiped(tt.CP(3))(v)
		c := v.ClusterReports[tt.Label]
		delete(c.Nodes, "cp3")
		c.Members = c.Members[:2]
	}
	certificate := func(mode, ca string) state.Item {
		return item(tt.CP(1), topology.CertsPhase, "certificate:/etc/kubernetes/pki/apiserver", state.KindCertificate, map[string]any{"signed_by": ca, "key_mode": mode})
	}
	for _, c := range []struct {
		name     string
		recorded []state.Item
		observed []state.Item
		changes  []tt.Change
		want     string
	}{
		{"nothing", []state.Item{was}, []state.Item{was}, nil, ""},
		{"a mode", []state.Item{was}, changed, nil, "update w1//etc/x mode 0644>0600"},
		{"a file is removed", []state.Item{was}, nil, nil, "delete w1//etc/x"},
		{"a file of others", nil, changed, nil, ""},
		{"a file that matters only when it is created is removed", []state.Item{once(was, true, false)}, nil, nil, ""},
		{"an item that expires is gone", []state.Item{once(was, false, true)}, nil, nil, ""},
		{"the node is removed", []state.Item{was}, changed, []tt.Change{tt.Without(tt.W(1))}, ""},
		{"the node is forgotten", []state.Item{was}, changed, []tt.Change{tt.Without(tt.W(1)), func(v *topology.Fleet) { v.Config.Removals = []config.Removal{{From: tt.W(1)}} }}, ""},
		{"the cluster is destroyed", []state.Item{was}, changed, []tt.Change{func(v *topology.Fleet) { v.Destroy = true }}, ""},
		{"a step was begun and not confirmed", []state.Item{was}, changed, []tt.Change{unconfirmed(`node.worker["w1"]/prepare`)}, ""},
		{"a step of another node was", []state.Item{was}, changed, []tt.Change{unconfirmed(`node.worker["w2"]/prepare`)}, "update w1//etc/x mode 0644>0600"},
		{"a reset of the node was", []state.Item{was}, nil, []tt.Change{unconfirmed(`node.worker["w1"]/reset`)}, ""},
		{"a step of etcd has stopped the API server", []state.Item{cp3}, nil, []tt.Change{unconfirmed(`node.cp["cp3"]/etcd`)}, ""},
		{"a manifest is removed", []state.Item{cp3}, nil, nil, "delete cp3//etc/kubernetes/manifests/kube-apiserver.yaml"},
		{"a control plane that returns after its state was restored", []state.Item{cp3}, nil, []tt.Change{returned}, ""},
		{"a label", []state.Item{labels("a")}, []state.Item{labels("b")}, nil, "update w1/w1 labels.pool a>b"},
		{"a label that is left to others", []state.Item{labels("a")}, []state.Item{labels("b")}, []tt.Change{leaves(tt.W(1), "labels", "pool")}, ""},
		{"another label is left to others", []state.Item{labels("a")}, []state.Item{labels("b")}, []tt.Change{leaves(tt.W(1), "labels", "zone")}, "update w1/w1 labels.pool a>b"},
		{"a module is unloaded", []state.Item{module}, nil, nil, "delete w1/br_netfilter"},
		{"another CA has signed", []state.Item{certificate("0600", "ca-1")}, []state.Item{certificate("0600", "ca-2")}, nil, "update cp1//etc/kubernetes/pki/apiserver signed_by ca-1>ca-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(3, 2, append([]tt.Change{recorded(c.recorded...)}, c.changes...)...)
			if got := described(drift.Drift(v, snapshot(c.recorded...), snapshot(c.observed...))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestDriftOfUnwantedItems checks that an item that stays on the host when it is no longer desired is
// no drift once it is gone.
func TestDriftOfUnwantedItems(t *testing.T) {
	t.Parallel()
	module := item(tt.W(1), topology.PreparePhase, "module:br_netfilter", state.KindModule, map[string]any{"loaded": true})
	sysctl := item(tt.W(1), topology.PreparePhase, "sysctl:net.ipv4.ip_forward", state.KindSysctl, map[string]any{"value": "1"})
	v := tt.Running(1, 1, recorded(module, sysctl))
	if got, want := described(drift.Drift(v, snapshot(), snapshot())), "delete w1/net.ipv4.ip_forward"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDriftOfUnobservedHosts checks that a host that does not answer has no drift.
func TestDriftOfUnobservedHosts(t *testing.T) {
	t.Parallel()
	was := file(tt.W(1), topology.PreparePhase, "/etc/x", "0644")
	v := tt.Running(1, 1, recorded(was), tt.Down(tt.W(1)))
	observed := snapshot()
	observed.Unobserved = []state.Unobserved{v.Unobserved[tt.W(1)]}
	if got := described(drift.Drift(v, snapshot(was), observed)); got != "" {
		t.Errorf("got %q, want none", got)
	}
}

// TestDriftDuringRotations checks that a rotation that was interrupted explains another CA, and
// nothing else.
func TestDriftDuringRotations(t *testing.T) {
	t.Parallel()
	certificate := func(mode, ca string) state.Item {
		return item(tt.CP(1), topology.CertsPhase, "certificate:/etc/kubernetes/pki/apiserver", state.KindCertificate, map[string]any{"signed_by": ca, "key_mode": mode})
	}
	was := certificate("0600", "ca-1")
	for _, c := range []struct {
		name string
		is   state.Item
		want string
	}{
		{"another CA", certificate("0600", "ca-2"), ""},
		{"another mode as well", certificate("0644", "ca-2"), "update cp1//etc/kubernetes/pki/apiserver key_mode 0600>0644 signed_by ca-1>ca-2"},
	} {
		v := tt.Running(1, 0, recorded(was))
		v.Clusters[0].Rotating = []*topology.CARotation{{Old: "ca-1", New: "ca-2", Begun: true}}
		if got := described(drift.Drift(v, snapshot(was), snapshot(c.is))); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestDriftOfKeptValues checks that a value that ignore_changes keeps is no drift, as the desired
// value is the observed one.
func TestDriftOfKeptValues(t *testing.T) {
	t.Parallel()
	kubelet := func(pods int) state.Item {
		return item(tt.W(1), topology.KubeletStartPhase, "file:"+topology.KubeletConfig, state.KindYAMLFile, map[string]any{"maxPods": pods})
	}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		desired state.Item
		want    string
	}{
		{"it is kept", []tt.Change{leaves(tt.W(1), "kubelet", "config", "maxPods")}, kubelet(200), ""},
		{"it is corrected", nil, kubelet(110), "update w1//var/lib/kubelet/config.yaml maxPods 110>200"},
		{"it was changed in the configuration as well", nil, kubelet(200), "update w1//var/lib/kubelet/config.yaml maxPods 110>200"},
	} {
		v := tt.Running(1, 1, append([]tt.Change{recorded(kubelet(110))}, c.changes...)...)
		got := drift.Drift(v, snapshot(c.desired), snapshot(kubelet(200)))
		if text := described(got); text != c.want {
			t.Errorf("%s: got %q, want %q", c.name, text, c.want)
		}
	}
}

// TestDriftOfImpliedAttributes checks that a kubelet whose version was recorded, and whose Node is
// missing now, has drifted although no Node was recorded.
func TestDriftOfImpliedAttributes(t *testing.T) {
	t.Parallel()
	unit := func(attributes map[string]any) state.Item {
		return item(tt.W(1), topology.KubeletStartPhase, "unit:"+topology.KubeletUnit, state.KindUnit, attributes)
	}
	desired := unit(map[string]any{"active": "active", "version": "1.36.3", "registered": true})
	missing := unit(map[string]any{"active": "active", "version": "1.36.3", "registered": false})
	for _, c := range []struct {
		name string
		was  state.Item
		want bool
	}{
		{"it had a Node", unit(map[string]any{"active": "active", "version": "1.36.3"}), true},
		{"it never had one", unit(map[string]any{"active": "active"}), false},
	} {
		v := tt.Running(1, 1, recorded(c.was))
		var found bool
		for _, ch := range drift.Drift(v, snapshot(desired), snapshot(missing)) {
			for _, a := range ch.Attributes {
				found = found || a.Path == "registered" && a.Before.AsBool() && !a.After.AsBool()
			}
		}
		if found != c.want {
			t.Errorf("%s: drift is %v, want %v", c.name, found, c.want)
		}
		if was := v.RecordedItems.Find(c.was.Address); !was.Attributes.Get("registered").IsNull() {
			t.Errorf("%s: the record itself was changed", c.name)
		}
	}
}
