package graph

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/schedule"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// Drawing is the graph of a plan with coordinates: steps in columns by what they wait for, each
// target in a lane of its own. Lengths are in pixels.
type Drawing struct {
	Width, Height int
	Lanes         []drawnLane
	Boxes         []drawnBox
	Edges         []drawnEdge
}

type drawnLane struct {
	Y, Height int
	Name      string
}

type drawnBox struct {
	X, Y, Width, Height, TextX, TextY  int
	Anchor, Label, Title, Action, Mark string
}

// drawnEdge leads from one box to another, by their indexes in Boxes.
type drawnEdge struct {
	From, To int
	Path     string
	// Limit reports whether the step only waits for its turn.
	Limit    bool
	Critical bool
}

// maxBoxes is the number of boxes up to which a drawing is readable.
const maxBoxes = 240

// The measures of a drawing.
const (
	boxWidth   = 182
	boxHeight  = 24
	boxGap     = 6
	boxSpace   = 36
	laneLabel  = 18
	laneGap    = 10
	labelCells = 25
)

// box is a step, or parallel steps of one phase, before it has coordinates.
type box struct {
	lane          string
	label, title  string
	action, mark  string
	anchor        string
	column, stack int
}

// Draw draws the steps of a plan; as one box per phase if there are too many steps, and none
// with a reason if there are still too many.
func Draw(r *outline.Review, anchors map[state.Address]string) (*Drawing, string) {
	switch n := len(r.Steps); {
	case n == 0:
		return nil, ""
	case n > schedule.MaxOrder:
		return nil, "The plan has " + ui.Plural(n, "step") + ", too many to draw."
	case n > maxBoxes:
		vs := schedule.NewVertices(r.Plan)
		schedule.Reduce(vs)
		if len(vs) > maxBoxes {
			return nil, "The plan has " + ui.Plural(n, "step") + ", too many to draw."
		}
		return draw(groupBoxes(vs), edgesOfVertices(vs, nil)), ""
	}
	vs := singles(r)
	schedule.Reduce(vs)
	critical := map[[2]int]bool{}
	place := map[state.Address]int{}
	for i, s := range r.Steps {
		place[s.ID] = i
	}
	if schedule.Measurable(r.Timeline) {
		for i := 1; i < len(r.Timeline.Critical); i++ {
			critical[[2]int{place[r.Timeline.Critical[i-1].Step], place[r.Timeline.Critical[i].Step]}] = true
		}
	}
	edges := edgesOfVertices(vs, critical)
	limited := map[[2]int]bool{}
	for _, e := range edgesOf(r.Plan) {
		limited[[2]int{e.from, e.to}] = e.limit != ""
	}
	for i := range edges {
		edges[i].limit = limited[[2]int{edges[i].from, edges[i].to}]
	}
	return draw(stepBoxes(r, vs, anchors), edges), ""
}

// arrow is an edge before it has a path.
type arrow struct {
	from, to        int
	limit, critical bool
}

// singles returns a vertex per step.
func singles(r *outline.Review) []*schedule.Vertex {
	edges := schedule.Waits(r.Plan)
	vs := make([]*schedule.Vertex, len(r.Steps))
	for i := range r.Steps {
		vs[i] = &schedule.Vertex{After: map[int]bool{}, Until: map[int]bool{}}
		for _, j := range edges[i] {
			vs[i].Depth = max(vs[i].Depth, vs[j].Depth+1)
			vs[i].After[j], vs[j].Until[i] = true, true
		}
	}
	return vs
}

func edgesOfVertices(vs []*schedule.Vertex, critical map[[2]int]bool) []arrow {
	var out []arrow
	for i, v := range vs {
		var after []int
		for j := range v.After {
			after = append(after, j)
		}
		slices.Sort(after)
		for _, j := range after {
			out = append(out, arrow{from: j, to: i, critical: critical[[2]int{j, i}]})
		}
	}
	return out
}

func stepBoxes(r *outline.Review, vs []*schedule.Vertex, anchors map[state.Address]string) []box {
	spans := map[state.Address]executor.Span{}
	for _, s := range r.Timeline.Steps {
		spans[s.Step] = s
	}
	out := make([]box, len(vs))
	for i, s := range r.Steps {
		name := ui.PhaseName(s.ID)
		title := ui.StepName(s.ID)
		if took := schedule.SpanText(spans[s.ID]); took != "" {
			title += ", about " + took
		}
		if s.Impact != "" {
			title += "\n" + ui.Clean(s.Impact)
		}
		out[i] = box{
			lane: ui.Clean(s.Target.String()), label: name, title: title, action: string(s.Action),
			mark: symbolText(s.Action), anchor: anchors[s.ID], column: vs[i].Depth,
		}
	}
	return out
}

func groupBoxes(vs []*schedule.Vertex) []box {
	out := make([]box, len(vs))
	for i, v := range vs {
		label := v.Name
		if n := len(v.Targets); n > 1 {
			label += " ×" + strconv.Itoa(n)
		}
		out[i] = box{label: label, title: label, column: v.Depth}
	}
	return out
}

