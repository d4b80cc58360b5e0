package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

// adopted returns an operator with an adopted cluster that was made without kubewright: no host has our
// marker.
func adopted(t testing.TB, planes, workers int) *operator {
	t.Helper()
	o := founded(t, planes, workers)
	for _, n := range o.config.Nodes {
		o.edit(n.Address, "foreign")
	}
	o.recorded = &state.State{FormatVersion: 1, Lineage: "l1", FingerprintKey: "k1"}
	learned, diags := record.Adopt(o.observe(), []string{"prod"})
	wantFindings(t, diags)
	st, err := statefile.Fold(o.recorded, []state.Entry{{Kind: state.EntryDone, Lineage: "l1", Learned: learned}})
	o.must(err)
	o.recorded = st
	return o
}

// TestAdoptedClusterRotationContinuesAfterCrash checks that an interrupted rotation of an adopted cluster's CA continues
// from any point, even where hosts hold the new CA and have no marker yet.
func TestAdoptedClusterRotationContinuesAfterCrash(t *testing.T) {
	t.Parallel()
	o := adopted(t, 2, 1)
	o.rotate = []topology.Rotation{rotationOf(t, "ca")}
	crashAnywhere(t, o, 5)
}

// TestAdoptAcceptsUnmarkedHostIfItsCAIsKnown checks that a host without our marker belongs to the adopted cluster if
// a control plane knows the host's CA as well, and otherwise to another cluster.
func TestAdoptAcceptsUnmarkedHostIfItsCAIsKnown(t *testing.T) {
	t.Parallel()
	base := adopted(t, 1, 1)
	places(base.config)
	for name, c := range map[string]struct {
		// keeps is the file in which the control plane holds the worker's CA.
		keeps string
		want  []finding
	}{
		"of another cluster": {"", []finding{{diag.Error, "Host belongs to another cluster", "main.hcl:12", `node.worker["w1"]`, []string{
			`node.worker["w1"] (10.0.0.21) holds the CA ffffffffffff, and cluster "prod" was adopted with the CA `,
		}}}},
		"replaced at once, interrupted": {pkiDir + "ca-ended.crt", nil},
		"rotated, interrupted":          {pkiDir + "ca-old.crt", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			v := o.observe()
			strangeCA(v, o.config.Nodes[1])
			if c.keeps != "" {
				see(v, o.config.Nodes[0], c.keeps, func(f *state.FileReport) {
					f.Exists, f.Certificates = true, []state.CertificateInfo{{KeyDigest: strings.Repeat("f", 64)}}
				})
			}
			_, diags := o.planOf(v, planner.Options{})
			wantFindings(t, diags, c.want...)
		})
	}
}

// TestAdoptNamesMissingNodes checks that the adoption of a cluster without some of its nodes names these.
func TestAdoptNamesMissingNodes(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	places(o.config)
	for _, n := range o.config.Nodes {
		o.edit(n.Address, "foreign")
	}
	o.recorded = nil
	o.leave("w1")
	_, diags := record.Adopt(o.observe(), []string{"prod"})
	wantFindings(t, diags, finding{diag.Warning, "Cluster has unmanaged nodes", "main.hcl:1", "cluster.prod", []string{
		`Cluster "prod" is adopted without its unmanaged nodes: host-10-0-0-21.`, "Add their blocks first, or later and beside an import block of the cluster.",
	}})
}

// TestRecoverAdoptedCluster checks the recovery of an adopted cluster: only changed hosts have a marker, the
// others are recovered through them, and no node is missing items that it lacked before.
func TestRecoverAdoptedCluster(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(o *operator){
		"a worker was changed": func(o *operator) { o.config.Nodes[2].Labels = map[string]string{"a": "b"} },
		"the control planes were changed": func(o *operator) {
			o.config.Clusters[0].APIServer.Args = []config.Arg{{Name: "audit-log-maxage", Value: "30"}}
		},
		"all were changed, but for one that a run has only begun with": func(o *operator) {
			o.config.Clusters[0].Kubelet.Config = state.FromGo(map[string]any{"maxPods": 50})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := adopted(t, 2, 2)
			change(o)
			o.must(o.apply())
			o.wantNothing()
			o.recorded = nil
			v := o.observe()
			if strings.HasPrefix(name, "all") {
				v.Reports[o.config.Nodes[3].Target].Marks = &state.Marks{Lineage: "l1", Token: 3}
			}
			st, diags := record.Recover(v)
			wantFindings(t, diags)
			if st == nil {
				return
			}
			for _, n := range o.config.Nodes {
				switch rec := st.Nodes[n.Target]; {
				case rec == nil || rec.Adopted == nil:
					t.Errorf("%s is recovered as %+v", n.Target, rec)
				case !slices.Contains(rec.Adopted.Without, "prepare/file:/etc/sysctl.d/99-kubewright.conf"):
					t.Errorf("%s lacks %q", n.Target, rec.Adopted.Without)
				}
			}
		})
	}
}
