package shell_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/state"
)

// TestGroupWritableFolderAllowsRemoval checks that in a folder that a group can write to, as Ubuntu's
// /var/log, entries can be removed, and an unchanged folder is accepted. Nothing is changed
// there, and a removal does not follow a link that was planted in the meantime.
func TestGroupWritableFolderAllowsRemoval(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	logs := root + "/var/log"
	for _, path := range []string{logs + "/pods/a/0.log", logs + "/containers/b", root + "/etc/precious"} {
		put(t, path, "x")
	}
	if err := errors.Join(os.Chown(logs, 0, 12345), os.Chmod(logs, 0o775)); errors.Is(err, os.ErrPermission) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if _, err := perform(t, h, planner.RemovePath{Path: "/var/log/containers"}, planner.RemovePath{Path: "/var/log/pods", ContentsOnly: true},
		planner.EnsureDirectory{Path: "/var/log/pods", Mode: "0755"}); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(logs + "/*/*"); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	for _, op := range []planner.Operation{planner.EnsureDirectory{Path: "/var/log/pods", Mode: "0700"}, write("/var/log/pods/file", "x")} {
		_, err := perform(t, h, op)
		says(t, op, err, "others than root can write to "+logs+". Unless others need to: chmod go-w "+logs)
	}
	_, err := perform(t, h, planner.EnsureDirectory{Path: "/var/log/new/folder", Mode: "0700"})
	says(t, "a folder on the way", err, "others than root can write to "+logs)
	if _, err := os.Lstat(logs + "/new"); err == nil {
		t.Error("a folder was made on the way")
	}
	// A system group may write there, as the log daemon's does on Ubuntu, but not all users.
	if err := os.Chown(logs, 0, 104); err != nil {
		t.Fatal(err)
	}
	if _, err := perform(t, h, planner.EnsureDirectory{Path: "/var/log/system/folder", Mode: "0700"}, planner.RemovePath{Path: "/var/log/system"}); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = perform(t, h, planner.EnsureDirectory{Path: "/var/log/system", Mode: "0700"})
	says(t, "a folder of all users", err, "others than root can write to "+logs)
	if err := errors.Join(os.Chmod(logs, 0o775), os.Chown(logs, 1001, 0)); err != nil {
		t.Fatal(err)
	}
	_, err = perform(t, h, write("/var/log/file", "x"))
	says(t, "another user's folder", err, logs+" does not belong to root. Unless others need it: chown root:root "+logs)
	if err := os.Chown(logs, 0, 12345); err != nil {
		t.Fatal(err)
	}

	put(t, logs+"/pods/a/0.log", "x")
	if err := os.MkdirAll(root+"/usr/local/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	hosttest.WriteProgram(t, root+"/usr/local/bin/stat", "#!/bin/sh\n/usr/bin/stat \"$@\"\nx=$?\n"+
		"case $* in *%d:%i*' ./pods') mv "+logs+"/pods "+logs+"/old && ln -s "+root+"/etc "+logs+"/pods ;; esac\nexit $x\n")
	_, err = perform(t, h, planner.RemovePath{Path: "/var/log/pods", ContentsOnly: true})
	says(t, "a link that came meanwhile", err, logs+"/pods is not what it was a moment ago")
	for _, path := range []string{root + "/etc/precious", logs + "/old/a/0.log"} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// TestWriteErrorGivesReason checks that a write error is not reported as missing data, and that
// the error gives its reason. A file that cannot be opened is an ordinary failure, and does
// not end the script.
func TestWriteErrorGivesReason(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	if err := os.MkdirAll(root+"/usr/local/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	hosttest.WriteProgram(t, root+"/usr/local/bin/dd", "#!/bin/sh\necho \"dd: error writing 'x': No space left on device\" >&2\nexit 3\n")
	for _, content := range []string{"x", strings.Repeat("x", 1<<16), strings.Repeat("x", 1<<16+1)} {
		_, err := perform(t, h, write("/etc/file", content))
		says(t, "a full disk", err, "exit code 3: dd: error writing 'x': No space left on device")
		if strings.Contains(err.Error(), "did not arrive whole") {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(root + "/etc"); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	hosttest.WriteProgram(t, root+"/usr/local/bin/dd", "#!/bin/sh\n/usr/bin/dd \"$@\"\ncase $* in *of=*) echo more >>\"${*##*of=}\" ;; esac\n")
	_, err := perform(t, h, write("/etc/file", "x"))
	says(t, "other data", err, "the data for "+root+"/etc/file did not arrive whole")

	h, root, _ = newHost(t)
	if err := os.MkdirAll(root+"/var/lib/kubewright/lock", 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = perform(t, h, write("/etc/file", "x"))
	var command *providers.CommandError
	if !errors.As(err, &command) {
		t.Errorf("got %v, want a CommandError", err)
	}
	says(t, "no lock", err, root+"/var/lib/kubewright/lock")
}

// TestSocketListIsReadAgain checks that the kernel's list of sockets, which can omit one while
// others come and go, is read again if no runtime is in it.
func TestSocketListIsReadAgain(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	if err := os.MkdirAll(root+"/usr/local/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	hosttest.WriteProgram(t, root+"/usr/local/bin/grep", "#!/bin/sh\ncase $2 in /proc/net/unix) ;; *) exec /bin/grep \"$@\" ;; esac\n"+
		"if mkdir "+root+"/read; then exit 1; fi 2>/dev/null\n"+
		"echo '0000000000000000: 00000002 00000000 00010000 0001 01 4711 /run/containerd/containerd.sock'\n")
	seen, err := h.Observe(t.Context(), state.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := seen.Facts.CRISocket, "unix:///var/run/containerd/containerd.sock"; got != want {
		t.Errorf("the runtime listens on %q, want %q", got, want)
	}
}
