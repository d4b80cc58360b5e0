package ssh_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	xssh "golang.org/x/crypto/ssh"
)

// sshd is OpenSSH's own server, one process for each connection (sshd -i).
type sshd struct {
	// Pin is the host key in authorized_keys form.
	Pin string

	listener net.Listener
	config   string
	mu       sync.Mutex
	running  []*exec.Cmd
	log      *os.File
}

// startSSHD starts OpenSSH's server on 127.0.0.1 for the current user and that key, with
// further lines of sshd_config. It skips the test if there is none.
func startSSHD(t testing.TB, authorized xssh.PublicKey, lines ...string) *sshd {
	t.Helper()
	program := "/usr/sbin/sshd"
	if _, err := os.Stat(program); err != nil {
		t.Skip("there is no OpenSSH server here")
	}
	if os.Getuid() == 0 { // privilege separation requires this folder
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	s := &sshd{config: filepath.Join(dir, "sshd_config")}
	s.Pin = writeHostKey(t, filepath.Join(dir, "host_key"))
	mustWrite(t, filepath.Join(dir, "authorized_keys"), xssh.MarshalAuthorizedKey(authorized))
	// A bash started by sshd reads ~/.bashrc (bash(1)), unless it runs below another shell:
	// the user's own file must not affect the test.
	config := fmt.Sprintf("HostKey %s/host_key\nAuthorizedKeysFile %s/authorized_keys\nStrictModes no\nUsePAM no\n"+
		"PasswordAuthentication no\nPermitRootLogin yes\nPidFile none\nSetEnv SHLVL=1\n%s\n", dir, dir, strings.Join(lines, "\n"))
	mustWrite(t, s.config, []byte(config))
	var err error
	if s.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	go s.accept(program)
	t.Cleanup(func() { s.close(t) })
	return s
}

// Port returns the port on which the server listens.
func (s *sshd) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// Log returns the server's output so far.
func (s *sshd) Log() string {
	b, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (s *sshd) accept(program string) {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		file, err := conn.(*net.TCPConn).File()
		_ = conn.Close()
		if err != nil {
			continue
		}
		cmd := exec.Command(program, "-i", "-e", "-f", s.config)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = file, file, s.log
		s.mu.Lock()
		if err := cmd.Start(); err == nil {
			s.running = append(s.running, cmd)
		}
		s.mu.Unlock()
		_ = file.Close()
	}
}

func (s *sshd) close(t testing.TB) {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cmd := range s.running {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if t.Failed() {
		t.Logf("sshd says:\n%s", s.Log())
	}
	_ = s.log.Close()
}

func writeHostKey(t testing.TB, path string) (pin string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := xssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, path, pem.EncodeToMemory(block))
	signer, err := xssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(xssh.MarshalAuthorizedKey(signer.PublicKey())))
}

func mustWrite(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
