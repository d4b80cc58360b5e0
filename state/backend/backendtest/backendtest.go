// Package backendtest is the conformance suite that every state backend must pass.
package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kubewright/kubewright/state/backend"
)

// Options describe the backend under test.
type Options struct {
	// New creates an empty place, and returns a function with which each operator opens it.
	New func(t *testing.T) (open func() backend.Backend)
	// Most is the size of a state that must be refused as too large; 0 for none.
	Most int
	// Unconditional reports whether a write compares and writes in two requests, not atomically:
	// only the lock keeps writers apart.
	Unconditional bool
}

// Test runs the suite.
func Test(t *testing.T, o Options) {
	for name, test := range map[string]func(*testing.T, Options){
		"a state comes and is replaced": testReplace, "any bytes": testBytes, "two who read the same": testMoved,
		"one holds the lock": testLock, "a silent holder": testSilent, "a lock that is ended": testForceUnlock, "nothing is lost under the lock": testCounting,
		"one of many gets the lock": testRace, "a cancelled call": testCancelled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, o)
		})
	}
}

// Info returns the lock info of a run with this ID.
func Info(id string) backend.LockInfo {
	return backend.LockInfo{ID: id, Who: "ann@" + id, PID: 4711, Operation: "apply", Time: time.Date(2026, time.August, 1, 12, 0, 0, 0, time.UTC)}
}

func object(text string, serial int64) backend.Object {
	return backend.Object{Data: []byte(text), Lineage: "l1", Serial: serial}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, b backend.Backend) *backend.Object {
	t.Helper()
	o, err := b.Read(t.Context())
	must(t, err)
	return o
}

func want(t *testing.T, b backend.Backend, text string) *backend.Object {
	t.Helper()
	o := read(t, b)
	if o == nil || string(o.Data) != text {
		t.Fatalf("the state is %+v, want %q", o, text)
	}
	return o
}

func lock(t *testing.T, b backend.Backend, id string) backend.Lock {
	t.Helper()
	l, err := b.Lock(t.Context(), Info(id))
	must(t, err)
	if l == nil {
		t.Fatal("no lock, and no error")
	}
	return l
}

func testReplace(t *testing.T, o Options) {
	b := o.New(t)()
	if got := read(t, b); got != nil {
		t.Fatalf("an empty place has %+v", got)
	}
	must(t, b.Write(t.Context(), nil, object(`{"serial":1}`, 1)))
	first := want(t, b, `{"serial":1}`)
	must(t, b.Write(t.Context(), first, object(`{"serial":2}`, 2)))
	want(t, b, `{"serial":2}`)
	if b.String() == "" {
		t.Error("the place has no name")
	}
}

func testBytes(t *testing.T, o Options) {
	b := o.New(t)()
	data := make([]byte, 300<<10)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	must(t, b.Write(t.Context(), nil, backend.Object{Data: data, Lineage: "l1", Serial: 1}))
	if got := read(t, b); !bytes.Equal(got.Data, data) {
		t.Errorf("%d bytes were read back, and differ from the written ones", len(got.Data))
	}
	if o.Most == 0 {
		return
	}
	err := b.Write(t.Context(), read(t, b), backend.Object{Data: noise(o.Most), Lineage: "l1", Serial: 2})
	if !errors.Is(err, backend.ErrTooLarge) {
		t.Errorf("%d bytes: error = %v", o.Most, err)
	}
	if got := read(t, b); !bytes.Equal(got.Data, data) {
		t.Error("a refused write changed the state")
	}
}

// noise returns incompressible bytes.
func noise(n int) []byte {
	out := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x)
	}
	return out
}

func testMoved(t *testing.T, o Options) {
	open := o.New(t)
	ann, bob := open(), open()
	must(t, ann.Write(t.Context(), nil, object("one", 1)))
	if err := bob.Write(t.Context(), nil, object("mine", 1)); !errors.Is(err, backend.ErrMoved) {
		t.Errorf("a first write over an existing state: error = %v", err)
	}
	old, seen := read(t, ann), read(t, bob)
	must(t, ann.Write(t.Context(), old, object("two", 2)))
	if err := bob.Write(t.Context(), seen, object("another two", 2)); !errors.Is(err, backend.ErrMoved) {
		t.Errorf("a write over an unread version: error = %v", err)
	}
	want(t, bob, "two")
}

func testLock(t *testing.T, o Options) {
	open := o.New(t)
	ann, bob := open(), open()
	if holder, err := ann.Holder(t.Context()); holder != nil || err != nil {
		t.Fatalf("holder of a free lock: %+v, %v", holder, err)
	}
	held := lock(t, ann, "r1")
	must(t, held.Confirm(t.Context()))
	_, err := bob.Lock(t.Context(), Info("r2"))
	locked := (*backend.LockedError)(nil)
	if !errors.As(err, &locked) || !errors.Is(err, backend.ErrLocked) {
		t.Fatalf("a second lock: error = %v", err)
	}
	holder, err := bob.Holder(t.Context())
	must(t, err)
	for _, i := range []backend.LockInfo{locked.Info, *holder} {
		i.File, i.Renewed, i.Certain = "", time.Time{}, false // the backend's own
		i.Time = i.Time.UTC()
		if i != Info("r1") {
			t.Errorf("held by %+v", i)
		}
	}
	must(t, ann.Write(t.Context(), nil, object("one", 1)))
	must(t, held.Confirm(t.Context()))
	must(t, held.Release(t.Context()))
	if holder, err := bob.Holder(t.Context()); holder != nil || err != nil {
		t.Errorf("holder after the release: %+v, %v", holder, err)
	}
	must(t, lock(t, bob, "r2").Release(t.Context()))
}

