package export_test

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/export"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestPagesInBrowser opens pages in one browser for all tests, since starting it takes as long as
// several pages.
func TestPagesInBrowser(t *testing.T) {
	b := startBrowser(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *chromium)
	}{{"script", testScript}, {"filter", testFilter}, {"folds", testFolds}, {"pictures", testPictures}} {
		t.Run(test.name, func(t *testing.T) {
			b.t = t
			test.run(t, b)
		})
	}
}

// testScript checks that the page's script runs although the page allows no other, finds every
// item, and unfolds the path to the step that a link names.
func testScript(t *testing.T, b *chromium) {
	plan := viewtest.UpdatePlan()
	page := b.open(planAs(t, plan, "html"), "#s1", 1400)
	var items, script string
	var open []string
	const found = `document.documentElement.dataset.items ?? ""`
	page.tell(found, &items)
	if items != fmt.Sprint(len(plan.Changes)) {
		t.Errorf("the script found %q of %d items", items, len(plan.Changes))
	}
	page.tell(`[...document.querySelectorAll("details.phase[open]")].map((d) => d.id)`, &open)
	if !slices.Equal(open, []string{"s1"}) {
		t.Errorf("a link to s1 opens %q", open)
	}
	var scripts []string
	for _, s := range hostile {
		if strings.Contains(s, "pwned()") {
			scripts = append(scripts, s)
		}
	}
	b.open(planAs(t, hostilePlan(strings.Join(scripts, " ")), "html"), "", 1400).tell(found, &script)
	if script == "" {
		t.Error("the page's script does not run with hostile text")
	}
}

// shown returns the addresses of the visible blocks of a kind.
func (t *tab) shown(class string) []string {
	t.t.Helper()
	var out []string
	t.tell(`[...document.querySelectorAll("#changes details.`+class+`")].filter((d) => d.checkVisibility()).map((d) => d.dataset.address)`, &out)
	return out
}

// testFilter types into the filter, as a user who searches for something.
func testFilter(t *testing.T, b *chromium) {
	page := b.open(planAs(t, viewtest.UpdatePlan(), "html"), "", 1400)
	nodes := func(keys ...string) []string {
		var out []string
		for _, k := range keys {
			if name, key, ok := strings.Cut(k, " "); ok {
				k = state.NodeKeyTarget(name, key).String()
			}
			out = append(out, k)
		}
		return out
	}
	const w1, w2 = "worker 10.77.0.21", "worker 10.77.0.22"
	everything := nodes(w2, "cp cp1", "cp cp2", "cp cp3", w1, "cluster.prod")
	page.click("#filter")
	for _, c := range []struct {
		words  string
		want   []string
		phases []string
	}{
		{"worker", nodes(w2, w1), nil},
		{"delete", nodes(w2), []string{"drain", "reset"}},
		{"WORKER  kubelet-start", nodes(w1), []string{"kubelet-start"}},
		{"node.example.com/rack", nodes(w1), []string{"mark-worker"}},
		{`["cp2"] control-plane audit-log-maxage`, nodes("cp cp2"), []string{"control-plane"}},
		{"no-such-word", nil, nil},
		{"", everything, nil},
	} {
		page.write(c.words)
		if got := page.shown("resource"); !slices.Equal(got, c.want) {
			t.Errorf("the filter %q shows %q, want %q", c.words, got, c.want)
		}
		if c.phases != nil {
			var got []string
			for _, p := range page.shown("phase") {
				got = append(got, p[strings.LastIndex(p, "/")+1:])
			}
			if !slices.Equal(got, c.phases) {
				t.Errorf("the filter %q shows the phases %q, want %q", c.words, got, c.phases)
			}
		}
		var nothing string
		page.tell(`[...document.querySelectorAll("#none")].filter((e) => e.checkVisibility()).map((e) => e.textContent).join()`, &nothing)
		if (nothing != "") != (len(c.want) == 0) {
			t.Errorf("the filter %q shows %d resources, and the page says %q", c.words, len(c.want), nothing)
		}
	}
}

