package shell

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/state"
)

// A minimal Debian: its database is the file db, with lines NAME VERSION STATUS WANT.
// containerd depends on runc; tool was installed by a user.
var fakeDebian = map[string]string{
	"dpkg-query": `#!/bin/sh
format=$3; shift 3; if [ "$1" = -- ]; then shift; fi
while read -r n v s w; do
	case " $* " in
	*" $n "* | "  ") printf "$(printf %s "$format" | sed "s/\${Package}/$n/; s/\${Version}/$v/; s/\${db:Status-Status}/$s/; s/\${db:Status-Want}/$w/")"; found=yes ;;
	esac
done <"${0%/*}/db"
[ "$found" = yes ]
`,
	"dpkg":       "#!/bin/sh\nif [ \"$1\" != --audit ]; then sed -i 's/half-configured/installed/' \"${0%/*}/db\"; else grep half \"${0%/*}/db\"; fi\n",
	"apt-mark":   "#!/bin/sh\nwant=$1; shift; for n do sed -i \"s/^\\($n .*\\) [a-z]*\\$/\\1 $(echo $want | sed s/unhold/install/)/\" \"${0%/*}/db\"; done\n",
	"apt-config": "#!/bin/sh\necho \"kw_p='http://proxy:3128'\"\n",
	"curl":       "#!/bin/sh\nfor last do :; done; case $last in *Packages) cat \"${0%/*}/index\" || echo \"curl: (6) Could not resolve host\" ;; esac\n",
	"apt-get": `#!/bin/sh
here=${0%/*}; echo "$*" >>"$here/called"; do=
for a do
	case $a in -s) try=yes ;; update | purge | install | autoremove | indextargets) do=$a ;; esac
	case $a in -* | /* | *::* | update | purge | install | autoremove | indextargets) continue ;; esac
	n=${a%%=*}; v=1.0-1
	case $a in *=*) v=${a#*=}; v=${v%-*}-1.1 ;; esac
	case $v in 9.*) echo "E: Version '9' was not found" >&2; exit 100 ;; esac
	case $do in
	install)
		for p in $n $([ "$n" != containerd ] || echo runc); do
			if [ "$try" = yes ]; then grep -q "^$p " "$here/db" && echo "Inst $p [1] (2)" || echo "Inst $p (2)"; continue; fi
			grep -v "^$p " "$here/db" >"$here/new"; echo "$p $v installed install" >>"$here/new"; cat "$here/new" >"$here/db"
		done ;;
	purge)
		if [ "$try" = yes ]; then echo "Purg $n"; if [ "$n" = containerd ] && grep -q '^needs-it ' "$here/db"; then echo "Remv needs-it"; fi; continue; fi
		grep -v "^$n " "$here/db" >"$here/new"; cat "$here/new" >"$here/db" ;;
	esac
done
if [ "$do" = autoremove ]; then printf 'Remv runc [1]\nRemv orphan [1]\n'; fi
`,
}

// distribution is a host with a minimal package manager, whose programs are in bin, and
// with the programs on path.
type distribution struct {
	t             *testing.T
	root, bin     string
	manager, path string
}

// put writes a file that the package manager reads.
func (d distribution) put(name, content string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.bin, name), []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d distribution) db(lines ...string) {
	d.t.Helper()
	d.put("db", strings.Join(lines, "\n")+"\n")
}

func (d distribution) wantDB(lines ...string) {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.bin, "db"))
	if got := strings.Split(strings.TrimSpace(string(b)), "\n"); err != nil || !reflect.DeepEqual(got, lines) {
		d.t.Errorf("the host has %q (%v), want %q", got, err, lines)
	}
}

// do returns the host's result: changed, same, or the error.
func (d distribution) do(op planner.Packages) string {
	d.t.Helper()
	op.Manager, op.Repository = d.manager, "/etc/kubernetes.list"
	c := &compiler{root: d.root, batch: providers.Batch{Token: 1, Lineage: "l", Operations: []planner.Operation{op}}}
	body, err := c.script()
	if err != nil {
		d.t.Fatal(err)
	}
	out, stderr := d.sh(body)
	for _, word := range []string{"done changed", "done same"} {
		if strings.Contains(out, word+"\n") {
			return strings.TrimPrefix(word, "done ")
		}
	}
	return lastWords(stderr)
}

func (d distribution) sh(body string) (stdout, stderr string) {
	d.t.Helper()
	sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\n"+preludeScript+body)
	sh.Env = []string{"PATH=" + d.path}
	var text strings.Builder
	sh.Stderr = &text
	out, err := sh.Output()
	if err != nil {
		d.t.Fatalf("%v: %s", err, text.String())
	}
	return string(out), text.String()
}

