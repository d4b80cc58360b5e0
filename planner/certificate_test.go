package planner_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestFirstExpiringCertificatePerCluster checks which certificate expires first in each cluster, ignoring those that the
// plan reissues, that a kubelet renews in time, or that no component verifies. Hours do not count.
func TestFirstExpiringCertificatePerCluster(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 3, 2, 9, 0, 0, 0, time.UTC)
	a, b := state.ClusterTarget("a"), state.ClusterTarget("b")
	end := func(c state.Target, path string, days, hours int, by planner.Renewer) planner.CertificateEnd {
		return planner.CertificateEnd{Cluster: c, Path: path, NotAfter: at.AddDate(0, 0, days).Add(time.Duration(hours) * time.Hour), RenewedBy: by}
	}
	changed, late := end(a, "changed", -9, 0, planner.ByApply), end(b, "late", 1, 0, planner.ByKubelet)
	changed.Changed, late.Due = true, true
	p := &planner.Plan{Certificates: []planner.CertificateEnd{
		end(a, "ca", 3000, 0, planner.ByRotation), changed, end(a, "kubelet.crt", 2, 0, planner.NotRenewed), end(a, "kubelet", 3, 0, planner.ByKubelet),
		end(a, "first", 30, 2, planner.ByApply), end(b, "own", 2, 0, planner.ByOperator), end(a, "the same day", 30, 1, planner.ByApply), late,
	}}
	var got []string
	for _, e := range p.FirstEnds() {
		got = append(got, fmt.Sprint(e.Cluster, " ", e.Path))
	}
	if want := []string{"cluster.a first", "cluster.b late"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&planner.Plan{}).FirstEnds(); got != nil {
		t.Errorf("without certificates, got %v", got)
	}
}