// testFolds unfolds a folded difference with the mouse, and then everything.
func testFolds(t *testing.T, b *chromium) {
	plan := viewtest.UpdatePlan()
	page := b.open(planAs(t, plan, "html"), "", 1400)
	diff := func() string {
		var out string
		page.tell(`(() => { const pre = document.querySelector("#s0 details.item pre"); return pre.checkVisibility() ? pre.innerText : ""; })()`, &out)
		return out
	}
	if text := diff(); text != "" {
		t.Errorf("the difference is not folded: %s", text)
	}
	page.click("#s0 > summary")
	page.click("#s0 details.item > summary")
	if text := diff(); !strings.Contains(text, `audit-log-maxage = "30"`) {
		t.Errorf("unfolded the difference is %q", text)
	}
	page.click("#s0 > summary")
	if text := diff(); text != "" {
		t.Errorf("folded again the difference is still %q", text)
	}
	page.click("#open")
	if n := len(page.shown("item")); n != len(plan.Changes) {
		t.Errorf("with everything open %d of %d items are shown", n, len(plan.Changes))
	}
	page.click("#close")
	if n := len(page.shown("phase")); n != 0 {
		t.Errorf("with everything closed %d phases are shown", n)
	}
}

// testPictures checks pages with the pictures of a plan, in a desktop and a phone window, and
// one of a plan without known durations.
func testPictures(t *testing.T, b *chromium) {
	for name, plan := range drawnPlans() {
		estimate := estimateOf(planAs(t, plan, "text"))
		for _, width := range []int{1400, 400} {
			page := b.open(planAs(t, plan, "html"), "", width)
			if width == 1400 {
				connected(t, name, plan, page.graph())
			}
			timed(t, fmt.Sprintf("%s in %d", name, width), plan, page.timeline(), estimate)
			fits(t, name, page, width)
			page.close()
		}
		var untimed bytes.Buffer
		if err := export.PlanAs(&untimed, plan, "html", ui.Options{}); err != nil {
			t.Fatal(err)
		}
		page := b.open(untimed.String(), "", 1400)
		timed(t, name+" without durations", plan, page.timeline(), "")
		page.close()
	}
}

// fits checks that no part of the page is wider than the window, with everything unfolded. Wide
// content scrolls by itself.
func fits(t *testing.T, name string, page *tab, width int) {
	t.Helper()
	page.click("#open")
	var wide int
	page.tell(`document.documentElement.scrollWidth`, &wide)
	if wide > width {
		t.Errorf("%s is %d pixels wide in a window of %d", name, wide, width)
	}
}

// drawnPlans returns the plans whose pictures are checked: the fixtures, and one with 30 nodes.
func drawnPlans() map[string]*planner.Plan {
	out := map[string]*planner.Plan{"thirty nodes": viewtest.ThirtyPlan()}
	for name, plan := range viewtest.Plans {
		if name != "empty" && name != "create" && name != "example" { // no picture, or nothing that others lack
			out[name] = plan()
		}
	}
	return out
}

// rect is a rectangle in a picture: left, top, width, height.
type rect [4]float64

func (r rect) right() float64 { return r[0] + r[2] }

func (r rect) bottom() float64 { return r[1] + r[3] }

// in reports whether a rectangle is inside another one, give or take the width of a line.
func (r rect) in(o rect) bool {
	return r[0] >= o[0]-1 && r[1] >= o[1]-1 && r.right() <= o.right()+1 && r.bottom() <= o.bottom()+1
}

func (r rect) overlaps(o rect) bool {
	return r[0] < o.right() && o[0] < r.right() && r[1] < o.bottom() && o[1] < r.bottom()
}

// pictured is a graph or a timeline as the browser has drawn it.
type pictured struct {
	Canvas rect
	Boxes  []struct {
		Step, Says string
		Box, Text  rect
	}
	Lanes, Names []rect
	Edges        []struct {
		From, To int
		Points   [][2]float64
	}
	Ticks []struct {
		X    float64
		Says string
		Text rect
	}
	Says string
}

// stepOf is a function of a link and its title. It returns the step to whose entry the link leads; of
// an entry of several nodes that change alike, the step of the one that the title names.
const stepOf = `const stepOf = (a, title) => {
	const entry = document.querySelector(a.getAttribute("href"));
	if (!entry) return "";
	const own = entry.dataset.address, node = entry.closest("details.resource");
	const alike = [...node.querySelectorAll(":scope > details.how code")].map((c) => c.textContent + own.slice(node.dataset.address.length));
	return alike.find((step) => title === step || [",", ":", "\\n"].some((end) => title.startsWith(step + end))) ?? own;
};`

