package providers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kubewright/kubewright/state"
)

// Lease is a run's claim on a cluster, stored in the cluster: while a run holds it, no
// other run changes anything.
type Lease struct {
	// Name is the name of the object, in kube-system.
	Name string
	// Lineage is the lineage of the holder's state. Tokens of different lineages are not
	// comparable.
	Lineage string
	// Run, Who and Token identify the run that holds it.
	Run   string
	Who   string
	Token int64
	// Since is when the run took the lease, Renewed when it last renewed it; both by the
	// holder's clock.
	Since, Renewed time.Time
	// Duration is how long a lease stays valid without a renewal.
	Duration time.Duration
	// Version is the version of the stored object; empty for a new one.
	Version string
}

// The times of a lease, chosen so that it survives the restart of an API server.
const (
	leaseTime  = time.Minute
	leaseRenew = 10 * time.Second
	// LeaseBeat is how often a working run renews its lease.
	LeaseBeat = leaseRenew
	leasePoll = 2 * time.Second
	// leaseAttempt bounds one attempt to reach the API for a read or write of the lease.
	leaseAttempt = 10 * time.Second
)

// Fence holds a cluster's lease for a run. Hosts have a fence of their own, the run token;
// the lease separates changes that go through the API alone, and stops a second run before
// it has changed anything. While the API does not answer, no run can take the lease, and
// the hosts' fence has to suffice.
type Fence struct {
	// Through calls do with the cluster's API, reached through the node or another one.
	Through func(ctx context.Context, via state.Target, do func(context.Context, API) error) error
	Clock   Clock
	// Mine is what the run writes into the lease: Name, Run, Who and Token.
	Mine Lease
	// Dead is a run of Who that is known to have ended without releasing its lease.
	Dead string

	mu   sync.Mutex
	via  state.Target
	held bool
	// current is the lease as this run last wrote it.
	current Lease
	lost    error
}

// Hold ensures, before an operation through via, that this run holds the lease: it takes
// the lease, or renews it if the last renewal is some time ago. It fails with ErrHeld while
// another run holds the lease, and permanently with ErrSuperseded once another run has
// taken it. It is no error if the API does not answer.
func (f *Fence) Hold(ctx context.Context, via state.Target) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.via = via
	if f.lost != nil || f.held && f.Clock.Now().Sub(f.current.Renewed) < leaseRenew {
		return f.lost
	}
	err := f.Through(ctx, f.via, func(ctx context.Context, a API) error {
		if f.held {
			return f.renew(ctx, a)
		}
		return f.take(ctx, a)
	})
	if passing(err) && ctx.Err() == nil {
		return nil
	}
	return err
}

// Beat renews the lease if it is held.
func (f *Fence) Beat(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held && f.lost == nil {
		_ = f.Through(ctx, f.via, f.renew) // a lost lease is detected before the next step
	}
}

// Release gives the lease back. If that fails, the lease expires by itself.
func (f *Fence) Release(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.held || f.lost != nil {
		return
	}
	f.held = false
	// Read again: the answer to the last renewal may have been lost, so the stored lease
	// may be a newer version of this run's.
	_ = f.Through(ctx, f.via, func(ctx context.Context, a API) error {
		there, err := f.read(ctx, a)
		if err != nil || there == nil || there.Run != f.current.Run {
			return err
		}
		return a.DeleteLease(ctx, *there)
	})
}

// Bury deletes the lease that an ended run left, where this run never came to hold it
// because the API did not answer when it began. Otherwise the next run would wait for it.
func (f *Fence) Bury(ctx context.Context, via state.Target) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held || f.lost != nil || f.Dead == "" {
		return
	}
	_ = f.Through(ctx, via, func(ctx context.Context, a API) error {
		there, err := f.read(ctx, a)
		if err != nil || there == nil || there.Run != f.Dead || there.Who != f.Mine.Who {
			return err
		}
		return a.DeleteLease(ctx, *there)
	})
}

// renew renews the lease. When its version has moved, either the answer to this run's last
// write was lost, or another run has taken the lease.
func (f *Fence) renew(ctx context.Context, a API) error {
	err := f.put(ctx, a, f.current.Version)
	if !errors.Is(err, ErrMoved) {
		return err
	}
	there, err := f.read(ctx, a)
	switch {
	case err != nil:
		return err
	case there != nil && there.Run == f.Mine.Run:
		f.current = *there
		return nil
	}
	f.lost = f.superseded(there)
	return f.lost
}

