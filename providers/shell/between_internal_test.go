package shell

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/hosttest"
)

// TestPortsOfPeers checks with the machine's bash that a port with a listener and one without count as
// reachable, and with replaced ones that silence and missing routes do not.
func TestPortsOfPeers(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	open := l.Addr().String()
	for name, c := range map[string]struct{ bash, peers, want string }{
		"a listener":      {"", open, ""},
		"nothing listens": {"", "127.0.0.1:1", ""},
		"no route":        {"echo 'bash: connect: No route to host' >&2; exit 1", "10.0.0.12:6443 [fd00::1]:2380", "port 10.0.0.12:6443\nport [fd00::1]:2380\n"},
		"silence":         {"exec sleep 20", "10.0.0.12:6443", "port 10.0.0.12:6443\n"},
		"its arguments":   {`[ "$4,$5" = fd00::1,2380 ] || echo 'No route to host' >&2`, "[fd00::1]:2380", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := os.Getenv("PATH")
			if c.bash != "" {
				dir := t.TempDir()
				hosttest.WriteProgram(t, filepath.Join(dir, "bash"), "#!/bin/sh\n"+c.bash+"\n")
				path = dir + ":" + path
			}
			if got := saidBetween(t, path, "", "", c.peers); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestPathMTU checks that a large packet that gets lost is found only where a small one arrives, and only
// with a ping that can forbid fragments.
func TestPathMTU(t *testing.T) {
	t.Parallel()
	const iputils = "[ \"$1\" != -V ] || { echo 'ping from iputils 20240117'; exit 0; }\n"
	for name, c := range map[string]struct{ ping, to, want string }{
		"arrives":            {iputils, "10.0.0.12", ""},
		"is lost":            {iputils + `case $* in *"-M do -s 8972 10.0.0.12") exit 1; esac`, "10.0.0.12", "mtu eth7/9000\n"},
		"is lost over IPv6":  {iputils + `case $* in *"-M do -s 8952 fd00::1") exit 1; esac`, "fd00::1", "mtu eth7/9000\n"},
		"all ICMP is lost":   {iputils + "exit 1", "10.0.0.12", ""},
		"the ping of others": {"exit 1", "10.0.0.12", ""},
		"no other host":      {iputils + "exit 1", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			hosttest.WriteProgram(t, filepath.Join(dir, "ping"), "#!/bin/sh\n"+c.ping+"\n")
			hosttest.WriteProgram(t, filepath.Join(dir, "ip"), "#!/bin/sh\necho \"$4 via 10.0.0.1 dev eth7 src 10.0.0.11 uid 0\"\n")
			if err := os.MkdirAll(filepath.Join(dir, "sys/class/net/eth7"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "sys/class/net/eth7/mtu"), []byte("9000\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := saidBetween(t, dir+":"+os.Getenv("PATH"), dir, c.to, ""); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// saidBetween returns what kw_between prints.
func saidBetween(t *testing.T, path, root, to, peers string) string {
	t.Helper()
	sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\nkw_r="+Quote(root)+"\n"+preludeScript+observeScript+preflightScript+call("kw_between", to, peers))
	sh.Env = []string{"PATH=" + path, "LC_ALL=C"}
	out, err := sh.Output()
	if err != nil {
		t.Fatal(err)
	}
	_, said, _ := strings.Cut(string(out), "between\n")
	lines := strings.SplitAfter(said, "\n")
	if len(lines) == 3 && lines[0] > lines[1] { // they end in any order
		return lines[1] + lines[0]
	}
	return said
}
