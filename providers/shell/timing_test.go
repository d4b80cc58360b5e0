package shell_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/providers/shell"
	"github.com/kubewright/kubewright/state"
)

// liar is a host that answers arbitrarily.
type liar struct {
	local.Machine
	// script is the input sent; say sends part of an answer, and fails when the
	// conversation is over.
	answer func(script io.Reader, say func(string) error)
}

var nonceForm = regexp.MustCompile(`kw_n='([A-Z2-7]+)'`)

func (l liar) Exec(ctx context.Context, _ string, stdin io.Reader, stdout, _ io.Writer) (int, error) {
	head := make([]byte, 4096)
	n, _ := io.ReadAtLeast(stdin, head, 1024)
	nonce := nonceForm.FindSubmatch(head[:n])[1]
	said := make(chan struct{})
	go func() {
		defer close(said)
		l.answer(stdin, func(text string) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			_, err := io.WriteString(stdout, strings.ReplaceAll(text, "@", fmt.Sprintf("\nkubewright %s ", nonce)))
			return err
		})
	}()
	select {
	case <-said:
		return 0, nil
	case <-ctx.Done():
		<-said
		return 0, ctx.Err()
	}
}

// every sends the same text again and again, until the conversation is over.
func every(d time.Duration, before, text string) func(io.Reader, func(string) error) {
	return func(script io.Reader, say func(string) error) {
		go func() { _, _ = io.Copy(io.Discard, script) }()
		for err := say(before); err == nil; err = say(text) {
			time.Sleep(d)
		}
	}
}

// TestTricklingHostIsGivenUp checks that a host that sends something now and then, and never finishes, is
// given up while it is observed.
func TestTricklingHostIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := shell.New("w1", liar{answer: every(20*time.Second, "@entered 0\n@begin\n", "x")}, shell.Options{})
		for _, do := range []func() error{
			func() error { _, err := h.Observe(t.Context(), state.Query{}); return err },
			func() error { _, err := h.ReadSecrets(t.Context(), []string{"/etc/a"}); return err },
		} {
			began := time.Now()
			err := do()
			if took := time.Since(began); !errors.Is(err, providers.ErrTimeout) || took < 5*time.Minute || took > 6*time.Minute {
				t.Errorf("after %v: %v", took, err)
			}
			says(t, "a trickle", err, "cannot observe w1: no end of the answer after 5m0s, in which ")
			says(t, "a trickle", errors.New(providers.RemedyOf(err)), "check the load of the host and the link to it")
		}
	})
}

// TestHungHostIsGivenUpDuringChange checks that a host that hangs in a change does not block for
// ever, whatever it sends meanwhile, and that a slow change is allowed to finish.
func TestHungHostIsGivenUpDuringChange(t *testing.T) {
	t.Parallel()
	install := planner.Packages{Manager: "apt", Repository: "/etc/apt/a.list", List: []planner.Package{{Name: "tool"}}}
	unit := planner.Unit{Unit: "kubelet.service", Action: "stop"}
	begun := "@entered 0\n@begin\n"
	for name, c := range map[string]struct {
		ops    []planner.Operation
		answer func(io.Reader, func(string) error)
		least  time.Duration
		want   string
	}{
		"before the first":         {[]planner.Operation{unit}, every(10*time.Second, begun, ""), 5 * time.Minute, "it has begun none of the operations within "},
		"in the first":             {[]planner.Operation{unit, install}, every(10*time.Second, begun+"@op 0\n", ""), 15 * time.Minute, `it has not come to the end of "stop kubelet.service" in time`},
		"in the first, talking":    {[]planner.Operation{unit}, every(10*time.Second, begun+"@op 0\n", "x"), 15 * time.Minute, `it has not come to the end of "stop kubelet.service" in time`},
		"in a long one, telling":   {[]planner.Operation{unit, install}, every(time.Second, begun+"@op 0\n@done same\n@op 1\n", "@heard 1 more\n"), time.Hour, "it has not come to the end of "},
		"in each a little":         {several(unit, 100), one(begun, 100, 10*time.Minute), 30 * time.Minute, "it has not come to the end of "},
		"not at all, but slow":     {[]planner.Operation{unit, install}, slowly(begun, 14*time.Minute, 59*time.Minute), 73 * time.Minute, ""},
		"not at all, but together": {several(unit, 100), one(begun, 100, 15*time.Second), 25 * time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := shell.New("w1", liar{answer: c.answer}, shell.Options{})
				began := time.Now()
				_, err := h.Perform(t.Context(), providers.Batch{Token: 1, Lineage: "l", Operations: c.ops, Hear: func(int, string) {}})
				took := time.Since(began)
				if took < c.least || took > c.least+c.least/4+3*time.Minute {
					t.Errorf("it took %v: %v", took, err)
				}
				if c.want == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if !errors.Is(err, providers.ErrTimeout) {
					t.Errorf("got %v", err)
				}
				says(t, name, err, "cannot change w1: "+c.want)
				says(t, name, errors.New(providers.RemedyOf(err)), "Then run the same command again")
			})
		})
	}
}

