package shell

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kubewright/kubewright/providers/hosttest"
)

// repository is a package server on this machine, with a log of its requests.
type repository struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newRepository(t *testing.T, serve http.HandlerFunc) *repository {
	t.Helper()
	r := &repository{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, q.Method+" "+q.URL.Path)
		r.mu.Unlock()
		serve(w, q)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *repository) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// fetch runs kw_fetch with this machine's programs except those given.
func fetch(t *testing.T, url string, programs map[string]string, without ...string) string {
	t.Helper()
	bin := t.TempDir()
	for name, body := range programs {
		hosttest.WriteProgram(t, filepath.Join(bin, name), body)
	}
	path := bin + ":/usr/local/bin:/usr/bin:/bin"
	if len(without) > 0 {
		path = bin
		for _, name := range []string{"awk", "cat", "env", "head", "id", "sed", "test", "timeout", "wget", "curl"} {
			if program, err := exec.LookPath(name); err == nil && !strings.Contains(strings.Join(without, " "), name) {
				if err := os.Symlink(program, filepath.Join(bin, name)); err != nil && !errors.Is(err, os.ErrExist) {
					t.Fatal(err)
				}
			}
		}
	}
	sh := exec.Command("/bin/sh", "-c", "kw_r=\n"+packagesSeenScript+"kw_fetch "+Quote(url))
	sh.Env = []string{"PATH=" + path}
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestFetchRefusesRedirectToOtherServer checks that a host asks the configured server, and
// follows no redirect to another.
func TestFetchRefusesRedirectToOtherServer(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"curl", "wget"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tool); err != nil {
				t.Skip(err)
			}
			var without []string
			if tool == "wget" {
				without = []string{"curl"}
			}
			internal := newRepository(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("Package: secret\n")) })
			r := newRepository(t, func(w http.ResponseWriter, q *http.Request) {
				switch q.URL.Path {
				case "/here":
					http.Redirect(w, q, "/Packages", http.StatusFound)
				case "/Packages":
					_, _ = w.Write([]byte("Package: kubelet\n"))
				case "/loop":
					http.Redirect(w, q, "/loop", http.StatusFound)
				case "/only-get":
					if q.Method == http.MethodHead {
						w.WriteHeader(http.StatusMethodNotAllowed)
						return
					}
					http.Redirect(w, q, internal.URL+"/", http.StatusFound)
				case "/user":
					w.Header().Set("Location", "http://"+q.Host+"@"+strings.TrimPrefix(internal.URL, "http://")+"/")
					w.WriteHeader(http.StatusMovedPermanently)
				case "/file":
					w.Header().Set("Location", "file:///etc/passwd")
					w.WriteHeader(http.StatusMovedPermanently)
				default:
					http.Redirect(w, q, internal.URL+"/", http.StatusFound)
				}
			})
			for path, want := range map[string]string{"/Packages": "Package: kubelet\n", "/here": "Package: kubelet\n"} {
				if got := fetch(t, r.URL+path, nil, without...); got != want {
					t.Errorf("%s: got %q", path, got)
				}
			}
			for _, path := range []string{"/elsewhere", "/loop", "/only-get", "/user", "/file"} {
				if got := fetch(t, r.URL+path, nil, without...); !strings.HasPrefix(got, "curl: (") || strings.Contains(got, "root:") {
					t.Errorf("%s: got %q", path, got)
				}
			}
			if asked := internal.requests(); len(asked) > 0 {
				t.Errorf("another server was asked: %v", asked)
			}
			if got := fetch(t, r.URL+"/elsewhere", nil, without...); !strings.Contains(got, "it redirects to "+internal.URL+", which is not followed") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestFetchFollowsRedirectOfPkgsK8sIO checks that pkgs.k8s.io, which keeps its files on
