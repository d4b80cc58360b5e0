package safefile_test

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kubewright/kubewright/state/safefile"
)

// limit is larger than the victim file.
const limit = 100

// trap is a non-regular file under the name of a file.
type trap struct {
	name, is string
	// linked is the error where links are followed; empty where the target is a file.
	linked string
	make   func(path, victim string) error
}

func traps() []trap {
	const pipe, device, folder = "is a named pipe", "is a device", "is a directory"
	link := func(to string) func(path, victim string) error {
		return func(path, _ string) error { return os.Symlink(to, path) }
	}
	return []trap{
		{"link", "is a symbolic link", "", func(path, victim string) error { return os.Symlink(victim, path) }},
		{"dangling link", "is a symbolic link", "no such file", link("nothing")},
		{"link to a folder", "is a symbolic link", folder, link(".")},
		{"link to zeros", "is a symbolic link", device, link("/dev/zero")},
		{"pipe", pipe, pipe, func(path, _ string) error { return unix.Mkfifo(path, 0o600) }},
		{"folder", folder, folder, func(path, _ string) error { return os.Mkdir(path, 0o700) }},
		{"socket", "is a socket", "is a socket", func(path, _ string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			return l.Close()
		}},
		{"device", device, device, func(path, _ string) error {
			return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))) // zeros
		}},
	}
}

func closed(f io.Closer, err error) error {
	if err == nil {
		err = f.Close()
	}
	return err
}

// TestSpecialFilesAreRefused checks that each function returns at once, says what has the file's name, and does
// nothing to its target.
func TestSpecialFilesAreRefused(t *testing.T) {
	t.Parallel()
	own := map[string]func(path string) error{
		"Open":     func(path string) error { return closed(safefile.Open(path)) },
		"Read":     func(path string) error { _, err := safefile.Read(path, limit); return err },
		"Edit":     func(path string) error { return closed(safefile.Edit(path)) },
		"Change":   func(path string) error { return closed(safefile.Change(path)) },
		"Append":   func(path string) error { return closed(safefile.Append(path)) },
		"Rewrite":  func(path string) error { return closed(safefile.Rewrite(path)) },
		"Replace":  func(path string) error { _, err := safefile.Replace(path, 0o600); return err },
		"Write":    func(path string) error { return safefile.WriteFile(path, []byte("new"), 0o600) },
		"Rename":   func(path string) error { return safefile.Rename(path, path) },
		"Folder":   func(path string) error { return safefile.MakeFolder(path, 0o700) },
		"Create":   func(path string) error { return closed(safefile.Create(path, 0o600)) },
		"Linked":   func(path string) error { return closed(safefile.OpenLinked(path)) },
		"Given":    func(path string) error { _, err := safefile.ReadGiven(path, limit); return err },
		"ReadLink": func(path string) error { _, err := safefile.ReadLinked(path, limit); return err },
	}
	for _, trap := range traps() {
		for name, use := range own {
			t.Run(trap.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "x")
				if err := os.WriteFile(victim, []byte("precious"), 0o640); err != nil {
					t.Fatal(err)
				}
				if err := trap.make(path, victim); errors.Is(err, fs.ErrPermission) {
					t.Skip(err)
				} else if err != nil {
					t.Fatal(err)
				}
				before, _ := os.ReadDir(dir)
				err := use(path)
				want := trap.is
				switch {
				case name == "Create":
					want = "file exists"
				case name == "Linked" || name == "Given" || name == "ReadLink":
					want = trap.linked
				case name == "Folder" && trap.name == "folder":
					want = ""
				}
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path)) {
					t.Errorf("error = %v, want one with %q and the name", err, want)
				}
				info, err := os.Stat(victim)
				if b, _ := os.ReadFile(victim); err != nil || string(b) != "precious" || info.Mode().Perm() != 0o640 {
					t.Errorf("the victim is %v, %v, and holds %q", info, err, b)
				}
				if after, _ := os.ReadDir(dir); len(after) != len(before) {
					t.Errorf("the folder contains %v, before %v", after, before)
				}
			})
		}
	}
}

func TestOwnFilesContentAndMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lines")
	check := func(want string, perm fs.FileMode) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := safefile.Read(path, limit); err != nil || string(b) != want || info.Mode().Perm() != perm {
			t.Errorf("the file is %v and holds %q, %v; want %q and %v", info.Mode(), b, err, want, perm)
		}
	}
	write := func(f *os.File, err error) {
		t.Helper()
		if err == nil {
			_, err = f.WriteString("line\n")
		}
		if err = closed(f, err); err != nil {
			t.Fatal(err)
		}
	}
	write(safefile.Append(path))
	write(safefile.Append(path))
	check("line\nline\n", 0o600)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	write(safefile.Rewrite(path))
	check("line\n", 0o600)
	if err := safefile.WriteFile(path, []byte("whole"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("whole", 0o644)
	write(safefile.Edit(path))
	check("line\n", 0o644)
	if _, err := safefile.Read(path, 4); err == nil || !strings.HasSuffix(err.Error(), "is larger than 4 bytes") {
		t.Errorf("a file with 5 bytes: error = %v", err)
	}
	if _, err := safefile.ReadGiven("/dev/null", limit); err != nil {
		t.Errorf("/dev/null is read as %v", err)
	}
}

// TestReadBelowRefusesLinkOutside checks that a link in a folder may lead to another file there, but not elsewhere.
func TestReadBelowRefusesLinkOutside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "folder")
	for _, err := range []error{
		os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(dir, "out"), []byte("out"), 0o600), os.WriteFile(filepath.Join(folder, "in"), []byte("in"), 0o600),
		os.Symlink("in", filepath.Join(folder, "inner")), os.Symlink("../out", filepath.Join(folder, "outer")), unix.Mkfifo(filepath.Join(folder, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"in", "inner"} {
		if b, err := safefile.ReadBelow(folder, name, limit); err != nil || string(b) != "in" {
			t.Errorf("%s holds %q, %v", name, b, err)
		}
	}
	for name, want := range map[string]string{"outer": "is a symbolic link that leads out of its folder", "pipe": "is a named pipe, not a regular file", "none": "no such file or directory"} {
		if _, err := safefile.ReadBelow(folder, name, limit); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: error = %v, want %s", name, err, want)
		}
	}
}

// TestWorldWritableFoldersAreRefused checks that nothing is written where every user can replace it, and that nothing is
// written into files of other users where every user can create files, as in /tmp.
func TestWorldWritableFoldersAreRefused(t *testing.T) {
	t.Parallel()
	write := map[string]func(path string) error{
		"Edit": func(path string) error { return closed(safefile.Edit(path)) }, "Append": func(path string) error { return closed(safefile.Append(path)) },
		"Create": func(path string) error { return closed(safefile.Create(path+".new", 0o600)) }, "WriteFile": func(path string) error { return safefile.WriteFile(path, nil, 0o600) },
	}
	for _, tt := range []struct {
		mode    fs.FileMode
		foreign bool
		refused string
	}{
		{0o700, false, ""},
		{0o755, true, ""},
		{0o775, false, ""},
		{0o770, true, ""},
		{0o777 | fs.ModeSticky, false, ""},
		{0o777, false, "every user of this machine can replace files in its folder"},
		{0o702, false, "(mode 0702): run chmod o-w "},
		{0o777 | fs.ModeSticky, true, "belongs to another user (uid 12345)"},
	} {
		for name, use := range write {
			dir := t.TempDir()
			path := filepath.Join(dir, "x")
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(dir, tt.mode)); err != nil {
				t.Fatal(err)
			}
			if tt.foreign {
				if os.Geteuid() != 0 {
					continue
				}
				if err := os.Chown(path, 12345, -1); err != nil {
					t.Fatal(err)
				}
			}
			want := tt.refused
			if tt.foreign && (name == "Create" || name == "WriteFile") {
				want = "" // another file
			}
			if err := use(path); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s in %v (file of another: %v): error = %v, want %q", name, tt.mode, tt.foreign, err, want)
			}
		}
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := safefile.CheckFolder(dir); err == nil || safefile.Cause(err) == nil {
		t.Errorf("a folder that all can write: error = %v", err)
	}
	if err := safefile.MakeFolder(filepath.Join(dir, "within"), 0o700); err == nil || safefile.Cause(err) == nil {
		t.Errorf("a folder in one that all can write: error = %v", err)
	}
	made := filepath.Join(t.TempDir(), "a", "b")
	if err := safefile.MakeFolder(made, 0o700); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info, err)
	}
}

// TestPipesAndDescriptorsAreUsed checks that a descriptor of the shell is used as it is, and that a named pipe is
// used if a process reads it.
func TestPipesAndDescriptorsAreUsed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"/dev/fd/63": true, "/proc/self/fd/9": true, "/dev/stdin": true, "/dev/../dev/null": true, "/dev/tty": true, "/dev/zero": false, "/dev/fd/x": false, "/proc/1/fd/9": false, "plan": false} {
		if safefile.IsStream(name) != want {
			t.Errorf("IsStream(%q) = %v", name, !want)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	name := func(f *os.File) string { return "/dev/fd/" + strconv.Itoa(int(f.Fd())) }
	if _, err := w.WriteString("secret"); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if b, err := safefile.ReadGiven(name(r), limit); err != nil || string(b) != "secret" {
		t.Errorf("the pipe holds %q, %v", b, err)
	}
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := safefile.ReadGiven(name(dir), limit); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a folder's descriptor: error = %v", err)
	}
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	if _, err := safefile.ReadGiven(name(zero), limit); err == nil || !strings.Contains(err.Error(), "is larger than 100 bytes") {
		t.Errorf("zeros without end: error = %v", err)
	}

	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		b, err := os.ReadFile(path)
		read <- string(b) + errorText(err)
	}()
	f, err := safefile.Rewrite(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("line")
	if err := errors.Join(err, f.Close()); err != nil { // the reader ends with it
		t.Error(err)
	}
	if got := <-read; got != "line" {
		t.Errorf("read %q", got)
	}
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}