// testSilent checks that a lock does not become free with age.
func testSilent(t *testing.T, o Options) {
	open := o.New(t)
	ann, bob := open(), open()
	old := Info("r1")
	old.Time = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)
	held, err := ann.Lock(t.Context(), old)
	must(t, err)
	if _, err := bob.Lock(t.Context(), Info("r2")); !errors.Is(err, backend.ErrLocked) {
		t.Errorf("a lock that is years old: error = %v", err)
	}
	must(t, held.Confirm(t.Context()))
	must(t, held.Release(t.Context()))
}

func testForceUnlock(t *testing.T, o Options) {
	open := o.New(t)
	ann, bob, eve := open(), open(), open()
	must(t, eve.ForceUnlock(t.Context(), "r1"))
	must(t, ann.Write(t.Context(), nil, object("one", 1)))
	seen := read(t, ann)
	lost := lock(t, ann, "r1")
	if err := eve.ForceUnlock(t.Context(), "r9"); !errors.Is(err, backend.ErrLocked) {
		t.Errorf("the lock of another run: error = %v", err)
	}
	must(t, lost.Confirm(t.Context()))
	must(t, eve.ForceUnlock(t.Context(), "r1"))
	if err := lost.Confirm(t.Context()); !errors.Is(err, backend.ErrLost) {
		t.Errorf("after its lock was ended: error = %v", err)
	}
	held := lock(t, bob, "r2")
	if err := lost.Confirm(t.Context()); !errors.Is(err, backend.ErrLost) {
		t.Errorf("while another run holds the lock: error = %v", err)
	}
	if err := ann.Write(t.Context(), seen, object("late", 2)); !errors.Is(err, backend.ErrLost) {
		t.Errorf("a write without the lock: error = %v", err)
	}
	want(t, bob, "one")
	_ = lost.Release(t.Context())
	must(t, held.Confirm(t.Context()))
	must(t, bob.Write(t.Context(), read(t, bob), object("two", 2)))
	must(t, held.Release(t.Context()))
}

// testCounting has several operators increment a counter, each under the lock.
func testCounting(t *testing.T, o Options) {
	const operators, times = 3, 2
	open := o.New(t)
	must(t, counting(t.Context(), open, operators, times))
	want(t, open(), strconv.Itoa(operators*times))
}

// counting stops all operators at the first failure, including those that wait for the lock: the
// failed one may not have released it.
func counting(ctx context.Context, open func() backend.Backend, operators, times int) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var wg sync.WaitGroup
	for i := range operators {
		b := open()
		wg.Go(func() {
			for j := range times {
				if err := count(ctx, b, fmt.Sprintf("r%d.%d", i, j)); err != nil {
					fail(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func count(ctx context.Context, b backend.Backend, id string) error {
	l, err := b.Lock(ctx, Info(id))
	for errors.Is(err, backend.ErrLocked) && ctx.Err() == nil {
		l, err = b.Lock(ctx, Info(id))
	}
	if err != nil {
		return err
	}
	return errors.Join(countOn(ctx, b), l.Release(ctx))
}

func countOn(ctx context.Context, b backend.Backend) error {
	o, err := b.Read(ctx)
	if err != nil {
		return err
	}
	n := 0
	if o != nil {
		if n, err = strconv.Atoi(string(o.Data)); err != nil {
			return err
		}
	}
	return b.Write(ctx, o, object(strconv.Itoa(n+1), int64(n+1)))
}

// testRace has several operators take the lock at once and, where writes are conditional, write
// at once.
func testRace(t *testing.T, o Options) {
	open := o.New(t)
	const many = 6
	// Keep the locks reachable: a collected lock would close its connection and be free again.
	held := make([]backend.Lock, many)
	locks, writes := make([]error, many), make([]error, many)
	var wg sync.WaitGroup
	for i := range many {
		b := open()
		wg.Go(func() {
			if !o.Unconditional {
				writes[i] = b.Write(t.Context(), nil, object(strconv.Itoa(i), 1))
			}
			held[i], locks[i] = b.Lock(t.Context(), Info("r"+strconv.Itoa(i)))
		})
	}
	wg.Wait()
	one := func(what string, all []error, refused error) {
		done := 0
		for _, err := range all {
			switch {
			case err == nil:
				done++
			case !errors.Is(err, refused):
				t.Errorf("%s: error = %v", what, err)
			}
		}
		if done != 1 {
			t.Errorf("%s: %d of %d", what, done, many)
		}
	}
	one("locks", locks, backend.ErrLocked)
	for i, err := range locks {
		if err == nil {
			if err := held[i].Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	if o.Unconditional {
		return
	}
	one("writes", writes, backend.ErrMoved)
}

func testCancelled(t *testing.T, o Options) {
	b := o.New(t)()
	must(t, b.Write(t.Context(), nil, object("one", 1)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Write(ctx, read(t, b), object("two", 2)); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	want(t, b, "one")
}
