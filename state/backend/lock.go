package backend

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kubewright/kubewright/state"
)

// Heartbeat is how often a run that holds a lock renews its sign of life, where the backend keeps
// one. Silent is the age of the last sign of life at which a holder is called silent; it still
// keeps the lock.
const (
	Heartbeat = 15 * time.Second
	Silent    = 2 * time.Minute
)

// LockInfo describes the holder of a lock.
type LockInfo struct {
	// ID is the ID of the run.
	ID string `json:"id"`
	// Who is user@host.
	Who       string    `json:"who"`
	Time      time.Time `json:"time"`
	PID       int       `json:"pid"`
	Operation string    `json:"operation"`
	// File identifies the lock file that the holder locked, where the lock is a file; the backend
	// sets it. It differs in a copy of the file.
	File string `json:"file,omitempty"`
	// Renewed is the time of the holder's last sign of life; zero where the backend keeps none.
	Renewed time.Time `json:"renewed,omitzero"`
	// Certain reports whether the lock ends with its holder's process or connection: as long as
	// it is held, the holder is alive.
	Certain bool `json:"-"`
}

// String returns the holder in one line: apply of ann@laptop (pid 4711, since …, run b71e).
func (i LockInfo) String() string {
	if i.ID == "" {
		return "another kubewright"
	}
	pid := ""
	if i.PID != 0 {
		pid = fmt.Sprintf("pid %d, ", i.PID)
	}
	return fmt.Sprintf("%s of %s (%ssince %s, run %s)", cmp.Or(i.Operation, "a run"), cmp.Or(i.Who, "an unknown user"), pid, i.Time.Format(time.RFC3339), i.ID)
}

// LockedError reports that another run holds the lock. It is an ErrLocked.
type LockedError struct {
	// Path is the place of the lock: a file, or the backend's String.
	Path string
	// Info describes the holder; it is zero when it could not be read.
	Info LockInfo
	// Waited is how long this run has tried to take the lock.
	Waited time.Duration
	// Remote reports whether the lock is not a file of this machine: it can outlive its holder.
	Remote bool
}

// Error says who holds the lock, since when, and what to do.
func (e *LockedError) Error() string {
	waited := ""
	if e.Waited > 0 {
		waited = fmt.Sprintf(" after %s", e.Waited)
	}
	text := fmt.Sprintf("cannot lock state%s: %s holds %s", waited, e.Info, e.Path)
	const wait = "wait for it to end, or give -lock-timeout=5m to wait longer; "
	switch {
	case !e.Remote:
		return text + "; " + wait + "the lock goes with its process, so there is nothing to remove by hand"
	case e.Info.ID == "":
		return text + "; " + wait + "kubewright lock status tells more"
	}
	if !e.Info.Renewed.IsZero() {
		text += "; its last sign of life was at " + e.Info.Renewed.Format(time.RFC3339)
	}
	return text + "; " + wait + "if you know that this process is gone for good, end its lock with kubewright force-unlock " + state.ShellWord(e.Info.ID)
}

// Unwrap makes the error an ErrLocked.
func (e *LockedError) Unwrap() error { return ErrLocked }
