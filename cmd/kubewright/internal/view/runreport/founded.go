package runreport

import (
	"io"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// Founded is a cluster that a run has founded.
type Founded struct {
	Cluster state.Target
	// Kubeconfig is the command that gives kubectl access.
	Kubeconfig string
	// Simulated reports whether its hosts are simulated.
	Simulated bool
	// NoNetwork are the nodes that no network plugin has configured yet; Addons reports whether
	// an addon may still do that.
	NoNetwork []state.Target
	Addons    bool
}

// Place is where the state is kept.
type Place struct {
	Name string
	// Local reports whether it is a file on this machine.
	Local bool
}

// NextSteps prints what comes after the apply that has founded clusters: access, the pod network
// where there is none, and where the state is.
func NextSteps(w io.Writer, clusters []Founded, place Place, o ui.Options) error {
	p := ui.NewPage(o)
	for _, c := range clusters {
		p.Line()
		name := ui.Clean(c.Cluster.String())
		if c.Simulated {
			p.Prose(name + " is simulated: kubectl does not reach it. Change a host by hand with kubewright sim edit, and kubewright plan shows the difference.")
			continue
		}
		p.Prose("kubectl reaches " + name + " after")
		p.Line()
		p.Line("  " + ui.Clean(c.Kubeconfig))
		if len(c.NoNetwork) > 0 {
			p.Line()
			p.Prose(noNetwork(c))
			p.Line()
			p.Line(`  addon "cni" { manifest = file("flannel.yaml") }`)
		}
	}
	p.Line()
	text := "The state is kept at " + ui.Clean(place.Name) + "."
	if place.Local {
		text += " Every later plan needs it: back it up, and keep it out of git. A backend keeps it where a team reaches it (docs/how-to/share-the-state.md)."
	}
	p.Prose(text)
	return p.Flush(w)
}

// maxWithoutNetwork is the number of nodes without a pod network that are named.
const maxWithoutNetwork = 5

func noNetwork(c Founded) string {
	var names []string
	for _, t := range c.NoNetwork[:min(len(c.NoNetwork), maxWithoutNetwork)] {
		names = append(names, ui.Clean(t.String()))
	}
	if more := len(c.NoNetwork) - len(names); more > 0 {
		names = append(names, ui.Plural(more, "other node"))
	}
	text := "There is no pod network yet: until a network plugin runs, pods on " + ui.CommaList(names) + " do not start, or do not reach each other. "
	if c.Addons {
		return text + "Unless an addon brings it, apply its manifest with kubectl, or write it in the cluster block:"
	}
	return text + "Apply its manifest with kubectl, or write it in the cluster block:"
}
