package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
)

// rightConfig is a cluster on a host that is a listener on this machine.
const rightConfig = `cluster "one" {
  kubernetes_version = "1.36.3"
  network {
    pod_subnet = "10.244.0.0/16"
  }
}

connection {
  user                 = "ada"
  private_key          = "key"
  accept_new_host_keys = true
  timeout              = "5s"
}

node "cp" {
  cluster = cluster.one
  role    = "control-plane"
  address = "192.0.2.1"
  connection {
    host = "127.0.0.1"
    port = PORT
  }
}
`

// TestInvalidConfigurationContactsNoHost checks that every configuration error is reported with
// file, line and remedy before any host is contacted. The last case is a valid configuration
// and shows that the listener would have noticed a connection.
func TestInvalidConfigurationContactsNoHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, old, new string
		want           []string // on stderr
		contacts       bool
	}{
		{"syntax", `"1.36.3"`, `"1.36.3`, []string{"main.hcl line 2", "Quoted strings", "2 errors."}, false},
		{"unknown attribute", "pod_subnet", "pod_subent", []string{"main.hcl line 4", `Did you mean "pod_subnet"?`}, false},
		{"unknown reference", "cluster = cluster.one", "cluster = cluster.won", []string{"main.hcl line 16", "one"}, false},
		{"wrong type", `port = PORT`, `port = "many"`, []string{"main.hcl line 21", "number"}, false},
		{"value that components refuse", `"10.244.0.0/16"`, `"10.244.0.0/30"`, []string{"main.hcl line 4", "pods need at least 14"}, false},
		{"two errors at once", `kubernetes_version = "1.36.3"`, "kubernetes_version = \"1.99.0\"\n  bind_port = 10250", []string{"main.hcl line 2", "main.hcl line 3", "2 errors."}, false},
		{"artifacts that are not there", "  network {", "  install { artifacts = \"./gone\" }\n  network {", []string{"main.hcl line 3", "gone"}, false},
		{"what does not fit, beside another error", "  network {", `  bind_port = 10250
  install { artifacts = "./gone" }
  patch {
    target  = "etcd"
    type    = "json"
    content = "[{op: replace, path: /spec, value: []}]"
  }
  network {`, []string{"main.hcl line 3", "main.hcl line 4", "cannot read the patched manifest of etcd", "3 errors."}, false},
		{"undefined variable", `"1.36.3"`, "var.version", []string{"main.hcl line 2", "version"}, false},
		{"right", "", "", []string{`node.cp`, "127.0.0.1", "To do: "}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			listener, contacts := listen(t)
			port := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
			dir := t.TempDir()
			text := strings.Replace(strings.Replace(rightConfig, c.old, c.new, 1), "PORT", port, 1)
			write(t, filepath.Join(dir, "main.hcl"), text)
			write(t, filepath.Join(dir, "key"), newKey(t))
			commands := [][]string{{"plan"}, {"apply", "-auto-approve"}, {"destroy", "-auto-approve"}}
			if strings.Contains(c.new, "./gone") {
				commands = commands[:2] // a destroy does without them
			}
			for _, args := range commands {
				code, stdout, stderr := runIn(dir, args...)
				if code != 1 || stdout != "" && !c.contacts { // a destroy says what it leaves alone
					t.Errorf("%v: exit code %d, stdout %q", args, code, stdout)
				}
				for _, w := range c.want {
					if !strings.Contains(stderr, w) {
						t.Errorf("%v: %q is not in\n%s", args, w, stderr)
					}
				}
			}
			if got := contacts.Load() > 0; got != c.contacts {
				t.Errorf("%d connections, want any: %v", contacts.Load(), c.contacts)
			}
			if _, err := os.Stat(filepath.Join(dir, "kubewright.state.json")); err == nil {
				t.Error("there is a state")
			}
		})
	}
}

// listen counts connections and closes each at once.
func listen(t *testing.T) (net.Listener, *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var n atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			c.Close()
		}
	}()
	return l, &n
}

// newKey generates a private key to log in with.
func newKey(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}

// runIn runs the command in a folder, as a user without a home directory.
func runIn(dir string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = cli.Main(&console.Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string {
			if name == "HOME" {
				return dir
			}
			return ""
		},
		Dir: dir, Size: func() (int, int) { return 0, 0 }, Now: time.Now, NewID: func() string { return strings.Repeat("0", 32) },
		Who: "ada@laptop", Interrupts: make(chan os.Signal),
	})
	return code, out.String(), errs.String()
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
