package rotation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// staged returns the draft of a plan with the stages of the rotations, in which each control plane has
// one other step, and the cluster with them.
func staged(t *testing.T, v *topology.Fleet) (*topology.Builder, *topology.Cluster) {
	t.Helper()
	v, changes, items := rotation.RotationStages(v, &state.Snapshot{})
	b := &topology.Builder{
		Draft:   &planner.Draft{Edges: map[state.Address][]state.Address{}, Turns: map[state.Address][]state.Address{}, Closes: map[state.Address][]state.Address{}, Serves: map[state.Address]bool{}, Limits: map[string]int{}},
		Desired: &state.Snapshot{Items: items}, Changes: map[state.Address][]planner.Change{}, Access: map[state.Address][]planner.Operation{},
	}
	b.Desired.Sort()
	for _, c := range changes {
		b.Changes[c.Address.Step()] = append(b.Changes[c.Address.Step()], c)
	}
	for _, n := range v.Clusters[0].ControlPlanes() {
		b.Draft.Edges[topology.StepAddress(n.Target, topology.ImagesPhase)] = nil
	}
	rotation.AddStages(b, v.Clusters[0])
	return b, v.Clusters[0]
}

// steps returns the steps of a phase, in order.
func steps(b *topology.Builder, phase string) []planner.Step {
	return slices.DeleteFunc(slices.Clone(b.Draft.Steps), func(s planner.Step) bool { return s.Phase != phase })
}

func names(list []planner.Step) string {
	var out []string
	for _, s := range list {
		out = append(out, topology.ShortName(s.Target)+"@"+s.ID.Waypoint)
	}
	return strings.Join(out, " ")
}

// TestAddStagesOrdersControlPlanes checks that a stage changes the certificates of one control plane
// after the other, that each stage waits for the one before, and that all other steps wait for the
// end.
func TestAddStagesOrdersControlPlanes(t *testing.T) {
	t.Parallel()
	v := rotating(2, 1, requests("ca"))
	b, c := staged(t, v)
	const want = "cp1@trust-both cp2@trust-both cp1@reissue cp2@reissue cp1@drop-old cp2@drop-old cp1@rotated cp2@rotated"
	if got := names(steps(b, topology.CertsPhase)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	stage := c.Stages
	for _, c := range []struct {
		step, after state.Address
	}{
		{stage[0].Step(tt.CP(2), topology.CertsPhase), stage[0].Step(tt.CP(1), topology.ControlPlanePhase)},
		{stage[0].Step(tt.W(1), topology.KubeletStartPhase), stage[0].Step(tt.CP(2), topology.ControlPlanePhase)},
		{stage[1].Step(tt.CP(1), topology.CertsPhase), stage[0].Step(v.Clusters[0].Target, topology.AddonPhase)},
		{stage[2].Step(tt.CP(1), topology.CertsPhase), stage[1].Step(v.Clusters[0].Target, topology.AddonPhase)},
		{rotated(tt.CP(2)), stage[2].Step(v.Clusters[0].Target, topology.AddonPhase)},
		{topology.StepAddress(tt.CP(1), topology.ImagesPhase), rotated(tt.CP(2))},
	} {
		if !slices.Contains(b.Draft.Edges[c.step], c.after) {
			t.Errorf("%s does not wait for %s: %v", c.step, c.after, b.Draft.Edges[c.step])
		}
	}
	if got, want := strings.Join(b.Draft.Rotations, "\n"), "cluster.prod/ca: all components trust both"; !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func rotated(t state.Target) state.Address {
	id := topology.StepAddress(t, topology.CertsPhase)
	id.Waypoint = rotation.Rotated
	return id
}

// TestAddStagesMakesOneCA checks what the stages do with the CA files: the primary makes the new CA,
// the others copy it, all of them trust both, and at the end only the new one.
func TestAddStagesMakesOneCA(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		changes []tt.Change
		// makes and copies are the nodes that make and copy the new CA, drops those that drop the
		// old one.
		makes, copies, drops string
	}{
		{"it begins", []tt.Change{requests("ca")}, "cp1", "cp2", "cp1 cp2"},
		{"the primary has the new CA", []tt.Change{next(tt.CP(1), "ca-2"), holds(tt.CP(1), ca+".crt", "ca-1", "ca-2")}, "", "cp2", "cp1 cp2"},
		{"all trust both", []tt.Change{begun, holds(tt.CP(1), ca+"-old.crt", "ca-1"), holds(tt.CP(2), ca+"-old.crt", "ca-1")}, "", "", "cp1 cp2"},
		{"one has dropped the old one", []tt.Change{begun, holds(tt.CP(1), ca+".crt", "ca-2")}, "", "", "cp2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, _ := staged(t, rotating(2, 1, c.changes...))
			var makes, copies, drops []string
			for _, s := range steps(b, topology.CertsPhase) {
				for _, op := range s.Operations {
					name := topology.ShortName(s.Target)
					switch op := op.(type) {
					case planner.IssueCA:
						makes = append(makes, name)
					case planner.CopySecrets:
						if s.ID.Waypoint == topology.TrustBoth && op.From == tt.CP(1) {
							copies = append(copies, name)
						}
					case planner.BundleTrust:
						if s.ID.Waypoint == topology.DropOld && op.To == ca+".crt" && slices.Equal(op.Of, []string{ca + "-next.crt"}) {
							drops = append(drops, name)
						}
					}
				}
			}
			for _, w := range []struct {
				what string
				got  []string
				want string
			}{{"make the CA", makes, c.makes}, {"copy it", copies, c.copies}, {"drop the old one", drops, c.drops}} {
				if got := strings.Join(slices.Compact(w.got), " "); got != w.want {
					t.Errorf("to %s: got %q, want %q", w.what, got, w.want)
				}
			}
		})
	}
}

