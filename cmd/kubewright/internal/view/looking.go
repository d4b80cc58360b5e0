package view

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Looking tells who has not answered yet while hosts are looked at. On a
// terminal it is one line that disappears; in a log a line now and then. It
// says nothing about what takes no time.
type Looking struct {
	mu       sync.Mutex
	w        io.Writer
	style    style
	width    int
	terminal bool
	began    time.Time
	last     time.Time // of the last line in a log
	total    int
	waiting  []string
	shown    bool
}

// patience is how long looking may take before a terminal is told of it.
const patience = 500 * time.Millisecond

// NewLooking makes the display; names are the hosts that are looked at.
func NewLooking(w io.Writer, o Options, terminal bool, names []string, now time.Time) *Looking {
	return &Looking{
		w: w, style: style{color: o.Color}, width: newPage(o).width, terminal: terminal,
		began: now, last: now, total: len(names), waiting: names,
	}
}

// Answered takes a host out of those that are waited for.
func (l *Looking) Answered(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, n := range l.waiting {
		if n == name {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			return
		}
	}
}

// Tick tells the time.
func (l *Looking) Tick(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed := now.Sub(l.began)
	switch {
	case l.terminal && elapsed >= patience:
		l.shown = true
		_, _ = io.WriteString(l.w, "\r"+ansi.Truncate(l.line(elapsed), l.width-1, "…")+ansi.EraseLineRight)
	case !l.terminal && now.Sub(l.last) >= quiet:
		l.last = now
		_, _ = io.WriteString(l.w, l.line(elapsed)+"\n")
	}
}

// line says: Looking at 5 hosts: 3 answered, waiting for w1, w2 [4s].
func (l *Looking) line(elapsed time.Duration) string {
	s := l.style.bold("Looking at "+plural(l.total, "host")) + ": " + strconv.Itoa(l.total-len(l.waiting)) + " answered, waiting for "
	if len(l.waiting) == 0 {
		s += "the API"
	}
	names := l.waiting
	if more := len(names) - maxBeat; more > 0 {
		names = append(names[:maxBeat:maxBeat], strconv.Itoa(more)+" more")
	}
	return s + Clean(strings.Join(names, ", ")) + " [" + seconds(elapsed) + "]"
}

// Aside lets something else use the terminal, such as a question.
func (l *Looking) Aside(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	f()
}

// Close ends the display.
func (l *Looking) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
}

func (l *Looking) clear() {
	if l.shown {
		_, _ = io.WriteString(l.w, "\r"+ansi.EraseLineRight)
		l.shown = false
	}
}

// Start ticks until the returned function is called, which also closes the display.
func (l *Looking) Start(now func() time.Time) (stop func()) { return ticking(now, l.Tick, l.Close) }