// graph measures the drawn graph.
func (t *tab) graph() pictured {
	t.t.Helper()
	var out pictured
	t.tell(`(() => {`+stepOf+`
		const svg = document.querySelector("#graph svg");
		const all = (selector) => [...svg.querySelectorAll(selector)];
		const box = (e) => { const b = e.getBBox(); return [b.x, b.y, b.width, b.height]; };
		const points = (path) => Array.from({ length: 65 }, (_, i) => { const p = path.getPointAtLength(path.getTotalLength() * i / 64); return [p.x, p.y]; });
		return {
			Canvas: [0, 0, svg.width.baseVal.value, svg.height.baseVal.value],
			Boxes: all("a").map((a) => ({
				Step: stepOf(a, a.querySelector("title").textContent), Says: a.querySelector("title").textContent,
				Box: box(a.querySelector("rect")), Text: box(a.querySelector("text")) })),
			Lanes: all(".lane").map(box), Names: all(".lanename").map(box),
			Edges: all("path.edge").map((p) => ({ From: Number(p.dataset.from), To: Number(p.dataset.to), Points: points(p) })),
		};
	})()`, &out)
	return out
}

// timeline measures the drawn timeline.
func (t *tab) timeline() pictured {
	t.t.Helper()
	var out pictured
	t.tell(`(() => {`+stepOf+`
		const section = document.getElementById("timeline");
		const box = (e) => { const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; };
		return {
			Canvas: box(section.querySelector(".bars")),
			Boxes: [...section.querySelectorAll("a")].map((a) => ({
				Step: stepOf(a, a.title), Says: a.title,
				Box: box(a.querySelector(".bar")), Text: box(a.querySelector(".label")) })),
			Ticks: [...section.querySelectorAll(".tick")].map((e) => ({ X: box(e)[0], Says: e.textContent, Text: box(e) })),
			Says: section.querySelector("p").textContent,
		};
	})()`, &out)
	return out
}

// connected checks that the drawn graph matches the plan, with a box for each step and lines
// that match the needs and limits, and that it is readable: no two boxes overlap, no text is
// cut, no line runs through a box, and nothing is outside of the picture.
func connected(t *testing.T, name string, plan *planner.Plan, g pictured) {
	t.Helper()
	if len(g.Boxes) != len(plan.Steps) {
		t.Errorf("%s: %d boxes for %d steps", name, len(g.Boxes), len(plan.Steps))
		return
	}
	drawn := make([][]int, len(plan.Steps))
	for _, e := range g.Edges {
		drawn[e.To] = append(drawn[e.To], e.From)
	}
	for i, s := range plan.Steps {
		if g.Boxes[i].Step != s.ID.String() {
			t.Errorf("%s: the box of %s links to %q", name, s.ID, g.Boxes[i].Step)
		}
	}
	want := needed(plan)
	if got := before(drawn); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%s: the lines show another order than the plan's:\n%v\nwant\n%v", name, got, want)
	}
	for i, after := range drawn {
		for _, j := range after {
			if slices.ContainsFunc(after, func(k int) bool { return want[k][j] }) {
				t.Errorf("%s: the line from %s to %s is redundant", name, plan.Steps[j].ID, plan.Steps[i].ID)
			}
		}
	}
	legible(t, name, g)
}

// needed reports, for each step, which steps come before it in the plan: those that it needs,
// and those that share a limit of one.
func needed(plan *planner.Plan) [][]bool {
	after := make([][]int, len(plan.Steps))
	for i, s := range plan.Steps {
		for j, o := range plan.Steps[:i] {
			turn := slices.ContainsFunc(s.Limits, func(l string) bool { return plan.Limits[l] == 1 && slices.Contains(o.Limits, l) })
			if turn || slices.Contains(s.Needs, o.ID) {
				after[i] = append(after[i], j)
			}
		}
	}
	return before(after)
}

// before returns the transitive closure of an order.
func before(after [][]int) [][]bool {
	out := make([][]bool, len(after))
	var close func(i int)
	close = func(i int) {
		if out[i] != nil {
			return
		}
		out[i] = make([]bool, len(after))
		for _, j := range after[i] {
			close(j)
			out[i][j] = true
			for k, b := range out[j] {
				out[i][k] = out[i][k] || b
			}
		}
	}
	for i := range after {
		close(i)
	}
	return out
}

