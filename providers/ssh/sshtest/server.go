// Package sshtest is an SSH server inside a test's own process, with keys for it.
package sshtest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	_ "embed" // the protected key
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

	xssh "golang.org/x/crypto/ssh"
)

// Server is an SSH server inside the test's own process, on a loopback port. It runs
// commands on this machine, forwards connections, counts a client's attempts, and can be
// made hostile. The options of Start set its exported fields, which are not changed
// afterwards; the counters may be read at any time.
type Server struct {
	HostKey xssh.Signer
	// MoreHostKeys are shown to clients that request their types.
	MoreHostKeys []xssh.Signer
	// UserCA, if set, signs user certificates.
	UserCA xssh.PublicKey
	// Authorized are the keys that may log in.
	Authorized []xssh.PublicKey
	// Shell is the login shell, called with -c COMMAND: /bin/sh by default.
	Shell []string
	// MaxSessions limits the open sessions; 0 means any number, a negative number none.
	MaxSessions int
	// Late is how many sessions are refused after the end of each, as by a busy sshd that
	// has not freed it yet.
	Late int64
	// NoForwarding refuses direct-tcpip, as sshd does with AllowTcpForwarding no.
	NoForwarding bool
	// Ignores, if set, reports which requests are never answered: session, exec,
	// direct-tcpip.
	Ignores func(kind string) bool
	// Run, if set, replaces the commands; it returns the exit code.
	Run func(command string, channel xssh.Channel) int

	// Attempts counts authentication requests of every method; Offers counts the public
	// keys that clients offered, with or without a signature.
	Attempts, Offers atomic.Int64
	// Connections counts TCP connections.
	Connections atomic.Int64
	// MostSessions is the highest number of sessions that were open at once.
	MostSessions atomic.Int64
	// Unwanted counts requests that kubewright must never make: agent forwarding,
	// terminals, environment.
	Unwanted atomic.Int64

	saidMu   sync.Mutex
	commands []string
	logins   []string

	listener net.Listener
	mu       sync.Mutex
	conns    map[net.Conn]bool
}

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

// Authorize allows logins with a key.
func Authorize(key xssh.PublicKey) func(*Server) {
	return func(s *Server) { s.Authorized = append(s.Authorized, key) }
}

// Port returns the port on which the server listens.
func (s *Server) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// Addr returns 127.0.0.1:PORT.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Pin returns the host key in authorized_keys form.
func (s *Server) Pin() string {
	return strings.TrimSpace(string(xssh.MarshalAuthorizedKey(s.HostKey.PublicKey())))
}

// Commands returns the command lines that were run so far.
func (s *Server) Commands() []string {
	s.saidMu.Lock()
	defer s.saidMu.Unlock()
	return slices.Clone(s.commands)
}

// Logins returns the users that have logged in so far.
func (s *Server) Logins() []string {
	s.saidMu.Lock()
	defer s.saidMu.Unlock()
	return slices.Clone(s.logins)
}

// Close stops listening and cuts all connections.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.Cut()
}

// Cut closes all connections without notice.
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

// Serve serves one client over any connection.
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
	_, chans, reqs, err := xssh.NewServerConn(conn, s.config())
	if err != nil {
		return
	}
	go xssh.DiscardRequests(reqs)
	var open, refusals atomic.Int64
	for ch := range chans {
		if ch.ChannelType() == "session" && refusals.Add(-1) >= 0 {
			_ = ch.Reject(xssh.ConnectionFailed, "open failed")
			continue
		}
		go s.channel(ch, &open, &refusals)
	}
}

func (s *Server) config() *xssh.ServerConfig {
	c := &xssh.ServerConfig{
		MaxAuthTries: 6,
		PublicKeyCallback: func(_ xssh.ConnMetadata, key xssh.PublicKey) (*xssh.Permissions, error) {
			s.Offers.Add(1)
			if cert, ok := key.(*xssh.Certificate); ok && s.UserCA != nil && bytes.Equal(cert.SignatureKey.Marshal(), s.UserCA.Marshal()) {
				return &xssh.Permissions{}, nil
			}
			for _, a := range s.Authorized {
				if bytes.Equal(a.Marshal(), key.Marshal()) {
					return &xssh.Permissions{}, nil
				}
			}
			return nil, errors.New("no such key")
		},
		PasswordCallback: func(xssh.ConnMetadata, []byte) (*xssh.Permissions, error) {
			s.Unwanted.Add(1)
			return nil, errors.New("no passwords")
		},
		AuthLogCallback: func(conn xssh.ConnMetadata, _ string, err error) {
			s.Attempts.Add(1)
			if err == nil {
				s.saidMu.Lock()
				defer s.saidMu.Unlock()
				s.logins = append(s.logins, conn.User())
			}
		},
	}
	c.AddHostKey(s.HostKey)
	for _, k := range s.MoreHostKeys {
		c.AddHostKey(k)
	}
	return c
}

