package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state/backend/http/httptestserver"
)

// newFronted returns a team whose server is reached through a front.
func newFronted(t *testing.T) (*team, *httptestserver.Front) {
	t.Helper()
	server := httptestserver.New(t)
	front := httptestserver.NewFront(t, false, server)
	server.URL = front.URL + server.Path
	return newTeamAt(t, server), front
}

// listing returns the content of the hosts.
func (m *team) listing() string {
	all := ""
	for _, host := range crashHosts {
		all += m.world.Listing(host)
	}
	return all
}

// TestApplyRefusesRedirectingBackend checks that a server that redirects is an error that names the
// address, before anything is done on a host; state and journal are unchanged.
func TestApplyRefusesRedirectingBackend(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect} {
		for _, locks := range []bool{true, false} {
			for _, elsewhere := range []bool{true, false} {
				t.Run(fmt.Sprintf("%d, locks %v, elsewhere %v", status, locks, elsewhere), func(t *testing.T) {
					t.Parallel()
					m, front := newFronted(t)
					if !locks {
						m.from.replace(t, "    lock_address ", "    # lock_address ")
					}
					to, target := front.URL+"/moved", front
					if elsewhere {
						target = httptestserver.NewFront(t, false, m.server)
						to = target.URL
					}
					front.Redirect(status, to)
					state, hosts := string(m.server.State()), m.listing()
					m.want(m.from, "ada@laptop", 1, to+m.server.Path, "apply", "-auto-approve")
					if string(m.server.State()) != state || m.listing() != hosts || m.from.has("kubewright.journal") || m.from.has("kubewright.errored.state.json") {
						t.Error("something has changed")
					}
					for _, seen := range target.Seen() {
						if elsewhere || strings.Contains(seen, "/moved") && !strings.HasPrefix(seen, "GET ") {
							t.Errorf("the other address got %s", seen)
						}
					}
					front.Redirect(0, "")
					m.want(m.from, "ada@laptop", 0, "Apply complete!", "apply", "-auto-approve")
				})
			}
		}
	}
}

// TestApplyKeepsJournalWhenStateWriteFails checks that a write that is redirected, or acknowledged but not stored, is an
// error; the journal holds what was done, and the next run continues from it.
func TestApplyKeepsJournalWhenStateWriteFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want          string
		breaks, mends func(*team, *httptestserver.Front)
	}{
		"redirected": {
			"the server redirects POST ",
			func(m *team, front *httptestserver.Front) {
				front.Redirect(http.StatusFound, httptestserver.NewFront(m.t, false, m.server).URL, "POST")
			},
			func(_ *team, front *httptestserver.Front) { front.Redirect(0, "") },
		},
		"not stored": {
			"it was accepted, and the state of serial 1 is still there; the address may be that of a proxy, a cache or a page with a login",
			func(m *team, _ *httptestserver.Front) { m.server.Forget(true) },
			func(m *team, _ *httptestserver.Front) { m.server.Forget(false) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, front := newFronted(t)
			state := string(m.server.State())
			c.breaks(m, front)
			m.want(m.from, "ada@laptop", 1, c.want, "apply", "-auto-approve")
			if string(m.server.State()) != state || !m.from.has("kubewright.journal") || !m.from.has("kubewright.errored.state.json") {
				t.Error("the journal was emptied, or the state was not kept aside")
			}
			c.mends(m, front)
			m.want(m.from, "ada@laptop", 0, "", "apply", "-auto-approve")
			if m.from.has("kubewright.journal") || m.from.has("kubewright.errored.state.json") {
				t.Error("files of the failed write are left")
			}
			m.want(m.from.other(t), "grace@desk", 0, "No changes.", "plan", "-detailed-exitcode")
		})
	}
}

