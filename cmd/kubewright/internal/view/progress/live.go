package progress

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// Live redraws a block at the end of the terminal: the running steps with their duration and
// how long they took before, below the finished steps of nodes that have more to do. A finished
// node keeps one line above the block, which scrolls with everything else, and so does a failed
// step. A redraw is one write: the cursor goes up, each line is overwritten, and the rest is
// cleared, so that nothing flickers. A row that was longer is cleared as a whole first: after
// its new end a terminal (tmux) would keep blanks, and fold them into rows of their own when it
// becomes narrower.
type Live struct {
	mu sync.Mutex
	tally
	style         ui.Style
	folds         folding
	w             io.Writer
	width, height int
	size          func() (width, height int)
	estimate      time.Duration
	expected      map[state.Address]time.Duration
	// drawn are the widths of the lines of the block on the screen.
	drawn []int
	// refolded reports whether the width of the terminal has changed since the block was drawn, so
	// that the terminal has laid out its lines again.
	refolded bool
	// pending are lines to print above the block at the next redraw.
	pending  []string
	lastDraw time.Time
	err      error
}

// redrawInterval is the shortest time between two redraws for events.
const redrawInterval = 100 * time.Millisecond

// NewLive returns a display for a terminal of the options' width and height. It follows changes
// through Options.Size or Resize.
func NewLive(w io.Writer, o ui.Options) *Live {
	p := &Live{w: w, style: ui.Style{Color: o.Color}, width: o.Width, height: o.Height, estimate: o.Estimate, expected: o.Expected, size: o.Size}
	p.folds.steps = o.Steps
	if p.width <= 0 {
		p.width = ui.DefaultWidth
	}
	if p.height <= 0 {
		p.height = defaultHeight
	}
	return p
}

const defaultHeight = 24

// Resize sets the terminal's new size. The block is drawn again at the next tick or event.
func (p *Live) Resize(width, height int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resize(width, height)
}

func (p *Live) resize(width, height int) {
	if width > 0 && height > 0 {
		p.refolded = p.refolded || width != p.width
		p.width, p.height = width, height
	}
}

// Note implements Renderer.
func (p *Live) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, ui.Clean(text))
	p.draw()
}

// Event implements Renderer.
func (p *Live) Event(e executor.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, p.folds.take(&p.tally, p.style, e, p.take(p.style, e))...)
	if e.Kind == executor.KindFailed || e.Kind == executor.KindStopping || e.Time.Sub(p.lastDraw) >= redrawInterval {
		p.draw()
	}
}

// Tick implements Renderer.
func (p *Live) Tick(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.After(p.now) {
		p.now = now
	}
	p.draw()
}

// Close implements Renderer: the block disappears, the lines above it stay, with one line for each
// node that is partly done.
func (p *Live) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, p.folds.leaveAll(&p.tally, p.style)...)
	p.write(nil)
	return p.err
}

func (p *Live) draw() {
	if p.size != nil {
		p.resize(p.size())
	}
	p.lastDraw = p.now
	p.write(p.block())
}

// block returns the block, with each line shorter than the terminal is wide.
func (p *Live) block() []string {
	if len(p.running) == 0 && len(p.folds.open) == 0 {
		return nil
	}
	room := max(1, p.height-3)
	shown := p.running
	if len(shown) > room {
		shown = shown[:max(1, room-1)]
	}
	names, times := make([]string, len(shown)), make([]string, len(shown))
	wide, long := 0, 4
	for i, r := range shown {
		names[i] = ansi.Truncate(ui.StepName(r.id), max(1, p.width-timeRoom), "…")
		wide = max(wide, ansi.StringWidth(names[i]))
	}
	wide = min(wide, p.width/2)
	for i, r := range shown {
		columns := 0
		times[i], columns = p.time(r, p.width-1-len("    ")-max(wide, ansi.StringWidth(names[i])))
		long = max(long, columns)
	}
	lines := []string{p.head()}
	tails := p.tails(shown, room-len(shown))
	for i, r := range shown {
		line := "  " + ui.Fill(names[i], wide) + "  " + times[i]
		if column := len("    ") + max(wide, ansi.StringWidth(names[i])) + long + 2; column+1 < p.width && r.operation != "" {
			line = ui.Fill(line, column) + p.style.Dim(r.operation)
		}
		lines = append(lines, line)
		if tails[r] {
			lines = append(lines, p.style.Dim("    "+r.lastLine))
		}
	}
	if more := len(p.running) - len(shown); more > 0 {
		lines = append(lines, p.style.Dim("  … and "+strconv.Itoa(more)+" more"))
	}
	lines = append(p.latest(min(room-len(lines)+2, p.height/3, maxLatest)), lines...)
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], p.width-1, "…")
	}
	return lines
}

