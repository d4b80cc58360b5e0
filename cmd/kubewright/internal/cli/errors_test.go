package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/klog/v2"

	"github.com/kubewright/kubewright/state/statefile"
)

// TestLogOfLibrariesNeverReachesTheTerminal is not parallel: it replaces os.Stderr.
func TestLogOfLibrariesNeverReachesTheTerminal(t *testing.T) {
	quiet()
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
		{&statefile.Error{Op: "read state", Path: "x", Err: os.ErrPermission}, "State cannot be read or written", "Cannot read state x: permission denied."},
		{&usageError{"kubewright plan", errors.New("unknown flag: --x")}, "Command line not understood", "Unknown flag: -x.\n\nSee kubewright plan -help."},
	} {
		d := explain(c.err)
		if d.Summary != c.summary || c.detail != "" && d.Detail != c.detail {
			t.Errorf("%v: got %q, %q, want %q, %q", c.err, d.Summary, d.Detail, c.summary, c.detail)
		}
	}
}

func TestOneDashIsAsGoodAsTwo(t *testing.T) {
	t.Parallel()
	got := oneDash([]string{"-chdir=x", "--state", "y", "-h", "-", "-10m", "plan", "--", "-var"})
	want := []string{"--chdir=x", "--state", "y", "-h", "-", "-10m", "plan", "--", "-var"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