func (s *Server) channel(ch xssh.NewChannel, open, refusals *atomic.Int64) {
	if s.ignores(ch.ChannelType()) {
		return
	}
	switch ch.ChannelType() {
	case "session":
		n := open.Add(1)
		if s.MaxSessions != 0 && n > int64(s.MaxSessions) {
			open.Add(-1)
			_ = ch.Reject(xssh.ConnectionFailed, "open failed")
			return
		}
		for most := s.MostSessions.Load(); n > most && !s.MostSessions.CompareAndSwap(most, n); {
			most = s.MostSessions.Load()
		}
		s.session(ch, sync.OnceFunc(func() {
			refusals.Store(s.Late)
			open.Add(-1)
		}))
	case "direct-tcpip":
		s.forward(ch)
	default:
		_ = ch.Reject(xssh.UnknownChannelType, "unknown channel type")
	}
}

func (s *Server) ignores(kind string) bool { return s.Ignores != nil && s.Ignores(kind) }

// session runs one command. It calls ended before it informs the client, so that a client
// never sees more sessions than are open.
func (s *Server) session(ch xssh.NewChannel, ended func()) {
	defer ended()
	channel, reqs, err := ch.Accept()
	if err != nil {
		return
	}
	defer func() { _ = channel.Close() }()
	var running sync.WaitGroup
	defer running.Wait()
	for req := range reqs {
		if s.ignores(req.Type) {
			continue
		}
		switch req.Type {
		case "exec":
			var payload struct{ Command string }
			_ = xssh.Unmarshal(req.Payload, &payload)
			s.saidMu.Lock()
			s.commands = append(s.commands, payload.Command)
			s.saidMu.Unlock()
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

func (s *Server) run(command string, channel xssh.Channel) int {
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

func (s *Server) forward(ch xssh.NewChannel) {
	if s.NoForwarding {
		_ = ch.Reject(xssh.Prohibited, "open failed")
		return
	}
	var payload struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	_ = xssh.Unmarshal(ch.ExtraData(), &payload)
	out, err := net.Dial("tcp", net.JoinHostPort(payload.Host, strconv.Itoa(int(payload.Port))))
	if err != nil {
		_ = ch.Reject(xssh.ConnectionFailed, "Connection refused")
		return
	}
	channel, reqs, err := ch.Accept()
	if err != nil {
		_ = out.Close()
		return
	}
	go xssh.DiscardRequests(reqs)
	go func() {
		_, _ = io.Copy(out, channel)
		_ = out.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(channel, out)
	_ = channel.Close()
	_ = out.Close()
}

// NewSigner makes an ed25519 key.
func NewSigner(t testing.TB) xssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := xssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// NewKeyFile makes an ed25519 key in a file of the test, and returns its path and public
// half.
func NewKeyFile(t testing.TB) (string, xssh.PublicKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := xssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "id_ed25519")
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	signer, err := xssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return path, signer.PublicKey()
}

// Passphrase is the passphrase of ProtectedKeyFile.
const Passphrase = "correct horse"

// The key was made with one round of bcrypt (ssh-keygen -a 1): the usual number takes
// seconds under the race detector.
var (
	//go:embed protected_ed25519
	protected []byte
	//go:embed protected_ed25519.pub
	protectedPublic []byte
)

// ProtectedKeyFile returns a key with a passphrase in a file of the test, and its public
// half.
func ProtectedKeyFile(t testing.TB) (string, xssh.PublicKey) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "id_ed25519")
	if err := os.WriteFile(path, protected, 0o600); err != nil {
		t.Fatal(err)
	}
	key, _, _, _, err := xssh.ParseAuthorizedKey(protectedPublic)
	if err != nil {
		t.Fatal(err)
	}
	return path, key
}
