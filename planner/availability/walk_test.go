package availability_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/availability"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestWalk walks over the steps of each file of testdata, and compares what the cluster has when each of
// them begins, and what the step says of it, with the section "available". UPDATE=1 writes it.
func TestWalk(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/*.txtar")
	if len(files) == 0 {
		t.Fatal("there are no files")
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			section := map[string]string{}
			for _, f := range ar.Files {
				section[f.Name] = string(f.Data)
			}
			v := fleet(t, lines(section["cluster"]))
			p := &planner.Plan{}
			for _, l := range lines(section["steps"]) {
				p.Steps = append(p.Steps, step(t, l))
			}
			got := walk(v, p)
			if os.Getenv("UPDATE") != "" {
				ar.Files = append(ar.Files[:2], txtar.File{Name: "available", Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(ar), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if got != section["available"] {
				t.Errorf("the walk says\n%s\nwant\n%s", got, section["available"])
			}
		})
	}
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// fleet returns a cluster with the control planes that lines name, each with its condition.
func fleet(t *testing.T, of []string) *topology.Fleet {
	t.Helper()
	planes := 0
	var changes []tt.Change
	for _, l := range of {
		name, condition, _ := strings.Cut(l, " ")
		if name == "accepts" {
			changes = append(changes, tt.Cluster(func(c *config.Cluster) { c.Upgrade.AllowDowntime = true }))
			continue
		}
		planes++
		switch target := tt.CP(planes); condition {
		case "":
		case "joins":
			changes = append(changes, tt.Joins(target))
		case "leaves":
			changes = append(changes, tt.Without(target))
		case "down":
			changes = append(changes, tt.MemberDown(target))
		case "not ready":
			changes = append(changes, func(v *topology.Fleet) {
				v.ClusterReports[tt.Label].StaticPods["kube-apiserver-"+name] = state.StaticPodReport{}
			})
		default:
			t.Fatalf("unknown condition %q", condition)
		}
	}
	return tt.Running(planes, 0, changes...)
}

// step returns the step that a line describes: its address, what it does, and what it comes after.
func step(t *testing.T, line string) planner.Step {
	t.Helper()
	does, needs, _ := strings.Cut(line, " after ")
	words := strings.Fields(does)
	id := func(name string) state.Address {
		node, phase, _ := strings.Cut(name, "/")
		return topology.StepAddress(state.NodeKeyTarget("cp", node), phase)
	}
	s := planner.Step{ID: id(words[0]), Phase: id(words[0]).Phase, Target: id(words[0]).Target}
	for _, need := range strings.Fields(needs) {
		s.Needs = append(s.Needs, id(need))
	}
	var number int
	if _, err := fmt.Sscanf(s.Target.Key, "cp%d", &number); err != nil {
		t.Fatal(err)
	}
	peer := fmt.Sprintf("https://10.0.0.%d:2380", 10+number)
	switch {
	case len(words) == 1:
	case words[1] == "adds":
		s.Operations = planner.Operations{planner.AddEtcdMember{Name: s.Target.Key, PeerURL: peer}}
	case words[1] == "removes":
		s.Operations, s.Gates = planner.Operations{planner.RemoveEtcdMember{PeerURL: peer}}, []string{planner.APIGate, planner.QuorumGate}
	case words[1] == "restarts":
		s.Gates, s.Impact = []string{planner.APIGate, planner.QuorumGate}, "restarts "+strings.Join(words[2:], ", ")+" here"
		for _, component := range words[2:] {
			s.Operations = append(s.Operations, planner.WriteFile{Path: topology.Manifest(component)})
		}
	default:
		t.Fatalf("unknown step %q", line)
	}
	return s
}

// walk returns, for each step, who votes and serves when it begins, and its impact.
func walk(v *topology.Fleet, p *planner.Plan) string {
	var out strings.Builder
	c, announced := v.Clusters[0], availability.Announce(v, p)
	for i, s := range p.Steps {
		f := availability.At(c, p.Steps, s.ID)
		var votes, serve []string
		for _, m := range f.Repaired("") {
			was := slices.IndexFunc(f.Voters, func(o state.EtcdMember) bool { return o.PeerURLs[0] == m.PeerURLs[0] })
			switch {
			case f.Voters[was].Healthy:
				votes = append(votes, m.Name)
			case m.Healthy:
				votes = append(votes, m.Name+" (down, perhaps repaired)")
			default:
				votes = append(votes, m.Name+" (down)")
			}
		}
		for _, o := range f.Servers {
			switch {
			case o.Serves:
				serve = append(serve, o.Target.Key)
			case o.Runs:
				serve = append(serve, o.Target.Key+" (not ready)")
			}
		}
		fmt.Fprintf(&out, "%s/%s: %s vote; %s serve\n", s.Target.Key, s.Phase, strings.Join(votes, ", "), strings.Join(serve, ", "))
		if impact := announced.Steps[i].Impact; impact != "" {
			fmt.Fprintf(&out, "  %s\n  %s\n", impact, strings.Join(announced.Steps[i].Gates, ", "))
		}
	}
	return out.String()
}
