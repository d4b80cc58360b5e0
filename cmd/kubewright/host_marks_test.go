package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

const foreignConfig = `
cluster "prod" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.example.com:6443"
  kubelet {
    config = { maxPods = 100 }
  }
}

connection { type = "sim" }

node "cp" {
  cluster = cluster.prod
  role    = "control-plane"
  address = "10.0.0.11"
}

node "worker" {
  for_each = { w1 = "10.0.0.21", w2 = "10.0.0.22", w3 = "10.0.0.23" }
  cluster  = cluster.prod
  role     = "worker"
  address  = each.value
}
`

// badMark is a host mark that root on the host has manipulated.
type badMark struct {
	name, edit string
	// title is the title of the finding; planned reports whether a plan continues with a warning.
	title   string
	planned bool
}

var badMarks = []badMark{
	{"lineage", "mark lineage=471147114711", "Host belongs to another state", false},
	{"format", "mark format=471147114711", "Host was marked by a newer version", false},
	{"node", `mark node=node.worker["w2"]`, "Host is another node", false},
	{"control plane's node", `mark node=node.cp`, "Host is another node", false},
	{"garbage", "mark unreadable=/var/lib/kubewright/token: 471147114711", "Host mark cannot be read", false},
	{"deleted", "foreign", "Host belongs to another cluster", false},
	{"the highest token", "mark token=9223372036854775807", "Run token is invalid", true},
	{"a token beyond that", "mark token=4711471147114711471147114711", "Run token is invalid", true},
	{"a token before that", "mark token=9223372036854775806", "Run token is invalid", true},
	{"a token beyond the window", "mark token=14711471147", "Run token is invalid", true},
	{"a token below zero", "mark token=-9223372036854775808", "Run token is invalid", true},
}

// TestWorkerWithBadMarkCanBeExcluded checks that a worker with bad marks, of any kind, does not affect the other
// nodes if a flag leaves it out, and that no trace remains after it is repaired.
func TestWorkerWithBadMarkCanBeExcluded(t *testing.T) {
	t.Parallel()
	base := newFolder(t, foreignConfig)
	base.must(t, "apply", "-auto-approve")
	const w1 = `node.worker["w1"]`
	flags := map[string][]string{
		"none": nil, "-exclude": {"-exclude=" + w1}, "-target": {"-target=node.cp", `-target=node.worker["w2"]`, "-target=cluster.prod"}, "-allow-unreachable": {"-allow-unreachable"},
	}
	for _, bad := range badMarks {
		for name, given := range flags {
			t.Run(bad.name+", "+name, func(t *testing.T) {
				t.Parallel()
				f := base.copy(t)
				good := f.marks(t, "10.0.0.21")
				f.outside(t, "10.0.0.21", bad.edit)
				f.replace(t, "maxPods = 100", "maxPods = 99")
				code, out := f.run(slices.Concat([]string{"apply", "-auto-approve"}, given)...)
				if !strings.Contains(out, bad.title) {
					t.Errorf("the output does not say what is wrong:\n%s", out)
				}
				if refused := !bad.planned && given == nil; refused {
					words := strings.Join(strings.Fields(out), " ")
					if code != 1 || !strings.Contains(words, `To continue without this host: -exclude='`+w1+`', or -allow-unreachable.`) {
						t.Errorf("exit code %d:\n%s", code, out)
					}
				} else if want := map[bool]int{true: 9}[!bad.planned && name == "-allow-unreachable"]; code != want || !strings.Contains(out, "Apply complete!") {
					t.Errorf("exit code %d:\n%s", code, out)
				}
				f.withoutTraces(t, "10.0.0.21")
				f.setMarks(t, "10.0.0.21", good)
				f.must(t, "apply", "-auto-approve")
				if out := f.must(t, "plan", "-detailed-exitcode"); strings.Contains(out, "Warning") {
					t.Errorf("traces of the bad mark are left:\n%s", out)
				}
				f.withoutTraces(t, "")
				f.wantSameAs(t, base)
			})
		}
	}
}

// TestControlPlaneWithBadMarkIsRefused checks that no flag leaves out a control plane with bad marks, because
// its condition decides what is safe on the others.
func TestControlPlaneWithBadMarkIsRefused(t *testing.T) {
	t.Parallel()
	base := newFolder(t, foreignConfig)
	base.must(t, "apply", "-auto-approve")
	for _, bad := range badMarks {
		if bad.planned || bad.edit == "mark node=node.cp" { // the host's actual node
			continue
		}
		f := base.copy(t)
		f.outside(t, "10.0.0.11", bad.edit)
		for _, flags := range [][]string{nil, {"-exclude=node.cp"}, {`-target=node.worker["w2"]`}, {"-allow-unreachable"}} {
			code, out := f.run(append([]string{"plan"}, flags...)...)
			if code != 1 || !strings.Contains(out, "Error: "+bad.title) || strings.Contains(out, "To continue without this host") {
				t.Errorf("%s, %v: exit code %d:\n%s", bad.name, flags, code, out)
			}
		}
	}
}

// marks returns kubewright's marks on a simulated host, as the world's file stores them.
func (f folder) marks(t *testing.T, host string) string {
	t.Helper()
	return f.world(t).MarksJSON(host)
}

func (f folder) setMarks(t *testing.T, host, marks string) {
	t.Helper()
	f.edit(t, func(w *sim.World) error { return w.SetMarksJSON(host, marks) })
}

// withoutTraces checks that no trace of the bad marks is in the state or on any other host. The traces
// are too long to occur in a digest by chance.
func (f folder) withoutTraces(t *testing.T, but string) {
	t.Helper()
	texts := map[string]string{"the state": stateOf(t, f)}
	w := f.world(t)
	for _, host := range []string{"10.0.0.11", "10.0.0.21", "10.0.0.22", "10.0.0.23"} {
		if host != but {
			texts[host] = w.MarksJSON(host)
		}
	}
	for where, text := range texts {
		for _, trace := range []string{"47114711", "922337203685477580", "14711471147"} {
			if strings.Contains(text, trace) {
				t.Errorf("%s has %s: %s", where, trace, text)
			}
		}
	}
}

// wantSameAs checks that the state has the same nodes, clusters and items per node as the
// state of another folder.
func (f folder) wantSameAs(t *testing.T, other folder) {
	t.Helper()
	load := func(f folder) *state.State {
		path := filepath.Join(string(f), "kubewright.state.json")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		st, err := statefile.Decode(statefile.NewPaths(path), path, b)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	names := func(st *state.State) []string {
		var out []string
		for _, it := range st.Items {
			out = append(out, it.Address.String())
		}
		return append(out, st.Unseen...)
	}
	got, want := load(f), load(other)
	if !reflect.DeepEqual(got.Nodes, want.Nodes) || !slices.Equal(names(got), names(want)) || len(got.Clusters) != len(want.Clusters) {
		t.Errorf("the state differs: it has %v, and had %v", names(got), names(want))
	}
}
