package shell_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/providers/shell"
)

// watchedHost returns a host, and a function that returns the effects of its commands on
// files since the last call, a line each:
//
//	sync INODE SIZE            a file or a folder is synced to disk
//	sync all                   a whole file system is synced
//	mv INODE SIZE FOLDER NAME  a file or a folder is about to get a name in a folder, which is an inode as well
//	rm NAME                    is about to be removed
//	dd MODE                    is about to be written
//	mkdir MODE NAME            a folder has been made
//	mode MODE                  a file with this mode is about to get another one
func watchedHost(t *testing.T) (h *shell.Host, root string, done func() []string) {
	t.Helper()
	h, root, _ = newHost(t)
	if err := os.MkdirAll(root+"/usr/local/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	log := root + "/log"
	for name, body := range map[string]string{
		"sync": "case $1 in -f) echo sync all ;; *) for f do [ \"$f\" = -- ] || stat -L -c 'sync %i %s' -- \"$f\"; done ;; esac >>" + log + "\nexec /usr/bin/sync \"$@\"\n",
		"mv": "eval \"to=\\${$#}\"\nfor f do case $f in -*) ;; *) break ;; esac; done\n" +
			"echo $(stat -c 'mv %i %s' -- \"$f\") $(stat -c %i -- \"$(dirname \"$to\")\") ${to##*/} >>" + log + "\nexec /usr/bin/mv \"$@\"\n",
		"rm":    "for f do case $f in -*) ;; *) echo rm ${f##*/} ;; esac; done >>" + log + "\nexec /usr/bin/rm \"$@\"\n",
		"dd":    "for f do case $f in of=*) stat -c 'dd %a' -- \"${f#of=}\" ;; esac; done >>" + log + "\nexec /usr/bin/dd \"$@\"\n",
		"mkdir": "/usr/bin/mkdir \"$@\" || exit\neval \"to=\\${$#}\"\nstat -c \"mkdir %a ${to##*/}\" -- \"$to\" >>" + log + "\n",
		"chmod": "eval \"to=\\${$#}\"\nstat -c 'mode %a' -- \"$to\" >>" + log + "\nexec /usr/bin/chmod \"$@\"\n",
	} {
		hosttest.WriteProgram(t, root+"/usr/local/bin/"+name, "#!/bin/sh\n"+body)
	}
	return h, root, func() []string {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
}

// wantDurable fails unless the file that got the name was on disk before that, and the name
// was on disk before the operation that must not precede it: the line last, or the end.
func wantDurable(t *testing.T, lines []string, name, last string) {
	t.Helper()
	renamed := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "mv ") && strings.HasSuffix(l, " "+name) })
	if renamed < 0 {
		t.Fatalf("nothing got the name %s:\n%s", name, strings.Join(lines, "\n"))
	}
	var inode, size, folder string
	if _, err := fmt.Sscanf(lines[renamed], "mv %s %s %s", &inode, &size, &folder); err != nil {
		t.Fatal(err)
	}
	before, behind := lines[:renamed], lines[renamed+1:]
	if last != "" {
		end := slices.Index(behind, last)
		if end < 0 {
			t.Fatalf("there is no %q:\n%s", last, strings.Join(lines, "\n"))
		}
		behind = behind[:end]
	}
	if !slices.Contains(before, "sync all") && !slices.Contains(before, "sync "+inode+" "+size) {
		t.Errorf("%s has a name before it is on the disk:\n%s", name, strings.Join(lines, "\n"))
	}
	if !slices.ContainsFunc(behind, func(l string) bool { return l == "sync all" || strings.HasPrefix(l, "sync "+folder+" ") }) {
		t.Errorf("the name %s is not on the disk before %q:\n%s", name, last, strings.Join(lines, "\n"))
	}
}

// TestWritesAreDurable checks that content is on disk before it gets its name, and the name before
// the host answers, even if a later operation of the batch fails.
func TestWritesAreDurable(t *testing.T) {
	t.Parallel()
	h, root, done := watchedHost(t)
	if _, err := perform(t, h, write("/etc/a/file", "x"), write("/etc/b/other", "y"), planner.EnsureDirectory{Path: "/etc/c", Mode: "0700"}); err != nil {
		t.Fatal(err)
	}
	lines := done()
	wantDurable(t, lines, "token", beginning(lines, "mv ")[1])
	wantDurable(t, lines, "file", "")
	wantDurable(t, lines, "other", "")

	hosttest.WriteProgram(t, root+"/usr/local/bin/systemctl", "#!/bin/sh\nexit 1\n")
	if _, err := perform(t, h, write("/etc/a/file", "new"), planner.Unit{Unit: "kubelet.service", Action: "start"}); err == nil {
		t.Error("no error")
	}
	wantDurable(t, done(), "file", "")

	// Removals and modes.
	if _, err := perform(t, h, planner.SetAccess{Path: "/etc/a/file", Mode: "0640"}, planner.RemovePath{Path: "/etc/b/other"}); err != nil {
		t.Fatal(err)
	}
	lines = done()
	for _, path := range []string{"/etc/a/file", "/etc/b"} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, fmt.Sprintf("sync %d ", inode(t, root+path))) }) {
			t.Errorf("%s is not on the disk:\n%s", path, strings.Join(lines, "\n"))
		}
	}
}

