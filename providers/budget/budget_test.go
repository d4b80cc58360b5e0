package budget_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/providers/budget"
)

// TestBudgetSerializesLargeAnswers checks that answers wait for each other, that the last bytes are for one
// answer at a time, and that all complete.
func TestBudgetSerializesLargeAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const total, largest = 100, 40
		b := budget.Of(total, largest)
		var mu sync.Mutex
		most, ended := int64(0), 0
		for range 20 {
			go func() {
				l := b.Lease()
				defer l.Release()
				for range largest {
					if err := l.Grow(t.Context(), 1); err != nil {
						t.Error(err)
					}
					mu.Lock()
					most = max(most, b.Used())
					mu.Unlock()
					time.Sleep(time.Second)
				}
				mu.Lock()
				ended++
				mu.Unlock()
			}()
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if ended != 20 || most > total || most <= total-largest || b.Used() != 0 {
			t.Errorf("%d have ended, %d bytes at most, %d left", ended, most, b.Used())
		}
	})
}

func TestBudgetLease(t *testing.T) {
	t.Parallel()
	b := budget.Of(100, 40)
	l := b.Lease()
	if ok, err := l.Try(40); !ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
	var large *budget.TooLargeError
	if ok, err := l.Try(1); ok || !errors.As(err, &large) || large.Most != 40 {
		t.Errorf("got %v, %v", ok, err)
	}
	second, third := b.Lease(), b.Lease()
	if ok, _ := second.Try(40); !ok {
		t.Error("no room for the last bytes")
	}
	if ok, err := third.Try(1); ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	if err := third.Grow(ctx, 1); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	second.Release()
	second.Release()
	l.Release()
	if ok, _ := third.Try(40); !ok || b.Used() != 40 {
		t.Errorf("%d in use", b.Used())
	}
}

// TestPaceEndsSlowAnswers checks that a silent or too slow answer is ended in time, and that one that
// keeps its pace is not, even when the reader keeps it waiting.
func TestPaceEndsSlowAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pace budget.Pace
		do   func(w *budget.Watch)
		want string // what it was ended for; empty where it was not
		at   time.Duration
	}{
		"silent": {budget.Pace{Silence: time.Minute, Total: time.Hour}, func(w *budget.Watch) {
			time.Sleep(59 * time.Second)
			w.Heard(1)
		}, "nothing has come for 1m0s", 119 * time.Second},
		"trickles": {budget.Pace{Silence: time.Minute, Total: 5 * time.Minute}, func(w *budget.Watch) {
			for range 100 {
				time.Sleep(10 * time.Second)
				w.Heard(1)
			}
		}, "no end of the answer after 5m0s, in which 30 bytes have come", 5 * time.Minute},
		"fast enough": {budget.Pace{Silence: time.Minute, Total: 5 * time.Minute}, func(w *budget.Watch) {
			for range 100 {
				time.Sleep(10 * time.Second)
				w.Heard(10 * budget.LeastRate)
			}
			w.Stop()
		}, "", 0},
		"fast and large": {budget.Pace{Silence: time.Minute, Total: 5 * time.Minute}, func(w *budget.Watch) {
			for range 100 { // 16 GB, as large as a snapshot of etcd may be
				time.Sleep(10 * time.Second)
				w.Heard(160 << 20)
			}
			w.Stop()
		}, "", 0},
		"kept waiting": {budget.Pace{Silence: time.Minute, Total: 2 * time.Minute}, func(w *budget.Watch) {
			w.Pause()
			time.Sleep(time.Hour)
			w.Resume()
			time.Sleep(59 * time.Second)
			w.Stop()
		}, "", 0},
		"allowed more": {budget.Pace{Total: time.Minute}, func(w *budget.Watch) {
			time.Sleep(30 * time.Second)
			w.Allow(time.Minute)
			w.Allow(time.Second)
		}, "no end of the answer after 1m30s, in which 0 bytes have come", 90 * time.Second},
		"allowed less": {
			budget.Pace{Total: time.Hour},
			func(w *budget.Watch) { w.Limit(time.Second) },
			"no end of the answer after 1s, in which 0 bytes have come", time.Second,
		},
		"not begun": {budget.Pace{Silence: time.Second, Total: time.Second}, func(*budget.Watch) {}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var mu sync.Mutex
				got, at := "", time.Duration(0)
				w := c.pace.Watch(func(err error) {
					mu.Lock()
					defer mu.Unlock()
					if got != "" {
						t.Errorf("ended twice: %v", err)
					}
					got, at = err.Error(), time.Since(began)
				})
				if name != "not begun" {
					w.Heard(0)
				}
				c.do(w)
				time.Sleep(2 * time.Hour)
				mu.Lock()
				defer mu.Unlock()
				if got != c.want || at.Round(time.Second) != c.at {
					t.Errorf("ended for %q after %v", got, at)
				}
			})
		})
	}
}
