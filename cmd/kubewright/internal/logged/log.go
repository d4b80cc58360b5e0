// Package logged writes the log of a run, for debugging: the requests to each host, API, etcd
// and backend with their result and duration, and the beginning and end of steps and
// operations. It wraps the providers, so that none of them knows about the log; without a log
// nothing is wrapped.
//
// Its content is chosen by type: names, paths, addresses and errors, never the content of a
// file, an object or an answer. The secrets that the run knows are redacted, and control
// characters become visible escapes, as on the terminal.
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

// LevelTrace is below slog's own levels: it also logs a request before it is sent.
const LevelTrace = slog.LevelDebug - 4

// levels are the levels by name.
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

// Level returns the level with this name, in any case.
func Level(name string) (slog.Level, bool) {
	for _, l := range levels {
		if strings.EqualFold(l.name, name) {
			return l.level, true
		}
	}
	return 0, false
}

// Log is a log; nil is no log: its methods do nothing and wrap nothing.
type Log struct {
	lines   *slog.Logger
	now     func() time.Time
	secrets atomic.Pointer[state.Redactor]
	// clean reports whether the handler does not escape control characters in values.
	clean bool
}

// Options are the level and the form of a log.
type Options struct {
	Level slog.Level
	// JSON writes one object per line, for programs.
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

// Hide redacts secrets in everything that is logged from here on, besides the secrets of
// earlier calls. Steps that make secrets call it concurrently.
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

// Trace writes a line for debugging kubewright itself.
func (l *Log) Trace(text string, about ...any) { l.write(LevelTrace, text, about) }

// Debug writes a line about a request and its result.
func (l *Log) Debug(text string, about ...any) { l.write(slog.LevelDebug, text, about) }

// Info writes a line about the progress of the run.
func (l *Log) Info(text string, about ...any) { l.write(slog.LevelInfo, text, about) }

// Warn writes a line about a failure that may be recovered from.
func (l *Log) Warn(text string, about ...any) { l.write(slog.LevelWarn, text, about) }

// Error writes a line about a failure.
func (l *Log) Error(text string, about ...any) { l.write(slog.LevelError, text, about) }

func (l *Log) write(level slog.Level, text string, about []any) {
	if l != nil {
		l.lines.Log(context.Background(), level, text, about...)
	}
}

// asking logs that a request is about to be sent; the returned function logs its result. A
// failed request is a warning: it may be retried.
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

// attribute makes a value fit to be logged.
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

// text redacts secrets, and escapes, if the handler does not, control characters and CI runner
// commands.
func (l *Log) text(s string) string {
	s = state.WithoutPasswords(l.secrets.Load().Text(s))
	if l.clean {
		s = ui.Clean(s)
	}
	return s
}

// lines writes whole lines. Quoting may have joined two values into a secret, or a name and its
// value into a CI runner command: each line is redacted and escaped once more.
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
