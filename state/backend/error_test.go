package backend_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kubewright/kubewright/state/backend"
)

// TestErrorTexts checks the exact texts of the errors that all backends share.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	holder := backend.LockInfo{ID: "b71e", Who: "ann@laptop", PID: 4711, Operation: "apply", Time: time.Date(2026, time.August, 1, 12, 0, 0, 0, time.UTC)}
	renewed := holder
	renewed.Renewed = holder.Time.Add(time.Minute)
	const is = "apply of ann@laptop (pid 4711, since 2026-08-01T12:00:00Z, run b71e)"
	const wait = "wait for it to end, or give -lock-timeout=5m to wait longer; "
	for _, c := range []struct {
		err  error
		kind error
		want string
	}{
		{backend.Moved("s3://a/b"), backend.ErrMoved, "cannot write state at s3://a/b: it was written since this run read it; nothing was written: plan again, which reads it again"},
		{backend.Lost("s3://a/b", nil), backend.ErrLost, "cannot keep the lock at s3://a/b: this run's lock was ended (kubewright force-unlock); this run changes nothing more"},
		{backend.Lost("s3://a/b", &holder), backend.ErrLost, "cannot keep the lock at s3://a/b: this run's lock was ended (kubewright force-unlock), and by now " + is + " holds it; this run changes nothing more"},
		{&backend.LockedError{Path: "/s/lock", Info: holder}, backend.ErrLocked, "cannot lock state: " + is + " holds /s/lock; " + wait + "the lock goes with its process, so there is nothing to remove by hand"},
		{&backend.LockedError{Path: "x", Remote: true, Waited: time.Minute}, backend.ErrLocked, "cannot lock state after 1m0s: another kubewright holds x; " + wait + "kubewright lock status tells more"},
		{&backend.LockedError{Path: "x", Remote: true, Info: renewed}, backend.ErrLocked, "cannot lock state: " + is + " holds x; its last sign of life was at 2026-08-01T12:01:00Z; " + wait + "if you know that this process is gone for good, end its lock with kubewright force-unlock b71e"},
	} {
		if c.err.Error() != c.want || !errors.Is(c.err, c.kind) {
			t.Errorf("got  %v\nwant %s", c.err, c.want)
		}
	}
}
