package cli

import (
	"context"
	"os"
	"sync"
)

// interruptions hands each interrupt to whoever deals with them at the moment:
// at first the command as a whole, which ends, and while steps run, the run.
type interruptions struct {
	mu     sync.Mutex
	handle func()
	quit   chan struct{}
	ended  chan struct{}
}

// listen begins to hand signals to handle.
func listen(signals <-chan os.Signal, handle func()) *interruptions {
	i := &interruptions{handle: handle, quit: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(i.ended)
		for {
			select {
			case <-i.quit:
				return
			case <-signals:
				i.mu.Lock()
				i.handle()
				i.mu.Unlock()
			}
		}
	}()
	return i
}

// take hands interrupts to another handler until the function that it returns
// is called; that handler is not at work any more when it has returned.
func (i *interruptions) take(handle func()) (giveBack func()) {
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
// start nothing) and the second into a cancelled context. The function that it
// returns ends this; nothing is said any more when it has returned.
func (i *interruptions) stopper(ctx context.Context, say func(string)) (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := make(chan struct{})
	n := 0
	giveBack := i.take(func() {
		n++
		switch n {
		case 1:
			close(stop)
			say("Interrupted. To stop at once, interrupt again.")
		case 2:
			say("Interrupted again. Stopping at once; the next run looks at what was under way.")
			cancel()
		}
	})
	return ctx, stop, func() { giveBack(); cancel() }
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
