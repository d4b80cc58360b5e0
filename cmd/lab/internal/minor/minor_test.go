package minor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/minor"
	"github.com/kubewright/kubewright/config/componentflag"
)

// root is the checkout.
const root = "../../../.."

// read returns the files of a checkout that Checkout writes.
func read(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{
		"config/componentflag/flags.txt", "config/componentflag/gates.txt", "config/componentflag/values.txt", "config/componentflag/needs.txt",
		"config/componentflag/version.go", "planner/kubeadm/versions.go", "cmd/lab/internal/build/releases.go",
	} {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(b)
	}
	return out
}

// copied returns a checkout that has these files alone.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range read(t, root) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, dir string) *minor.Checkout {
	t.Helper()
	c, err := minor.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func save(t *testing.T, c *minor.Checkout, err error) {
	t.Helper()
	if err == nil {
		err = c.Save()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// facts returns what the tables say about the newest minor version.
func facts() minor.Facts {
	const newest = componentflag.MaxMinor
	f := minor.Facts{Minor: newest, Patch: "1.37.1", Etcd: "3.7.0-0", CoreDNS: "v1.14.6", Pause: "3.10.2", Flags: map[string]map[string]string{}, Gates: map[string]minor.Gate{}, Values: map[string][]string{}}
	for component, flags := range componentflag.Flags {
		f.Flags[component] = map[string]string{}
		for name, flag := range flags {
			for _, m := range flag.Minors {
				if m == "37" {
					f.Flags[component][name] = flag.Type
				}
			}
		}
	}
	for name, g := range componentflag.Gates[newest] {
		f.Gates[name] = minor.Gate{Stage: "beta", Default: true, Locked: g.Locked}
	}
	for set := range componentflag.Values {
		f.Values[set] = componentflag.ValuesOf(set, newest)
	}
	return f
}

// TestNewestMinorIsTakenOutAndAddedAgain takes the newest minor version out of the tables of this
// checkout and adds it again, from what they say about it: they are the same.
func TestNewestMinorIsTakenOutAndAddedAgain(t *testing.T) {
	t.Parallel()
	dir := copied(t)
	c := open(t, dir)
	save(t, c, c.Remove())
	without := read(t, dir)
	for name, text := range without {
		if text == read(t, root)[name] {
			t.Errorf("%s is the same without the newest minor version", name)
		}
	}
	if strings.Contains(without["cmd/lab/internal/build/releases.go"], "v1.37") || strings.Contains(without["planner/kubeadm/versions.go"], "minor: 37") {
		t.Error("the rows of the release are still there")
	}
	c = open(t, dir)
	left, err := c.Add(facts())
	save(t, c, err)
	after := read(t, dir)
	for name, want := range read(t, root) {
		switch {
		case strings.HasSuffix(name, "needs.txt"): // whose stages the tables do not say
		case strings.HasSuffix(name, "versions.go"): // whose behaviour is decided by hand
			if !strings.Contains(after[name], "\t\tminor: 37, newest: 1, etcd: \"3.7.0-0\", coreDNS: \"v1.14.6\", pause: \"3.10.2\",\n") {
				t.Errorf("%s has no row of the release", name)
			}
		case after[name] != want:
			t.Errorf("%s differs after it was added again", name)
		}
	}
	if text := strings.Join(left, "\n"); !strings.Contains(text, "kubeadm behaves as in the minor version before") || !strings.Contains(text, "is new. Is its type") || !strings.Contains(text, "needs.txt: gates that fields and flags need are not read") {
		t.Errorf("what is left to decide is not said: %s", text)
	}
}

// TestNextMinorIsAdded adds the minor version after the newest, and refuses others.
func TestNextMinorIsAdded(t *testing.T) {
	t.Parallel()
	dir := copied(t)
	f := facts()
	f.Minor, f.Patch = f.Minor+1, "1.38.0"
	delete(f.Gates, "AllAlpha")
	f.Flags["kubelet"]["new-in-38"] = "int"
	c := open(t, dir)
	_, err := c.Add(f)
	save(t, c, err)
	after := read(t, dir)
	for name, want := range map[string]string{
		"config/componentflag/flags.txt":     "\nkubelet new-in-38 int 38\n",
		"config/componentflag/gates.txt":     "\nAllAlpha 34 35 36 37\nAllBeta all\n",
		"config/componentflag/version.go":    "\tMaxMinor = 38\n",
		"planner/kubeadm/versions.go":        "\n\t\tminor: 38, newest: 0, etcd: ",
		"cmd/lab/internal/build/releases.go": "\n\t\t{Kubernetes: \"v1.38.0\", Etcd: \"v3.7.0\", CoreDNS: \"v1.14.6\", Pause: \"3.10.2\"},\n\t}\n",
	} {
		if !strings.Contains(after[name], want) {
			t.Errorf("%s has no %q", name, want)
		}
	}
	f.Minor = 41
	if _, err := open(t, dir).Add(f); err == nil || err.Error() != "1.41 is neither the newest minor version, 1.38, nor the next" {
		t.Errorf("a minor version beyond the next: %v", err)
	}
}

// TestReading reads what help and source of components say.
func TestReading(t *testing.T) {
	t.Parallel()
	help := "      --bind-address ip     The address.\n  -h, --help                help\n      --config string       A file.\n  --odd-type someThing   Odd.\n" +
		"                A=true|false (ALPHA - default=false)\n                B=true|false (BETA - default=true)\n" +
		"      --enable-admission-plugins strings   some (X). Comma-delimited list of admission plugins: X, Y. The order\n"
	for name, want := range map[string]string{"bind-address": "ip", "help": "bool", "config": "text", "odd-type": "text"} {
		if got := minor.HelpFlags("kubelet", help)[name]; got != want {
			t.Errorf("--%s has the type %q, want %q", name, got, want)
		}
	}
	if got := minor.HelpGates(help); len(got) != 2 || got["A"].Default || got["A"].Stage != "alpha" || !got["B"].Default {
		t.Errorf("gates of help: %v", got)
	}
	if got := strings.Join(minor.HelpValues(help)["admission-plugins"], " "); got != "X Y" {
		t.Errorf("plugins of help: %s", got)
	}
	gates, err := minor.FeatureList([]byte("- name: G\n  versionedSpecs:\n  - {default: false, lockToDefault: false, preRelease: Alpha, version: \"1.35\"}\n  - {default: true, lockToDefault: true, preRelease: GA, version: \"1.37\"}\n"), 37)
	if err != nil || gates["G"].Locked != "true" || gates["G"].Stage != "stable" {
		t.Errorf("gates of the list: %v, %v", gates, err)
	}
	needs, err := minor.Dependencies([]byte("package x\n\nvar defaultKubernetesFeatureGateDependencies = map[F][]F{\n\tA: {B, featuregate.Feature(other.C)},\n\n\tD: {},\n\tgeneric.E: {generic.A},\n}\n"))
	if err != nil || strings.Join(needs["A"], " ") != "B C" || strings.Join(needs["E"], " ") != "A" || len(needs["D"]) != 0 {
		t.Errorf("needs: %v, %v", needs, err)
	}
	n, err := minor.ParseNeeds("# head\nA 36 beta on B\nB 36 beta on\nOfField 36 alpha off\n")
	if err != nil {
		t.Fatal(err)
	}
	n.Add(37, map[string]minor.Gate{"A": {Stage: "stable", Default: true, Locked: "true", Needs: []string{"B"}}, "B": {Stage: "beta", Default: true}, "OfField": {Stage: "alpha"}, "New": {Stage: "alpha", Needs: []string{"B"}}})
	if want := "# head\nA 36 beta on B\nB 36,37 beta on\nNew 37 alpha off B\nOfField 36,37 alpha off\n"; n.String() != want {
		t.Errorf("needs:\n%s, want:\n%s", n, want)
	}
}
