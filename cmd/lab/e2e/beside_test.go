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

// TestMain takes over the number of parallel tests: those that usually take the longest begin
// first, so that none of them is left to run alone at the end.
func TestMain(m *testing.M) {
	flag.Parse()
	at := flag.Lookup("test.parallel").Value
	slots, err := strconv.Atoi(at.String())
	if err != nil {
		panic(err)
	}
	others.free = slots
	if err := at.Set("1000"); err != nil { // all of them queue up here
		panic(err)
	}
	code := m.Run()
	sayFailures(os.Stdout, "")
	os.Exit(code)
}

// others are the tests that run in parallel.
var others = newQueue()

// beside lets a test run in parallel with others: it measures nothing and mostly waits. usual is
// its duration.
func beside(t *testing.T, usual time.Duration) {
	t.Helper()
	t.Cleanup(func() { sayFailures(os.Stdout, t.Name()) })
	others.join(usual)
	t.Parallel() // returns when all sequential tests have ended, and all parallel ones have joined
	others.enter(usual)
	t.Cleanup(others.leave)
}

// A queue admits as many tests as there are free slots, the longest first.
type queue struct {
	*sync.Cond
	free    int
	waiting []time.Duration
}

func newQueue() *queue { return &queue{Cond: sync.NewCond(&sync.Mutex{})} }

func (q *queue) join(usual time.Duration) {
	q.L.Lock()
	defer q.L.Unlock()
	q.waiting = append(q.waiting, usual)
}

// enter returns when it is the caller's turn.
func (q *queue) enter(usual time.Duration) {
	q.L.Lock()
	defer q.L.Unlock()
	for q.free == 0 || slices.Max(q.waiting) > usual {
		q.Wait()
	}
	q.free--
	i := slices.Index(q.waiting, usual)
	q.waiting = slices.Delete(q.waiting, i, i+1)
	q.Broadcast()
}

func (q *queue) leave() {
	q.L.Lock()
	defer q.L.Unlock()
	q.free++
	q.Broadcast()
}
