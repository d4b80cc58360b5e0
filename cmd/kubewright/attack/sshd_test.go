package attack

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/providers/shell"
)

// hostile is an SSH server on a loopback port that does what a compromised host can do. Unless
// one of its fields says otherwise it behaves correctly: it runs the scripts that it receives on
// this machine, if they only read, and returns their output.
type hostile struct {
	// banner is shown before the login.
	banner string
	// mute leaves keepalive requests without an answer.
	mute bool
	// connected is called with each connection once the client has logged in.
	connected func(ssh.Conn)
	// dialled handles a connection that the client opens through the host.
	dialled func(ssh.NewChannel)
	// before answers instead of the host, from the first byte on.
	before func(*stream)
	// begun answers instead of the host, after the marker that begins an answer.
	begun func(*stream)
	// changed changes an answer before it is sent; script is the script that was run.
	changed func(script string, answer []section) []section
	// complains is written to standard error, and ends a command with an error.
	complains string
	// programs are shell scripts by name that take precedence over the machine's programs.
	programs map[string]string
	// crypto are the algorithms that the server offers; the default ones if empty.
	crypto ssh.Config
	// prohibits refuses to forward connections, as sshd with AllowTcpForwarding no does.
	prohibits bool

	listener net.Listener
	signer   ssh.Signer

	mu sync.Mutex
	// unwanted are requests that no client should make to a host.
	unwanted []string
	// inputs are the inputs of the commands.
	inputs []*input
}

// sent counts a text in the input of each command so far.
func (h *hostile) sent(text string) []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []int
	for _, in := range h.inputs {
		out = append(out, strings.Count(in.text(), text))
	}
	return out
}

// stream is one command that a client runs.
type stream struct {
	channel ssh.Channel
	nonce   string
}

// say writes the marker of a section and its text.
func (s *stream) say(words, text string) {
	_, _ = fmt.Fprintf(s.channel, "\nkubewright %s %s\n%s", s.nonce, words, text)
}

// flood writes a text until the client hangs up.
func flood(w io.Writer, text string) {
	block := bytes.Repeat([]byte(text), 32<<10/len(text)+1)
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// trickle writes a byte every ten seconds until the client hangs up.
func trickle(w io.Writer) {
	for {
		if _, err := io.WriteString(w, "x"); err != nil {
			return
		}
		time.Sleep(10 * time.Second)
	}
}

// section is a part of an answer: the words of its marker, its text, and a writer of further
// text that is too large to hold in memory.
type section struct {
	words, text string
	more        func(io.Writer)
}

// start serves until the test ends.
func (h *hostile) start(t *testing.T) *hostile {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if h.signer, err = ssh.NewSignerFromKey(key); err != nil {
		t.Fatal(err)
	}
	if h.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.listener.Close() })
	shims := t.TempDir()
	// The login user is root, whatever user runs the tests: no script becomes root here.
	programs := map[string]string{"id": "echo 0"}
	maps.Copy(programs, h.programs)
	for name, body := range programs {
		if err := os.WriteFile(filepath.Join(shims, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		for {
			c, err := h.listener.Accept()
			if err != nil {
				return
			}
			go h.serve(c, shims)
		}
	}()
	return h
}

func (h *hostile) port() int { return h.listener.Addr().(*net.TCPAddr).Port }

// pin returns the host's key in the form of a configuration.
func (h *hostile) pin() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(h.signer.PublicKey())))
}

// asked records a request that no client should make.
func (h *hostile) asked(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unwanted = append(h.unwanted, what)
}

func (h *hostile) serve(c net.Conn, shims string) {
	defer func() { _ = c.Close() }()
	config := &ssh.ServerConfig{
		Config:            h.crypto,
		PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return &ssh.Permissions{}, nil },
		BannerCallback:    func(ssh.ConnMetadata) string { return h.banner },
	}
	config.AddHostKey(h.signer)
	conn, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	go func() {
		for r := range requests {
			if r.WantReply && !h.mute {
				_ = r.Reply(true, nil)
			}
		}
	}()
	if h.connected != nil {
		go h.connected(conn)
	}
	for ch := range channels {
		switch {
		case ch.ChannelType() == "session":
			go h.session(ch, shims)
		case ch.ChannelType() == "direct-tcpip" && h.prohibits:
			_ = ch.Reject(ssh.Prohibited, "open failed")
		case ch.ChannelType() == "direct-tcpip" && h.dialled != nil:
			go h.dialled(ch)
		default:
			_ = ch.Reject(ssh.ConnectionFailed, "\x1b[31mrefu\u202esed")
		}
	}
}

