// Package cache remembers what pure functions made. What is rendered and parsed
// again and again is the same: a manifest of a plan and of what apply finds when it
// is done, of one node and of the next.
package cache

import "k8s.io/utils/lru"

// size bounds what one cache keeps; a manifest has about 4 KiB.
const size = 2048

// Cache is a function whose results for the last thousands of inputs are kept.
// Nothing of that shows: it may be asked by several goroutines, and nobody changes
// what it returned.
type Cache[In comparable, Out any] struct {
	made *lru.Cache
	make func(In) Out
}

// New keeps what f makes, which depends on its input alone.
func New[In comparable, Out any](f func(In) Out) Cache[In, Out] {
	return Cache[In, Out]{lru.New(size), f}
}

// Of returns the function's result.
func (c Cache[In, Out]) Of(in In) Out {
	if out, ok := c.made.Get(in); ok {
		return out.(Out)
	}
	out := c.make(in)
	c.made.Add(in, out)
	return out
}
