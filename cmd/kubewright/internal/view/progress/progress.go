package progress

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// Renderer shows a run in progress. Its methods may be called from several goroutines.
type Renderer interface {
	// Event takes an event of the executor; it is an executor.Options.Sink.
	Event(executor.Event)
	// Tick redraws, so that a long step shows signs of life.
	Tick(now time.Time)
	// Note prints a line of the program itself, such as an answer to an interrupt.
	Note(text string)
	// Close ends the display; what it has printed stays.
	Close() error
}

// Display is a Renderer that ticks by itself once started.
type Display struct{ Renderer }

// New returns the display for a terminal, or for a log.
func New(w io.Writer, o ui.Options, terminal bool) Display {
	if terminal {
		return Display{NewLive(w, o)}
	}
	return Display{NewPlain(w, o)}
}

// Both returns one display that shows everything on two.
func Both(a, b Display) Display { return Display{twoDisplays{a, b}} }

type twoDisplays [2]Display

func (d twoDisplays) Event(e executor.Event) {
	d[0].Event(e)
	d[1].Event(e)
}

func (d twoDisplays) Tick(now time.Time) {
	d[0].Tick(now)
	d[1].Tick(now)
}

func (d twoDisplays) Note(text string) {
	d[0].Note(text)
	d[1].Note(text)
}

func (d twoDisplays) Close() error { return errors.Join(d[0].Close(), d[1].Close()) }

// Start ticks until the returned function is called, which also closes the display.
func (d Display) Start(now func() time.Time) (stop func()) {
	return ticking(now, d.Tick, func() { _ = d.Close() })
}

// ticking calls tell with the time of now at intervals until the returned function is called,
// which then calls closing.
func ticking(now func() time.Time, tell func(time.Time), closing func()) (stop func()) {
	ticker := time.NewTicker(tick)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				tell(now())
			case <-quit:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(quit)
		<-ended
		closing()
	}
}

// tick is the interval of redraws without events.
const tick = 250 * time.Millisecond

// tally is the state of a run as its events describe it.
type tally struct {
	began   time.Time
	now     time.Time
	total   int
	done    int
	failed  int
	settled int
	// running is in the order in which steps began.
	running  []*runningStep
	stopping bool
}

type runningStep struct {
	id    state.Address
	began time.Time
	// operation is the running operation with its number: the last of a batch, or the one whose
	// output was last reported. operations are all so far, by number.
	operation  string
	operations map[int]string
	// lastLine is the last line of its log or output. logged are all lines of its log, each of
	// which is printed once: a blocked eviction is retried for ten minutes.
	lastLine string
	logged   map[string]bool
	// output reports whether lastLine is output of a running command, which is not kept.
	output bool
}

// take updates the tally and returns the lines that stay on the screen for the event.
func (t *tally) take(s ui.Style, e executor.Event) []string {
	t.now = e.Time
	if e.Total > 0 {
		t.total = e.Total
	}
	switch e.Kind {
	case executor.KindRun:
		t.began = e.Time
	case executor.KindStarted:
		t.running = append(t.running, &runningStep{id: e.Step, began: e.Time, operations: map[int]string{}, logged: map[string]bool{}})
	case executor.KindOp:
		if r := t.find(e.Step); r != nil {
			r.operation = ui.Clean(e.Summary)
			if e.Ops > 1 {
				r.operation += " (" + strconv.Itoa(e.Op+1) + "/" + strconv.Itoa(e.Ops) + ")"
			}
			r.operations[e.Op] = r.operation
			r.lastLine, r.output = "", false
		}
	case executor.KindOutput:
		if r := t.find(e.Step); r != nil {
			r.operation = cmp.Or(r.operations[e.Op], r.operation)
			r.lastLine, r.output = ui.Clean(e.Summary), true
		}
	case executor.KindLog:
		text := ui.Clean(e.Summary)
		if r := t.find(e.Step); r != nil {
			r.lastLine, r.output = text, false
			if r.logged[text] {
				return nil
			}
			r.logged[text] = true
		}
		return []string{s.Dim("  "+ui.StepName(e.Step)+": ") + text}
	case executor.KindStopping:
		t.stopping = true
		return append([]string{s.Bold(s.Yellow("Stopping: ")) + ui.Clean(e.Summary) + ". What runs is finished, nothing new is started."}, t.awaited()...)
	case executor.KindDone, executor.KindFailed, executor.KindSkipped, executor.KindCancelled:
		return t.settle(s, e)
	}
	return nil
}

