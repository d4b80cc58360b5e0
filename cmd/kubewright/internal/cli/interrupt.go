package cli

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
// by itself before that has written its state.
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

// listen begins to hand signals to handle.
func listen(signals <-chan os.Signal, handle func(os.Signal), heeded func()) *interruptions {
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

// take hands interrupts to another handler until the function that it returns
// is called; that handler is not at work any more when it has returned.
func (i *interruptions) take(handle func(os.Signal)) (giveBack func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.handle
	i.handle = handle
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.handle = before
	}
}

// close ends listening.
func (i *interruptions) close() {
	close(i.quit)
	<-i.ended
}

// stopper turns the first interrupt into a closed channel (finish what runs,
// start nothing) and the second into a cancelled context, and so does a SIGTERM
// when its grace is over. The function that it returns ends this; nothing is said
// any more when it has returned.
func (i *interruptions) stopper(ctx context.Context, grace time.Duration, say func(string)) (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := make(chan struct{})
	n, ended := 0, false
	var deadline *time.Timer
	atOnce := func(why string) {
		if n < 2 && !ended {
			n = 2
			say(why + " Stopping at once; the next run looks at what was under way.")
			cancel()
		}
	}
	giveBack := i.take(func(s os.Signal) {
		switch {
		case n > 0:
			atOnce("Interrupted again.")
		case s == syscall.SIGTERM:
			n = 1
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
	return ctx, stop, func() {
		giveBack()
		i.mu.Lock()
		ended = true
		if deadline != nil {
			deadline.Stop()
		}
		i.mu.Unlock()
		cancel()
	}
}

// patience is a context for what need not be waited for: the first interrupt ends
// it and nothing else, until the function that it returns is called.
func (i *interruptions) patience(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	giveBack := i.take(func(os.Signal) {
		cancel()
		i.heeded()
	})
	return ctx, func() {
		giveBack()
		cancel()
	}
}

// unread keeps this process alive when nobody reads any more what it prints, until
// the function that it returns is called: while steps run that would end one in
// the middle. It is not ignored, which programs that this one starts would inherit.
func unread() func() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}

// over reports whether a channel was closed.
func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