func (h *hostile) session(ch ssh.NewChannel, shims string) {
	channel, requests, err := ch.Accept()
	if err != nil {
		return
	}
	for r := range requests {
		if r.Type != "exec" {
			h.asked(r.Type)
			_ = r.Reply(false, nil)
			continue
		}
		var payload struct{ Command string }
		_ = ssh.Unmarshal(r.Payload, &payload)
		if payload.Command != shell.CommandLine {
			h.asked("the command " + payload.Command)
		}
		_ = r.Reply(true, nil)
		go h.run(payload.Command, channel, shims)
	}
}

var nonceForm = regexp.MustCompile(`kw_n='?([A-Z2-7]+)`)

// input is what a client has sent to a command.
type input struct {
	mu    sync.Mutex
	all   bytes.Buffer
	nonce chan string
	known bool
}

func (i *input) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	n, err := i.all.Write(p)
	if m := nonceForm.FindSubmatch(i.all.Bytes()); m != nil && !i.known {
		i.known = true
		i.nonce <- string(m[1])
	}
	return n, err
}

// changes marks a script that changes a host.
const changes = "\nkw_token="

// watch passes bytes on to a script that runs on this machine, until the script turns out to
// be one that would change the machine.
func (i *input) watch(w io.Writer) io.Writer {
	return writer(func(p []byte) (int, error) {
		if strings.Contains(i.text(), changes) {
			return 0, errors.New("no script changes the machine that runs the attacks")
		}
		return w.Write(p)
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func (i *input) text() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.all.String()
}

// run answers one command.
func (h *hostile) run(command string, channel ssh.Channel, shims string) {
	defer func() { _ = channel.Close() }()
	in := &input{nonce: make(chan string, 1)}
	h.mu.Lock()
	h.inputs = append(h.inputs, in)
	h.mu.Unlock()
	if h.before != nil {
		go func() { _, _ = io.Copy(in, channel) }()
		h.before(&stream{channel: channel})
		return
	}
	reader, writer := io.Pipe()
	go func() {
		_, err := io.Copy(io.MultiWriter(in, in.watch(writer)), channel)
		_ = writer.Close()
		if err != nil { // the command no longer reads, but the client still writes
			_, _ = io.Copy(in, channel)
		}
	}()
	if h.begun != nil {
		go func() { _, _ = io.Copy(io.Discard, reader) }()
		s := &stream{channel, <-in.nonce}
		s.say("entered 0", "")
		s.say("begin", "")
		h.begun(s)
		return
	}
	out, errs, code := execute(command, reader, shims)
	_ = reader.Close()
	answer := []section{}
	s := &stream{channel: channel}
	select {
	case s.nonce = <-in.nonce:
		answer = sections(out, s.nonce)
	default:
	}
	if h.changed != nil {
		answer = h.changed(in.text(), answer)
	}
	if h.complains != "" {
		errs, code = h.complains, 7
	}
	_, _ = io.WriteString(channel.Stderr(), errs)
	for _, sec := range answer {
		s.say(sec.words, sec.text)
		if sec.more != nil {
			sec.more(channel)
		}
	}
	s.exit(code)
}

func (s *stream) exit(code uint32) {
	_, _ = s.channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
}

// execute runs a command on this machine.
func execute(command string, stdin io.Reader, shims string) (stdout, stderr string, code uint32) {
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Env = []string{"PATH=" + shims + ":" + os.Getenv("PATH"), "HOME=/"}
	cmd.Stdin, cmd.Dir = stdin, "/"
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && !cmd.ProcessState.Success() {
		code = 1
	}
	return out.String(), errs.String(), code
}

// sections splits an answer into its sections.
func sections(answer, nonce string) []section {
	var out []section
	for _, part := range strings.Split(answer, "\nkubewright "+nonce+" ")[1:] {
		words, text, _ := strings.Cut(part, "\n")
		out = append(out, section{words: words, text: text})
	}
	return out
}