// TestAddStagesIssuesLostCertificates checks that a certificate that a control plane has lost is issued
// before the stages, by the CA that all components trust then.
func TestAddStagesIssuesLostCertificates(t *testing.T) {
	t.Parallel()
	lost := tt.File(tt.CP(2), pki+"/apiserver.crt", func(f *state.FileReport) { *f = state.FileReport{} })
	reissued := func(v *topology.Fleet) { issued(tt.CP(1), "apiserver", "ca-2")(v) }
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    string
	}{
		{"nothing is lost", []tt.Change{begun}, ""},
		{"the new CA has signed nothing", []tt.Change{begun, lost}, "cp2 " + ca},
		{"the new CA has signed another one", []tt.Change{begun, lost, reissued}, "cp2 " + ca + "-next"},
	} {
		b, _ := staged(t, rotating(2, 1, c.changes...))
		got := ""
		for _, s := range steps(b, topology.CertsPhase) {
			for _, op := range s.Operations {
				if op, ok := op.(planner.IssueCertificate); ok && s.ID.Waypoint == "restarted" {
					got += topology.ShortName(s.Target) + " " + op.CA.Base
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRotationStagesSetSigners checks with which files controller managers sign in each stage: never
// with a file of two CAs.
func TestRotationStagesSetSigners(t *testing.T) {
	t.Parallel()
	v := rotating(2, 0, requests("ca"))
	_, _, items := rotation.RotationStages(v, &state.Snapshot{})
	want := map[string]string{topology.TrustBoth: ca + "-old.crt", topology.Reissue: ca + "-next.crt", topology.DropOld: ca + ".crt"}
	for _, target := range []state.Target{tt.CP(1), tt.CP(2)} {
		for stage, file := range want {
			a := topology.ItemAddress(target, topology.ControlPlanePhase, "file", topology.Manifest("kube-controller-manager"))
			a.Waypoint = stage
			i := slices.IndexFunc(items, func(it state.Item) bool { return it.Address == a })
			if i < 0 {
				t.Errorf("%s is missing", a)
				continue
			}
			if got := items[i].Attributes.Get("args.cluster-signing-cert-file").AsString(); got != file {
				t.Errorf("%s of %s: got %s, want %s", stage, topology.ShortName(target), got, file)
			}
		}
	}
}

// TestOfRotation checks which steps the user has requested with a rotation.
func TestOfRotation(t *testing.T) {
	t.Parallel()
	for waypoint, want := range map[string]bool{
		"": false, "1.35.8": false, "batch-1": false,
		topology.TrustBoth: true, topology.Reissue: true, topology.DropOld: true, rotation.Rotated: true, "restarted": true, "replaced": true,
	} {
		id := topology.StepAddress(tt.CP(1), topology.CertsPhase)
		id.Waypoint = waypoint
		if got := rotation.OfRotation(planner.Step{ID: id}); got != want {
			t.Errorf("%q: got %v, want %v", waypoint, got, want)
		}
	}
}
