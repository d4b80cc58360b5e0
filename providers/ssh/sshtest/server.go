// Package sshtest is an SSH server inside the test's own process, for tests of
// everything that goes over SSH. It runs commands on this machine with
// /bin/sh or another login shell, forwards connections, counts what a client
// tries, and can be told to be hostile. It is used by tests only.
package sshtest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Server is one SSH server on a loopback port. Its exported fields are set by
// the options of Start and not changed afterwards; the counters may be read any time.
type Server struct {
	HostKey ssh.Signer
	// MoreHostKeys are shown to clients that ask for their types.
	MoreHostKeys []ssh.Signer
	// UserCA, when set, vouches for user certificates.
	UserCA ssh.PublicKey
	// Authorized are the keys that may log in.
	Authorized []ssh.PublicKey
	// Shell is the login shell, to be called with -c COMMAND: /bin/sh by default.
	Shell []string
	// MaxSessions is how many sessions may be open at once; 0 means any number.
	MaxSessions int
	// NoForwarding refuses direct-tcpip as sshd with AllowTcpForwarding no does.
	NoForwarding bool
	// Run, when set, stands for the commands; it returns the exit code.
	Run func(command string, channel Channel) int

	// Attempts counts authentication requests of every method; Offers counts
	// public keys that were looked at, with or without a signature.
	Attempts, Offers atomic.Int64
	// Connections counts TCP connections.
	Connections atomic.Int64
	// MostSessions is how many sessions were open at once at most.
	MostSessions atomic.Int64
	// Unwanted counts requests that kubewright must never make: agent
	// forwarding, terminals, environment.
	Unwanted atomic.Int64

	commandsMu sync.Mutex
	commands   []string

	listener net.Listener
	mu       sync.Mutex
	conns    map[net.Conn]bool
}

// Channel is a command's input and output.
type Channel = ssh.Channel

// Start starts a server on 127.0.0.1 that ends with the test.
func Start(t testing.TB, options ...func(*Server)) *Server {
	t.Helper()
	s := &Server{Shell: []string{"/bin/sh"}, conns: map[net.Conn]bool{}}
	s.HostKey = NewSigner(t)
	for _, o := range options {
		o(s)
	}
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	go s.accept()
	t.Cleanup(s.Close)
	return s
}

// Authorize lets a key log in.
func Authorize(key ssh.PublicKey) func(*Server) {
	return func(s *Server) { s.Authorized = append(s.Authorized, key) }
}

// Port is the port that the server listens on.
func (s *Server) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// Addr is 127.0.0.1:PORT.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Pin is the host key in authorized_keys form.
func (s *Server) Pin() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(s.HostKey.PublicKey())))
}

// Commands returns the command lines that were run so far.
func (s *Server) Commands() []string {
	s.commandsMu.Lock()
	defer s.commandsMu.Unlock()
	return slices.Clone(s.commands)
}

// Close stops listening and cuts all connections.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.Cut()
}

// Cut ends all connections without a word.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		go s.Serve(conn)
	}
}

// Serve speaks to one client over any connection.
func (s *Server) Serve(conn net.Conn) {
	s.Connections.Add(1)
	s.mu.Lock()
	s.conns[conn] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
		_ = conn.Close()
	}()
	_, chans, reqs, err := ssh.NewServerConn(conn, s.config())
	if err != nil {
		return
	}
	go ssh.DiscardRequests(reqs)
	var open atomic.Int64
	for ch := range chans {
		go s.channel(ch, &open)
	}
}

func (s *Server) config() *ssh.ServerConfig {
	c := &ssh.ServerConfig{
		MaxAuthTries: 6,
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			s.Offers.Add(1)
			if cert, ok := key.(*ssh.Certificate); ok && s.UserCA != nil && bytes.Equal(cert.SignatureKey.Marshal(), s.UserCA.Marshal()) {
				return &ssh.Permissions{}, nil
			}
			for _, a := range s.Authorized {
				if bytes.Equal(a.Marshal(), key.Marshal()) {
					return &ssh.Permissions{}, nil
				}
			}
			return nil, errors.New("no such key")
		},
		PasswordCallback: func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) {
			s.Unwanted.Add(1)
			return nil, errors.New("no passwords")
		},
		AuthLogCallback: func(ssh.ConnMetadata, string, error) { s.Attempts.Add(1) },
	}
	c.AddHostKey(s.HostKey)
	for _, k := range s.MoreHostKeys {
		c.AddHostKey(k)
	}
	return c
}

