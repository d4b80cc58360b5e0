package sim_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers/sim"
)

// TestClockWaitsForBusyTasks checks that no time passes for sleeping tasks while another one
// works, however long that takes in real time. Otherwise timeouts of minutes would expire
// before a loaded machine has done the work.
func TestClockWaitsForBusyTasks(t *testing.T) {
	t.Parallel()
	clock := sim.New(1, sim.DefaultProfile()).Clock()
	began := clock.Now()
	working, done := clock.Busy(t.Context())
	woken := make(chan time.Duration, 2)
	for _, d := range []time.Duration{4 * time.Minute, time.Second} {
		ctx, end := clock.Busy(t.Context())
		go func() {
			defer end()
			if err := clock.Sleep(ctx, d); err != nil {
				t.Error(err)
			}
			woken <- clock.Now().Sub(began)
		}()
	}
	for range 1000 {
		runtime.Gosched()
		if passed := clock.Now().Sub(began); passed != 0 {
			t.Fatalf("%s passed while a task worked", passed)
		}
	}
	if err := clock.Sleep(working, time.Minute); err != nil {
		t.Fatal(err)
	}
	if passed := clock.Now().Sub(began); passed != time.Minute {
		t.Errorf("%s passed until the worker woke, want 1m", passed)
	}
	if passed := <-woken; passed < time.Second || passed > time.Minute {
		t.Errorf("a sleep of one second ended after %s", passed)
	}
	done()
	if passed := <-woken; passed != 4*time.Minute {
		t.Errorf("the last one woke after %s, want 4m", passed)
	}
}

// TestClockSleeperEndsWithContext checks that a sleeping task is gone when its context ends, and does
// not keep others from sleeping.
func TestClockSleeperEndsWithContext(t *testing.T) {
	t.Parallel()
	clock := sim.New(1, sim.DefaultProfile()).Clock()
	_, done := clock.Busy(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	sleeping, end := clock.Busy(ctx)
	gaveUp := make(chan error)
	go func() {
		defer end()
		gaveUp <- clock.Sleep(sleeping, time.Hour)
	}()
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("it slept on: %v", err)
	}
	done()
	began := clock.Now()
	working, done := clock.Busy(t.Context())
	defer done()
	if err := clock.Sleep(working, time.Minute); err != nil || clock.Now().Sub(began) != time.Minute {
		t.Errorf("slept for %s, want 1m: %v", clock.Now().Sub(began), err)
	}
}

// TestClockCountsBusyTaskOnce checks that a task that calls Busy twice counts as one, until it ends.
func TestClockCountsBusyTaskOnce(t *testing.T) {
	t.Parallel()
	clock := sim.New(1, sim.DefaultProfile()).Clock()
	working, done := clock.Busy(t.Context())
	defer done()
	again, end := clock.Busy(working)
	if passed := slept(again, t, clock, time.Minute); passed != time.Minute {
		t.Errorf("slept for %s, want 1m", passed)
	}
	end()
	timeStands(t, clock)
}

// TestClockAdvancesWhileTasksAreSuspended checks that time passes for others while busy tasks are suspended.
func TestClockAdvancesWhileTasksAreSuspended(t *testing.T) {
	t.Parallel()
	clock := sim.New(1, sim.DefaultProfile()).Clock()
	_, done := clock.Busy(t.Context())
	defer done()
	resume := clock.Suspend()
	other, end := clock.Busy(t.Context())
	if passed := slept(other, t, clock, time.Minute); passed != time.Minute {
		t.Errorf("slept for %s, want 1m", passed)
	}
	end()
	resume()
	timeStands(t, clock)
}

// slept sleeps, and returns how much time has passed.
func slept(ctx context.Context, t *testing.T, clock *sim.Clock, d time.Duration) time.Duration {
	t.Helper()
	began := clock.Now()
	if err := clock.Sleep(ctx, d); err != nil {
		t.Error(err)
	}
	return clock.Now().Sub(began)
}

// timeStands checks that no time passes for another sleeping task.
func timeStands(t *testing.T, clock *sim.Clock) {
	t.Helper()
	began := clock.Now()
	working, end := clock.Busy(t.Context())
	defer end()
	ctx, cancel := context.WithCancel(working)
	woke := make(chan error)
	go func() { woke <- clock.Sleep(ctx, time.Minute) }()
	for range 1000 {
		runtime.Gosched()
	}
	cancel()
	if err := <-woke; !errors.Is(err, context.Canceled) || clock.Now() != began {
		t.Errorf("%s passed while a task worked: %v", clock.Now().Sub(began), err)
	}
}