// TestPreservedFilesAreDurable checks that the preserved file, with its name, is on disk before another
// can take its place, and is back on disk at its path before the copy is removed.
func TestPreservedFilesAreDurable(t *testing.T) {
	t.Parallel()
	h, root, done := watchedHost(t)
	put(t, root+"/etc/a/file", "the site's")
	if _, err := perform(t, h, planner.Preserve{Path: "/etc/a/file"}, write("/etc/a/file", "ours")); err != nil {
		t.Fatal(err)
	}
	lines := done()
	renames := beginning(lines, "mv ")
	wantDurable(t, lines, "file", renames[len(renames)-1])
	if _, err := perform(t, h, planner.Restore{Path: "/etc/a/file"}); err != nil {
		t.Fatal(err)
	}
	wantDurable(t, done(), "file", "rm file")
	if b, err := os.ReadFile(root + "/etc/a/file"); string(b) != "the site's" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestArchiveMembersAreDurable checks the same for members of an archive.
func TestArchiveMembersAreDurable(t *testing.T) {
	t.Parallel()
	h, _, done := watchedHost(t)
	if _, err := unpack(t, h, "TOOL", tar.Header{Name: "tool", Mode: 0o700, Size: 4}); err != nil {
		t.Fatal(err)
	}
	wantDurable(t, done(), "tool", "")
}

// unpack installs the member tool of an archive as /etc/a/tool, whose planned content is
// TOOL.
func unpack(t *testing.T, h *shell.Host, content string, header tar.Header) ([]providers.Outcome, error) {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&header)
	if header.Size > 0 {
		_, writeErr := io.WriteString(w, content)
		err = errors.Join(err, writeErr)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return h.Perform(t.Context(), providers.Batch{
		Token: 1,
		Operations: []planner.Operation{planner.UploadArtifact{
			Artifact: "a", SHA256: sha(archive.Bytes()), Files: []planner.ArtifactFile{{Member: "tool", Path: "/etc/a/tool", Mode: "0755", SHA256: sha([]byte("TOOL"))}},
		}},
		Artifacts: map[string]providers.Artifact{"a": {Size: int64(archive.Len()), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
		}}},
	})
}

func sha(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// beginning returns the lines with a prefix.
func beginning(lines []string, with string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, with) })
}

// TestFileIsPrivateWhileWritten checks that a file that is being written is readable by its
// owner alone until its mode is set, whatever that is, and so is a folder.
func TestFileIsPrivateWhileWritten(t *testing.T) {
	t.Parallel()
	h, root, done := watchedHost(t)
	open := write("/etc/file", "x")
	open.Mode = "0644"
	if _, err := perform(t, h, write("/etc/secret", "x"), open, planner.EnsureDirectory{Path: "/etc/keys", Mode: "0755"}); err != nil {
		t.Fatal(err)
	}
	lines := done()
	if got := beginning(lines, "dd "); !slices.Equal(got, []string{"dd 600", "dd 600"}) {
		t.Errorf("it is written with the modes %q", got)
	}
	if got := beginning(lines, "mkdir "); !slices.Equal(got, []string{"mkdir 755 lib", "mkdir 700 kubewright", "mkdir 700 keys"}) && !slices.Equal(got, []string{"mkdir 755 var", "mkdir 700 kubewright", "mkdir 700 keys"}) {
		t.Errorf("folders were made with the modes %q", got)
	}
	if got := beginning(lines, "mode "); !slices.Equal(got, []string{"mode 600", "mode 700"}) {
		t.Errorf("modes were set where there were %q", got)
	}
	if name := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "mv ") && strings.HasSuffix(l, " file") }); name < slices.Index(lines, "mode 600") {
		t.Errorf("it has its name before its mode:\n%s", strings.Join(lines, "\n"))
	}
	for path, mode := range map[string]os.FileMode{"/etc/secret": 0o600, "/etc/file": 0o644, "/etc/keys": 0o755, "/var/lib/kubewright/token": 0o600} {
		if info, err := os.Stat(root + path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}
