package console

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// TermGrace is how long what runs may go on after a SIGTERM: whoever sends one
// sends SIGKILL later, a container runtime after ten seconds, and a run that stops
// by itself before that has written its state. It looks at no host for that.
const TermGrace = 8 * time.Second

// interruptions hands each interrupt to whoever deals with them at the moment:
// at first the command as a whole, which ends, and while steps run, the run.
type interruptions struct {
	mu     sync.Mutex
	handle func(os.Signal)
	// heeded is called when an interrupt has taken effect.
	heeded func()
	quit   chan struct{}
	ended  chan struct{}
}

// Listen begins to hand signals to handle.
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

// take hands interrupts to another handler, which may pass them on to the one before,
// until the function that it returns is called; that handler is not at work any more
// when it has returned.
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

// Close ends listening.
func (i *interruptions) Close() {
	close(i.quit)
	<-i.ended
}

// Stopper turns the first interrupt into a closed channel (finish what runs,
// start nothing) and the second into a cancelled context, and so does a SIGTERM
// when its grace is over. The function that it returns ends this, and tells whether
// there is a hurry, by a second one or a SIGTERM; nothing is said any more when it has
// returned.
func (i *interruptions) Stopper(ctx context.Context, grace time.Duration, say func(string)) (context.Context, <-chan struct{}, func() (hurry bool)) {
	ctx, cancel := context.WithCancel(ctx)
	stop := make(chan struct{})
	n, ended, hurry := 0, false, false
	var deadline *time.Timer
	atOnce := func(why string) {
		if n < 2 && !ended {
			n, hurry = 2, true
			say(why + " Stopping at once; the next run looks at what was under way.")
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

// Patience returns a context for what need not be waited for: the first interrupt ends
// it and nothing else, until the function that it returns is called. Within what is
// waited for in the same way, one more interrupt, or a SIGTERM, ends that as well.
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

// IgnoreBrokenPipe keeps this process alive when its output is not read any more, until
// the function that it returns is called: while steps run that would end one in
// the middle. It is not ignored, which programs that this one starts would inherit.
func IgnoreBrokenPipe() func() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}

// IsClosed reports whether a channel was closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
