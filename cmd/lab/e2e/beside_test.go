//go:build e2e

package e2e

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestMain takes over how many tests run at once: those that usually take the
// longest begin first, so that none is left to run alone at the end.
func TestMain(m *testing.M) {
	flag.Parse()
	at := flag.Lookup("test.parallel").Value
	slots, err := strconv.Atoi(at.String())
	if err != nil {
		panic(err)
	}
	others.slots, others.free = slots, slots
	if err := at.Set("1000"); err != nil { // all of them queue up here
		panic(err)
	}
	code := m.Run()
	sayFailures(os.Stdout, "")
	os.Exit(code)
}

// others are the tests that run beside one another.
var others = newQueue()

// beside lets a test run beside others: it measures nothing and waits most of its
// time. Tests of time run alone. usual is what it takes on two cores, other tests
// beside it.
func beside(t *testing.T, usual time.Duration) {
	t.Helper()
	takePart(t, usual, 1)
}

// besideOne lets a test of what users of a cluster feel run beside one other.
func besideOne(t *testing.T, usual time.Duration) {
	t.Helper()
	takePart(t, usual, max(1, others.slots-1))
}

func takePart(t *testing.T, usual time.Duration, slots int) {
	t.Helper()
	t.Cleanup(func() { sayFailures(os.Stdout, t.Name()) })
	turn := part{usual, slots}
	others.join(turn)
	t.Parallel() // returns when all that run alone have, and all others have joined
	others.enter(turn)
	t.Cleanup(func() { others.leave(turn) })
}

// part is how long a test takes, and how many slots.
type part struct {
	usual time.Duration
	slots int
}

// A queue lets in as many as there is room for, the longest first. Of those that take
// several slots only one is let in at a time, and shorter ones beside it.
type queue struct {
	*sync.Cond
	slots, free int
	waiting     []part
	// wide is how many are in that take several slots.
	wide int
}

func newQueue() *queue { return &queue{Cond: sync.NewCond(&sync.Mutex{})} }

func (q *queue) join(p part) {
	q.L.Lock()
	defer q.L.Unlock()
	q.waiting = append(q.waiting, p)
}

// enter returns when it is the turn of one.
func (q *queue) enter(p part) {
	q.L.Lock()
	defer q.L.Unlock()
	before := func(other part) bool { return other.usual > p.usual && (other.slots == 1 || q.wide == 0) }
	for q.free < p.slots || slices.ContainsFunc(q.waiting, before) {
		q.Wait()
	}
	q.free -= p.slots
	if p.slots > 1 {
		q.wide++
	}
	i := slices.Index(q.waiting, p)
	q.waiting = slices.Delete(q.waiting, i, i+1)
	q.Broadcast()
}

func (q *queue) leave(p part) {
	q.L.Lock()
	defer q.L.Unlock()
	q.free += p.slots
	if p.slots > 1 {
		q.wide--
	}
	q.Broadcast()
}
