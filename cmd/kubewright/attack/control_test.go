package attack

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// TestControls checks that each kind of attack fails because of its harmful part: the same
// servers and configurations without that part are accepted.
func TestControls(t *testing.T) {
	t.Parallel()
	t.Run("backend", func(t *testing.T) {
		t.Parallel()
		a, k := newArena(t), &keeper{}
		a.kept(k)
		if o := a.kubewright("apply", "-auto-approve"); o.code != 0 || k.state == nil || k.lock != nil {
			t.Errorf("exit code %d, state of %d bytes, lock %q\n%s", o.code, len(k.state), k.lock, o.stderr)
		}
	})
	t.Run("database", func(t *testing.T) {
		t.Parallel()
		a, d := newArena(t), &database{}
		d.kept(a, plain)
		if o := a.kubewright("apply", "-auto-approve"); o.code != 0 || d.state == nil || d.run != "" {
			t.Errorf("exit code %d, state of %d bytes, lock of run %q\n%s", o.code, len(d.state), d.run, o.stderr)
		}
	})
	t.Run("control plane", func(t *testing.T) {
		t.Parallel()
		a, p := newArena(t), &controlPlane{}
		p.found(a)
		o := a.kubewright("kubeconfig", "-merge")
		b, err := os.ReadFile(filepath.Join(a.home, ".kube", "config"))
		if o.code != 0 || err != nil || !strings.Contains(string(b), "https://192.0.2.1:6443") {
			t.Errorf("exit code %d: %v\n%s\n%s", o.code, err, o.stderr, b)
		}
	})
	t.Run("configuration", func(t *testing.T) {
		t.Parallel()
		a := newArena(t)
		a.write("main.hcl", slots[0].with("1.36.3"))
		if o := a.kubewright("plan", "-input=false"); o.code != 0 {
			t.Errorf("exit code %d\n%s", o.code, o.stderr)
		}
	})
	t.Run("saved plan", func(t *testing.T) {
		t.Parallel()
		a := newArena(t)
		a.quickstart()
		a.write("main.hcl", strings.Replace(a.read("main.hcl"), "    w2 = \"10.77.0.22\"\n", "", 1)+calm)
		a.kubewright("plan", "-override-policy=calm", "-out=p.kwplan")
		if o := a.kubewright("apply", "-override-policy=calm", "-auto-approve", "p.kwplan"); o.code != 0 {
			t.Errorf("exit code %d\n%s", o.code, o.stderr)
		}
	})
	t.Run("injection", func(t *testing.T) {
		t.Parallel()
		if len(slots)*len(payloads) != 330 {
			t.Errorf("%d slots and %d payloads", len(slots), len(payloads))
		}
	})
}

// TestChecksFail checks that each check reports the failure that it exists for.
func TestChecksFail(t *testing.T) {
	t.Parallel()
	checked := func(check func(*arena, string), text string) func(*arena) {
		return func(a *arena) { check(a, text) }
	}
	wanted := func(want, got any) func(*arena) {
		return func(a *arena) {
			if d := differs("", want, got); d != "" {
				a.Error(d)
			}
		}
	}
	for name, run := range map[string]func(*arena){
		"a sudo that asks gets the password": func(a *arena) { a.guards(asLogin(askingSudo, ""), 0) },
		"a mark that no option excludes":     func(a *arena) { a.continues(markLie("", map[string]any{"lineage": "another"}), "-parallelism=1") },
		"a run of much memory": func(a *arena) {
			cmd, _, _ := a.command(a.Context(), []string{"version"})
			a.must(cmd.Run())
			a.memory = 1 << 20
			a.measure(cmd)
		},
		"the right host":                        func(a *arena) { a.distrusts("[127.0.0.1]:PORT KEY", ssh.Config{}) },
		"markup":                                checked(withoutMarkup, "<pre><script>alert(1)</script>"),
		"a command":                             checked(withoutCommands, "x\n  ::error::x\n"),
		"text outside of a fence":               checked(fenced, "```\n```\n<script>\n```\n"),
		"a fence that ends in its text":         checked(fenced, "```diff\n```\n@everyone\n```\n"),
		"broken XML":                            checked(wellFormed, "<a>&</a>"),
		"broken JSON":                           checked(jsonLines, "{\"a\":\n"),
		"another value":                         wanted(map[string]any{"a": "b c"}, map[string]any{"a": "b"}),
		"a value more":                          wanted(map[string]any{}, map[string]any{"a": "b"}),
		"a value less":                          wanted([]any{"a", "b"}, []any{"a"}),
		"another type":                          wanted("1", 1.0),
		"an environment of two lines":           func(a *arena) { a.environment("A=\"b\"\nExecStart=/bin/evil\n") },
		"an environment with a quote":           func(a *arena) { a.environment("A=\"b\\\"c\"\n") },
		"words that a shell takes apart":        func(a *arena) { unquoted(a) },
		"a script that is none":                 func(a *arena) { a.words("\nkw_guard\nkw_write 'a\nkw_flush || kw_fail\n", nil) },
		"a server that gets the password":       func(a *arena) { tellsPassword(a) },
		"a plan that stands in its own heredoc": func(a *arena) { a.injected("x", outcome{stdout: "+ a = <<-EOT\n  + EOT\n  + ExecStart=/x\n"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, caught := newArena(t), []string{}
			a.caught = &caught
			done := make(chan struct{})
			go func() {
				defer close(done)
				run(a)
			}()
			<-done
			if len(caught) == 0 {
				t.Error("nothing was found")
			}
		})
	}
}

// unquoted compares the words of a call with those of a call whose argument is not quoted.
func unquoted(a *arena) {
	script := func(argument string) string { return "\nkw_guard\nkw_write " + argument + "\nkw_flush || kw_fail\n" }
	if d := differs("", a.words(script("'a b'"), nil), a.words(script("a b"), nil)); d != "" {
		a.Error(d)
	}
}

// tellsPassword has a database request a password that the client may send.
func tellsPassword(a *arena) {
	cert, key := newAuthority(a).issue(a, pkix.Name{CommonName: "db"}, x509.ExtKeyUsageServerAuth)
	pair, err := tls.X509KeyPair(cert, key)
	a.must(err)
	d := &database{encrypts: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}
	d.greets = d.asksPassword
	d.kept(a, "sslmode=require password="+databasePassword)
	a.kubewright("plan", "-input=false")
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.told) > 0 {
		a.Error("it got ", d.told)
	}
}
