package kubeadm

import "k8s.io/utils/lru"

// cached remembers what a pure function made of the last thousands of inputs: what
// is rendered and read again and again is the same manifest, of a plan, of what
// apply finds when it is done, and of one node after the other. Nothing of it
// shows; it may be asked by several goroutines.
type cached[In comparable, Out any] struct {
	made *lru.Cache
	make func(In) Out
}

// cacheSize bounds what is kept: a manifest has about 4 KiB.
const cacheSize = 2048

func newCached[In comparable, Out any](f func(In) Out) cached[In, Out] {
	return cached[In, Out]{lru.New(cacheSize), f}
}

// of is the function's result, which nobody may change.
func (c cached[In, Out]) of(in In) Out {
	if out, ok := c.made.Get(in); ok {
		return out.(Out)
	}
	out := c.make(in)
	c.made.Add(in, out)
	return out
}
