package console

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/klog/v2"

	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
)

// TestLibraryLogStaysOffTerminal is not parallel: it replaces os.Stderr.
func TestLibraryLogStaysOffTerminal(t *testing.T) {
	SilenceClientGo()
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stderr := os.Stderr
	os.Stderr = f
	klog.Warning("a warning of client-go")
	klog.ErrorS(errors.New("refused"), "Unhandled error")
	klog.Background().Info("a line of client-go")
	klog.Flush()
	os.Stderr = stderr
	if b, err := os.ReadFile(f.Name()); err != nil || len(b) > 0 {
		t.Errorf("stderr got %q, %v", b, err)
	}
}

func TestErrorsAreExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err             error
		summary, detail string
	}{
		{errors.New("cannot do it"), "Command failed", "Cannot do it."},
		{errors.New("run this:\n\n  kubewright plan"), "Command failed", "Run this:\n\n  kubewright plan"},
		{fmt.Errorf("wrapped: %w", &statefile.LockedError{Path: "x"}), "State is locked", ""},
		{&statefile.Error{Op: "read state", Path: "x", Kind: statefile.ErrDamaged}, "State cannot be trusted", "Cannot read state x."},
		{&statefile.Error{Op: "read state", Path: "x", Err: os.ErrPermission}, "State cannot be read or written", "Cannot read state x: permission denied; run kubewright as a user who may do that, or let this one with chown or chmod."},
		{&statefile.Error{Op: "read state", Path: "x", Kind: statefile.ErrNewer}, "State is of a newer kubewright", "Cannot read state x."},
		{&statefile.Error{Op: "write state", Path: "x", Kind: statefile.ErrOccupied}, "State would be overwritten", "Cannot write state x."},
		{&statefile.Error{Op: "write state", Path: "x", Kind: statefile.ErrForeign}, "State is of another lineage", "Cannot write state x."},
		{&statefile.Error{Op: "write state", Path: "x", Kind: statefile.ErrMoved}, "State has changed meanwhile", "Cannot write state x."},
		{&state.CodecError{Kind: state.ErrPlain, Problem: "it is plain", Remedy: "encrypt it"}, "State is not encrypted", "It is plain; encrypt it."},
		{&state.CodecError{Kind: state.ErrSealed, Problem: "it is sealed", Remedy: "name a key"}, "State is encrypted", "It is sealed; name a key."},
		{fmt.Errorf("cannot continue: %w", backend.ErrLost), "The lock was lost", ""},
		{fmt.Errorf("cannot write: %w", backend.ErrTooLarge), "State is too large for its backend", ""},
		{fmt.Errorf("cannot begin: %w", providers.ErrHeld), "Cluster is being changed by another run", ""},
		{fmt.Errorf("cannot continue: %w", providers.ErrSuperseded), "Another run has taken over", ""},
		{fmt.Errorf("step certs: %w", &executor.PanicError{Value: "index out of range", Stack: []byte("goroutine 1")}), "Defect of kubewright", "Step certs: internal error: panic: index out of range. " + defectRemedy},
		{Misuse("kubewright plan", errors.New("unknown flag: --x")), "Command line not understood", "Unknown flag: -x.\n\nSee kubewright plan -help."},
	} {
		d := Finding(c.err)
		if d.Summary != c.summary || c.detail != "" && d.Detail != c.detail {
			t.Errorf("%v: got %q, %q, want %q, %q", c.err, d.Summary, d.Detail, c.summary, c.detail)
		}
	}
}
