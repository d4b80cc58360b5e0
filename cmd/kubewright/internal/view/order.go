package view

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// order prints in which order the steps run, shortened: a chain a → b, what
// runs side by side {a, b}, independent chains behind a semicolon. When that
// does not fit two lines, it becomes a numbered list.
func (p *page) order(plan *planner.Plan) {
	if len(plan.Steps) == 0 {
		return
	}
	if len(plan.Steps) > maxOrder {
		p.line("Order: ", plural(len(plan.Steps), "step"), "; kubewright graph draws them.")
		return
	}
	label := newLabels(plan)
	parts := schedule(plan)
	var lines []string
	for _, part := range parts {
		lines = append(lines, label.inline(part))
	}
	short := "Order: " + strings.Join(lines, ";  ")
	if ansi.StringWidth(short) <= 2*p.width {
		p.line(wrapArrows(short, p.width, "       "))
		return
	}
	p.line("Order:")
	n := 0
	for i, part := range parts {
		if i > 0 {
			p.line("  and at the same time:")
		}
		for _, stage := range label.stages(part) {
			n++
			head := "  " + pad2(n) + ". "
			p.line(head, wrapArrows(stage, p.width-len(head), strings.Repeat(" ", len(head))))
		}
	}
}

// maxOrder bounds the work of sorting out an order.
const maxOrder = 3000

func pad2(n int) string {
	if n < 10 {
		return " " + itoa(n)
	}
	return itoa(n)
}

// wrapArrows breaks before arrows and commas rather than anywhere.
func wrapArrows(s string, width int, indent string) string {
	var lines []string
	current := ""
	for _, word := range strings.SplitAfter(s, " ") {
		if current != "" && ansi.StringWidth(strings.TrimRight(current+word, " ")) > width {
			lines = append(lines, strings.TrimRight(current, " "))
			current = indent
		}
		current += word
	}
	lines = append(lines, current)
	return strings.Join(lines, "\n")
}

// labels name targets shortly.
type labels struct {
	short map[state.Target]string
	nodes int
	// clusters counts those with steps: a lone one needs no name.
	clusters int
}

func newLabels(plan *planner.Plan) labels {
	l := labels{short: map[state.Target]string{}}
	taken := map[string]int{}
	for _, s := range plan.Steps {
		if _, ok := l.short[s.Target]; ok {
			continue
		}
		name := shortest(s.Target)
		l.short[s.Target] = name
		taken[name]++
		switch s.Target.Type {
		case state.TypeNode:
			l.nodes++
		case state.TypeCluster:
			l.clusters++
		}
	}
	for t, name := range l.short {
		if taken[name] > 1 {
			l.short[t] = Clean(t.String())
		}
	}
	return l
}

// shortest is a target's key or label; of an IPv4 address the last number.
func shortest(t state.Target) string {
	if !t.Keyed {
		return Clean(t.Name)
	}
	if a, err := netip.ParseAddr(t.Key); err == nil && a.Is4() {
		return "…" + t.Key[strings.LastIndex(t.Key, ".")+1:]
	}
	return Clean(t.Key)
}

// who names the targets of a group, "" when there is nothing to tell apart.
func (l labels) who(g group) string {
	if len(g.targets) == 1 && g.targets[0].Type == state.TypeCluster && l.clusters == 1 {
		return ""
	}
	if n := len(g.targets); n > 3 && n == l.nodes && g.targets[0].Type == state.TypeNode {
		return "all " + itoa(n) + " nodes"
	}
	out := make([]string, len(g.targets))
	for i, t := range g.targets {
		out[i] = l.short[t]
	}
	return strings.Join(out, ", ")
}

// inline prints an expression on one line: control-plane[cp1] → upload-config.
func (l labels) inline(x expr) string {
	var parts []string
	for _, k := range x.kids {
		s := l.inline(k)
		if x.op == chain && k.op == beside {
			s = "{" + s + "}"
		}
		if x.op == beside && k.op == chain {
			s = "(" + s + ")"
		}
		parts = append(parts, s)
	}
	switch x.op {
	case chain:
		return strings.Join(parts, " → ")
	case beside:
		return strings.Join(parts, ", ")
	}
	if who := l.who(x.group); who != "" {
		return x.name + "[" + who + "]"
	}
	return x.name
}

// stages cuts a long chain where the targets change: cp1: certs → kubeconfig.
func (l labels) stages(x expr) []string {
	links := x.kids
	if x.op != chain {
		links = []expr{x}
	}
	var out []string
	last := ""
	for _, link := range links {
		who, run := l.run(link)
		if who != "" && who == last {
			out[len(out)-1] += " → " + run
			continue
		}
		last = who
		if who != "" {
			run = who + ": " + run
		}
		out = append(out, run)
	}
	return out
}

// run splits what is done from whom it is done on, where all of it is on the same.
func (l labels) run(x expr) (who, run string) {
	switch x.op {
	case single:
		who = l.who(x.group)
		if who == "" && len(x.targets) > 0 {
			who = Clean(x.targets[0].String())
		}
		return who, x.name
	case chain:
		var runs []string
		for i, k := range x.kids {
			w, r := l.run(k)
			if w == "" || i > 0 && w != who {
				return "", l.inline(x)
			}
			who = w
			runs = append(runs, r)
		}
		return who, strings.Join(runs, " → ")
	}
	var runs []string
	for _, k := range x.kids {
		w, r := l.run(k)
		if w == "" {
			return "", l.inline(x)
		}
		if k.op == chain || w != "" {
			r = w + ": " + r
		}
		runs = append(runs, r)
	}
	slices.Sort(runs)
	return "", strings.Join(runs, ";  ")
}
