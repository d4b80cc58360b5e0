package planview

import (
	"io"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
)

// ImportGaps are the parts of imported clusters that their configuration cannot express.
type ImportGaps struct {
	// Keyless are the CAs whose key is not in the cluster, and Supplied is the folder for
	// certificates that were signed elsewhere.
	Keyless  []string
	Supplied string
	// Taints are the taints of workers, as NODE (KEY=VALUE:EFFECT).
	Taints []string
}

// Add adds the gaps of another cluster.
func (u *ImportGaps) Add(other ImportGaps) {
	u.Keyless, u.Taints = append(u.Keyless, other.Keyless...), append(u.Taints, other.Taints...)
	u.Supplied = other.Supplied
}

// Generated prints the file that a plan has written for the clusters that it imports.
func Generated(w io.Writer, file string, not ImportGaps, o ui.Options) error {
	p := ui.NewPage(o)
	p.Line()
	p.Rule()
	p.Line()
	p.Prose("Written " + ui.Clean(file) + ", the configuration of what is imported. Read it, and change what you want otherwise, before you apply: the next plan uses it.")
	printGaps(p, not)
	return p.Flush(w)
}

// Imported prints what is missing in the configuration that was written.
func Imported(w io.Writer, not ImportGaps, o ui.Options) error {
	p := ui.NewPage(o)
	printGaps(p, not)
	return p.Flush(w)
}

// printGaps prints the gaps, and what to do about each.
func printGaps(p *ui.Page, not ImportGaps) {
	if len(not.Keyless) > 0 {
		var names []string
		for _, ca := range not.Keyless {
			names = append(names, ui.Quote(ui.Clean(ca)))
		}
		p.Line()
		p.Prose("The key of the CA " + strings.Join(names, ", ") + " is not in the cluster, so that nothing can be signed. What the hosts have holds until you put something new " +
			"into the folder " + not.Supplied + ": before it expires, and for nodes that join. If you have the key, give it in the CA's block instead.")
	}
	if len(not.Taints) > 0 {
		p.Line()
		p.Prose("Workers have taints that no flag of their kubelets sets: " + ui.Clean(ui.CommaList(not.Taints)) + ". They stay, and are not in the configuration, since that would restart the kubelets. " +
			"Write them into the nodes' blocks to have them on hosts that replace these as well.")
	}
}
