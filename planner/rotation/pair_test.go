package rotation

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// TestPairTrust checks what makes a control plane trust both pairs, whether they are CAs or service
// account keys: the operations continue where an earlier apply has stopped, and do not copy from a
// file that was lost.
func TestPairTrust(t *testing.T) {
	t.Parallel()
	for _, p := range []pair{caPair("/pki/x"), tokenPair("/pki/x")} {
		whole := map[string]string{p.next(): "new", p.nextKey(): "key", p.old(): "old", p.trusted(): "old,new"}
		without := func(path string) map[string]string {
			out := map[string]string{}
			for other, ids := range whole {
				if other != path {
					out[other] = ids
				}
			}
			return out
		}
		const bring, old, both = "bring", "old", "both"
		for _, c := range []struct {
			name  string
			begun bool
			files map[string]string
			want  []string
		}{
			{"nothing is begun", false, map[string]string{p.trusted(): "old"}, []string{bring, old, both}},
			{"another control plane has begun", true, map[string]string{p.trusted(): "old"}, []string{bring, old, both}},
			{"everything is there", true, whole, nil},
			{"the new key is missing", true, without(p.nextKey()), []string{bring, old, both}},
			{"the old identity is missing", true, without(p.old()), []string{old, both}},
			{"the trusted file is lost", true, without(p.trusted()), []string{both}},
		} {
			n := tt.Running(1, 0).Clusters[0].Node(tt.CP(1))
			for path, ids := range c.files {
				f := state.FileReport{Exists: true}
				for id := range strings.SplitSeq(ids, ",") {
					f.PublicKeys, f.Certificates = append(f.PublicKeys, id), append(f.Certificates, state.CertificateInfo{KeyDigest: id})
				}
				n.Report.Files[path] = f
			}
			var got []string
			for _, op := range p.trust(n, c.begun, "old", "new", planner.IssueKeyPair{To: bring}) {
				switch op := op.(type) {
				case planner.IssueKeyPair:
					got = append(got, bring)
				case planner.BundleTrust:
					got = append(got, map[string]string{p.old(): old, p.trusted(): both}[op.To])
				}
			}
			if strings.Join(got, ", ") != strings.Join(c.want, ", ") {
				t.Errorf("%s, %s: got %v, want %v", p.public, c.name, got, c.want)
			}
		}
	}
}
