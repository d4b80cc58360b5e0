package runreport_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/runreport"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/state"
)

// TestNextStepsReport checks what a user is shown after a cluster was founded.
func TestNextStepsReport(t *testing.T) {
	t.Parallel()
	var many []state.Target
	for i := range 9 {
		many = append(many, state.NodeKeyTarget("worker", fmt.Sprintf("w%d", i+1)))
	}
	file := runreport.Place{Name: "/home/ada/prod/kubewright.state.json", Local: true}
	var out bytes.Buffer
	for _, shown := range []struct {
		clusters []runreport.Founded
		place    runreport.Place
	}{
		{[]runreport.Founded{{Cluster: viewtest.Prod, Kubeconfig: "kubewright kubeconfig -merge", NoNetwork: many}}, file},
		{[]runreport.Founded{{Cluster: viewtest.Prod, Kubeconfig: "kubewright kubeconfig -merge", NoNetwork: many[:1], Addons: true}}, file},
		{[]runreport.Founded{
			{Cluster: viewtest.Prod, Kubeconfig: "kubewright kubeconfig -merge -cluster=prod"},
			{Cluster: state.ClusterTarget("edge"), Kubeconfig: "kubewright kubeconfig -merge -cluster=edge"},
		}, runreport.Place{Name: "s3://bucket/prod.json"}},
		{[]runreport.Founded{{Cluster: viewtest.Prod, Simulated: true, NoNetwork: many}}, file},
	} {
		if err := runreport.NextSteps(&out, shown.clusters, shown.place, ui.Options{Width: 80}); err != nil {
			t.Fatal(err)
		}
		out.WriteString("----\n")
	}
	viewtest.Golden(t, "next_steps.txt", out.String())
}
