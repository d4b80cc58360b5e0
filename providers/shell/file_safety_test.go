package shell_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/providers/shell"
)

// TestArchiveLinkIsNoProgram checks that a link in an archive is not accepted as a program,
// whatever its target.
func TestArchiveLinkIsNoProgram(t *testing.T) {
	t.Parallel()
	for _, kind := range []byte{tar.TypeSymlink, tar.TypeLink, tar.TypeFifo, tar.TypeDir} {
		h, root, _ := newHost(t)
		put(t, root+"/etc/precious", "TOOL")
		_, err := unpack(t, h, "", tar.Header{Name: "tool", Mode: 0o700, Typeflag: kind, Linkname: map[byte]string{tar.TypeSymlink: root + "/etc/precious", tar.TypeLink: "etc/precious"}[kind]})
		if err == nil {
			t.Errorf("%c: it is in place", kind)
		}
		if _, err := os.Lstat(root + "/etc/a/tool"); err == nil {
			t.Errorf("%c: something is in place", kind)
		}
	}
}

// TestArchiveMembersBelongToRoot checks that the members of an archive belong to root all the
// time, even while they are unpacked, and even if the archive names another owner.
func TestArchiveMembersBelongToRoot(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, as whom tar gives files away")
	}
	h, root, _ := newHost(t)
	if err := os.MkdirAll(root+"/usr/local/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	hosttest.WriteProgram(t, root+"/usr/local/bin/cp", "#!/bin/sh\nstat -c '%u:%g' -- \"$2\" >"+root+"/seen\nexec /usr/bin/cp \"$@\"\n")
	if _, err := unpack(t, h, "TOOL", tar.Header{Name: "tool", Mode: 0o4777, Size: 4, Uid: 12345, Gid: 12345}); err != nil {
		t.Fatal(err)
	}
	if seen, err := os.ReadFile(root + "/seen"); string(seen) != "0:0\n" {
		t.Errorf("it was %q, %v", seen, err)
	}
	if info, err := os.Stat(root + "/etc/a/tool"); err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestWriteReplacesLinkToFolder checks that a written file replaces a link to a folder instead
// of going into the folder; the mode of the link's target is not set.
func TestWriteReplacesLinkToFolder(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	put(t, root+"/data/precious", "x")
	for _, name := range []string{"/etc/link", "/etc/kept", "/etc/a/tool"} {
		if err := os.MkdirAll(root+"/etc/a", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(root+"/data", root+name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := perform(t, h, write("/etc/link", "mine"), planner.Preserve{Path: "/etc/kept"}, planner.RemovePath{Path: "/etc/kept"}); err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(t, h, "TOOL", tar.Header{Name: "tool", Mode: 0o700, Size: 4}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"/etc/link": "mine", "/etc/a/tool": "TOOL"} {
		if b, err := os.ReadFile(root + name); string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	// A preserved link is kept as a link, and replaces another one.
	if err := os.Symlink(root+"/etc", root+"/etc/kept"); err != nil {
		t.Fatal(err)
	}
	if _, err := perform(t, h, planner.Restore{Path: "/etc/kept"}); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(root + "/etc/kept"); to != root+"/data" {
		t.Errorf("its target is %q, %v", to, err)
	}
	for dir, want := range map[string]string{"/data": "precious", "/etc": "a kept link"} {
		var names []string
		entries, _ := os.ReadDir(root + dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s holds %q, want %q", dir, got, want)
		}
	}

	if err := os.Symlink(root+"/data/precious", root+"/etc/key"); err != nil {
		t.Fatal(err)
	}
	_, err := perform(t, h, planner.SetAccess{Path: "/etc/key", Mode: "0644"})
	says(t, "a link", err, "/etc/key is no file")
	if info, err := os.Stat(root + "/data/precious"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// told is this machine as a transport that writes the nonce of each conversation, which is
// part of the names of unfinished files, to a file.
type told struct {
	local.Machine
	file string
}

func (m told) Exec(ctx context.Context, command string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	all, err := io.ReadAll(stdin)
	if err == nil {
		err = os.WriteFile(m.file, nonceForm.FindSubmatch(all)[1], 0o600)
	}
	if err != nil {
		return 0, err
	}
	return m.Machine.Exec(ctx, command, bytes.NewReader(all), stdout, stderr)
}

// TestPlantedTemporaryFileIsNotFollowed checks that a file planted under the name that data is written
// to, or under that of the run token, is neither emptied nor followed, even if the name was
// just removed.
func TestPlantedTemporaryFileIsNotFollowed(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]string{
		"file":       "[ \"$3\" != ./.file.kubewright-OLD ] || echo precious >./.file.kubewright-$(cat $ROOT/nonce)",
		"link":       "[ \"$3\" != ./.file.kubewright-OLD ] || ln -s $ROOT/precious ./.file.kubewright-$(cat $ROOT/nonce)",
		"run":        "[ \"${3##*/}\" != token.new ] || ln -s $ROOT/precious \"$3\"",
		"run's file": "[ \"${3##*/}\" != token.new ] || ln $ROOT/precious \"$3\"",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, root, _ := newHost(t)
			h := shell.New("cp1", told{file: root + "/nonce"}, shell.Options{Root: root, Unprivileged: true})
			put(t, root+"/precious", "precious\n")
			put(t, root+"/etc/.file.kubewright-OLD", "x")
			if err := os.MkdirAll(root+"/usr/local/bin", 0o755); err != nil {
				t.Fatal(err)
			}
			hosttest.WriteProgram(t, root+"/usr/local/bin/rm", "#!/bin/sh\nROOT="+root+"\n/usr/bin/rm \"$@\" || exit\n"+rest+"\n")
			_, err := perform(t, h, write("/etc/file", "x"))
			says(t, name, err, "exist")
			if b, err := os.ReadFile(root + "/precious"); string(b) != "precious\n" {
				t.Errorf("it holds %q, %v", b, err)
			}
			if _, err := os.Lstat(root + "/etc/file"); err == nil {
				t.Error("something was installed")
			}
		})
	}
}

// TestHostLockIsHeldByBatch checks that the host's lock is held while a batch is at work, and by the
// commands that it runs, and that the lock file is kept for the next batch.
func TestHostLockIsHeldByBatch(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip(err)
	}
	h, root, _ := newHost(t)
	if err := os.MkdirAll(root+"/usr/local/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	hosttest.WriteProgram(t, root+"/usr/local/bin/systemctl", "#!/bin/sh\ncase $1 in show) echo active; exit ;; esac\n"+
		"flock --nonblock "+root+kept+"/lock true && echo free >"+root+"/seen || echo held >"+root+"/seen\nstat -c %i "+root+kept+"/lock >>"+root+"/seen\n")
	stop := planner.Unit{Unit: "kubelet.service", Action: "stop"}
	var first string
	for range 2 {
		if _, err := h.Perform(t.Context(), providers.Batch{Token: 1, Lineage: "l", Operations: []planner.Operation{write("/etc/file", "x"), stop}}); err != nil {
			t.Fatal(err)
		}
		seen, err := os.ReadFile(root + "/seen")
		if first == "" {
			first = string(seen)
		}
		if err != nil || !strings.HasPrefix(string(seen), "held\n") || string(seen) != first {
			t.Errorf("the lock is %q, before it was %q: %v", seen, first, err)
		}
	}
}

// TestOwnerChangeKeepsRequestedMode checks that a file whose owner is changed keeps the requested mode.
func TestOwnerChangeKeepsRequestedMode(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, who can give files away")
	}
	h, root, _ := newHost(t)
	op := write("/etc/file", "x")
	op.Mode, op.Owner = "4755", "daemon:daemon"
	if _, err := perform(t, h, op); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(root + "/etc/file"); err != nil || info.Mode() != 0o755|os.ModeSetuid {
		t.Errorf("%v, %v", info, err)
	}
	if out, err := perform(t, h, op); err != nil || out[0].Changed {
		t.Errorf("once more: %v, %v", out, err)
	}
}
