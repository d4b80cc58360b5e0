package ssh_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/providers/ssh"
)

// TestSSHFilesMustBeRegularFiles checks that a pipe is not waited for, that a device is not read without end,
// and that a file above the size limit is not read at all. A link to a file is accepted.
func TestSSHFilesMustBeRegularFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	large, err := os.Create(at("large"))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("/dev/zero", at("zeros")), large.Chmod(0o600), large.Truncate(1 << 40), large.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, is := range map[string]string{
		"pipe": "it is a named pipe, not a regular file", "zeros": "it is a device, not a regular file", ".": "it is a directory, not a regular file", "large": "it is larger than ",
	} {
		for _, tt := range []struct {
			what string
			use  func(t *ssh.Target, file string)
		}{
			{"cannot read ssh configuration: ", func(t *ssh.Target, file string) { t.Config = file }},
			{"cannot read known hosts: ", func(t *ssh.Target, file string) { t.KnownHosts, t.HostKeys = []string{file}, nil }},
			{" private key", func(t *ssh.Target, file string) { t.Keys = []string{file} }},
			{"cannot read certificate: ", func(t *ssh.Target, file string) { t.Certificates = []string{file} }},
		} {
			s, target := newServer(t)
			file := filepath.Join(dir, name)
			tt.use(&target, file)
			target, err := ssh.Resolve(target, ssh.Operator{Home: dir, User: target.User})
			if err == nil {
				_, err = ssh.Dial(t.Context(), target)
			}
			wantText(t, err, tt.what)
			wantText(t, err, file)
			wantText(t, err, is)
			if s.Attempts.Load() != 0 {
				t.Errorf("%s: %d attempts to log in", name, s.Attempts.Load())
			}
		}
	}

	_, target := newServer(t)
	key := at("linked")
	if err := os.Symlink(target.Keys[0], key); err != nil {
		t.Fatal(err)
	}
	target.Keys, target.Config = []string{key}, os.DevNull
	target, err = ssh.Resolve(target, ssh.Operator{Home: dir, User: target.User})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ssh.Dial(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
