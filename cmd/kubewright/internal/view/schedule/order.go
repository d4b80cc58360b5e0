package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Print prints the order of the steps, shortened: a chain a → b, parallel steps {a, b},
// independent chains after a semicolon. An order that does not fit into two lines becomes a
// numbered list.
func Print(p *ui.Page, plan *planner.Plan) {
	if len(plan.Steps) == 0 {
		return
	}
	if len(plan.Steps) > MaxOrder {
		p.Line("Order: ", ui.Plural(len(plan.Steps), "step"), "; kubewright graph draws them.")
		return
	}
	label := newLabels(plan)
	parts := independentParts(plan)
	var lines []string
	for _, part := range parts {
		lines = append(lines, label.inline(part))
	}
	short := "Order: " + strings.Join(lines, ";  ")
	if ansi.StringWidth(short) <= 2*p.Width {
		p.Line(wrapArrows(short, p.Width, "       "))
		return
	}
	p.Line("Order:")
	for i, part := range parts {
		if i > 0 {
			p.Line("  meanwhile")
		}
		for n, stage := range label.stages(part) {
			head := "  " + fmt.Sprintf("%2d", n+1) + ". "
			for _, turns := range stage {
				inTurn(p, head, turns)
				head = strings.Repeat(" ", len(head))
			}
		}
	}
}

// inTurn prints consecutive lines one below the other: on one line the last would read as a
// part of what is done on each target of the first.
func inTurn(p *ui.Page, head string, turns []string) {
	indent := strings.Repeat(" ", len(head)+2)
	for i, turn := range turns {
		if i > 0 {
			head, turn = indent, "then "+turn
		}
		p.Line(head, wrapArrows(turn, p.Width-len(head), indent+strings.Repeat(" ", 2*min(i, 1))))
	}
}

// MaxOrder is the number of steps up to which an order is computed.
const MaxOrder = 3000

// wrapArrows breaks lines before arrows and after commas.
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
	return ui.Disarm(strings.Join(lines, "\n"))
}

// labels are short names of targets.
type labels struct {
	short map[state.Target]string
	// nodes counts the nodes of the plan, also those without a step, and blocks those of each node
	// block.
	nodes  int
	blocks map[string]int
	// clusters counts those with steps: a single one needs no name.
	clusters int
}

func newLabels(plan *planner.Plan) labels {
	l := labels{short: map[state.Target]string{}, blocks: map[string]int{}}
	taken := map[string]int{}
	for _, s := range plan.Steps {
		if _, ok := l.short[s.Target]; ok {
			continue
		}
		name := ui.ShortName(s.Target)
		l.short[s.Target] = name
		taken[name]++
		if s.Target.Type == state.TypeCluster {
			l.clusters++
		}
	}
	for _, r := range plan.Resources {
		if r.Target.Type == state.TypeNode {
			l.nodes++
			l.blocks[r.Target.Name]++
		}
	}
	for t, name := range l.short {
		if taken[name] > 1 {
			l.short[t] = ui.Clean(t.String())
		}
	}
	return l
}

// who names the targets of a group; empty if there is only one possible.
func (l labels) who(g group) string {
	if len(g.Targets) == 1 && g.Targets[0].Type == state.TypeCluster && l.clusters == 1 {
		return ""
	}
	if n := len(g.Targets); n > 3 && n == l.nodes && g.Targets[0].Type == state.TypeNode {
		return "all " + strconv.Itoa(n) + " nodes"
	}
	in := map[string]int{}
	for _, t := range g.Targets {
		if t.Type == state.TypeNode {
			in[t.Name]++
		}
	}
	var out []string
	for _, t := range g.Targets {
		switch n := in[t.Name]; {
		case t.Type == state.TypeNode && n < 0: // named with its block
		case t.Type != state.TypeNode || n <= maxNamedTurns || n != l.blocks[t.Name]:
			out = append(out, l.short[t])
		default:
			out = append(out, "all "+strconv.Itoa(n)+" "+ui.Clean("node."+t.Name))
			in[t.Name] = -1
		}
	}
	return ui.CommaList(ui.Ranges(out))
}

// inline returns an expression on one line: control-plane[cp1] → upload-config.
func (l labels) inline(x expr) string {
	var parts []string
	for _, k := range x.kids {
		s := l.inline(k)
		if x.op == chain && k.op == parallel {
			s = "{" + s + "}"
		}
		if x.op == parallel && k.op == chain {
			s = "(" + s + ")"
		}
		parts = append(parts, s)
	}
	switch x.op {
	case chain:
		return strings.Join(parts, " → ")
	case parallel:
		return strings.Join(parts, ", ")
	}
	if who := l.who(x.group); who != "" {
		return x.Name + "[" + who + "]"
	}
	return x.Name
}

