package progress

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
)

// Observation shows which hosts have not answered yet while a plan observes them. On a terminal it
// is one line that disappears; in a log a line from time to time. It shows nothing for a short
// observation.
type Observation struct {
	mu       sync.Mutex
	w        io.Writer
	style    ui.Style
	width    int
	terminal bool
	began    time.Time
	last     time.Time // of the last line in a log
	total    int
	waiting  []string
	shown    bool
}

// observationDelay is how long an observation may take until a terminal shows it.
const observationDelay = 500 * time.Millisecond

// NewObservation returns the display; names are the hosts that are observed.
func NewObservation(w io.Writer, o ui.Options, terminal bool, names []string, now time.Time) *Observation {
	return &Observation{
		w: w, style: ui.Style{Color: o.Color}, width: ui.NewPage(o).Width, terminal: terminal,
		began: now, last: now, total: len(names), waiting: names,
	}
}

// Answered removes a host from the list of those that have not answered.
func (l *Observation) Answered(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, n := range l.waiting {
		if n == name {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			return
		}
	}
}

// Tick redraws the line.
func (l *Observation) Tick(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed := now.Sub(l.began)
	switch {
	case l.terminal && elapsed >= observationDelay:
		l.shown = true
		_, _ = io.WriteString(l.w, "\r"+ansi.Truncate(l.line(elapsed), l.width-1, "…")+ansi.EraseLineRight)
	case !l.terminal && now.Sub(l.last) >= quietInterval:
		l.last = now
		_, _ = io.WriteString(l.w, l.line(elapsed)+"\n")
	}
}

// line returns the line: Looking at 5 hosts: 3 answered, waiting for w1, w2 [4s].
func (l *Observation) line(elapsed time.Duration) string {
	s := l.style.Bold("Looking at "+ui.Plural(l.total, "host")) + ": " + strconv.Itoa(l.total-len(l.waiting)) + " answered, waiting for "
	if len(l.waiting) == 0 {
		s += "the API"
	}
	names := l.waiting
	if more := len(names) - maxBeat; more > 0 {
		names = append(names[:maxBeat:maxBeat], strconv.Itoa(more)+" more")
	}
	return s + ui.Clean(strings.Join(names, ", ")) + " [" + seconds(elapsed) + "]"
}

// Aside removes the line while something else uses the terminal, such as a question.
func (l *Observation) Aside(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	f()
}

// Close ends the display.
func (l *Observation) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
}

func (l *Observation) clear() {
	if l.shown {
		_, _ = io.WriteString(l.w, "\r"+ansi.EraseLineRight)
		l.shown = false
	}
}

// Start ticks until the returned function is called, which also closes the display.
func (l *Observation) Start(now func() time.Time) (stop func()) { return ticking(now, l.Tick, l.Close) }
