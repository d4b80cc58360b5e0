package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
)

// marker returns the beginning of a marker line, with the line break before it.
func marker(nonce string) string { return "\nkubewright " + nonce + " " }

// parseAnswer splits an answer into sections. Output before the first marker and after the
// end marker is noise. An incomplete marker line does not count.
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

const (
	// lineCap limits a marker line, in bytes.
	lineCap = 16 << 10
	// sectionCap limits the sections of an answer.
	sectionCap = 16 << 10
)

// collector keeps an answer as it arrives, and ends the conversation if the answer exceeds
// a limit.
type collector struct {
	mark  string
	limit int64
	// caps limits each section, by its name; partCap applies to others. If caps is nil,
	// only limit applies.
	caps map[string]int64
	hear func(string)
	// op gets the number of each operation that begins; nil for an answer without any.
	op   func(int)
	stop context.CancelCauseFunc
	// hold makes room for n bytes, and waits for it.
	hold func(n int) error

	mu    sync.Mutex
	buf   []byte
	began time.Time // when the begin marker arrived; zero before
	// searched is how much of buf has been searched for markers.
	searched int
	// sections counts the marker lines, ops the operations that have begun, told the bytes
	// passed to hear.
	sections, ops, told int
	// section is the name of the arriving section, which begins at offset at in buf; former
	// counts the bytes of earlier sections by name.
	section string
	at      int
	former  map[string]int64
	off     bool
}

func (c *collector) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off {
		return len(p), nil
	}
	if err := c.hold(len(p)); err != nil {
		c.end(err)
		return len(p), nil
	}
	c.buf = append(c.buf, p...)
	c.markers()
	if limit, what := c.bound(); !c.off && int64(len(c.buf)) > limit {
		c.end(&budget.TooLargeError{What: what, Most: limit})
	}
	c.capSection(len(c.buf))
	return len(p), nil
}

// capSection ends the conversation if the arriving section, which so far ends at offset to,
// exceeds its limit.
func (c *collector) capSection(to int) {
	if c.off || c.caps == nil || c.began.IsZero() {
		return
	}
	most, named := c.caps[c.section]
	if !named {
		most = partCap
	}
	if c.former[c.section]+int64(to-c.at) > most {
		c.end(&budget.TooLargeError{What: fmt.Sprintf("in the part %q of its answer", providers.Sanitize(c.section, 64)), Most: most})
	}
}

// next begins a section; the previous one ends at offset to.
func (c *collector) next(section string, to int) {
	c.capSection(to)
	if c.caps != nil && !c.began.IsZero() {
		c.former[c.section] += int64(to - c.at)
	}
	c.section, c.at = section, c.searched
}

func (c *collector) end(cause error) {
	c.off = true
	c.stop(cause)
}

// markers processes the marker lines that have arrived since the last call.
func (c *collector) markers() {
	mark := []byte(c.mark)
	for !c.off {
		i := bytes.Index(c.buf[c.searched:], mark)
		if i < 0 {
			c.searched = max(c.searched, len(c.buf)-len(mark)+1)
			return
		}
		c.searched += i
		line, rest, whole := bytes.Cut(c.buf[c.searched+len(mark):], []byte("\n"))
		if !whole {
			if len(line) > lineCap {
				c.end(&budget.TooLargeError{What: "in one line of markers", Most: lineCap})
			}
			return
		}
		word, said, _ := strings.Cut(string(line), " ")
		if word == "heard" {
			c.buf = append(c.buf[:c.searched], rest...)
			c.heard(said)
			continue
		}
		c.searched += len(mark) + len(line) + 1
		c.next(word, c.searched-len(mark)-len(line)-1)
		if c.sections++; c.sections > sectionCap {
			c.end(fmt.Errorf("more than %d sections of answer", sectionCap))
		}
		switch {
		case word == "begin" && c.began.IsZero():
			c.began = time.Now()
		case word == "op" && c.op != nil && said == strconv.Itoa(c.ops):
			c.op(c.ops)
			c.ops++
		}
	}
}

// heard passes on output of a running command. It is no part of the answer, which is the
// same with or without a listener.
func (c *collector) heard(said string) {
	switch c.told += len(said); {
	case c.hear == nil:
		c.end(errUnasked)
	case c.told > toldCap:
		c.end(&budget.TooLargeError{What: "printed by operations under way", Most: toldCap})
	default:
		c.hear(said)
	}
}

// errUnasked reports a host that sends its commands' output without being asked to.
var errUnasked = errors.New("it tells what its commands print, which was not asked for")

// bound returns the limit of what may have arrived so far.
func (c *collector) bound() (int64, string) {
	if c.began.IsZero() {
		return noiseCap, "before the answer"
	}
	return c.limit + noiseCap, "of answer"
}

// bytes returns what has arrived; later writes do not count.
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
		t.stop(&budget.TooLargeError{What: "on standard error", Most: t.limit})
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