func several(op planner.Operation, n int) []planner.Operation {
	var ops []planner.Operation
	for range n {
		ops = append(ops, op)
	}
	return ops
}

// one performs operations one after another, and takes some time for each.
func one(before string, n int, each time.Duration) func(io.Reader, func(string) error) {
	var times []time.Duration
	for range n {
		times = append(times, each)
	}
	return slowly(before, times...)
}

func slowly(before string, each ...time.Duration) func(io.Reader, func(string) error) {
	return func(script io.Reader, say func(string) error) {
		go func() { _, _ = io.Copy(io.Discard, script) }()
		err := say(before)
		for i, d := range each {
			if err == nil {
				err = say(fmt.Sprintf("@op %d\n", i))
			}
			for left := d; err == nil && left > 0; left -= 5 * time.Second {
				time.Sleep(5 * time.Second)
				err = say("")
			}
			if err == nil {
				err = say("@done same\n")
			}
		}
		if err == nil {
			_ = say("@end\n")
		}
	}
}

// TestUploadOverSlowLinkCompletes checks that an upload over a slow link is completed, however long it takes,
// and that one of which the host reads no more is given up.
func TestUploadOverSlowLinkCompletes(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	data := strings.Repeat("x", size)
	for name, c := range map[string]struct {
		rate, stops int // bytes per second, and after how many no more are read
		least, most time.Duration
		want        string
	}{
		"slow":  {1200, 2 * size, size / 1200 * time.Second, 3 * time.Hour, ""},
		"stops": {64 << 10, size / 2, 0, time.Hour, "it has not come to the end of "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := shell.New("w1", liar{answer: func(script io.Reader, say func(string) error) {
					err := say("@entered 0\n@begin\n@op 0\n")
					step := make([]byte, 32<<10)
					for taken := 0; err == nil && taken < c.stops; {
						n, end := script.Read(step)
						taken += n
						time.Sleep(time.Duration(n) * time.Second / time.Duration(c.rate))
						if err = say(""); err == nil && end != nil {
							_ = say("@done changed\n@end\n")
							return
						}
					}
					for ; err == nil; err = say("") {
						time.Sleep(time.Second)
					}
				}}, shell.Options{})
				began := time.Now()
				_, err := h.Perform(t.Context(), providers.Batch{Token: 1, Lineage: "l", Operations: []planner.Operation{write("/etc/large", data)}})
				if took := time.Since(began); took < c.least || took > c.most || c.want == "" && err != nil {
					t.Errorf("after %v: %v", took, err)
				}
				if c.want != "" {
					says(t, name, err, c.want)
				}
			})
		})
	}
}

// TestHostsShareAnswerMemory checks that hosts whose answers find no room wait for each other,
// that the time of waiting does not count, and that they release their memory.
func TestHostsShareAnswerMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const hosts, size = 6, 600 << 10
		room := budget.Of(1<<20, 700<<10)
		answer := func(script io.Reader, say func(string) error) {
			go func() { _, _ = io.Copy(io.Discard, script) }()
			err := say("@entered 0\n@begin\n@op 0\n")
			for sent := 0; err == nil && sent < size; sent += 10 << 10 {
				time.Sleep(10 * time.Second) // ten minutes in all, and one host waits for the others
				err = say(strings.Repeat("x", 10<<10))
			}
			if err == nil {
				_ = say("@done same\n@end\n")
			}
		}
		var all sync.WaitGroup
		for i := range hosts {
			h := shell.New(fmt.Sprint("w", i), liar{answer: answer}, shell.Options{Budget: room})
			all.Go(func() {
				if _, err := perform(t, h, planner.Unit{Unit: "kubelet.service", Action: "stop"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := room.Used(); n != 0 {
			t.Errorf("%d bytes are not given back", n)
		}
	})
}
