package state_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubewright/kubewright/state"
)

var addresses = map[string]state.Address{
	`cluster.prod`:                               {Target: state.ClusterTarget("prod")},
	`cluster.prod.addon["cni"]`:                  {Target: state.AddonTarget("prod", "cni")},
	`node.solo`:                                  {Target: state.NodeTarget("solo")},
	`node.cp["cp1"]`:                             {Target: state.NodeKeyTarget("cp", "cp1")},
	`node.cp[""]`:                                {Target: state.NodeKeyTarget("cp", "")},
	`node.cp["a]/b@c#d.\"e"]`:                    {Target: state.NodeKeyTarget("cp", `a]/b@c#d."e`)},
	`node.cp["cp1"]/control-plane`:               {Target: state.NodeKeyTarget("cp", "cp1"), Phase: "control-plane"},
	`node.cp["cp1"]/control-plane@1.35.8`:        {Target: state.NodeKeyTarget("cp", "cp1"), Phase: "control-plane", Waypoint: "1.35.8"},
	`node.solo/kubelet-start/file:/var/x`:        {Target: state.NodeTarget("solo"), Phase: "kubelet-start", Item: "file:/var/x"},
	`node.solo/kubelet-start/file:/var/x#a.b[0]`: {Target: state.NodeTarget("solo"), Phase: "kubelet-start", Item: "file:/var/x", Field: "a.b[0]"},
	`cluster.prod/upload-config/object:v1/ConfigMap/kube-system/kubeadm-config#data["a/b"]`: {
		Target: state.ClusterTarget("prod"), Phase: "upload-config",
		Item: "object:v1/ConfigMap/kube-system/kubeadm-config", Field: `data["a/b"]`,
	},
}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for text, want := range addresses {
		got, err := state.ParseAddress(text)
		if err != nil || got != want {
			t.Errorf("ParseAddress(%s) = %+v, %v, want %+v", text, got, err, want)
		}
		if got := want.String(); got != text {
			t.Errorf("String() = %s, want %s", got, text)
		}
	}
}

func TestParseAddressRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                        "must begin with cluster.NAME or node.NAME",
		`host.a`:                  "must begin with",
		`node.`:                   "the name is missing",
		`node["a"]`:               "must begin with",
		`node.a[`:                 `cannot parse address "node.a[": the key in brackets must be quoted`,
		`node.a[cp1]`:             `cannot parse address "node.a[cp1]": the key in brackets must be quoted, and a shell takes quotes away: write 'node.a["cp1"]'`,
		`node.a["cp1"`:            "closing bracket is missing",
		`node.a["cp1"]x`:          `unexpected "x"`,
		`cluster.prod.addon`:      "an addon needs its label",
		`cluster.prod["a"]`:       "unexpected",
		`cluster.prod.x`:          "unexpected",
		`node.a/`:                 "the phase is missing",
		`node.a/@1.2`:             "the phase is missing",
		`node.a/certs/x`:          `cannot parse address "node.a/certs/x": an item is written CLASS:ID`,
		`node.a/certs/`:           "CLASS:ID",
		`node.a/certs/:x`:         "CLASS:ID",
		`node.a@1`:                "unexpected",
		`node.a#x`:                "unexpected",
		"node.a[`x`]":             `write it as node.a["x"]`,
		`node.a['x']`:             `write it as node.a["x"]`,
		`node.a["\x41"]`:          `write it as node.a["A"]`,
		`node.a/certs@`:           "write it as node.a/certs",
		`node.a/certs/file:/x#`:   "write it as node.a/certs/file:/x",
		`node.a/certs/file:/x%41`: "write it as node.a/certs/file:/x%2541",
		`node.a/certs#x`:          "a field belongs to an item",
	} {
		if a, err := state.ParseAddress(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseAddress(%s) = %+v, error %v, want one with %q", text, a, err, want)
		}
	}
}

