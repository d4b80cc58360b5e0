package skew_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubewright/kubewright/planner/skew"
)

func release(t testing.TB, s string) skew.Release {
	t.Helper()
	r, ok := skew.ParseRelease(s)
	if !ok {
		t.Fatalf("%q is not a release", s)
	}
	return r
}

func TestParseRelease(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"1.36.3": "1.36.3", "v1.36.3": "1.36.3", "v1.36.3+vendor.1": "1.36.3", "1.37.0-rc.1": "1.37.0-rc.1",
		"": "", "1.36": "", "latest": "", "1.36.x": "", "1.-1.0": "", "1.2.3.4": "",
	} {
		r, ok := skew.ParseRelease(in)
		if got := r.String(); ok != (want != "") || ok && got != want {
			t.Errorf("%q is read as %v, %v; want %q", in, r, ok, want)
		}
	}
}

func TestHopsPerMinorVersion(t *testing.T) {
	t.Parallel()
	through := map[int]skew.Release{35: release(t, "1.35.8"), 36: release(t, "1.36.3")}
	for _, c := range []struct{ oldest, newest, want, hops, err string }{
		{"1.36.3", "1.36.3", "1.36.3", "[]", ""},
		{"1.36.1", "1.36.1", "1.36.3", "[1.36.3]", ""},
		{"1.35.8", "1.35.8", "1.36.3", "[1.36.3]", ""},
		{"1.34.9", "1.34.9", "1.36.3", "[1.35.8 1.36.3]", ""},
		{"1.34.9", "1.34.9", "1.37.1", "[1.35.8 1.36.3 1.37.1]", ""},
		// Interrupted: some API servers already have a later version.
		{"1.35.8", "1.36.3", "1.36.3", "[1.36.3]", ""},
		{"1.34.9", "1.35.2", "1.36.3", "[1.35.2 1.36.3]", ""},
		{"1.36.1", "1.36.3", "1.36.3", "[1.36.3]", ""},
		// Upgrades that are not possible.
		{"1.36.3", "1.36.3", "1.36.1", "", "an API server already runs 1.36.3, and Kubernetes cannot be downgraded: what it has stored may be in a form that 1.36.1 does not read. Set kubernetes_version = \"1.36.3\""},
		{"1.36.3", "1.36.3", "1.35.8", "", "cannot be downgraded"},
		{"1.35.8", "1.36.3", "1.35.8", "", `Set kubernetes_version = "1.36.3"`},
		{"1.34.9", "1.36.3", "1.36.3", "", "API servers run 1.34.9 and 1.36.3, which are more than one minor version apart. Upgrade the older ones to 1.36 by hand first, one minor version after another"},
		{"1.33.4", "1.33.4", "1.35.8", "", "pass through 1.34"},
		{"1.36.3", "1.36.3", "2.0.0", "", "there is no upgrade path from 1.36.3 to 2.0.0: an upgrade goes from one minor version to the next"},
		{"1.36.3", "1.36.3", "1.36.3-rc.1", "", "cannot be downgraded"},
	} {
		hops, err := skew.Hops(release(t, c.oldest), release(t, c.newest), release(t, c.want), through)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s…%s → %s: %v, %v; want an error with %q", c.oldest, c.newest, c.want, hops, err, c.err)
			}
			continue
		}
		if got := fmt.Sprint(hops); err != nil || got != c.hops {
			t.Errorf("%s…%s → %s: %s, %v; want %s", c.oldest, c.newest, c.want, got, err, c.hops)
		}
	}
}