// another host, may redirect there, and that no other repository may.
func TestFetchFollowsRedirectOfPkgsK8sIO(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from, to string
		follows  bool
	}{
		{"https://pkgs.k8s.io/core:/stable:/v1.36/deb/Packages", "https://prod-cdn.packages.k8s.io/repositories/x/Packages", true},
		{"http://mirror.example.com/x/Packages", "https://mirror.example.com/x/Packages", true},
		{"http://mirror.example.com:80/Packages", "http://MIRROR.example.com/y", true},
		{"https://pkgs.k8s.io/Packages", "http://prod-cdn.packages.k8s.io/Packages", false},
		{"https://pkgs.k8s.io/Packages", "https://packages.k8s.io.example.com/Packages", false},
		{"https://pkgs.k8s.io/Packages", "https://example.com/.packages.k8s.io", false},
		{"https://mirror.example.com/Packages", "https://prod-cdn.packages.k8s.io/Packages", false},
		{"https://mirror.example.com/Packages", "http://mirror.example.com/Packages", false},
		{"https://mirror.example.com/Packages", "https://mirror.example.com:8443/Packages", false},
		{"https://mirror.example.com/Packages", "https://mirror.example.com@169.254.169.254/", false},
		{"https://mirror.example.com/Packages", "https://169.254.169.254\\\\@mirror.example.com/", false},
	} {
		got := fetch(t, test.from, map[string]string{
			"getent": "#!/bin/sh\n",
			"curl":   "#!/bin/sh\nfor last do :; done\ncase \"$*\" in *'-I '*) [ \"$last\" != '" + test.from + "' ] || printf %s '" + test.to + "' ;; *) echo \"from $last\" ;; esac\n",
		})
		if follows := got == "from "+test.to+"\n"; follows != test.follows || !follows && !strings.HasPrefix(got, "curl: (47)") {
			t.Errorf("%s → %s: got %q", test.from, test.to, got)
		}
	}
}

// TestFetchRefusesLocalAddresses checks that a name that resolves to this machine, or to a
// link-local or multicast address, is refused, and that the request goes to the checked
// addresses.
func TestFetchRefusesLocalAddresses(t *testing.T) {
	t.Parallel()
	for addresses, want := range map[string]string{
		"10.0.0.5 2001:db8::1": "--resolve m.example.com:8080:10.0.0.5,[2001:db8::1]",
		"10.0.0.5 127.0.0.1":   "curl: (7) the host's name leads to 127.0.0.1,",
		"169.254.169.254":      "curl: (7) the host's name leads to 169.254.169.254,",
		"::ffff:169.254.1.1":   "curl: (7) the host's name leads to ::ffff:169.254.1.1,",
		"FE80::1":              "curl: (7) the host's name leads to fe80::1,",
		"0.0.0.0":              "curl: (7) the host's name leads to 0.0.0.0,",
	} {
		got := fetch(t, "http://m.example.com:8080/v1.36/deb/Packages", map[string]string{
			"getent": "#!/bin/sh\nfor a in " + addresses + "; do echo \"$a STREAM m.example.com\"; echo \"$a DGRAM\"; done\n",
			"curl":   "#!/bin/sh\ncase \"$*\" in *'-I '*) ;; *) echo \"$*\" ;; esac\n",
		})
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", addresses, got, want)
		}
	}
}

// TestFetchRunsWithoutRoot checks that the repository is read without root's rights.
func TestFetchRunsWithoutRoot(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setpriv"); err != nil || os.Geteuid() != 0 {
		t.Skip("no setpriv, or not root")
	}
	as := t.TempDir() + "/as"
	if err := os.WriteFile(as, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	got := fetch(t, "http://10.0.0.5/Packages", map[string]string{
		"setpriv": "#!/bin/sh\nwhile [ \"$1\" != env ]; do case $1 in --reuid) printf 'uid %s\\n' \"$2\" >>" + as + " ;; esac; shift; done\nexec \"$@\"\n",
		"curl":    "#!/bin/sh\necho fetched\n",
	})
	uid, err := exec.Command("id", "-u", "nobody").Output()
	if err != nil {
		t.Skip(err)
	}
	said, _ := os.ReadFile(as)
	if want := "uid " + strings.TrimSpace(string(uid)) + "\n"; got != "fetched\n" || string(said) != strings.Repeat(want, 3) {
		t.Errorf("got %q as %q", got, said)
	}
}
