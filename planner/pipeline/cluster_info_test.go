package pipeline_test

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestClusterInfoCADriftIsCorrected checks that cluster-info has the CA that joining nodes are to trust. A CA that was
// put there by hand is drift and is corrected, both for CAs of ours and for given ones.
func TestClusterInfoCADriftIsCorrected(t *testing.T) {
	t.Parallel()
	others := givenCA(t, "Somebody's CA", "ECDSA")
	for custody, begin := range map[string]func() *operator{
		"ours":    func() *operator { return founded(t, 1, 1).copy(t) },
		"given":   func() *operator { return newOperator(t, withCAs(t, 1, 1, true, "ECDSA")) },
		"without": func() *operator { return newOperator(t, withoutKeys(t, 1, 1).config) },
	} {
		for name, content := range map[string]string{
			"another's": infoOf(others.Certificate), "none": infoOf(""), "no kubeconfig": "text",
		} {
			t.Run(custody+"/"+name, func(t *testing.T) {
				t.Parallel()
				o := begin()
				o.must(o.apply())
				o.must(o.apply()) // records what the first one created
				o.edit("10.0.0.11", "object ConfigMap kube-public/cluster-info set data.kubeconfig="+strconv.Quote(content))
				p, err := o.plan()
				o.must(err)
				o.wantInfoDrift(p)
				o.must(o.carryOut())
				o.wantNothing()
				cas, trusted := o.observe().ClusterReports["prod"].InfoCAs, o.fleet.Reports[o.config.Nodes[0].Target].Files["/etc/kubernetes/pki/ca.crt"].Certificates
				if len(cas) != 1 || cas[0].Serial != trusted[0].Serial {
					t.Errorf("cluster-info has %v, want %v", cas, trusted)
				}
			})
		}
	}
}

// infoOf returns cluster-info's kubeconfig with a CA.
func infoOf(ca string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters:\n- name: ''\n  cluster: {server: 'https://api.example.com:6443', certificate-authority-data: %q}\n",
		base64.StdEncoding.EncodeToString([]byte(ca)))
}

// wantInfoDrift checks that the plan only writes cluster-info, and shows its changed CA as drift.
func (o *operator) wantInfoDrift(p *planner.Plan) {
	o.t.Helper()
	if len(p.Steps) != 1 || len(p.Steps[0].Operations) != 1 || len(p.Changes) != 1 {
		o.t.Fatalf("want a plan with cluster-info only:\n%s", describe(p))
	}
	ch := p.Changes[0]
	if ch.Address.ID() != state.ClusterInfo.String() || ch.Reason != planner.ReasonDrift || ch.Attributes[0].Path != "ca" {
		o.t.Errorf("the plan is\n%s", describe(p))
	}
	if len(p.Drift) != 1 || !strings.HasPrefix(p.Drift[0].Attributes[0].Path, "ca") {
		o.t.Errorf("drift is %+v", p.Drift)
	}
}