// TestHopsKeepVersionSkewProperty upgrades any cluster along its hops, one component after another in the order of
// an upgrade, and checks that no moment violates a rule, and that each hop raises the version.
func TestHopsKeepVersionSkewProperty(t *testing.T) {
	t.Parallel()
	through := map[int]skew.Release{}
	for minor := range 45 {
		through[minor] = skew.Release{Major: 1, Minor: minor, Patch: 2}
	}
	rapid.Check(t, func(t *rapid.T) {
		from := skew.Release{Major: 1, Minor: rapid.IntRange(30, 37).Draw(t, "minor"), Patch: rapid.IntRange(0, 9).Draw(t, "patch")}
		want := skew.Release{Major: 1, Minor: from.Minor + rapid.IntRange(0, 3).Draw(t, "up"), Patch: rapid.IntRange(0, 9).Draw(t, "patch of the wanted")}
		planes := rapid.IntRange(1, 7).Draw(t, "control planes")
		v := skew.Versions{
			APIServers: map[string]skew.Release{}, ControllerManagers: map[string]skew.Release{},
			Schedulers: map[string]skew.Release{}, Kubelets: map[string]skew.Release{"worker": from},
		}
		for i := range planes {
			n := fmt.Sprint("cp", i)
			v.APIServers[n], v.ControllerManagers[n], v.Schedulers[n], v.Kubelets[n] = from, from, from, from
		}
		hops, err := skew.Hops(from, from, want, through)
		if want.Compare(from) < 0 {
			if err == nil {
				t.Fatalf("%s → %s is a downgrade and was not refused", from, want)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		check := func() {
			if broken := v.Violations(); len(broken) > 0 {
				t.Fatalf("%s → %s by %v: %v", from, want, hops, broken)
			}
		}
		at := from
		for _, hop := range hops {
			if hop.Compare(at) <= 0 {
				t.Fatalf("%v does not ascend", hops)
			}
			at = hop
			for i := range planes {
				for _, of := range []map[string]skew.Release{v.APIServers, v.ControllerManagers, v.Schedulers} {
					of[fmt.Sprint("cp", i)] = hop
					check()
				}
			}
		}
		if at != want {
			t.Fatalf("%v does not end at %s", hops, want)
		}
		for n := range v.Kubelets {
			v.Kubelets[n] = want
			check()
		}
	})
}

func TestVersionSkewRules(t *testing.T) {
	t.Parallel()
	one := func(s string) map[string]skew.Release { return map[string]skew.Release{"cp1": release(t, s)} }
	for _, c := range []struct {
		what string
		v    skew.Versions
		want string
	}{
		{"all equal", skew.Versions{APIServers: one("1.36.3"), Kubelets: one("1.36.3"), Schedulers: one("1.36.3")}, ""},
		{"a newer patch of the kubelet", skew.Versions{APIServers: one("1.36.1"), Kubelets: one("1.36.3")}, ""},
		{"an old kubelet", skew.Versions{APIServers: one("1.36.3"), Kubelets: one("1.33.0")}, ""},
		{"too old a kubelet", skew.Versions{APIServers: one("1.37.1"), Kubelets: one("1.33.0")}, "at most three"},
		{"a newer kubelet", skew.Versions{APIServers: one("1.35.8"), Kubelets: one("1.36.0")}, "must not be newer"},
		{"a newer scheduler", skew.Versions{APIServers: one("1.35.8"), Schedulers: one("1.36.0")}, "kube-scheduler 1.36.0"},
		{"an old controller manager", skew.Versions{APIServers: one("1.36.3"), ControllerManagers: one("1.34.0")}, "kube-controller-manager 1.34.0"},
		{"a kubelet newer than one of two", skew.Versions{
			APIServers: map[string]skew.Release{"cp1": release(t, "1.36.3"), "cp2": release(t, "1.35.8")}, Kubelets: one("1.36.3"),
		}, "1.35.8 to 1.36.3"},
		{"API servers apart", skew.Versions{
			APIServers: map[string]skew.Release{"cp1": release(t, "1.36.3"), "cp2": release(t, "1.34.8")},
		}, "one minor version apart"},
	} {
		broken := fmt.Sprint(c.v.Violations())
		if c.want == "" && broken != "[]" || !strings.Contains(broken, c.want) {
			t.Errorf("%s: %s; want %q", c.what, broken, c.want)
		}
	}
}
