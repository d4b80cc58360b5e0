package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/providers/ssh/sshtest"
)

// stations are a host, two bastions on the way to it, and an operator with a home and a
// folder. The host answers no command: these tests do not cover what import finds there.
type stations struct {
	home, dir          string
	outer, inner, host *sshtest.Server
	// secret is the passphrase that the operator types; asked is the prompt.
	secret, asked string
}

func newStations(t *testing.T) *stations {
	t.Helper()
	s := &stations{home: t.TempDir(), dir: t.TempDir()}
	guarded, public := sshtest.ProtectedKeyFile(t)
	key, own := sshtest.NewKeyFile(t)
	usual, jumps := sshtest.NewKeyFile(t)
	t.Setenv("HOME", s.home)
	t.Setenv("SSH_AUTH_SOCK", "")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(s.home, ".ssh"), 0o700),
		os.MkdirAll(filepath.Join(s.dir, "conf"), 0o700),
		os.Rename(key, filepath.Join(s.dir, "key")),
		os.Rename(guarded, filepath.Join(s.dir, "guarded")),
		os.Rename(usual, filepath.Join(s.home, ".ssh", "id_ed25519")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	mute := func(s *sshtest.Server) {
		s.Run = func(_ string, ch xssh.Channel) int {
			_, _ = io.WriteString(ch.Stderr(), "nothing is run here")
			return 1
		}
	}
	s.outer, s.inner = sshtest.Start(t, sshtest.Authorize(jumps)), sshtest.Start(t, sshtest.Authorize(jumps))
	s.host = sshtest.Start(t, sshtest.Authorize(own), sshtest.Authorize(public), mute)
	return s
}

// filled replaces the placeholders for the servers' addresses and the folder in a text.
func (s *stations) filled(text string) string {
	return strings.NewReplacer("OUTER", s.outer.Addr(), "INNER", s.inner.Addr(), "HOST", s.host.Addr(), "DIR", s.dir,
		"PORT", fmt.Sprint(s.host.Port()), "GATE", fmt.Sprint(s.outer.Port())).Replace(text)
}

// known writes a known_hosts file with these servers.
func (s *stations) known(t *testing.T, file string, servers ...*sshtest.Server) {
	t.Helper()
	var b strings.Builder
	for _, k := range servers {
		fmt.Fprintf(&b, "[127.0.0.1]:%d %s\n", k.Port(), k.Pin())
	}
	write(t, file, b.String())
}

