package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

const pkiDir = "/etc/kubernetes/pki/"

// finding is an expected diagnostic.
type finding struct {
	severity diag.Severity
	summary  string
	// at is the place in the notation of places, of the address that it is about.
	at, of string
	// says lists parts of the detail.
	says []string
}

// places sets the source of every block of a configuration: clusters in lines 1, 2, … and nodes in
// lines 11, 12, … of main.hcl.
func places(cfg *config.Config) *config.Config {
	at := func(line int) state.Source { return state.Source{File: "main.hcl", Line: line, Column: 1} }
	for i, c := range cfg.Clusters {
		c.Source = at(1 + i)
	}
	for i, n := range cfg.Nodes {
		n.Source = at(11 + i)
	}
	return cfg
}

// diagnose observes and plans, and returns the diagnostics.
func (o *operator) diagnose() diag.Diagnostics {
	o.fleet = o.observe()
	_, diags := pipeline.Plan(o.fleet, planner.Plan{}, planner.Options{})
	return diags
}

// wantFindings checks that the diagnostics are exactly these, in any order.
func wantFindings(t testing.TB, diags diag.Diagnostics, want ...finding) {
	t.Helper()
	show(t, diags...)
	for _, w := range want {
		if d := w.in(diags); d == nil {
			t.Errorf("%s %q at %q of %q is not among\n%s", w.severity, w.summary, w.at, w.of, printedFindings(diags))
		} else {
			w.check(t, d)
		}
	}
	if len(diags) != len(want) {
		t.Errorf("got %d findings, want %d:\n%s", len(diags), len(want), printedFindings(diags))
	}
}

func (w finding) in(diags diag.Diagnostics) *diag.Diagnostic {
	for _, d := range diags {
		if d.Severity == w.severity && d.Summary == w.summary && d.Subject.String() == w.at && d.Address == w.of {
			return d
		}
	}
	return nil
}

func (w finding) check(t testing.TB, d *diag.Diagnostic) {
	t.Helper()
	for _, part := range w.says {
		if !strings.Contains(d.Detail, part) {
			t.Errorf("%s: %q is not in\n%s", d.Summary, part, d.Detail)
		}
	}
	for _, broken := range []string{"%!", "<nil>", ": .", " ()", "\"\"", "..", "  .\n"} {
		if strings.Contains(d.Detail, broken) {
			t.Errorf("%s: something is missing (%q) in\n%s", d.Summary, broken, d.Detail)
		}
	}
}

func printedFindings(diags diag.Diagnostics) string {
	var b strings.Builder
	for _, d := range diags {
		b.WriteString(string(d.Severity) + " " + d.Summary + " at " + d.Subject.String() + " of " + d.Address + "\n" + d.Detail + "\n\n")
	}
	return b.String()
}

// saying returns the finding with additional parts of the detail.
func (w finding) saying(parts ...string) finding {
	w.says = append(slices.Clone(w.says), parts...)
	return w
}

// edit changes something on a host by hand.
func (o *operator) edit(address string, edits ...string) {
	o.t.Helper()
	for _, e := range edits {
		o.must(sim.Edit(o.world, address, e))
	}
}

// leave removes nodes from the configuration.
func (o *operator) leave(keys ...string) {
	o.config.Nodes = slices.DeleteFunc(slices.Clone(o.config.Nodes), func(n *config.Node) bool { return slices.Contains(keys, n.Target.Key) })
}

// see changes the observed report of a file on a host.
func see(v *topology.Fleet, n *config.Node, path string, change func(*state.FileReport)) {
	f := v.Reports[n.Target].Files[path]
	f.Certificates, f.PublicKeys = slices.Clone(f.Certificates), slices.Clone(f.PublicKeys)
	change(&f)
	v.Reports[n.Target].Files[path] = f
}

// planOf plans a view against the operator's state.
func (o *operator) planOf(v *topology.Fleet, options planner.Options) (topology.Result, diag.Diagnostics) {
	v.Key = state.NewKey(o.recorded.FingerprintKey)
	return pipeline.Plan(v, planner.Plan{}, options)
}
