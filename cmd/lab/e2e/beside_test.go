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
	others.join(usual)
	t.Parallel() // returns when all that run alone have, and all others have joined
	others.enter(usual, slots)
	t.Cleanup(func() { others.leave(slots) })
}

// A queue lets in as many as there is room for, the longest first.
type queue struct {
	*sync.Cond
	slots, free int
	waiting     []time.Duration
}

func newQueue() *queue { return &queue{Cond: sync.NewCond(&sync.Mutex{})} }

func (q *queue) join(usual time.Duration) {
	q.L.Lock()
	defer q.L.Unlock()
	q.waiting = append(q.waiting, usual)
}

// enter returns when it is the turn of one that takes that long and so many slots.
func (q *queue) enter(usual time.Duration, slots int) {
	q.L.Lock()
	defer q.L.Unlock()
	for q.free < slots || usual < slices.Max(q.waiting) {
		q.Wait()
	}
	q.free -= slots
	i := slices.Index(q.waiting, usual)
	q.waiting = slices.Delete(q.waiting, i, i+1)
	q.Broadcast()
}

func (q *queue) leave(slots int) {
	q.L.Lock()
	defer q.L.Unlock()
	q.free += slots
	q.Broadcast()
}
