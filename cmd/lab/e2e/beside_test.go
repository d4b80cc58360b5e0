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
	others.free = slots
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
// time. usual is what it takes on two cores, other tests beside it. Tests of time, and of
// what users of a cluster feel, run alone: where several clusters share the cores, etcd and
// the API server give requests up that have nothing to do with what is tested.
func beside(t *testing.T, usual time.Duration) {
	t.Helper()
	t.Cleanup(func() { sayFailures(os.Stdout, t.Name()) })
	others.join(usual)
	t.Parallel() // returns when all that run alone have, and all others have joined
	others.enter(usual)
	t.Cleanup(others.leave)
}

// A queue lets in as many as there is room for, the longest first.
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

// enter returns when it is the turn of one.
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
