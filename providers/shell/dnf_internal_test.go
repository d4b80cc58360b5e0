package shell

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// A minimal Fedora: its database is the file db, with lines NAME VERSION-RELEASE.
// containerd depends on runc. A package that a repository excludes is found only by a
// command that disables the exclusion (dnf.conf(5), disable_excludes), and dnf removes
// dependencies as its configuration says unless an option overrides it
// (clean_requirements_on_remove).
var fakeFedora = map[string]string{
	"rpm": `#!/bin/sh
shift; format='%{NAME}-%{VERSION}-%{RELEASE}\n'
if [ "$1" = --queryformat ]; then format=$2; shift 2; fi
[ "$1" != -- ] || shift
rc=0
for n do
	if v=$(grep "^$n " "${0%/*}/db"); then
		v=${v#* }; printf "$(printf %s "$format" | sed "s/%{NAME}/$n/; s/%{VERSION}/${v%-*}/; s/%{RELEASE}/${v##*-}/")"
	else
		echo "package $n is not installed"; rc=1
	fi
done
exit $rc
`,
	"curl": "#!/bin/sh\nfor last do :; done; case $last in *repomd.xml) cat \"${0%/*}/repomd\" 2>/dev/null || echo \"curl: (6) Could not resolve host\" ;; *primary.xml.gz) cat \"${0%/*}/primary\" ;; esac\n",
	"dnf": `#!/bin/sh
here=${0%/*}; do= excluded=yes orphans=stay
for a do
	case $a in
	--setopt=disable_excludes=kubernetes) excluded=no; continue ;;
	--setopt=clean_requirements_on_remove=True) orphans=go; continue ;;
	install | remove) do=$a; continue ;;
	-*) continue ;;
	esac
	n=${a%%-[0-9]*}; v=1.0
	[ "$n" = "$a" ] || v=${a#"$n"-}
	case $n:$excluded:$v in kube*:yes:* | *:9.*) echo "Error: Unable to find a match: $a" >&2; exit 1 ;; esac
	for p in $n $([ "$n" != containerd ] || [ "$do$orphans" = removestay ] || echo runc); do
		grep -v "^$p " "$here/db" >"$here/new"; [ "$do" = remove ] || echo "$p $v-1" >>"$here/new"; cat "$here/new" >"$here/db"
	done
done
`,
}

// newFedora has only those programs of the test machine that the scripts use.
func newFedora(t *testing.T) distribution {
	t.Helper()
	d := newDistribution(t, "dnf", fakeFedora)
	for _, tool := range []string{"awk", "cat", "find", "grep", "id", "gzip", "mkdir", "mv", "rm", "sed", "stat", "sync", "tail"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(d.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// TestDnfPackages checks that packages are installed in their version although upgrades of
// the host exclude them, that they are upgraded, and that they are removed with their
// dependencies; packages from before stay.
func TestDnfPackages(t *testing.T) {
	t.Parallel()
	d := newFedora(t)
	d.db("tool 1-1", "kubectl 1.35.8-150500.1.1")
	install := planner.Packages{List: []planner.Package{{Name: "containerd", Hold: "hold"}, {Name: "kubelet", Version: "1.36.3", Hold: "hold"}}}
	if got := d.do(install); got != "changed" {
		t.Fatalf("got %s", got)
	}
	all := []string{"tool 1-1", "kubectl 1.35.8-150500.1.1", "containerd 1.0-1", "runc 1.0-1", "kubelet 1.36.3-1"}
	d.wantDB(all...)
	if got := d.do(install); got != "same" {
		t.Errorf("again: %s", got)
	}
	d.db("kubelet 1.35.8-1", "kubectl 1.36.3-1", "containerd 0.9-1")
	if got := d.do(install); got != "changed" {
		t.Errorf("the next version: %s", got)
	}
	d.wantDB("kubectl 1.36.3-1", "containerd 0.9-1", "kubelet 1.36.3-1") // any version of containerd is accepted
	if got := d.do(planner.Packages{List: []planner.Package{{Name: "kubelet", Version: "9.9.9"}}}); !strings.Contains(got, "Unable to find a match: kubelet-9.9.9") {
		t.Errorf("a version that is not there: %s", got)
	}
	d.db(all...)
	remove := planner.Packages{Remove: true, List: []planner.Package{{Name: "containerd"}, {Name: "kubelet"}, {Name: "never-there"}}}
	if got := d.do(remove); got != "changed" {
		t.Errorf("remove: %s", got)
	}
	d.wantDB("tool 1-1", "kubectl 1.35.8-150500.1.1")
	if got := d.do(remove); got != "same" {
		t.Errorf("remove again: %s", got)
	}
}

// TestDnfObservation checks the installed packages, other users of dnf, and packages that
// the repository lacks.
func TestDnfObservation(t *testing.T) {
	t.Parallel()
	const repomd = `<repomd><data type="primary"><location href="repodata/1a-primary.xml.gz"/></data></repomd>`
	const primary = `<metadata><package><name>kubelet</name><version epoch="0" ver="1.36.3" rel="1"/></package>` +
		`<package><name>kubectl</name><version epoch="0" ver="1.36.2" rel="1"/></package></metadata>`
	q := state.PackageQuery{Names: []string{"containerd", "kubelet", "kubectl"}, Versioned: []string{"kubectl", "kubelet"}, Version: "1.36.3", Dnf: "https://m.example.com/v1.36/rpm/"}
	for name, test := range map[string]struct {
		db     []string
		repomd string
		locked bool
		want   state.PackageReport
	}{
		"all there": {
			[]string{"containerd 1.7.24-1", "kubelet 1.36.3-150500.1.1", "kubectl 1.36.3-1"},
			"", false,
			state.PackageReport{Installed: map[string]state.Package{
				"containerd": {Version: "1.7.24", Status: "installed"}, "kubelet": {Version: "1.36.3", Status: "installed"}, "kubectl": {Version: "1.36.3", Status: "installed"},
			}},
		},
		"one is missing in the repository": {
			[]string{"kubelet 1.35.8-1"},
			repomd, false,
			state.PackageReport{Installed: map[string]state.Package{"kubelet": {Version: "1.35.8", Status: "installed"}}, Missing: []string{"kubectl"}},
		},
		"a list that cannot be read everywhere": {
			[]string{"other 1-1"},
			strings.ReplaceAll(repomd, ".gz", ".zst"), false,
			state.PackageReport{Installed: map[string]state.Package{}},
		},
		"no way there": {
			[]string{"other 1-1"},
			"", false,
			state.PackageReport{Installed: map[string]state.Package{}, Unreachable: "curl: (6) Could not resolve host"},
		},
		"another process at work": {
			[]string{"other 1-1"},
			repomd, true,
			state.PackageReport{Installed: map[string]state.Package{}, Missing: []string{"kubectl"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFedora(t)
			d.db(test.db...)
			if test.repomd != "" {
				var packed bytes.Buffer
				z := gzip.NewWriter(&packed)
				if _, err := z.Write([]byte(primary)); err != nil || z.Close() != nil {
					t.Fatal(err)
				}
				d.put("repomd", test.repomd)
				d.put("primary", packed.String())
			}
			if test.locked {
				defer d.lock("/var/lib/rpm/.rpm.lock")()
			}
			test.want.Manager = "dnf"
			got := d.see(q)
			if (got.Locked != "") != test.locked {
				t.Errorf("at work is %q", got.Locked)
			}
			got.Locked = ""
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