func (f *Fence) superseded(there *Lease) error {
	cause := fmt.Errorf("its lease %s was deleted while it ran. See that no other run is at work on the cluster, and plan again", f.Mine.Name)
	if there != nil {
		cause = fmt.Errorf("%s has taken its lease (run %s)", there.Who, there.Run)
	}
	return &Error{Kind: ErrSuperseded, Do: "continue with the cluster", Cause: cause}
}

// later refuses to take the lease of a later run of the same state. If that run no longer
// renews the lease it has ended, and this run uses a state that predates it.
func (f *Fence) later(there *Lease) error {
	if f.Clock.Now().Sub(there.Renewed) < there.Duration {
		return f.superseded(there)
	}
	return &Error{Kind: ErrSuperseded, Do: "change the cluster", Cause: fmt.Errorf("its lease is of run %d by %s, whose last sign of life was at %s, and this is run %d of the same state: the state here is older than that run. "+
		"Put back the state that the run has written, or run the same command in the folder where it ran. When it is certain that it does not run any more, and its state is lost, "+
		"kubectl -n kube-system delete lease %s ends its claim", there.Token, Sanitize(there.Who, 128), stamp(there.Renewed), f.Mine.Token, there.Name)}
}

// take takes the lease: when no run holds it, when its holder is known to have ended, or
// when the holder has not renewed it for the lease's whole duration, measured by this
// machine's clock alone.
func (f *Fence) take(ctx context.Context, a API) error {
	for {
		there, err := f.read(ctx, a)
		if err != nil {
			return err
		}
		version := ""
		if there != nil {
			if err := f.mayTake(ctx, a, there); err != nil {
				return err
			}
			version = there.Version
		}
		if err = f.put(ctx, a, version); !errors.Is(err, ErrMoved) {
			return err
		}
	}
}

func (f *Fence) mayTake(ctx context.Context, a API, there *Lease) error {
	switch {
	case there.Run == f.Mine.Run, there.Run == f.Dead && there.Who == f.Mine.Who:
		return nil
	case there.Lineage == f.Mine.Lineage && there.Token > f.Mine.Token && state.CountableRun(there.Token):
		return f.later(there)
	case f.Clock.Now().Sub(there.Renewed) < there.Duration:
		return f.heldBy(there)
	}
	// The holder's clock and ours may differ, so only a version that does not move counts.
	began := f.Clock.Now()
	for f.Clock.Now().Sub(began) < there.Duration {
		if err := f.Clock.Sleep(idle{ctx}, leasePoll); err != nil {
			return err
		}
		now, err := f.read(ctx, a)
		switch {
		case err != nil:
			return err
		case now == nil:
			return nil
		case now.Version != there.Version:
			return f.heldBy(now)
		}
	}
	return nil
}

// idle is a context that is not busy: while a waiting fence sleeps, others wait for it, and
// they count as busy.
type idle struct{ context.Context }

func (idle) Value(any) any { return nil }

func (f *Fence) heldBy(there *Lease) error {
	return &Error{Kind: ErrHeld, Do: "change the cluster", Cause: fmt.Errorf("%s has been changing it since %s (run %s, last sign of life %s). "+
		"Wait for that run to end, and plan again. If it was killed, its claim ends %s after its last sign of life; "+
		"when it is certain that it does not run any more, kubectl -n kube-system delete lease %s ends it at once",
		Sanitize(there.Who, 128), stamp(there.Since), Sanitize(there.Run, 64), stamp(there.Renewed), there.Duration, there.Name)}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (f *Fence) read(ctx context.Context, a API) (*Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseAttempt)
	defer cancel()
	return a.Lease(ctx, f.Mine.Name)
}

// put writes this run's lease over the given version.
func (f *Fence) put(ctx context.Context, a API, version string) error {
	ctx, cancel := context.WithTimeout(ctx, leaseAttempt)
	defer cancel()
	l := f.Mine
	l.Renewed, l.Duration, l.Version, l.Since = f.Clock.Now(), leaseTime, version, f.current.Since
	if !f.held {
		l.Since = l.Renewed
	}
	written, err := a.PutLease(ctx, l)
	if err != nil {
		return err
	}
	l.Version = written
	f.current, f.held = l, true
	return nil
}
