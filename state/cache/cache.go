// Package cache caches the results of pure functions. The same manifests are rendered and parsed
// again and again: for a plan, for the check after apply, and for each node.
package cache

import "k8s.io/utils/lru"

// size bounds the entries of one cache; a manifest has about 4 KiB.
const size = 2048

// Cache is a function that keeps the results for its most recent inputs. It is safe for
// concurrent use. Callers must not change a result.
type Cache[In comparable, Out any] struct {
	made *lru.Cache
	make func(In) Out
}

// New returns a cache of f, whose result must depend only on its input.
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
