package planview

import (
	"io"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

// Saved ends a plan: with the file that it was saved to and the command that applies it, or
// without a file with how to apply exactly this plan. It prints nothing for an unsaved plan that
// has no changes or that a policy refuses.
func Saved(w io.Writer, path string, plan *planner.Plan, o ui.Options) error {
	refused := outline.RefusedByPolicy(plan)
	if path == "" && (plan.Empty() || refused) {
		return nil
	}
	p := ui.NewPage(o)
	p.Line()
	p.Rule()
	p.Line()
	if path == "" {
		p.Prose("Note: This plan was not saved, and kubewright apply plans again. To carry out this plan and no other, save it with -out, or approve it by its digest:")
		p.Line()
		p.Line("    ", outline.Command(plan, o), " -approve=", outline.ShortDigest(plan))
		return p.Flush(w)
	}
	p.Line("Saved the plan to: ", ui.Clean(path))
	p.Line("Its digest is ", outline.ShortDigest(plan), ".")
	p.Line()
	if refused {
		p.Prose("kubewright apply refuses it as long as the policies above have something against it.")
		return p.Flush(w)
	}
	word := outline.ShellWord(path)
	if word == path { // plain: in the quotes that Terraform prints
		word = `"` + path + `"`
	}
	p.Line("To perform exactly these actions, run the following command to apply:")
	p.Line("    ", outline.SavedPlanCommand(plan, word, o))
	return p.Flush(w)
}

// maxDifferences is the number of differences that are printed.
const maxDifferences = 20

// Differences returns what has changed since a plan was saved: each item with the differences
// below it.
func Differences(list []planfile.Difference) string {
	var lines []string
	var of state.Address
	for i, d := range list {
		if i == maxDifferences {
			lines = append(lines, "  and "+strconv.Itoa(len(list)-i)+" more")
			break
		}
		if d.Address != of {
			of = d.Address
			lines = append(lines, "  "+ui.Clean(of.String()))
			if d.Path != "" && (d.What == planfile.Appeared || d.What == planfile.Settled) {
				lines = append(lines, "    "+d.What+":")
			}
		}
		lines = append(lines, "    "+differenceText(d))
	}
	return strings.Join(lines, "\n")
}

// differenceText returns one difference in words.
func differenceText(d planfile.Difference) string {
	saved, now := ui.Inline(d.Saved), ui.Inline(d.Now)
	switch {
	case d.Address == (state.Address{}):
		return "the plan as a whole is another one: in its order, its limits or what it leaves out"
	case d.Path == "":
		return d.What + presence(d)
	case d.What == planfile.Otherwise:
		return ui.Clean(d.Path) + " was to become " + saved + ", and would become " + now
	case d.Now.IsPending(): // only an apply would have determined the value
		return ui.Clean(d.Path) + " was " + saved + " when the plan was saved"
	case d.Saved.IsPending():
		return ui.Clean(d.Path) + " is " + now + " now"
	case d.Saved.IsNull():
		return ui.Clean(d.Path) + " was not there when the plan was saved, and is " + now + " now"
	case d.Now.IsNull():
		return ui.Clean(d.Path) + " was " + saved + " when the plan was saved, and is not there now"
	}
	return ui.Clean(d.Path) + " was " + saved + " when the plan was saved, and is " + now + " now"
}

// presence returns whether a whole item existed when the plan was saved, and whether it exists
// now.
func presence(d planfile.Difference) string {
	was, is := "there", "is not there now"
	switch {
	case d.Action == planner.Create && d.What == planfile.Settled:
		was, is = "not there", "is now"
	case d.Action == planner.Create || d.Action == planner.Delete && d.What == planfile.Settled:
	default:
		return ""
	}
	return ": it was " + was + " when the plan was saved, and " + is
}