// TestBackendCredentialsStayWithServer checks that a changed configuration, or other files of a branch,
// cannot direct a request with the password of the environment to another server.
func TestBackendCredentialsStayWithServer(t *testing.T) {
	t.Parallel()
	evil := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the attacker's server got %s %s", r.Method, r.URL)
	}))
	t.Cleanup(evil.Close)
	for name, change := range map[string]func(t *testing.T, m *team, f folder){
		"address": func(t *testing.T, m *team, f folder) {
			f.replace(t, fmt.Sprintf("address        = %q\n    lock_address   = %q", m.server.URL, m.server.URL), fmt.Sprintf("address = %q", evil.URL+"/x"))
		},
		"lock_address": func(t *testing.T, m *team, f folder) {
			f.replace(t, fmt.Sprintf("lock_address   = %q", m.server.URL), fmt.Sprintf("lock_address = %q", evil.URL+"/x"))
		},
		"unlock_address": func(t *testing.T, _ *team, f folder) {
			f.replace(t, "    retry_max ", fmt.Sprintf("    unlock_address = %q\n    retry_max ", evil.URL+"/x"))
		},
		"what the folder remembers": func(t *testing.T, _ *team, f folder) {
			write(t, filepath.Join(string(f), "main.hcl"), "cluster \"broken\" {\n")
			if err := os.MkdirAll(filepath.Join(string(f), ".kubewright"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(string(f), ".kubewright", "backend.json"), fmt.Sprintf(`{"type": "http", "place": %q, "settings": {"address": %q, "username": "ann"}}`, evil.URL+"/x", evil.URL+"/x"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTeam(t)
			f := m.from.other(t)
			change(t, m, f)
			commands := [][]string{{"state", "list"}, {"lock", "status"}, {"force-unlock", "-force", "r1"}}
			if !strings.HasPrefix(name, "what") {
				commands = append(commands, []string{"state", "pull"}, []string{"plan"}, []string{"plan", "-json"}, []string{"apply", "-auto-approve"}, []string{"show"}, []string{"output"}, []string{"init"}, []string{"init", "-reconfigure"}, []string{"init", "-migrate-state", "-force-copy"})
			}
			for _, args := range commands {
				said := m.want(f, "ada@laptop", 1, "is not sent to "+evil.URL, args...)
				if strings.Contains(said, m.server.Password) {
					t.Errorf("%v shows the password", args)
				}
			}
			m.want(f, "ada@laptop", 0, "", "__complete", "plan", "-target=")
		})
	}
}

// TestBackendWarnsOfPlainCredentials checks that a password sent without TLS is a warning on stderr, and
// a finding with -json, and that the password for PostgreSQL is not sent to a server that
// only the configuration names.
func TestBackendWarnsOfPlainCredentials(t *testing.T) {
	t.Parallel()
	const address = "http://states.example.com/x"
	proxy := echo(t, httptest.NewServer, http.StatusForbidden)
	run := func(block string, env []string, args ...string) (stdout, stderr string) {
		f := newFolder(t, block+ciConfig)
		cmd := f.process("kubewright-process", args...)
		var out, said strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &said
		cmd.Env = append(append(os.Environ(), "NO_PROXY=", "no_proxy=", "http_proxy="), env...)
		if err := cmd.Run(); err == nil {
			t.Errorf("%v succeeds", args)
		}
		return out.String(), said.String()
	}
	plain := []string{"HTTP_PROXY=" + proxy, "KUBEWRIGHT_HTTP_ADDRESS=" + address, "KUBEWRIGHT_HTTP_PASSWORD=top-secret"}
	const title = "Credentials are sent without encryption"
	if stdout, stderr := run(httpBlock(address), plain, "state", "pull"); stdout != "" || strings.Count(stderr, "Warning: "+title) != 1 {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	if stdout, stderr := run(httpBlock(address), plain, "plan", "-json"); strings.Count(stdout, `"summary":"`+title) != 1 || strings.Contains(stderr, title) {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		if c, err := l.Accept(); err == nil {
			t.Error("the server was contacted")
			c.Close()
		}
	}()
	host, port, _ := net.SplitHostPort(l.Addr().String())
	block := fmt.Sprintf("kubewright {\n  backend \"pg\" {\n    conn_str = \"host=%s port=%s user=ann dbname=states\"\n  }\n}\n", host, port)
	if _, stderr := run(block, []string{"PGPASSWORD=top-secret"}, "plan"); !strings.Contains(strings.Join(strings.Fields(stderr), " "), "conn_str of the configuration alone names the server "+l.Addr().String()) {
		t.Errorf("stderr %q", stderr)
	}
}
