package view

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// renews tells that nothing of an item changes but that it begins anew.
func (it item) renews() bool {
	return it.Action == planner.Update && len(it.Attributes) == 1 && it.Attributes[0].Path == planner.RenewalDue
}

// align puts the texts of renewed items, one line each, below one another.
func align(kids []entry) {
	width := 0
	for _, e := range kids {
		if !e.block && e.text != "" {
			width = max(width, ansi.StringWidth(e.head))
		}
	}
	for i, e := range kids {
		if !e.block && strings.HasPrefix(e.text, gap) {
			kids[i].head = fill(e.head, width)
		}
	}
}

// gap is between the name of what is renewed and when it ends.
const gap = "   "

// ending tells when what is renewed ends: "ends 2027-03-02, in 25 days".
func ending(shown map[string]state.Value) string {
	day, _, _ := strings.Cut(Clean(shown["not_after"].AsString()), "T")
	left, err := strconv.Atoi(shown["days_left"].AsString())
	switch {
	case day == "":
		return ""
	case err != nil:
		return "ends " + day
	case left < 0:
		return "ended " + day + ", " + plural(-left-1, "day") + " ago"
	}
	return "ends " + day + ", in " + plural(left, "day")
}