// draw gives boxes and edges their coordinates.
func draw(boxes []box, edges []arrow) *Drawing {
	var lanes []string
	rows := map[string]int{}
	used := map[string]int{}
	columns := 0
	for i := range boxes {
		b := &boxes[i]
		if rows[b.lane] == 0 {
			lanes = append(lanes, b.lane)
		}
		cell := b.lane + "\n" + strconv.Itoa(b.column)
		b.stack = used[cell]
		used[cell]++
		rows[b.lane] = max(rows[b.lane], used[cell])
		columns = max(columns, b.column+1)
	}
	d := &Drawing{Width: columns*(boxWidth+boxSpace) + 2*laneGap}
	top := map[string]int{}
	for _, lane := range lanes {
		height := laneLabel + rows[lane]*(boxHeight+boxGap) + boxGap
		top[lane] = d.Height
		d.Lanes = append(d.Lanes, drawnLane{Y: d.Height, Height: height, Name: lane})
		d.Height += height + laneGap
	}
	for _, b := range boxes {
		x, y := laneGap+b.column*(boxWidth+boxSpace), top[b.lane]+laneLabel+b.stack*(boxHeight+boxGap)
		d.Boxes = append(d.Boxes, drawnBox{
			X: x, Y: y, Width: boxWidth, Height: boxHeight, TextX: x + 8, TextY: y + 16,
			Anchor: b.anchor, Label: ansi.Truncate(b.mark+b.label, labelCells, "…"), Title: b.title, Action: b.action,
		})
	}
	for _, e := range edges {
		path := d.Boxes[e.from].to(d.Boxes[e.to], boxes[e.to].column-boxes[e.from].column > 1)
		d.Edges = append(d.Edges, drawnEdge{From: e.from, To: e.to, Path: path, Limit: e.limit, Critical: e.critical})
	}
	return d
}

// to returns the path from a box to one in a later column. A long path runs above the row of its
// end: behind the boxes between the two columns it would be hidden.
func (b drawnBox) to(o drawnBox, long bool) string {
	x, y, end, down := b.X+boxWidth, b.Y+boxHeight/2, o.X, o.Y+boxHeight/2
	path := fmt.Sprintf("M%d %d", x, y)
	bend := func(toX, toY int) {
		path += fmt.Sprintf(" C%d %d %d %d %d %d", x+boxSpace/2, y, toX-boxSpace/2, toY, toX, toY)
		x, y = toX, toY
	}
	if long {
		bend(x+boxSpace, o.Y-boxGap/2)
		x = end - boxSpace
		path += fmt.Sprintf(" H%d", x)
	}
	bend(end, down)
	return path
}

// Gantt is the timeline of a plan with coordinates in percent.
type Gantt struct {
	Bars  []ganttBar
	Ticks []ganttTick
	// Basis is what the lengths are based on.
	Basis string
	Left  int
}

type ganttBar struct {
	Start, Length                float64
	Anchor, Label, Title, Action string
	Critical                     bool
}

type ganttTick struct {
	At    float64
	Label string
}

// maxBars limits a timeline; the rest is counted.
const maxBars = 400

// DrawTimeline draws when each step would run. Without durations of earlier applies each step
// takes one unit, and the bars show only the order.
func DrawTimeline(r *outline.Review, anchors map[state.Address]string) *Gantt {
	if len(r.Steps) == 0 || len(r.Timeline.Steps) == 0 {
		return nil
	}
	t, basis := r.Timeline, schedule.EstimateText(r.Timeline)
	if basis == "" {
		units := map[string]float64{}
		for _, s := range r.Steps {
			units[state.DurationKey(s.Phase, string(s.Action))] = 1
		}
		t = executor.Forecast(r.Plan, units, executor.DefaultParallelism)
		basis = "No earlier apply has recorded how long the steps take: the bars show only the order."
	}
	critical := map[state.Address]bool{}
	for _, s := range r.Timeline.Critical {
		critical[s.Step] = schedule.Measurable(r.Timeline)
	}
	actions := map[state.Address]string{}
	for _, s := range r.Steps {
		actions[s.ID] = string(s.Action)
	}
	spans := slices.Clone(t.Steps)
	slices.SortStableFunc(spans, func(a, b executor.Span) int {
		switch {
		case a.Start < b.Start:
			return -1
		case a.Start > b.Start:
			return 1
		}
		return 0
	})
	g := &Gantt{Basis: basis, Left: max(0, len(spans)-maxBars)}
	percent := func(seconds float64) float64 { return math.Round(seconds/max(t.Seconds, 0.001)*1e4) / 100 }
	for _, s := range spans[:min(len(spans), maxBars)] {
		name := ui.StepName(s.Step)
		title := name
		if took := schedule.SpanText(s); took != "" && schedule.Measurable(r.Timeline) {
			title += ": " + took + ", from " + ui.Duration(schedule.ToDuration(s.Start))
		}
		g.Bars = append(g.Bars, ganttBar{
			Start: percent(s.Start), Length: percent(s.Seconds),
			Anchor: anchors[s.Step], Label: name, Title: title, Action: actions[s.Step], Critical: critical[s.Step],
		})
	}
	if schedule.Measurable(r.Timeline) {
		for i := range 5 {
			g.Ticks = append(g.Ticks, ganttTick{float64(i * 25), ui.Duration(schedule.ToDuration(t.Seconds * float64(i) / 4))})
		}
	}
	return g
}