func (d distribution) see(q state.PackageQuery) state.PackageReport {
	d.t.Helper()
	out, _ := d.sh("kw_r=" + Quote(d.root) + "\n" + packagesSeenScript + packagesCall(q) + "kw_say end\n")
	r := reading{query: &query{Query: state.Query{Packages: q}}, sections: map[string][]section{}, report: &state.Report{}}
	for _, s := range parseAnswer([]byte(out), testNonce).sections {
		r.sections[s.words[0]] = append(r.sections[s.words[0]], s)
	}
	if err := r.packages(); err != nil {
		d.t.Fatal(err)
	}
	return r.report.Packages
}

func newDebian(t *testing.T) distribution {
	t.Helper()
	d := newDistribution(t, "apt", fakeDebian)
	d.path += ":/usr/bin:/bin"
	return d
}

func newDistribution(t *testing.T, manager string, programs map[string]string) distribution {
	t.Helper()
	bin := t.TempDir()
	d := distribution{t, t.TempDir(), bin, manager, bin}
	if err := os.MkdirAll(d.root+"/var/lib", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range programs {
		hosttest.WriteProgram(t, filepath.Join(d.bin, name), text)
	}
	return d
}

// TestAptPackages checks that packages are installed in their version, held, upgraded, and
// removed with their dependencies; packages that others need, or that were there before,
// stay.
func TestAptPackages(t *testing.T) {
	t.Parallel()
	d := newDebian(t)
	d.db("tool 1-1 installed install", "kubectl 1.35.8-1.1 installed hold")
	install := planner.Packages{List: []planner.Package{{Name: "containerd", Hold: "hold"}, {Name: "kubelet", Version: "1.36.3", Hold: "hold"}}}
	if got := d.do(install); got != "changed" {
		t.Fatalf("got %s", got)
	}
	all := []string{"tool 1-1 installed install", "kubectl 1.35.8-1.1 installed hold", "containerd 1.0-1 installed hold", "runc 1.0-1 installed install", "kubelet 1.36.3-1.1 installed hold"}
	d.wantDB(all...)
	if got := d.do(install); got != "same" {
		t.Errorf("again: %s", got)
	}
	// A held package is held in its next version as well, although apt-get drops the hold.
	d.db("kubelet 1.35.8-1.1 installed hold", "kubectl 1.35.8-1.1 installed hold", "containerd 1.0-1 installed hold", "runc 1.0-1 installed install")
	if got := d.do(planner.Packages{List: []planner.Package{{Name: "kubelet", Version: "1.36.3", Hold: "hold"}, {Name: "kubectl", Version: "1.36.3"}, {Name: "containerd", Hold: "hold"}}}); got != "changed" {
		t.Errorf("the next version: %s", got)
	}
	d.wantDB("containerd 1.0-1 installed hold", "runc 1.0-1 installed install", "kubelet 1.36.3-1.1 installed hold", "kubectl 1.36.3-1.1 installed hold")
	// The same command completes an interrupted installation.
	d.db("kubelet 1.35.8-1.1 half-configured install", "containerd 1.0-1 installed hold", "runc 1.0-1 installed install")
	if got := d.do(install); got != "changed" {
		t.Errorf("after a cut: %s", got)
	}
	d.wantDB("containerd 1.0-1 installed hold", "runc 1.0-1 installed install", "kubelet 1.36.3-1.1 installed hold")
	if got := d.do(planner.Packages{List: []planner.Package{{Name: "kubelet", Version: "9.9.9"}}}); !strings.Contains(got, "E: Version '9' was not found") {
		t.Errorf("a version that is not there: %s", got)
	}
	if got := d.do(planner.Packages{List: []planner.Package{{Name: "kubelet", Hold: "unhold"}}}); got != "changed" {
		t.Errorf("unhold: %s", got)
	}
	remove := planner.Packages{Remove: true, List: []planner.Package{{Name: "containerd"}, {Name: "kubelet"}, {Name: "never-there"}}}
	d.db(append(all, "needs-it 1-1 installed install")...)
	if got := d.do(remove); !strings.Contains(got, "would go as well: needs-it") {
		t.Errorf("a package that another one needs: %s", got)
	}
	d.db(append(all, "orphan 1-1 installed install")...)
	if got := d.do(remove); got != "changed" {
		t.Errorf("remove: %s", got)
	}
	d.wantDB("tool 1-1 installed install", "kubectl 1.35.8-1.1 installed hold", "orphan 1-1 installed install")
	if got := d.do(remove); got != "same" {
		t.Errorf("remove again: %s", got)
	}
}

// TestAptWaitsForOtherProcess checks that an observation names another process that uses the package
// manager, and that an installation waits for it, even before it completes a partial one.
func TestAptWaitsForOtherProcess(t *testing.T) {
	t.Parallel()
	install := planner.Packages{List: []planner.Package{{Name: "kubelet", Version: "1.36.3", Hold: "hold"}}}
	for _, path := range []string{"/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/apt/lists/lock"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			d := newDebian(t)
			release := d.lock(path)
			hosttest.WriteProgram(t, d.bin+"/dpkg", `#!/bin/sh
if [ "$1" = --audit ]; then echo half; exit; fi
if [ -e "${0%/*}/locked" ]; then echo "dpkg: error: dpkg frontend lock was locked by another process" >&2; exit 2; fi
`)
			d.db("kubelet 1.35.8-1.1 half-configured install")
			if seen := d.see(state.PackageQuery{Names: []string{"kubelet"}}); seen.Locked == "" {
				t.Errorf("no other process is seen at work: %+v", seen)
			}
			sleeps := d.sleeps()
			go func() {
				if _, err := sleeps.Read(make([]byte, 1)); err == nil { // or no script has slept when the test ends
					release()
				}
			}()
			if got := d.do(install); got != "changed" {
				t.Errorf("got %s", got)
			}
		})
	}
	d := newDebian(t)
	release := d.lock("/var/lib/dpkg/lock-frontend")
	defer release()
	d.db("kubelet 1.35.8-1.1 installed install")
	if err := os.Symlink("/bin/true", d.bin+"/sleep"); err != nil {
		t.Fatal(err)
	}
	if got := d.do(install); !strings.Contains(got, " has worked with the package manager for five minutes; see what holds it up, and apply again when it has ended") {
		t.Errorf("a process that does not end: %s", got)
	}
}

