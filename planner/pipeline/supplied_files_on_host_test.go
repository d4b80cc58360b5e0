package pipeline_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// TestSuppliedFilesStayWithoutFolder checks that supplied files on a host stay in force without those in the folder, as
// long as they exist and are what the node needs.
func TestSuppliedFilesStayWithoutFolder(t *testing.T) {
	t.Parallel()
	h := withoutKeys(t, 1, 1)
	o := newOperator(t, h.config)
	o.must(o.apply())
	clear(h.files())
	o.wantNothing()
	api := &h.config.Clusters[0].APIServer
	const cp = "10.0.0.11"
	for _, c := range []struct {
		name      string
		edit      string
		change    func()
		errors    bool
		want      string
		afterward func()
	}{
		{name: "nothing", change: func() {}},
		{
			name: "another name", change: func() { api.CertSANs = []string{"other.example.com"} }, errors: true,
			want:      "cp1/pki/apiserver: the one on the host: it is not valid for other.example.com; a new one must be CN=kube-apiserver, for server auth",
			afterward: func() { api.CertSANs = nil },
		},
		{name: "half of it in the folder", change: func() { h.files()["cp1/pki/apiserver.key"] = state.NewSecret([]byte("x")) }, errors: true, want: "there is no cp1/pki/apiserver.crt", afterward: func() { clear(h.files()) }},
		{name: "key gone", edit: "file /etc/kubernetes/pki/etcd/peer.key delete", errors: true, want: "cp1/pki/etcd/peer: there is no cp1/pki/etcd/peer.key and no cp1/pki/etcd/peer.crt"},
		{name: "kubeconfig gone", edit: "file /etc/kubernetes/scheduler.conf delete", errors: true, want: "cp1/scheduler.conf: there is no cp1/scheduler.conf"},
	} {
		if c.edit != "" {
			o.must(sim.Edit(o.world, cp, c.edit))
		} else {
			c.change()
		}
		r, diags := pipeline.Plan(o.observe(), planner.Plan{}, planner.Options{})
		show(t, diags...)
		var text strings.Builder
		for _, d := range diags {
			text.WriteString(d.Summary + ": " + d.Detail + "\n")
		}
		if diags.HasErrors() != c.errors || !strings.Contains(text.String(), c.want) || c.want == "" && len(diags) > 0 {
			t.Errorf("%s: %s", c.name, text.String())
		}
		if !c.errors && !r.Plan.Empty() {
			t.Errorf("%s: the plan is not empty:\n%s", c.name, describe(r.Plan))
		}
		if c.afterward != nil {
			c.afterward()
		}
	}
}