// drawName draws a valid HCL label or for_each key.
func drawName(t *rapid.T, label string) string {
	return rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_-]{0,8}`).Draw(t, label)
}

func drawAddress(t *rapid.T) state.Address {
	key := rapid.String().Draw(t, "key")
	a := state.Address{Target: rapid.SampledFrom([]state.Target{
		state.ClusterTarget(drawName(t, "name")),
		state.AddonTarget(drawName(t, "name"), key),
		state.NodeTarget(drawName(t, "name")),
		state.NodeKeyTarget(drawName(t, "name"), key),
	}).Draw(t, "target")}
	depth := rapid.IntRange(0, 3).Draw(t, "depth")
	if depth > 0 {
		a.Phase = drawName(t, "phase")
		a.Waypoint = rapid.SampledFrom([]string{"", "1.35.8", "ca-trust"}).Draw(t, "waypoint")
	}
	if depth > 1 {
		a.Item = rapid.SampledFrom([]string{"file:/etc/kubernetes/admin.conf", "object:v1/ConfigMap/kube-system/x", "image:r.io/a:b@sha256:0", "file:/a#b%c%23"}).Draw(t, "item")
	}
	if depth > 2 {
		a.Field = state.JoinPath("metadata", rapid.String().Draw(t, "field"))
	}
	return a
}

func TestAddressRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := drawAddress(t)
		got, err := state.ParseAddress(a.String())
		if err != nil || got != a {
			t.Fatalf("%+v → %s → %+v, %v", a, a, got, err)
		}
		b, err := json.Marshal(map[state.Address]state.Address{a: a})
		if err != nil {
			t.Fatal(err)
		}
		var back map[state.Address]state.Address
		if err := json.Unmarshal(b, &back); err != nil || back[a] != a {
			t.Fatalf("%+v → %s → %+v, %v", a, b, back, err)
		}
	})
}

// TestZeroAddressRoundTrip checks that an unset target or address is still unset after encoding
// and decoding.
func TestZeroAddressRoundTrip(t *testing.T) {
	t.Parallel()
	type unset struct {
		Target  state.Target
		Address state.Address
	}
	back := unset{state.NodeTarget("a"), addresses["node.solo"]}
	b, err := json.Marshal(unset{})
	if err != nil || string(b) != `{"Target":"","Address":""}` {
		t.Fatalf("json = %s, %v", b, err)
	}
	if err := json.Unmarshal(b, &back); err != nil || back != (unset{}) {
		t.Errorf("%s → %+v, %v", b, back, err)
	}
	for _, bad := range []string{`{"Target":"x"}`, `{"Address":"x"}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestAddressParts(t *testing.T) {
	t.Parallel()
	a := addresses[`node.solo/kubelet-start/file:/var/x#a.b[0]`]
	if a.Class() != "file" || a.ID() != "/var/x" {
		t.Errorf("Class, ID = %s, %s", a.Class(), a.ID())
	}
	if got := a.Step().String(); got != "node.solo/kubelet-start" {
		t.Errorf("Step() = %s", got)
	}
	if got := a.WithField("x").Field; got != "x" {
		t.Errorf("WithField(x).Field = %s", got)
	}
	if a.Compare(a) != 0 || a.Compare(a.Step()) <= 0 {
		t.Error("Compare does not order by the printed form")
	}
	if got, err := state.ParseTarget(`node.cp["cp1"]`); err != nil || got != state.NodeKeyTarget("cp", "cp1") {
		t.Errorf("ParseTarget = %v, %v", got, err)
	}
	for _, bad := range []string{"x", "node.a/certs"} {
		if got, err := state.ParseTarget(bad); err == nil {
			t.Errorf("ParseTarget(%s) = %v", bad, got)
		}
	}
	if !(state.Target{}).IsZero() || a.Target.IsZero() {
		t.Error("IsZero is wrong")
	}
}

// FuzzParseAddress checks that every parsed address prints as text that parses to the same
// address, and that an address has only one spelling.
func FuzzParseAddress(f *testing.F) {
	for text := range addresses {
		f.Add(text)
	}
	f.Add("node.a[`raw`]")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := state.ParseAddress(text)
		if err != nil {
			return
		}
		again, err := state.ParseAddress(a.String())
		if err != nil || again != a {
			t.Fatalf("%q → %+v → %q → %+v, %v", text, a, a.String(), again, err)
		}
		if a.String() != text {
			t.Fatalf("%q is accepted, and printed as %q", text, a.String())
		}
	})
}

// TestSortByAddress checks that the order is the one of Compare, and that the sort is stable.
func TestSortByAddress(t *testing.T) {
	t.Parallel()
	type numbered struct {
		address state.Address
		n       int
	}
	steps := []string{
		`node.cp["b"]/certs`, `node.cp["a"]/certs`, `node.cp["a"]/cert`, `cluster.prod`, `node.cp["b"]/certs`, `node.cp["a"]/certs@1.35.8`,
		`cluster.prod.addon["cni"]`, `node.cp["b"]/certs`, `node.cp`, `node.cp2`, `node.cp-2`, `node.cp/certs`, `node.cp/certs-end`,
	}
	items := []string{"", "/file:/x", "/file:/x/y", "/file:/x%23", "/file:/x$", "/file:/x%25", "/file:/x!", "/file:/x#mode", "/file:/x", "/file:/x0#mode"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var list []numbered
		for n := range 40 {
			text := steps[random.IntN(len(steps))]
			if strings.Contains(text, "/") {
				text += items[random.IntN(len(items))]
			}
			a, err := state.ParseAddress(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, numbered{a, n})
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b numbered) int { return a.address.Compare(b.address) })
		for range 2 { // a sorted list stays unchanged
			state.SortByAddress(list, func(n *numbered) state.Address { return n.address })
			if !slices.Equal(list, want) {
				t.Fatalf("%v, want %v", list, want)
			}
		}
	}
}