// sleeps returns a pipe that shows when a script sleeps, none of which sleeps for long.
func (d distribution) sleeps() *os.File {
	d.t.Helper()
	fifo := d.bin + "/sleeps"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		d.t.Fatal(err)
	}
	hosttest.WriteProgram(d.t, d.bin+"/sleep", "#!/bin/sh\necho >\"${0%/*}/sleeps\"\nexec /bin/sleep 0.1\n")
	f, err := os.OpenFile(fifo, os.O_RDWR, 0) // a script does not block until it is read
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { f.Close() })
	return f
}

// lock locks a file of the package manager as another program does, until the returned
// function is called.
func (d distribution) lock(path string) (release func()) {
	d.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(d.root+path), 0o755), os.WriteFile(d.bin+"/locked", nil, 0o600)); err != nil {
		d.t.Fatal(err)
	}
	f, err := os.Create(d.root + path)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}); err != nil {
		d.t.Fatal(err)
	}
	return func() {
		_ = os.Remove(d.bin + "/locked")
		_ = f.Close()
	}
}

// TestAptObservation checks installed and partly installed packages, and those that the
// repository lacks.
func TestAptObservation(t *testing.T) {
	t.Parallel()
	d := newDebian(t)
	q := state.PackageQuery{Names: []string{"containerd", "kubelet", "kubectl"}, Versioned: []string{"kubectl", "kubelet"}, Version: "1.36.3", Apt: "https://m.example.com/v1.36/deb/"}
	index := filepath.Join(d.bin, "index")
	for _, test := range []struct {
		db, index []string
		want      state.PackageReport
	}{
		{
			[]string{"containerd 2:1.7.24~ds1-6 installed install", "kubelet 1.36.3-1.1 installed hold", "kubectl 1.36.3-1.1 installed install"},
			nil,
			state.PackageReport{Installed: map[string]state.Package{
				"containerd": {Version: "1.7.24~ds1", Status: "installed"}, "kubelet": {Version: "1.36.3", Status: "installed", Held: true}, "kubectl": {Version: "1.36.3", Status: "installed"},
			}},
		},
		{
			[]string{"kubelet 1.35.8-1.1 config-files install", "libc6 2-1 half-configured install"},
			[]string{"Package: kubelet", "Version: 1.36.3-1.1", "", "Package: kubectl", "Version: 1.36.2-1.1"},
			state.PackageReport{Installed: map[string]state.Package{}, Broken: []string{"libc6 (half-configured)"}, Missing: []string{"kubectl"}},
		},
		{
			[]string{"other 1-1 installed install"},
			nil,
			state.PackageReport{Installed: map[string]state.Package{}, Unreachable: "curl: (6) Could not resolve host"},
		},
	} {
		d.db(test.db...)
		_ = os.Remove(index)
		if test.index != nil {
			d.put("index", strings.Join(test.index, "\n")+"\n")
		}
		test.want.Manager = "apt"
		if got := d.see(q); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: got %+v, want %+v", test.db, got, test.want)
		}
	}
	for _, bad := range []state.PackageQuery{{Names: []string{"-x"}}, {Names: []string{"a"}, Version: "1;x"}, {Names: []string{"a"}, Apt: "http://x\n"}} {
		if _, err := newQuery(state.Query{Packages: bad}, "", true); err == nil {
			t.Errorf("%+v is asked for", bad)
		}
	}
}