func legible(t *testing.T, name string, g pictured) {
	t.Helper()
	for i, b := range g.Boxes {
		if !b.Box.in(g.Canvas) || !b.Text.in(b.Box) {
			t.Errorf("%s: the box of %s, %v with text %v, is outside of the picture %v, or its text outside of it", name, b.Step, b.Box, b.Text, g.Canvas)
		}
		for _, o := range g.Boxes[i+1:] {
			if b.Box.overlaps(o.Box) {
				t.Errorf("%s: the boxes of %s and %s overlap", name, b.Step, o.Step)
			}
		}
		for _, n := range g.Names {
			if b.Box.overlaps(n) {
				t.Errorf("%s: the box of %s overlaps the name of a lane", name, b.Step)
			}
		}
	}
	for i, l := range g.Lanes {
		if !l.in(g.Canvas) || !g.Names[i].in(l) {
			t.Errorf("%s: the lane %d, %v with its name %v, is outside of the picture", name, i, l, g.Names[i])
		}
	}
	for _, e := range g.Edges {
		from, to := g.Boxes[e.From], g.Boxes[e.To]
		first, last := e.Points[0], e.Points[len(e.Points)-1]
		if math.Abs(first[0]-from.Box.right()) > 1 || math.Abs(last[0]-to.Box[0]) > 1 || first[1] < from.Box[1] || first[1] > from.Box.bottom() || last[1] < to.Box[1] || last[1] > to.Box.bottom() {
			t.Errorf("%s: the line from %s to %s leads from %v to %v", name, from.Step, to.Step, first, last)
		}
		for _, p := range e.Points[1 : len(e.Points)-1] {
			point := rect{p[0], p[1], 0, 0}
			if !point.in(g.Canvas) {
				t.Errorf("%s: the line from %s to %s leaves the picture at %v", name, from.Step, to.Step, p)
			}
			for _, b := range g.Boxes {
				if b.Box[0]+1 < p[0] && p[0] < b.Box.right()-1 && b.Box[1]+1 < p[1] && p[1] < b.Box.bottom()-1 {
					t.Errorf("%s: the line from %s to %s runs through %s", name, from.Step, to.Step, b.Step)
				}
			}
		}
	}
}

// estimateOf returns how long a plan takes according to its text; empty if the text does not
// say.
func estimateOf(text string) string {
	if m := regexp.MustCompile(`Takes about (\S+), going`).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// timed checks that each step has a bar that begins when the bars of the steps that it needs
// have ended, and that the last one ends when the text says the plan does.
func timed(t *testing.T, name string, plan *planner.Plan, g pictured, estimate string) {
	t.Helper()
	// A bar without length is two pixels wide.
	const thin = 2.2
	bars := map[string]rect{}
	end := 0.0
	for _, b := range g.Boxes {
		if bars[b.Step] != (rect{}) {
			t.Errorf("%s: %s has two bars", name, b.Step)
		}
		bars[b.Step] = b.Box
		end = max(end, b.Box.right())
		if !b.Box.in(g.Canvas) || !b.Text.in(g.Canvas) || b.Box.overlaps(b.Text) {
			t.Errorf("%s: the bar of %s, %v with text %v, is outside of the picture %v, or over its text", name, b.Step, b.Box, b.Text, g.Canvas)
		}
	}
	for _, s := range plan.Steps {
		bar, there := bars[s.ID.String()]
		if !there {
			t.Errorf("%s: %s has no bar", name, s.ID)
		}
		for _, n := range s.Needs {
			if bar[0] < bars[n.String()].right()-thin {
				t.Errorf("%s: %s begins at %v, before %s ends at %v", name, s.ID, bar[0], n, bars[n.String()].right())
			}
		}
	}
	if len(bars) != len(plan.Steps) {
		t.Errorf("%s: %d bars for %d steps", name, len(bars), len(plan.Steps))
	}
	if estimate == "" {
		if len(g.Ticks) > 0 || !strings.Contains(g.Says, "the bars show only the order") {
			t.Errorf("%s: the duration is unknown, and the timeline has %v and says %q", name, g.Ticks, g.Says)
		}
		return
	}
	if !strings.Contains(g.Says, "Takes about "+estimate+",") {
		t.Errorf("%s: the duration in the text is %s, in the timeline %q", name, estimate, g.Says)
	}
	last := g.Ticks[len(g.Ticks)-1]
	if last.Says != estimate || math.Abs(last.X-end) > thin {
		t.Errorf("%s: takes %s, and the timeline goes to %s at %v; the last bar ends at %v", name, estimate, last.Says, last.X, end)
	}
	for i, tick := range g.Ticks {
		if !tick.Text.in(g.Canvas) || i > 0 && tick.Text.overlaps(g.Ticks[i-1].Text) {
			t.Errorf("%s: the time %s at %v is cut off, or over another one", name, tick.Says, tick.Text)
		}
	}
}
