package rotation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

func snapshot(items ...state.Item) *state.Snapshot {
	s := &state.Snapshot{Items: items}
	s.Sort()
	return s
}

// TestRefuseDamagedNamesRepairs checks that no rotation begins while something that it changes has to be
// repaired.
func TestRefuseDamagedNamesRepairs(t *testing.T) {
	t.Parallel()
	manifest := func(t state.Target, mode string) state.Item {
		return state.Item{Address: topology.ItemAddress(t, topology.ControlPlanePhase, "file", topology.Manifest("kube-scheduler")), Kind: state.KindStaticPod, Attributes: state.FromGo(map[string]any{"mode": mode})}
	}
	file := func(t state.Target, phase, path, mode string) state.Item {
		return state.Item{Address: topology.ItemAddress(t, phase, "file", path), Kind: state.KindFile, Attributes: state.FromGo(map[string]any{"mode": mode})}
	}
	kubelet := func(mode string) state.Item {
		return file(tt.W(1), topology.KubeletStartPhase, topology.KubeletConfig, mode)
	}
	pod := manifest(tt.CP(1), "0600")
	const title, cp1 = "error: Cluster must be repaired before a rotation", `node.cp["cp1"] (10.0.0.11): `
	for _, c := range []struct {
		name                   string
		changes                []tt.Change
		was, desired, observed []state.Item
		want                   [][]string
	}{
		{"nothing differs", []tt.Change{requests("ca")}, []state.Item{pod}, []state.Item{pod}, []state.Item{pod}, nil},
		{"a manifest is missing", []tt.Change{requests("ca")}, []state.Item{pod}, []state.Item{pod}, nil, [][]string{{title, cp1 + `file "/etc/kubernetes/manifests/kube-scheduler.yaml" is missing`}}},
		{"a manifest was changed", []tt.Change{requests("ca")}, []state.Item{pod}, []state.Item{pod}, []state.Item{manifest(tt.CP(1), "0644")}, [][]string{{title, cp1 + `file "/etc/kubernetes/manifests/kube-scheduler.yaml" was changed (mode)`}}},
		{"the configuration was changed", []tt.Change{requests("ca")}, []state.Item{manifest(tt.CP(1), "0644")}, []state.Item{pod}, []state.Item{manifest(tt.CP(1), "0644")}, nil},
		{"a file that no rotation changes", []tt.Change{requests("ca")}, []state.Item{file(tt.CP(1), topology.PreparePhase, "/etc/x", "0644")}, []state.Item{file(tt.CP(1), topology.PreparePhase, "/etc/x", "0644")}, nil, nil},
		{"a kubelet of a worker", []tt.Change{requests("ca")}, []state.Item{kubelet("0644")}, []state.Item{kubelet("0644")}, []state.Item{kubelet("0600")}, [][]string{{title, `node.worker["w1"] (10.0.1.11): file "/var/lib/kubelet/config.yaml" was changed (mode)`}}},
		{"a kubelet of a worker, which does not have the front proxy's CA", []tt.Change{requests("front-proxy-ca")}, []state.Item{kubelet("0644")}, []state.Item{kubelet("0644")}, []state.Item{kubelet("0600")}, nil},
		{"the rotation has begun", []tt.Change{begun}, []state.Item{pod}, []state.Item{pod}, nil, nil},
		{"no rotation", nil, []state.Item{pod}, []state.Item{pod}, nil, nil},
		{"a refresh-only plan", []tt.Change{requests("ca"), func(v *topology.Fleet) { v.RefreshOnly = true }}, []state.Item{pod}, []state.Item{pod}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := rotating(1, 1, append(c.changes, func(v *topology.Fleet) { v.Recorded.Items = c.was })...)
			wantFindings(t, rotation.RefuseDamaged(v, snapshot(c.desired...), snapshot(c.observed...)), c.want...)
		})
	}
}

