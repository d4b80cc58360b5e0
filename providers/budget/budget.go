// Package budget bounds what hosts and API servers can cost the operator's machine: the
// memory that unparsed answers take, and the time until an answer is complete. A
// compromised host can answer anything; it can make its own observation fail, and nothing
// else.
package budget

import (
	"context"
	"fmt"
	"sync"
)

const (
	// Total is how many bytes of unparsed answers are in memory at once, for all hosts and
	// API servers together.
	Total = 256 << 20
	// Largest is the maximum size of one unparsed answer, in bytes.
	Largest = 64 << 20
)

// Budget is the memory for unparsed answers. Several goroutines may use one Budget.
//
// An answer that finds no room waits until others are parsed. That cannot deadlock: the
// last Largest bytes are reserved for one answer at a time, which therefore always
// completes, and every answer has a deadline.
type Budget struct {
	total, largest int64

	mu   sync.Mutex
	used int64
	// last is the answer that may use the last bytes; nil if there is none.
	last *Lease
	// freed is closed and replaced when bytes are released.
	freed chan struct{}
}

// New returns the budget of one run.
func New() *Budget { return Of(Total, Largest) }

// Of returns a budget of total bytes for answers of up to largest bytes each.
func Of(total, largest int64) *Budget {
	return &Budget{total: total, largest: largest, freed: make(chan struct{})}
}

// Lease returns the room for one answer, initially empty.
func (b *Budget) Lease() *Lease { return &Lease{budget: b} }

// Used returns how many bytes are in use.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// TooLargeError reports an answer that exceeds its size limit.
type TooLargeError struct {
	// What names the part that is too large, such as "on standard error"; empty for an
	// answer.
	What string
	// Most is the limit in bytes.
	Most int64
}

func (e *TooLargeError) Error() string {
	what := e.What
	if what == "" {
		what = "of answer"
	}
	return fmt.Sprintf("more than %d bytes %s", e.Most, what)
}

// Lease is the room that one answer takes. One goroutine at a time may use it.
type Lease struct {
	budget *Budget
	held   int64
}

// Grow adds n bytes. It waits for room until the context ends.
func (l *Lease) Grow(ctx context.Context, n int64) error {
	for {
		freed, err := l.try(n)
		if freed == nil {
			return err
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Try adds n bytes and reports whether there was room for them.
func (l *Lease) Try(n int64) (bool, error) {
	freed, err := l.try(n)
	return freed == nil && err == nil, err
}

// try adds n bytes, or returns a channel that is closed when a retry makes sense.
func (l *Lease) try(n int64) (<-chan struct{}, error) {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.held+n > b.largest {
		return nil, &TooLargeError{Most: b.largest}
	}
	if b.used+n > b.total-b.largest {
		if b.last != nil && b.last != l {
			return b.freed, nil
		}
		b.last = l
	}
	b.used += n
	l.held += n
	return nil, nil
}

// Release returns all bytes. A second call does nothing.
func (l *Lease) Release() {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= l.held
	if b.last == l {
		b.last = nil
	}
	if l.held > 0 {
		close(b.freed)
		b.freed = make(chan struct{})
	}
	l.held = 0
}
