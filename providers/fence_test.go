package providers_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// leases is an API that keeps one lease.
type leases struct {
	providers.API
	there   *providers.Lease
	err     error
	version int
	// reading, if set, is called before each read of the lease.
	reading func()
}

func (l *leases) Lease(context.Context, string) (*providers.Lease, error) {
	if l.reading != nil {
		l.reading()
	}
	if l.err != nil || l.there == nil {
		return nil, l.err
	}
	there := *l.there
	return &there, nil
}

func (l *leases) PutLease(_ context.Context, lease providers.Lease) (string, error) {
	switch {
	case l.err != nil:
		return "", l.err
	case l.there == nil && lease.Version != "", l.there != nil && l.there.Version != lease.Version:
		return "", providers.ErrMoved
	}
	l.version++
	lease.Version = fmt.Sprint(l.version)
	l.there = &lease
	return lease.Version, nil
}

func (l *leases) DeleteLease(_ context.Context, lease providers.Lease) error {
	if l.there != nil && l.there.Version == lease.Version {
		l.there = nil
	}
	return l.err
}

func (l *leases) fence(s *scene, run string, token int64) *providers.Fence {
	return &providers.Fence{
		Through: func(ctx context.Context, _ state.Target, do func(context.Context, providers.API) error) error {
			return do(ctx, l)
		},
		Clock: clock{s}, Mine: providers.Lease{Name: "kubewright", Lineage: "l1", Run: run, Who: "ada@laptop", Token: token}, Dead: "killed",
	}
}

// held returns a lease of another run that was renewed a while ago.
func held(s *scene, run, who string, token int64, ago time.Duration) *providers.Lease {
	return &providers.Lease{Lineage: "l1", Run: run, Who: who, Token: token, Since: s.now, Renewed: s.now.Add(-ago), Duration: time.Minute, Version: "x", Name: "kubewright"}
}

func TestFenceTakesLease(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		there func(*scene) *providers.Lease
		// moves: the holder renews the lease while it is watched.
		moves  bool
		want   error
		waited bool
	}{
		{"no lease", func(*scene) *providers.Lease { return nil }, false, nil, false},
		{"my own", func(s *scene) *providers.Lease { return held(s, "mine", "ada@laptop", 5, 0) }, false, nil, false},
		{"that of my run that was killed", func(s *scene) *providers.Lease { return held(s, "killed", "ada@laptop", 4, 0) }, false, nil, false},
		{"that of another operator's run with the name of one of mine", func(s *scene) *providers.Lease { return held(s, "killed", "eve@desk", 4, 0) }, false, providers.ErrHeld, false},
		{"one with a sign of life", func(s *scene) *providers.Lease { return held(s, "other", "eve@desk", 4, 30*time.Second) }, false, providers.ErrHeld, false},
		{"one of a clock that is ahead", func(s *scene) *providers.Lease { return held(s, "other", "eve@desk", 4, -time.Hour) }, false, providers.ErrHeld, false},
		{"one without a sign of life", func(s *scene) *providers.Lease { return held(s, "other", "eve@desk", 4, time.Hour) }, false, nil, true},
		{"one of a clock that is behind", func(s *scene) *providers.Lease { return held(s, "other", "eve@desk", 4, time.Hour) }, true, providers.ErrHeld, true},
		{"one by another state, whose tokens are other numbers", func(s *scene) *providers.Lease {
			l := held(s, "other", "eve@desk", 6, time.Hour)
			l.Lineage = "l2"
			return l
		}, false, nil, true},
		{"one by another state, with a sign of life", func(s *scene) *providers.Lease {
			l := held(s, "other", "eve@desk", 6, 0)
			l.Lineage = "l2"
			return l
		}, false, providers.ErrHeld, false},
		{"one of a later run", func(s *scene) *providers.Lease { return held(s, "other", "eve@desk", 6, time.Hour) }, false, providers.ErrSuperseded, false},
		{"one with a number that no run has", func(s *scene) *providers.Lease { return held(s, "other", "eve@desk", math.MaxInt64, time.Hour) }, false, nil, true},
		{"one with such a number and a sign of life", func(s *scene) *providers.Lease { return held(s, "other", "eve@desk", math.MaxInt64, 0) }, false, providers.ErrHeld, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			s.now = time.Unix(1e9, 0)
			l := &leases{there: tt.there(s)}
			looks := 0
			l.reading = func() {
				if looks++; tt.moves && looks > 2 {
					l.there.Version = fmt.Sprint("moved ", looks)
				}
			}
			began := s.now
			err := l.fence(s, "mine", 5).Hold(t.Context(), cp1)
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if tt.want == nil && l.there.Run != "mine" {
				t.Errorf("the lease is %+v", l.there)
			}
			if waited := s.now.Sub(began); (waited > 0) != tt.waited || tt.waited && tt.want == nil && waited < time.Minute {
				t.Errorf("it took %s", waited)
			}
		})
	}
}

