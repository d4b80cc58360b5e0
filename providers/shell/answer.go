package shell

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// marker is what a marker line begins with, and the line break before it.
func marker(nonce string) string { return "\nkubewright " + nonce + " " }

// parseAnswer takes an answer apart. What stands before the first marker is
// noise; so is everything behind the end marker. A marker line that was cut off
// does not count.
func parseAnswer(raw []byte, nonce string) answer {
	var a answer
	mark := []byte(marker(nonce))
	at := bytes.Index(raw, mark)
	for at >= 0 && !a.complete {
		raw = raw[at+len(mark):]
		line, rest, ok := bytes.Cut(raw, []byte("\n"))
		if !ok {
			break
		}
		words := strings.Fields(string(line))
		if len(words) == 0 {
			words = []string{""}
		}
		at = bytes.Index(rest, mark)
		body := rest
		if at >= 0 {
			body = rest[:at]
		}
		raw = rest
		a.sections = append(a.sections, section{words, body})
		a.complete = words[0] == "end"
	}
	return a
}

// limitError says that a host sent more than is accepted.
type limitError struct {
	what  string
	limit int64
}

func (e *limitError) Error() string {
	return fmt.Sprintf("more than %d bytes %s", e.limit, e.what)
}

// collector keeps an answer as it arrives, and ends the conversation when
// there is too much of it.
type collector struct {
	mark  string
	limit int64
	hear  func(string)
	stop  context.CancelCauseFunc

	mu    sync.Mutex
	buf   []byte
	began time.Time // when the begin marker arrived; zero before
	// searched is how much of buf has no beginning of what is heard.
	searched int
	off      bool
}

func (c *collector) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off {
		return len(p), nil
	}
	from := max(0, len(c.buf)-len(c.mark)-len("begin"))
	c.buf = append(c.buf, p...)
	if c.began.IsZero() && bytes.Contains(c.buf[from:], []byte(c.mark+"begin")) {
		c.began = time.Now()
	}
	c.heard()
	if limit, what := c.bound(); int64(len(c.buf)) > limit {
		c.off = true
		c.stop(&limitError{what, limit})
	}
	return len(p), nil
}

// heard passes on what a command has printed while it runs, and takes it out of the
// answer, which is the same whether anybody hears or not.
func (c *collector) heard() {
	mark := []byte(c.mark + "heard ")
	for {
		i := bytes.Index(c.buf[c.searched:], mark)
		if i < 0 {
			c.searched = max(c.searched, len(c.buf)-len(mark)+1)
			return
		}
		c.searched += i
		line, rest, whole := bytes.Cut(c.buf[c.searched+len(mark):], []byte("\n"))
		if !whole {
			return
		}
		said := string(line)
		c.buf = append(c.buf[:c.searched], rest...)
		if c.hear != nil {
			c.hear(said)
		}
	}
}

// bound is what may have arrived so far.
func (c *collector) bound() (int64, string) {
	if c.began.IsZero() {
		return noiseCap, "before the answer"
	}
	return c.limit + noiseCap, "of answer"
}

// bytes returns what has arrived; what is written afterwards does not count.
func (c *collector) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = true
	return c.buf
}

// tail keeps the end of standard error.
type tail struct {
	limit int64
	stop  context.CancelCauseFunc

	mu    sync.Mutex
	buf   []byte
	total int64
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += int64(len(p))
	if t.total > t.limit {
		t.stop(&limitError{"on standard error", t.limit})
		return len(p), nil
	}
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*stderrEnd {
		t.buf = bytes.Clone(t.buf[len(t.buf)-stderrEnd:])
	}
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf
}
