package planview

import (
	"io"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
)

// ImportGaps is of clusters that are imported what their configuration does not have.
type ImportGaps struct {
	// Keyless are the CAs whose key is not in the cluster, and Supplied is the folder
	// for what they have signed.
	Keyless  []string
	Supplied string
	// Taints are those of workers, as NODE (KEY=VALUE:EFFECT).
	Taints []string
}

// Add adds what the configuration of another cluster does not have.
func (u *ImportGaps) Add(other ImportGaps) {
	u.Keyless, u.Taints = append(u.Keyless, other.Keyless...), append(u.Taints, other.Taints...)
	u.Supplied = other.Supplied
}

// Generated says which file a plan has written for the clusters that it imports.
func Generated(w io.Writer, file string, not ImportGaps, o ui.Options) error {
	p := ui.NewPage(o)
	p.Line()
	p.Rule()
	p.Line()
	p.Prose("Written " + ui.Clean(file) + ", the configuration of what is imported. Read it, and change what you want otherwise, before you apply: the next plan uses it.")
	printGaps(p, not)
	return p.Flush(w)
}

// Imported says what is not in the configuration that was written.
func Imported(w io.Writer, not ImportGaps, o ui.Options) error {
	p := ui.NewPage(o)
	printGaps(p, not)
	return p.Flush(w)
}

// printGaps prints it, and what to do about it.
func printGaps(p *ui.Page, not ImportGaps) {
	if len(not.Keyless) > 0 {
		var names []string
		for _, ca := range not.Keyless {
			names = append(names, ui.Quote(ui.Clean(ca)))
		}
		p.Line()
		p.Prose("The key of the CA " + strings.Join(names, ", ") + " is not in the cluster, so that nothing can be signed. What the hosts have holds until you put something new " +
			"into the folder " + not.Supplied + ": before it ends, and for nodes that join. If you have the key, give it in the CA's block instead.")
	}
	if len(not.Taints) > 0 {
		p.Line()
		p.Prose("Workers have taints that no flag of their kubelets sets: " + ui.Clean(ui.CommaList(not.Taints)) + ". They stay, and are not in the configuration, since that would restart the kubelets. " +
			"Write them into the nodes' blocks to have them on hosts that replace these as well.")
	}
}