// TestFenceRenewsAndReleasesLease checks that a held lease is renewed from time to time, found to be lost,
// and released.
func TestFenceRenewsAndReleasesLease(t *testing.T) {
	t.Parallel()
	s := newScene()
	l := &leases{}
	f := l.fence(s, "mine", 5)
	hold := func(want error) {
		t.Helper()
		if err := f.Hold(t.Context(), cp1); !errors.Is(err, want) {
			t.Fatalf("got %v, want %v", err, want)
		}
	}
	hold(nil)
	since := l.there.Since
	hold(nil)
	if l.version != 1 {
		t.Errorf("it was written %d times at once", l.version)
	}
	s.now = s.now.Add(time.Minute)
	hold(nil)
	if l.version != 2 || !l.there.Renewed.Equal(s.now) || !l.there.Since.Equal(since) {
		t.Errorf("after a minute: %+v", l.there)
	}
	// The API is silent: no run can take the lease.
	l.err = providers.ErrUnreachable
	s.now = s.now.Add(time.Minute)
	hold(nil)
	// An answer was lost.
	l.err, l.there.Version = nil, "written, not heard of"
	hold(nil)
	f.Release(t.Context())
	if l.there != nil {
		t.Errorf("after the release: %+v", l.there)
	}
	hold(nil)
	l.there = held(s, "other", "eve@desk", 6, 0)
	s.now = s.now.Add(time.Minute)
	hold(providers.ErrSuperseded)
	hold(providers.ErrSuperseded)
	f.Release(t.Context())
	if l.there == nil {
		t.Error("the lease of another run was released")
	}
}

// TestFenceReleasesLeaseAfterLostAnswer checks that the lease is released even if the answer
// to the last renewal was lost.
func TestFenceReleasesLeaseAfterLostAnswer(t *testing.T) {
	t.Parallel()
	s := newScene()
	l := &leases{}
	f := l.fence(s, "mine", 5)
	if err := f.Hold(t.Context(), cp1); err != nil || l.there == nil {
		t.Fatalf("got %v, %+v", err, l.there)
	}
	l.there.Version = "written, not heard of"
	f.Release(t.Context())
	if l.there != nil {
		t.Errorf("after the release: %+v", l.there)
	}
}

// TestFenceDeletesLeaseOfKilledRun checks that the next run deletes the lease of a killed run, even if it
// could not take the lease itself; it deletes no other run's lease.
func TestFenceDeletesLeaseOfKilledRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		run, who string
		want     bool
	}{
		{"killed", "ada@laptop", true},
		{"killed", "eve@desk", false},
		{"other", "ada@laptop", false},
	} {
		s := newScene()
		l := &leases{there: held(s, tt.run, tt.who, 4, 0), err: providers.ErrUnreachable}
		f := l.fence(s, "mine", 5)
		if err := f.Hold(t.Context(), cp1); err != nil {
			t.Fatal(err)
		}
		l.err = nil
		f.Bury(t.Context(), cp1)
		f.Release(t.Context())
		if (l.there == nil) != tt.want {
			t.Errorf("the lease of run %s by %s is now %+v", tt.run, tt.who, l.there)
		}
	}
}

// TestFenceForbiddenLeaseIsAnError checks that it is an error if the API answers, but does not let the
// lease be read.
func TestFenceForbiddenLeaseIsAnError(t *testing.T) {
	t.Parallel()
	l := &leases{err: errors.New("forbidden")}
	if err := l.fence(newScene(), "mine", 5).Hold(t.Context(), cp1); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("got %v", err)
	}
}

// TestFenceReportsHolderOfLease checks that a run that may not continue reports who holds the lease, since
// when, and how the claim ends.
func TestFenceReportsHolderOfLease(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.now = time.Unix(1e9, 0)
	l := &leases{there: held(s, "other", "eve@desk", 4, 30*time.Second)}
	says := func(f *providers.Fence, want string) {
		t.Helper()
		if err := f.Hold(t.Context(), cp1); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	says(l.fence(s, "mine", 5), "cannot change the cluster: eve@desk has been changing it since 2001-09-09T01:46:40Z (run other, last sign of life 2001-09-09T01:46:10Z). "+
		"Wait for that run to end, and plan again. If it was killed, its claim ends 1m0s after its last sign of life; "+
		"when it is certain that it does not run any more, kubectl -n kube-system delete lease kubewright ends it at once")
	l.there.Token = 6
	says(l.fence(s, "mine", 5), "cannot continue with the cluster: eve@desk has taken its lease (run other)")

	l.there = nil
	f := l.fence(s, "mine", 5)
	if err := f.Hold(t.Context(), cp1); err != nil {
		t.Fatal(err)
	}
	l.there, s.now = nil, s.now.Add(time.Minute)
	says(f, "cannot continue with the cluster: its lease kubewright was deleted while it ran. See that no other run is at work on the cluster, and plan again")
}

// TestFenceReportsOutdatedState checks that a run that finds the lease of a later, ended run
// reports that its own state is the older one, and the remedy.
func TestFenceReportsOutdatedState(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.now = time.Unix(1e9, 0)
	for ago, want := range map[time.Duration]string{
		time.Hour:   "the state here is older than that run. Put back the state that the run has written",
		time.Second: "eve@desk has taken its lease (run other)",
	} {
		err := (&leases{there: held(s, "other", "eve@desk", 6, ago)}).fence(s, "mine", 5).Hold(t.Context(), cp1)
		if !errors.Is(err, providers.ErrSuperseded) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s ago: got %v, want %q", ago, err, want)
		}
	}
}