// TestMendedComponentsHinderNoStage checks which failing components no stage waits for, since the rotation repairs them.
func TestMendedComponentsHinderNoStage(t *testing.T) {
	t.Parallel()
	told := topology.ItemAddress(tt.CP(1), topology.ControlPlanePhase, "file", topology.Manifest("kube-controller-manager"))
	told.Waypoint = topology.TrustBoth
	stale := tt.Host(tt.CP(1), func(r *state.Report) {
		f := r.Files[pki+"/etcd/ca.crt"]
		f.Modified = tt.Now
		r.Files[pki+"/etcd/ca.crt"] = f
		r.Started = map[string]time.Time{"etcd": tt.Now.Add(-time.Hour)}
	})
	for _, c := range []struct {
		name    string
		changes []tt.Change
		told    bool
		want    string
	}{
		{"nothing repairs them", []tt.Change{requests("ca")}, false, "etcd kube-controller-manager"},
		{"a stage sets the signing CA", []tt.Change{requests("ca")}, true, "etcd"},
		{"etcd has not read its CA, and the rotation has begun", []tt.Change{begun, stale}, false, "kube-controller-manager"},
		{"etcd has not read its CA, and the rotation begins", []tt.Change{requests("ca"), stale}, false, "etcd kube-controller-manager"},
	} {
		v := rotating(1, 0, c.changes...)
		v, _, _ = rotation.RotationStages(v, &state.Snapshot{})
		failed := map[state.Target][]string{tt.CP(1): {"etcd", "kube-controller-manager"}}
		var changes []planner.Change
		if c.told {
			changes = append(changes, planner.Change{Address: told})
		}
		if got := strings.Join(rotation.WithoutMended(v.Clusters[0], failed, changes)[tt.CP(1)], " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAddStagesRotatesKeys checks what the stages do with the service account keys: the primary makes
// the pair, the others copy it, then all sign with it, and when that is long enough ago the old one is
// dropped.
func TestAddStagesRotatesKeys(t *testing.T) {
	t.Parallel()
	signed := changed(
		nextKey(tt.CP(1), "k2"), nextKey(tt.CP(2), "k2"), accepts(tt.CP(1), "k1", "k2"), accepts(tt.CP(2), "k1", "k2"),
		signs(tt.CP(1), "k2", tt.Now.AddDate(0, 0, -2)), signs(tt.CP(2), "k2", tt.Now.AddDate(0, 0, -2)),
		func(v *topology.Fleet) { v.ClusterReports[tt.Label].TokensSeen = true },
	)
	for _, c := range []struct {
		name           string
		changes        []tt.Change
		want, sentence string
	}{
		{"it begins", []tt.Change{requests("service-account")}, "cp1@trust-both makes; cp2@trust-both copies sa-next.key sa-next.pub; cp1@reissue copies sa.key; cp2@reissue copies sa.key", "both keys are accepted, then the new one signs"},
		{"the old one is dropped", []tt.Change{signed}, "cp1@drop-old copies sa.pub; cp2@drop-old copies sa.pub", "tokens of the old key are no longer accepted."},
	} {
		b, _ := staged(t, rotating(2, 0, c.changes...))
		var got []string
		for _, s := range steps(b, topology.CertsPhase) {
			for _, op := range s.Operations {
				text := ""
				switch op := op.(type) {
				case planner.IssueKeyPair:
					text = " makes"
				case planner.CopySecrets:
					text = " copies"
					for _, f := range op.Files {
						text += strings.ReplaceAll(f.Path, pki+"/", " ")
					}
				}
				if text != "" {
					got = append(got, names([]planner.Step{s})+text)
				}
			}
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, text, c.want)
		}
		if !slices.ContainsFunc(b.Draft.Rotations, func(text string) bool { return strings.Contains(text, "cluster.prod/service-account: "+c.sentence) }) {
			t.Errorf("%s: got %q, want %s", c.name, b.Draft.Rotations, c.sentence)
		}
	}
}
