package ssh_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/providers/ssh"
)

// TestIncludedConfigurationIsLimited checks the size limits of an ssh configuration, including its included
// files.
func TestIncludedConfigurationIsLimited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", "Host a\n User ann\n")
	wide := write("wide", strings.Repeat("#\n", 125_000))
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	write("self", strings.Repeat("Include "+filepath.Join(dir, "self")+"\n", 50))
	write("deep", "Include /dev/zero\n")
	commented := write("commented", "Include "+good+"  "+good+" # ann's\n")
	for config, want := range map[string]string{
		"Include " + good + "\n":                                  "",
		"Host *\n Include\t" + good + "\n":                        "",
		"# Include /dev/zero\nInclude " + good + " # /dev/zero\n": "",
		"Include " + filepath.Join(dir, "go*") + "\n":             "",
		"Include /dev/zero\n":                                     "cannot include /dev/zero: open /dev/zero: it is a device",
		"Host *\n  iNCLUDE = /dev/zero\n":                         "it is a device",
		"Include=/dev/zero":                                       "it is a device",
		"Host *\r\n\tInclude " + good + " /dev/zero\r\n":          "it is a device",
		"Include /dev/zer?\n":                                     "it is a device",
		"Include " + commented + "\n":                             "",
		"Include " + good + "  " + good + "\n":                    "",
		"Include " + pipe + "\n":                                  "not a regular file",
		"Include " + filepath.Join(dir, "deep") + "\n":            "it is a device",
		"Include " + filepath.Join(dir, "self") + "\n":            "self:1: files include others more than 16 times",
		strings.Repeat("Include "+wide+"\n", 5):                   "more than 1048576 bytes",
		"Host *\n  User " + strings.Repeat("x", 100_000) + "\n":   "a line has more than 16384 bytes",
		"Host *\n # " + strings.Repeat("x", 1_000_000) + "\n":     "a line has more than 16384 bytes",
		strings.Repeat("Include "+good+"\n", 10_000):              "",
		"Include " + write("large", strings.Repeat("#\n", 1<<20)): "is larger than",
		"Include " + good + "\n# " + strings.Repeat("é", 10_000):  "a line has more than 16384 bytes",
	} {
		got, err := ssh.Resolve(ssh.Target{Address: "a"}, operator(t, config))
		shown := config[:min(len(config), 60)]
		if want == "" && (err != nil || got.User != "ann") {
			t.Errorf("%q: user %q, %v", shown, got.User, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want it to say %q", shown, err, want)
		}
	}
}