// awaited returns for each running step its operation and for how long it has been running.
func (t *tally) awaited() []string {
	var out []string
	for _, r := range t.running {
		line := "  waiting for " + ui.StepName(r.id)
		if r.operation != "" {
			line += ": " + r.operation
		}
		out = append(out, line+", for "+seconds(t.now.Sub(r.began)))
	}
	return out
}

// settle takes a finished step. Steps that never ran have no line: the report at the end names
// them.
func (t *tally) settle(s ui.Style, e executor.Event) []string {
	if e.Kind == executor.KindSkipped || e.Kind == executor.KindCancelled {
		return nil
	}
	t.settled++
	for i, r := range t.running {
		if r.id == e.Step {
			t.running = append(t.running[:i], t.running[i+1:]...)
			break
		}
	}
	head := t.count(s) + ui.StepName(e.Step)
	after := ui.Duration(time.Duration(e.Seconds * float64(time.Second)))
	if e.Kind == executor.KindDone {
		t.done++
		return []string{head + ": " + s.Green("done") + " after " + after}
	}
	if !executor.IsInterrupted(e.Err) {
		t.failed++
	}
	why := ""
	if e.Err != nil {
		// The report at the end has the rest.
		first, _, _ := strings.Cut(e.Err.Error(), "\n")
		why = ": " + ui.Clean(first)
	}
	return []string{head + ": " + s.BoldRed(EndWord(e.Err)) + " after " + after + why}
}

// count returns the number of finished steps: [ 7/41].
func (t *tally) count(s ui.Style) string {
	return s.Dim("[" + fmt.Sprintf("%*d/%d", len(strconv.Itoa(t.total)), t.settled, t.total) + "] ")
}

func (t *tally) find(id state.Address) *runningStep {
	for _, r := range t.running {
		if r.id == id {
			return r
		}
	}
	return nil
}

// Plain prints a line for each finished step, and one if nothing has been printed for a while:
// for logs and terminals that cannot move the cursor.
type Plain struct {
	mu sync.Mutex
	tally
	style ui.Style
	w     io.Writer
	last  time.Time // of the last line
	err   error
}

// quietInterval is how long nothing may be printed.
const quietInterval = 10 * time.Second

// NewPlain returns a display of lines.
func NewPlain(w io.Writer, o ui.Options) *Plain {
	return &Plain{w: w, style: ui.Style{Color: o.Color}}
}

// Event implements Renderer.
func (p *Plain) Event(e executor.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.IsZero() {
		p.last = e.Time
	}
	if lines := p.take(p.style, e); len(lines) > 0 {
		p.print(e.Time, lines...)
	}
	p.beat(e.Time)
}

// Tick implements Renderer.
func (p *Plain) Tick(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.After(p.now) {
		p.now = now
	}
	p.beat(now)
}

// Note implements Renderer.
func (p *Plain) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(p.now, ui.Clean(text))
}

// Close implements Renderer; it returns the first write error.
func (p *Plain) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// beat prints the running steps if nothing has been printed for a while.
func (p *Plain) beat(now time.Time) {
	if len(p.running) == 0 || p.last.IsZero() || now.Sub(p.last) < quietInterval {
		return
	}
	var what []string
	for i, r := range p.running {
		if i == maxBeat {
			what = append(what, strconv.Itoa(len(p.running)-maxBeat)+" more")
			break
		}
		s := ui.StepName(r.id)
		if r.operation != "" {
			s += " (" + r.operation + r.tail() + ")"
		}
		what = append(what, s)
	}
	p.print(now, "Still applying… ["+ui.Duration(now.Sub(p.began).Round(time.Second))+" elapsed, "+
		strconv.Itoa(p.settled)+" of "+strconv.Itoa(p.total)+" steps] "+strings.Join(what, ", "))
}

// tail returns the last line of a command's output, to end a sentence.
func (r *runningStep) tail() string {
	if !r.output {
		return ""
	}
	return ": " + ansi.Truncate(r.lastLine, maxTail, "…")
}

// maxTail is the number of columns of a command's output in a heartbeat.
const maxTail = 60

// maxBeat is the number of running steps in a heartbeat.
const maxBeat = 3

func (p *Plain) print(now time.Time, lines ...string) {
	p.last = now
	if _, err := io.WriteString(p.w, strings.Join(lines, "\n")+"\n"); err != nil && p.err == nil {
		p.err = err
	}
}

// EndWord returns how an unfinished step ended: failed or interrupted.
func EndWord(err error) string {
	if executor.IsInterrupted(err) {
		return "interrupted"
	}
	return "failed"
}