// stages splits a long chain where the targets change. Parallel branches have a line each, or
// several for a branch that is itself a chain.
func (l labels) stages(x expr) [][][]string {
	var out [][][]string
	var inTurn []expr
	flush := func() {
		for _, t := range l.turns(inTurn) {
			out = append(out, [][]string{{t}})
		}
		inTurn = nil
	}
	for _, run := range l.runs(flat(x, chain)) {
		if _, one := l.common(run); run.op == parallel && !one {
			flush()
			out = append(out, l.sides(run.kids))
			continue
		}
		inTurn = append(inTurn, run)
	}
	flush()
	return out
}

// turns returns runs that follow one another as texts. Neighbours that run the same phases on
// other targets share one: cp1 → cp2 → cp3, each: control-plane.
func (l labels) turns(runs []expr) []string {
	var turns []turn
	for _, x := range runs {
		who, one := l.common(x)
		if !one {
			turns = append(turns, turn{text: "{" + l.inline(x) + "}"})
			continue
		}
		text := phaseNames(x)
		if n := len(turns); n > 0 && turns[n-1].text == text && len(turns[n-1].names) > 0 {
			turns[n-1].add(who, firstTarget(x))
			continue
		}
		turns = append(turns, turn{[]string{who}, []state.Target{firstTarget(x)}, text})
	}
	var out []string
	for _, t := range byBlock(turns) {
		switch n := len(t.names); {
		case n == 0:
			out = append(out, t.text)
		case n == 1:
			out = append(out, t.names[0]+": "+t.text)
		case n > maxNamedTurns:
			out = append(out, t.names[0]+" → "+t.names[1]+" → … → "+t.names[n-1]+", "+strconv.Itoa(n)+" in turn: "+t.text)
		default:
			out = append(out, strings.Join(t.names, " → ")+", each: "+t.text)
		}
	}
	return out
}

// turn is what one target after the other does.
type turn struct {
	names []string
	// of has a target of each name.
	of   []state.Target
	text string
}

func (t *turn) add(name string, of state.Target) {
	t.names, t.of = append(t.names, name), append(t.of, of)
}

// byBlock divides turns of which not all are named by the blocks of their nodes: where the control
// planes end and the workers begin must not be left out.
func byBlock(turns []turn) []turn {
	var out []turn
	for _, t := range turns {
		if len(t.names) <= maxNamedTurns {
			out = append(out, t)
			continue
		}
		for i, name := range t.names {
			if i == 0 || t.of[i].Name != t.of[i-1].Name {
				out = append(out, turn{text: t.text})
			}
			out[len(out)-1].add(name, t.of[i])
		}
	}
	return out
}

// firstTarget returns a target of an expression.
func firstTarget(x expr) state.Target {
	for x.op != single {
		x = x.kids[0]
	}
	return x.Targets[0]
}

// maxNamedTurns is the number of targets in turn that are named.
const maxNamedTurns = 8

// sides returns the lines of parallel branches: single phases of the same targets share a line,
// and so do the targets of the same phases.
func (l labels) sides(kids []expr) [][]string {
	var lines [][]string
	var order []string
	names := map[string]string{}
	for _, k := range kids {
		if k.op != single {
			lines = append(lines, l.turns(l.runs(flat(k, chain))))
			continue
		}
		who, _ := l.common(k)
		if _, ok := names[who]; ok {
			names[who] += ", " + k.Name
			continue
		}
		names[who] = k.Name
		order = append(order, who)
	}
	targets := map[string]string{}
	var phases []string
	for _, who := range order {
		if _, ok := targets[names[who]]; ok {
			targets[names[who]] += ", " + who
			continue
		}
		targets[names[who]] = who
		phases = append(phases, names[who])
	}
	for _, phase := range phases {
		lines = append(lines, []string{targets[phase] + ": " + phase})
	}
	slices.SortFunc(lines, slices.Compare)
	return lines
}

// runs joins neighbours of a chain that are on the same targets.
func (l labels) runs(links []expr) []expr {
	var out []expr
	last := ""
	for _, x := range links {
		who, one := l.common(x)
		if one && who == last && len(out) > 0 {
			out[len(out)-1] = expr{op: chain, kids: append(slices.Clone(flat(out[len(out)-1], chain)), x)}
			continue
		}
		last = who
		if !one {
			last = ""
		}
		out = append(out, x)
	}
	return out
}

// common returns the targets of an expression, and whether they are the same throughout.
func (l labels) common(x expr) (string, bool) {
	if x.op == single {
		if len(x.Targets) == 1 && x.Targets[0].Type != state.TypeNode {
			return ui.Clean(x.Targets[0].String()), true
		}
		return l.who(x.group), true
	}
	first, ok := l.common(x.kids[0])
	for _, k := range x.kids[1:] {
		who, one := l.common(k)
		ok = ok && one && who == first
	}
	return first, ok
}

// phaseNames returns an expression without its targets.
func phaseNames(x expr) string {
	var parts []string
	for _, k := range x.kids {
		s := phaseNames(k)
		if k.op == parallel {
			s = "{" + s + "}"
		}
		parts = append(parts, s)
	}
	switch x.op {
	case chain:
		return strings.Join(parts, " → ")
	case parallel:
		return strings.Join(parts, ", ")
	}
	return x.Name
}