func (s *Server) channel(ch ssh.NewChannel, open *atomic.Int64) {
	switch ch.ChannelType() {
	case "session":
		n := open.Add(1)
		if s.MaxSessions > 0 && n > int64(s.MaxSessions) {
			open.Add(-1)
			_ = ch.Reject(ssh.ConnectionFailed, "open failed")
			return
		}
		for most := s.MostSessions.Load(); n > most && !s.MostSessions.CompareAndSwap(most, n); {
			most = s.MostSessions.Load()
		}
		s.session(ch, sync.OnceFunc(func() { open.Add(-1) }))
	case "direct-tcpip":
		s.forward(ch)
	default:
		_ = ch.Reject(ssh.UnknownChannelType, "unknown channel type")
	}
}

// session runs one command. ended is told before the client is, so that a
// client never sees more sessions than are open.
func (s *Server) session(ch ssh.NewChannel, ended func()) {
	defer ended()
	channel, reqs, err := ch.Accept()
	if err != nil {
		return
	}
	defer func() { _ = channel.Close() }()
	var running sync.WaitGroup
	defer running.Wait()
	for req := range reqs {
		switch req.Type {
		case "exec":
			var payload struct{ Command string }
			_ = ssh.Unmarshal(req.Payload, &payload)
			s.commandsMu.Lock()
			s.commands = append(s.commands, payload.Command)
			s.commandsMu.Unlock()
			_ = req.Reply(true, nil)
			running.Go(func() {
				code := s.run(payload.Command, channel)
				ended()
				_, _ = channel.SendRequest("exit-status", false, binary.BigEndian.AppendUint32(nil, uint32(code)))
				_ = channel.Close()
			})
		case "pty-req", "auth-agent-req@openssh.com", "x11-req", "env", "shell":
			s.Unwanted.Add(1)
			_ = req.Reply(false, nil)
		default:
			_ = req.Reply(false, nil)
		}
	}
}

func (s *Server) run(command string, channel ssh.Channel) int {
	if s.Run != nil {
		return s.Run(command, channel)
	}
	cmd := exec.Command(s.Shell[0], slices.Concat(s.Shell[1:], []string{"-c", command})...)
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 255
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(channel.Stderr(), err)
		return 127
	}
	go func() {
		_, _ = io.Copy(stdin, channel)
		_ = stdin.Close()
	}()
	if err := cmd.Wait(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Exited() {
			return exit.ExitCode()
		}
		return 255
	}
	return 0
}

func (s *Server) forward(ch ssh.NewChannel) {
	if s.NoForwarding {
		_ = ch.Reject(ssh.Prohibited, "open failed")
		return
	}
	var payload struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	_ = ssh.Unmarshal(ch.ExtraData(), &payload)
	out, err := net.Dial("tcp", net.JoinHostPort(payload.Host, strconv.Itoa(int(payload.Port))))
	if err != nil {
		_ = ch.Reject(ssh.ConnectionFailed, "Connection refused")
		return
	}
	channel, reqs, err := ch.Accept()
	if err != nil {
		_ = out.Close()
		return
	}
	go ssh.DiscardRequests(reqs)
	go func() {
		_, _ = io.Copy(out, channel)
		_ = out.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(channel, out)
	_ = channel.Close()
	_ = out.Close()
}

// NewSigner makes an ed25519 key.
func NewSigner(t testing.TB) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// NewKeyFile makes an ed25519 key in a file of the test's, encrypted when there
// is a passphrase, and returns its path and public half.
func NewKeyFile(t testing.TB, passphrase string) (string, ssh.PublicKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "id_ed25519")
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return path, signer.PublicKey()
}
