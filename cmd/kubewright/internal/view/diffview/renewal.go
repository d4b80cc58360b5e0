package diffview

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// renews reports whether an item is only renewed.
func (it Item) renews() bool {
	return it.Action == planner.Update && len(it.Attributes) == 1 && it.Attributes[0].Path == planner.RenewalDue
}

// Align aligns the texts of renewed items that have one line each.
func Align(kids []Entry) {
	width := 0
	for _, e := range kids {
		if !e.Block && e.Text != "" {
			width = max(width, ansi.StringWidth(e.Head))
		}
	}
	for i, e := range kids {
		if !e.Block && strings.HasPrefix(e.Text, gap) {
			kids[i].Head = ui.Fill(e.Head, width)
		}
	}
}

// gap separates the name of a renewed item from its expiry.
const gap = "   "

// expiry returns when a renewed item expires: "expires 2027-03-02, in 25 days".
func expiry(shown map[string]state.Value) string {
	day, _, _ := strings.Cut(ui.Clean(shown["not_after"].AsString()), "T")
	left, err := strconv.Atoi(shown["days_left"].AsString())
	switch {
	case day == "":
		return ""
	case err != nil:
		return "expires " + day
	case left < 0:
		return "expired " + day + ", " + ui.RelativeDays(left)
	}
	return "expires " + day + ", " + ui.RelativeDays(left)
}