// latest returns the lines of the last finished steps of nodes that have more to do, as many as
// there is room for.
func (p *Live) latest(room int) []string {
	open := p.folds.open
	var out []string
	for _, l := range open[max(0, len(open)-max(0, room)):] {
		out = append(out, l.text)
	}
	return out
}

// maxLatest keeps the block low: a block that is higher than a shrunken terminal leaves lines in
// the scrollback.
const maxLatest = 8

// timeRoom is the number of columns that the name of a step leaves for the rest of its row.
const timeRoom = 12

// time returns how long a step has been running, and how long such a step took before if that is
// known and fits: 12s of about 40s. Columns is the width that it needs until that time has passed.
func (p *Live) time(r *runningStep, room int) (text string, columns int) {
	text = seconds(p.now.Sub(r.began))
	expected := p.expected[r.id].Round(time.Second)
	if expected > 0 {
		about := ui.Duration(expected)
		of := " of about " + about
		if columns = max(len(text), len(about)) + len(of); columns <= room {
			return text + of, columns
		}
	}
	return text, len(text)
}

// tails returns the steps whose last line of output is shown below them: the slowest of those that
// have run for long or whose command reports output, as many as there is room for.
func (p *Live) tails(shown []*runningStep, room int) map[*runningStep]bool {
	out := map[*runningStep]bool{}
	slowest := slices.Clone(shown)
	slices.SortStableFunc(slowest, func(a, b *runningStep) int { return a.began.Compare(b.began) })
	for _, r := range slowest {
		if r.lastLine != "" && (r.output || p.now.Sub(r.began) >= slowStep) && len(out) < min(room, maxTails) {
			out[r] = true
		}
	}
	return out
}

const (
	// slowStep is how long a step has to run until its last line of output is shown.
	slowStep = 5 * time.Second
	maxTails = 3
)

// head returns the counts: Applying: 12 of 41 steps done, 1 failed [1m5s, about 20s left].
func (p *Live) head() string {
	s := p.style.Bold("Applying: ") + strconv.Itoa(p.done) + " of " + strconv.Itoa(p.total) + " steps done"
	if p.failed > 0 {
		s += ", " + p.style.BoldRed(strconv.Itoa(p.failed)+" failed")
	}
	elapsed := p.now.Sub(p.began)
	s += " [" + seconds(elapsed)
	if left := p.estimate - elapsed; left > time.Second {
		s += ", about " + seconds(left) + " left"
	}
	s += "]"
	if p.stopping {
		s += " " + p.style.Yellow("stopping")
	}
	return s
}

// seconds returns a duration without fractions.
func seconds(d time.Duration) string { return ui.Duration(max(0, d).Truncate(time.Second)) }

// write replaces the block with pending lines and a new block.
func (p *Live) write(block []string) {
	if len(p.drawn) == 0 && len(p.pending) == 0 && len(block) == 0 {
		return
	}
	var b strings.Builder
	had := p.drawn
	if n := p.rows(); n > 0 {
		b.WriteString("\r" + ansi.CursorUp(n))
		if p.refolded { // rows remember that they continue one another until they are cleared
			b.WriteString(ansi.EraseScreenBelow)
			had = nil
		}
	}
	p.refolded = false
	for _, line := range append(p.pending, block...) {
		n := p.rowsOf(ansi.StringWidth(line))
		end := ""
		switch covered := had[min(n-1, len(had)):]; {
		case len(covered) == 0:
		case n > 1:
			end = ansi.EraseLineRight
		case covered[0] > ansi.StringWidth(line):
			b.WriteString(ansi.EraseEntireLine)
		}
		had = had[min(n, len(had)):]
		b.WriteString(line + end + "\n")
	}
	b.WriteString(ansi.EraseScreenBelow)
	p.pending, p.drawn = nil, p.drawn[:0]
	for _, line := range block {
		p.drawn = append(p.drawn, ansi.StringWidth(line))
	}
	if _, err := io.WriteString(p.w, b.String()); err != nil && p.err == nil {
		p.err = err
	}
}

// rows returns the number of rows of the block on the screen: a terminal that has become narrower
// has folded its lines.
func (p *Live) rows() int {
	n := 0
	for _, w := range p.drawn {
		n += p.rowsOf(w)
	}
	return n
}

// rowsOf returns the number of rows of a line of this width.
func (p *Live) rowsOf(width int) int { return max(1, (width+p.width-1)/p.width) }
