// Package logged writes the log of a run, for whoever has to find out what it
// does: what is asked of which host, API, etcd and backend, what came of it and
// how long it took, and which steps and operations begin and end. It wraps
// those that are asked, so that none of them knows of the log; without a log
// nothing is wrapped.
//
// What goes into it is chosen by type: names, paths, addresses and errors, never
// what a file, an object or an answer holds. All of it loses the secrets that the
// run knows of, and what is no text becomes visible, as on the terminal.
package logged

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// LevelTrace is below slog's own levels: what is about to be asked, too.
const LevelTrace = slog.LevelDebug - 4

// levels are the names of levels.
var levels = []struct {
	name  string
	level slog.Level
}{{"error", slog.LevelError}, {"warn", slog.LevelWarn}, {"info", slog.LevelInfo}, {"debug", slog.LevelDebug}, {"trace", LevelTrace}}

// Levels returns the names of levels, from the fewest lines to the most.
func Levels() []string {
	var out []string
	for _, l := range levels {
		out = append(out, l.name)
	}
	return out
}

// Level returns the level with this name, in small letters or capitals.
func Level(name string) (slog.Level, bool) {
	for _, l := range levels {
		if strings.EqualFold(l.name, name) {
			return l.level, true
		}
	}
	return 0, false
}

// Log is one that is written. Nil is none: its methods do nothing and wrap nothing.
type Log struct {
	lines   *slog.Logger
	now     func() time.Time
	secrets atomic.Pointer[state.Redactor]
	// clean reports whether the handler leaves characters in values that are no text.
	clean bool
}

// Options say what is written and how.
type Options struct {
	Level slog.Level
	// JSON writes an object per line, for programs.
	JSON bool
	Now  func() time.Time
}

// New makes a log.
func New(w io.Writer, o Options) *Log {
	l := &Log{now: o.Now, clean: o.JSON}
	handler := &slog.HandlerOptions{Level: o.Level, ReplaceAttr: l.attribute}
	out := &lines{w: w, log: l}
	if o.JSON {
		l.lines = slog.New(slog.NewJSONHandler(out, handler))
	} else {
		out.clean = true
		l.lines = slog.New(slog.NewTextHandler(out, handler))
	}
	return l
}

// Hide takes secrets out of everything that is written from here on, besides those
// of calls before. Steps that make secrets call it at the same time.
func (l *Log) Hide(secrets *state.Redactor) {
	if l == nil {
		return
	}
	for {
		old := l.secrets.Load()
		if l.secrets.CompareAndSwap(old, old.And(secrets)) {
			return
		}
	}
}

// Trace writes a line that matters to whoever looks for a defect.
func (l *Log) Trace(text string, about ...any) { l.write(LevelTrace, text, about) }

// Debug writes a line about what was asked, and what came of it.
func (l *Log) Debug(text string, about ...any) { l.write(slog.LevelDebug, text, about) }

// Info writes a line about how far the run is.
func (l *Log) Info(text string, about ...any) { l.write(slog.LevelInfo, text, about) }

// Warn writes a line about what has failed and may be made good.
func (l *Log) Warn(text string, about ...any) { l.write(slog.LevelWarn, text, about) }

// Error writes a line about what has failed.
func (l *Log) Error(text string, about ...any) { l.write(slog.LevelError, text, about) }

func (l *Log) write(level slog.Level, text string, about []any) {
	if l != nil {
		l.lines.Log(context.Background(), level, text, about...)
	}
}

// asking reports whether something is about to be asked, and with the function that it
// returns what came of it. What fails is a warning: it may be tried again.
func (l *Log) asking(what string, about ...any) func(error, ...any) {
	l.Trace("asking "+what, about...)
	began := l.now()
	return func(err error, found ...any) {
		about = append(about, append(found, "duration", l.now().Sub(began))...)
		switch {
		case err == nil:
			l.Debug("asked "+what, about...)
		case errors.Is(err, context.Canceled):
			l.Debug("gave up on "+what, about...)
		default:
			l.Warn("failed to ask "+what, append(about, "error", err)...)
		}
	}
}

// attribute makes a value fit to be written.
func (l *Log) attribute(_ []string, a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch {
	case a.Key == slog.TimeKey:
		return slog.Time(a.Key, l.now())
	case a.Key == slog.LevelKey:
		return slog.String(a.Key, levelName(v))
	case v.Kind() == slog.KindString:
		return slog.String(a.Key, l.text(v.String()))
	case v.Kind() == slog.KindDuration:
		return slog.String(a.Key, v.Duration().Round(time.Microsecond).String())
	case v.Kind() == slog.KindAny:
		if list, ok := v.Any().([]string); ok {
			return slog.String(a.Key, l.text(strings.Join(list, ", ")))
		}
		return slog.String(a.Key, l.text(fmt.Sprint(v.Any())))
	}
	return a
}

func levelName(v slog.Value) string {
	for _, l := range levels {
		if v.Any() == l.level {
			return strings.ToUpper(l.name)
		}
	}
	return v.String()
}

// text is without secrets, and of what the handler does not quote without what a
// terminal or a CI runner takes for a command.
func (l *Log) text(s string) string {
	s = state.WithoutPasswords(l.secrets.Load().Text(s))
	if l.clean {
		s = ui.Clean(s)
	}
	return s
}

// lines writes whole lines. Quoting may have made a secret of two words, or a
// command for a CI runner of a name and its value: what is written is looked at
// once more.
type lines struct {
	mu    sync.Mutex
	w     io.Writer
	log   *Log
	clean bool
}

func (w *lines) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.log.secrets.Load().Text(strings.TrimSuffix(string(b), "\n"))
	if w.clean {
		text = ui.Clean(text)
	}
	if _, err := io.WriteString(w.w, text+"\n"); err != nil {
		return 0, err
	}
	return len(b), nil
}
