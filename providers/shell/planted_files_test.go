package shell_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

const kept = "/var/lib/kubewright"

// TestHostRefusesOlderRunToken checks that a host refuses a run if the token that it has seen is
// higher, with any number of digits, or is not a number.
func TestHostRefusesOlderRunToken(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]error{
		"7 l\n": nil, "8 l\n": nil, "0 l\n": nil, "7\n": nil, "8 other\n": providers.ErrForeign, "9 l\n": providers.ErrSuperseded, "10 l\n": providers.ErrSuperseded,
		"9223372036854775807 l\n": providers.ErrSuperseded, "9223372036854775808 l\n": providers.ErrSuperseded, "18446744073709551617 l\n": providers.ErrSuperseded,
		"99999999999999999999999999999999999999 l\n": providers.ErrSuperseded,
		"": errAny, "\n": errAny, "x l\n": errAny, "-9 l\n": errAny, "+1 l\n": errAny, "007 l\n": errAny, "1e9 l\n": errAny, "0x1 l\n": errAny, "1.0 l\n": errAny, "$(id) l\n": errAny, "* l\n": errAny,
	} {
		t.Run(strings.TrimSpace(content), func(t *testing.T) {
			t.Parallel()
			h, root, _ := newHost(t)
			put(t, root+kept+"/token", content)
			_, err := h.Perform(t.Context(), providers.Batch{Token: 8, Lineage: "l", Operations: []planner.Operation{write("/etc/file", "x")}})
			switch {
			case want == errAny:
				says(t, content, err, root+kept+"/token holds no number of a run")
			case !errors.Is(err, want):
				t.Errorf("got %v, want %v", err, want)
			}
			_, statErr := os.Stat(root + "/etc/file")
			if done := statErr == nil; done != (want == nil) {
				t.Errorf("done is %v", done)
			}
			now, _ := os.ReadFile(root + kept + "/token")
			if want == nil && string(now) != "8 l\n" || want != nil && string(now) != content {
				t.Errorf("the host remembers %q", now)
			}
		})
	}
}

var errAny = errors.New("any")

// TestPlantedFilesAreNotFollowed checks that files which others have put into kubewright's folder are not
// followed, emptied, appended to or believed, and that the others lose access to the
// folder.
func TestPlantedFilesAreNotFollowed(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, who can give files away")
	}
	const unprivileged = 65534
	put := map[string]func(victim, path string) error{
		"symbolic link": os.Symlink,
		"dangling link": func(victim, path string) error { return os.Symlink(victim+"-new", path) },
		"hard link":     os.Link,
		"pipe":          func(_, path string) error { return syscall.Mkfifo(path, 0o600) },
		"user's file": func(_, path string) error {
			return errors.Join(os.WriteFile(path, []byte("1 l\n"), 0o600), os.Chown(path, unprivileged, unprivileged))
		},
		"file for all": func(_, path string) error {
			return errors.Join(os.WriteFile(path, []byte("1 l\n"), 0o600), os.Chmod(path, 0o666))
		},
		"user's folder": func(_, path string) error {
			return errors.Join(os.Mkdir(path, 0o755), os.Chown(path, unprivileged, unprivileged))
		},
		"link to a folder":     func(victim, path string) error { return os.Symlink(filepath.Dir(victim), path) },
		"folder for the group": func(_, path string) error { return errors.Join(os.Mkdir(path, 0o755), os.Chmod(path, 0o775)) },
	}
	for _, name := range []string{"lock", "token", "token.new", "digests", "marks.json", "packages", "before", "part-files", "before/etc"} {
		for kind, plant := range put {
			switch {
			case name == "before/etc" && (kind == "user's folder" || kind == "folder for the group"): // a file that was kept may be of any kind
			case name == "lock" || name == "token" || name != "before/etc" && (kind == "symbolic link" || kind == "user's file"):
			default:
				continue
			}
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				h, root, _ := newHost(t)
				folder, victim := root+kept, root+"/home/victim"
				for _, dir := range []string{filepath.Dir(folder + "/" + name), filepath.Dir(victim)} {
					if err := os.MkdirAll(dir, 0o755); err != nil {
						t.Fatal(err)
					}
				}
				if err := errors.Join(os.WriteFile(victim, []byte("precious"), 0o600), plant(victim, folder+"/"+name), os.Chmod(folder, 0o777)); err != nil {
					t.Fatal(err)
				}
				for range 2 { // the first has made the folder root's
					_, err := h.Perform(t.Context(), providers.Batch{Token: 8, Lineage: "l", Operations: []planner.Operation{write("/etc/file", "x")}})
					says(t, name, err, name+" is not kubewright's: it is no plain file or folder of root alone")
				}
				if b, err := os.ReadFile(victim); string(b) != "precious" || err != nil {
					t.Errorf("the victim is %q, %v", b, err)
				}
				for _, path := range []string{victim + "-new", root + "/etc/file"} {
					if _, err := os.Lstat(path); err == nil {
						t.Errorf("%s was made", path)
					}
				}
				if fi, err := os.Stat(folder); err != nil || fi.Mode().Perm() != 0o700 {
					t.Errorf("the folder is %v, %v", fi.Mode(), err)
				}
			})
		}
	}
}

// TestOwnFolderWritableByOthersIsSecured checks that others lose access to our folder if they could write to it; a
// folder behind a link that only root can have made stays where it is.
func TestOwnFolderWritableByOthersIsSecured(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, who can give folders away")
	}
	for name, tt := range map[string]struct {
		make func(root, folder string) error
		says string
	}{
		"user's":      {func(_, f string) error { return errors.Join(os.MkdirAll(f, 0o755), os.Chown(f, 65534, 65534)) }, ""},
		"for all":     {func(_, f string) error { return errors.Join(os.MkdirAll(f, 0o755), os.Chmod(f, 0o777)) }, ""},
		"for reading": {func(_, f string) error { return os.MkdirAll(f, 0o755) }, ""},
		"with set-id bit": {func(_, f string) error {
			return errors.Join(os.MkdirAll(f, 0o755), os.Chmod(f, 0o777|os.ModeSetgid|os.ModeSticky))
		}, ""},
		"root's link": {func(root, f string) error {
			return errors.Join(os.MkdirAll(root+"/srv/k", 0o755), os.MkdirAll(filepath.Dir(f), 0o755), os.Symlink(root+"/srv/k", f))
		}, ""},
		"link to a user's": {func(root, f string) error {
			return errors.Join(os.MkdirAll(root+"/srv/k", 0o755), os.Chown(root+"/srv/k", 65534, 65534), os.MkdirAll(filepath.Dir(f), 0o755), os.Symlink(root+"/srv/k", f))
		}, "does not belong to root"},
		"file": {func(_, f string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(f), 0o755), os.WriteFile(f, nil, 0o600))
		}, "File exists"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, root, _ := newHost(t)
			if err := tt.make(root, root+kept); err != nil {
				t.Fatal(err)
			}
			_, err := h.Perform(t.Context(), providers.Batch{Token: 8, Lineage: "l", Operations: []planner.Operation{write("/etc/file", "x")}})
			if tt.says != "" {
				says(t, name, err, tt.says)
				return
			}
			fi, statErr := os.Stat(root + kept)
			if err != nil || statErr != nil || fi.Mode().Perm() != 0o700 || fi.Sys().(*syscall.Stat_t).Uid != 0 {
				t.Errorf("%v, %v, %v", err, statErr, fi)
			}
		})
	}
}
