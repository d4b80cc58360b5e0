package listing

import (
	"io"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/providers/diagnosis"
)

// Examined is what was found on a host.
type Examined struct {
	Target string
	// Cluster reports whether it is a cluster, as API and etcd report it, and no host.
	Cluster bool
	// Silent is why the host cannot be asked, and Remedy what to do; empty if it answers.
	Silent, Remedy string
	// Node is what the API says against the node.
	Node   []string
	Causes []diagnosis.Cause
}

// Well reports whether nothing was found.
func (e Examined) Well() bool { return e.Silent == "" && len(e.Node) == 0 && len(e.Causes) == 0 }

// Doctor prints what was found on each host, those where nothing is wrong in one line each.
func Doctor(w io.Writer, found []Examined, o ui.Options) error {
	p := ui.NewPage(o)
	for _, e := range found {
		if e.Well() {
			p.Line(ui.Clean(e.Target), ": nothing is wrong")
			continue
		}
		p.Line(p.Bold(ui.Clean(e.Target)), ":")
		if e.Silent != "" {
			item(p, e.Silent, nil, e.Remedy)
		}
		for _, text := range e.Node {
			item(p, text, nil, diagnosis.RemedyOfCondition(text))
		}
		for _, c := range e.Causes {
			item(p, c.String(), c.Log, c.Remedy())
		}
	}
	return p.Flush(w)
}

// BundleWritten prints where a support bundle is.
func BundleWritten(w io.Writer, file string, o ui.Options) error {
	p := ui.NewPage(o)
	p.Line()
	p.Line("The support bundle is ", ui.Clean(file), ". Read its files before you send it.")
	return p.Flush(w)
}

// item prints one finding with its log and remedy.
func item(p *ui.Page, text string, log []string, remedy string) {
	p.Line("  ", ui.Wrap(p.Red("- ")+ui.CleanText(text), p.Width-4, "    "))
	for _, line := range log {
		p.Line("      ", p.Dim(ui.Clean(shortened(line))))
	}
	if remedy != "" {
		p.Line("    ", ui.Wrap("To do: "+ui.CleanText(remedy)+".", p.Width-4, "    "))
	}
}

// Of a long line of a log its beginning and, where programs write the reason, its end are printed, so
// that causes and remedies fit on one screen. JSON has all of it.
const (
	shownHead = 120
	shownTail = 230
)

func shortened(line string) string {
	if r := []rune(line); len(r) > shownHead+shownTail {
		return string(r[:shownHead]) + " … " + string(r[len(r)-shownTail:])
	}
	return line
}

// DoctorJSON is Doctor for programs.
func DoctorJSON(w io.Writer, found []Examined, _ ui.Options) error {
	type cause struct {
		Subject string   `json:"subject"`
		Problem string   `json:"problem"`
		Remedy  string   `json:"remedy,omitempty"`
		Log     []string `json:"log,omitempty"`
	}
	type host struct {
		Address string   `json:"address"`
		Well    bool     `json:"well"`
		Silent  string   `json:"unreachable,omitempty"`
		Remedy  string   `json:"remedy,omitempty"`
		Node    []string `json:"node,omitempty"`
		Causes  []cause  `json:"causes,omitempty"`
	}
	out := struct {
		FormatVersion string `json:"format_version"`
		Hosts         []host `json:"hosts"`
	}{FormatVersion: ui.JSONVersion, Hosts: []host{}}
	for _, e := range found {
		h := host{Address: e.Target, Well: e.Well(), Silent: e.Silent, Remedy: e.Remedy, Node: e.Node}
		for _, c := range e.Causes {
			h.Causes = append(h.Causes, cause{c.Subject, c.Problem, c.Remedy(), c.Log})
		}
		out.Hosts = append(out.Hosts, h)
	}
	return ui.WriteJSON(w, out)
}
