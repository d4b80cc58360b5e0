package logged

import (
	"context"

	"github.com/kubewright/kubewright/state/backend"
)

// Backend returns a state backend that logs its requests; nil, which stands for the file beside
// the configuration, stays nil.
func (l *Log) Backend(b backend.Backend) backend.Backend {
	if l == nil || b == nil {
		return b
	}
	return &place{b, l}
}

type place struct {
	backend.Backend
	log *Log
}

// asking is Log.asking that also logs each try of a request.
func (p *place) asking(ctx context.Context, what string, about ...any) (context.Context, func(error, ...any)) {
	ctx = backend.OnTry(ctx, func(t backend.Try) {
		if t.Number > 0 {
			p.log.Warn("trying again", "backend", p.Backend, "method", t.Method, "try", t.Number+1)
			return
		}
		p.log.Trace("request", "backend", p.Backend, "method", t.Method)
	})
	return ctx, p.log.asking("backend", append([]any{"backend", p.Backend, "for", what}, about...)...)
}

// Read implements backend.Backend.
func (p *place) Read(ctx context.Context) (*backend.Object, error) {
	ctx, done := p.asking(ctx, "state")
	o, err := p.Backend.Read(ctx)
	size := 0
	if o != nil {
		size = len(o.Data)
	}
	done(err, "bytes", size)
	return o, err
}

// Write implements backend.Backend.
func (p *place) Write(ctx context.Context, old *backend.Object, next backend.Object) error {
	ctx, done := p.asking(ctx, "new state", "serial", next.Serial, "bytes", len(next.Data))
	err := p.Backend.Write(ctx, old, next)
	done(err)
	return err
}

// Lock implements backend.Backend.
func (p *place) Lock(ctx context.Context, info backend.LockInfo) (backend.Lock, error) {
	ctx, done := p.asking(ctx, "lock", "run", info.ID)
	l, err := p.Backend.Lock(ctx, info)
	done(err)
	if l == nil || err != nil {
		return l, err
	}
	return &lock{l, p}, nil
}

// Holder implements backend.Backend.
func (p *place) Holder(ctx context.Context) (*backend.LockInfo, error) {
	ctx, done := p.asking(ctx, "holder of the lock")
	i, err := p.Backend.Holder(ctx)
	holder := "none"
	if i != nil {
		holder = i.String()
	}
	done(err, "holder", holder)
	return i, err
}

// ForceUnlock implements backend.Backend.
func (p *place) ForceUnlock(ctx context.Context, id string) error {
	ctx, done := p.asking(ctx, "end of a lock", "run", id)
	err := p.Backend.ForceUnlock(ctx, id)
	done(err)
	return err
}

type lock struct {
	backend.Lock
	place *place
}

// Confirm implements backend.Lock.
func (l *lock) Confirm(ctx context.Context) error {
	ctx, done := l.place.asking(ctx, "sign of life of the lock")
	err := l.Lock.Confirm(ctx)
	done(err)
	return err
}

// Release implements backend.Lock.
func (l *lock) Release(ctx context.Context) error {
	ctx, done := l.place.asking(ctx, "release of the lock")
	err := l.Lock.Release(ctx)
	done(err)
	return err
}