// runs runs import and returns its output.
func (s *stations) runs(t *testing.T, args string) string {
	t.Helper()
	var out bytes.Buffer
	env := &console.Env{
		Args: strings.Fields(s.filled(args)), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: s.dir,
		Getenv: func(string) string { return "" }, Size: func() (int, int) { return 0, 0 }, Now: time.Now,
		NewID: func() string { return strings.Repeat("0", 32) }, Who: operatorName, Interrupts: make(chan os.Signal),
	}
	if s.secret != "" {
		env.Secret = func(_ context.Context, prompt string) ([]byte, error) {
			s.asked = prompt
			return []byte(s.secret), nil
		}
	}
	if code := cli.Main(env); code != 1 {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// TestImportOverSSH checks that import reaches the host of its command line by the route, and
// as the user, that its flags define. The operator's account is that of the process, so the
// cases do not run in parallel.
func TestImportOverSSH(t *testing.T) {
	const conf = "Host cp1\n HostName 127.0.0.1\n Port PORT\n User core\n IdentityFile DIR/key\n UserKnownHostsFile DIR/known\n ProxyJump gate\n" +
		"Host gate\n HostName 127.0.0.1\n Port GATE\n User jump\n UserKnownHostsFile DIR/known\n"
	for _, c := range []struct {
		name, args string
		// own is ~/.ssh/config, other a file in the same format.
		own, other, secret string
		// unseen means that the bastions are in no known_hosts file.
		unseen bool
		// says is expected in import's output. outer, inner and host are the users who log in at the
		// stations; empty means that the station is not reached.
		says, outer, inner, host string
	}{
		{name: "key and known host", args: "import -private-key=key -known-hosts=known ssh://core@HOST", host: "core"},
		{name: "usual key", args: "import -known-hosts=known ssh://core@HOST", says: "authorized_keys"},
		{name: "unknown host", args: "import -private-key=key ssh://core@HOST", says: "is not known"},
		{name: "unknown host accepted", args: "import -private-key=key -accept-new-host-keys ssh://core@HOST", host: "core"},
		{name: "over two bastions", args: "import -private-key=key -known-hosts=known -bastion=jump@OUTER -bastion=hop@INNER ssh://core@HOST", outer: "jump", inner: "hop", host: "core"},
		{name: "over a bastion that was never seen", args: "import -private-key=key -known-hosts=known -bastion=hop@INNER ssh://core@HOST", unseen: true, says: "is not known"},
		{name: "over bastions that are accepted", args: "import -private-key=key -accept-new-host-keys -bastion=jump@OUTER -bastion=hop@INNER ssh://core@HOST", unseen: true, outer: "jump", inner: "hop", host: "core"},
		{name: "files of the folder it works in", args: "import -chdir=conf -private-key=../key -known-hosts=../known -ssh-config=../other ssh://HOST", other: "Host *\n User core\n", host: "core"},
		{name: "no bastion", args: "import -private-key=key -known-hosts=known -bastion=jump@ ssh://core@HOST", says: "is no host"},
		{name: "configuration", args: "import -ssh-config=other ssh://cp1", other: conf, outer: "jump", host: "core"},
		{name: "own configuration", args: "import ssh://cp1", own: conf, outer: "jump", host: "core"},
		{name: "another than the own configuration", args: "import -ssh-config=other ssh://cp1", own: "Host cp1\n ProxyCommand false\n", other: conf, outer: "jump", host: "core"},
		{name: "own configuration that leads nowhere", args: "import -private-key=key -known-hosts=known ssh://core@HOST", own: "Host *\n ProxyCommand false\n", says: "ProxyCommand is not supported"},
		{name: "no configuration", args: "import -ssh-config=none -private-key=key -known-hosts=known ssh://core@HOST", own: "Host *\n ProxyCommand false\n", host: "core"},
		{name: "passphrase", args: "import -private-key=guarded -known-hosts=known ssh://core@HOST", secret: sshtest.Passphrase, host: "core"},
		{name: "no passphrase", args: "import -input=false -private-key=guarded -known-hosts=known ssh://core@HOST", secret: sshtest.Passphrase, says: "passphrase"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStations(t)
			s.secret = c.secret
			s.known(t, filepath.Join(s.dir, "known"), s.host, s.outer)
			if !c.unseen {
				s.known(t, filepath.Join(s.home, ".ssh", "known_hosts"), s.outer, s.inner)
			}
			write(t, filepath.Join(s.home, ".ssh", "config"), s.filled(c.own))
			write(t, filepath.Join(s.dir, "other"), s.filled(c.other))
			s.want(t, c.args, c.says, c.outer, c.inner, c.host)
			if asked := s.asked != ""; asked != (c.secret != "" && c.host != "") {
				t.Errorf("asked %q", s.asked)
			}
		})
	}
}

// want runs import and checks its output and the logins at each station.
func (s *stations) want(t *testing.T, args, says, outer, inner, host string) {
	t.Helper()
	if host != "" {
		says = "nothing is run here"
	}
	out := s.runs(t, args)
	if !strings.Contains(out, says) {
		t.Errorf("the output does not contain %q:\n%s", says, out)
	}
	for _, at := range []struct {
		name   string
		server *sshtest.Server
		user   string
	}{{"the outer bastion", s.outer, outer}, {"the inner bastion", s.inner, inner}, {"the host", s.host, host}} {
		users := slices.Compact(at.server.Logins())
		if strings.Join(users, " ") != at.user {
			t.Errorf("%s: logged in as %q, want %q\n%s", at.name, users, at.user, out)
		}
		if ran := len(at.server.Commands()) > 0; ran != (at.server == s.host && host != "") {
			t.Errorf("%s: commands %q", at.name, at.server.Commands())
		}
	}
}
