package console

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// TermGrace is how long running steps may continue after a SIGTERM: a SIGKILL follows, from a
// container runtime after ten seconds, and a run that stops by itself before that has written
// its state. It observes no host at the end.
const TermGrace = 8 * time.Second

// interruptions hands each interrupt to the current handler: at first the command as a whole,
// which ends, and while steps run, the run.
type interruptions struct {
	mu     sync.Mutex
	handle func(os.Signal)
	// heeded is called when an interrupt has taken effect.
	heeded func()
	quit   chan struct{}
	ended  chan struct{}
}

// Listen starts handing signals to handle.
func Listen(signals <-chan os.Signal, handle func(os.Signal), heeded func()) *interruptions {
	i := &interruptions{handle: handle, heeded: heeded, quit: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(i.ended)
		for {
			select {
			case <-i.quit:
				return
			case s := <-signals:
				i.deliver(s)
			}
		}
	}()
	return i
}

func (i *interruptions) deliver(s os.Signal) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handle(s)
}

// take installs another handler, which may pass interrupts on to the previous one, until the
// returned function is called; once that has returned, the handler is no longer running.
func (i *interruptions) take(handle func(s os.Signal, before func(os.Signal))) (giveBack func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.handle
	i.handle = func(s os.Signal) { handle(s, before) }
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.handle = before
	}
}

// Close stops listening.
func (i *interruptions) Close() {
	close(i.quit)
	<-i.ended
}

// Stopper turns the first interrupt into a closed channel (finish running steps, start nothing)
// and the second into a cancelled context, as does a SIGTERM after its grace period. The
// returned function ends this, and reports whether there is a hurry: a second interrupt or a
// SIGTERM. It says nothing more once that has returned.
func (i *interruptions) Stopper(ctx context.Context, grace time.Duration, say func(string)) (context.Context, <-chan struct{}, func() (hurry bool)) {
	ctx, cancel := context.WithCancel(ctx)
	stop := make(chan struct{})
	n, ended, hurry := 0, false, false
	var deadline *time.Timer
	atOnce := func(why string) {
		if n < 2 && !ended {
			n, hurry = 2, true
			say(why + " Stopping at once; the next run checks what was under way.")
			cancel()
		}
	}
	giveBack := i.take(func(s os.Signal, _ func(os.Signal)) {
		switch {
		case n > 0:
			atOnce("Interrupted again.")
		case s == syscall.SIGTERM:
			n, hurry = 1, true
			close(stop)
			i.heeded()
			say("Interrupted. What runs has " + grace.String() + " to end, and is stopped then. To stop at once, interrupt again.")
			deadline = time.AfterFunc(grace, func() {
				i.mu.Lock()
				defer i.mu.Unlock()
				atOnce("Time is over.")
			})
		default:
			n = 1
			close(stop)
			i.heeded()
			say("Interrupted. To stop at once, interrupt again.")
		}
	})
	return ctx, stop, func() bool {
		giveBack()
		i.mu.Lock()
		defer i.mu.Unlock()
		ended = true
		if deadline != nil {
			deadline.Stop()
		}
		cancel()
		return hurry
	}
}

// Patience returns a context for optional waiting: the first interrupt ends only that, until
// the returned function is called. With within set, the wait is inside of another one: a
// further interrupt, or a SIGTERM, also goes to the previous handler.
func (i *interruptions) Patience(ctx context.Context, within bool) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	n := 0
	giveBack := i.take(func(s os.Signal, before func(os.Signal)) {
		cancel()
		i.heeded()
		if n++; within && (n > 1 || s == syscall.SIGTERM) {
			before(s)
		}
	})
	return ctx, func() {
		giveBack()
		cancel()
	}
}

// IgnoreBrokenPipe keeps this process alive if its output is no longer read, until the returned
// function is called: the signal would end it in the middle of a step. The signal is caught
// instead of ignored, since child processes inherit an ignored one.
func IgnoreBrokenPipe() func() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}

// IsClosed reports whether a channel is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
