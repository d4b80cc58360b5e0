package apply

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/runreport"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// founds returns the clusters that the plan founds, or whose founding it continues: with the
// recorded state no apply was completed yet.
func founds(plan *planner.Plan, recorded *state.State) []state.Target {
	continues := recorded != nil && len(recorded.Applies) > 0 && !slices.ContainsFunc(recorded.Applies, func(a state.Apply) bool { return !a.Unfinished })
	var out []state.Target
	for _, r := range plan.Resources {
		if r.Target.Type == state.TypeCluster && r.ImportedFrom == "" && (r.Action == planner.Create || continues && r.Action == planner.Update) {
			out = append(out, r.Target)
		}
	}
	return out
}

// showNextSteps shows what comes after the founding of clusters. With -json nothing is shown:
// programs know where they put the state.
func (s *Apply) showNextSteps(clusters []state.Target) error {
	if len(clusters) == 0 || s.Lines != nil {
		return nil
	}
	var founded []runreport.Founded
	for _, t := range clusters {
		if c := s.Config.Cluster(t.Name); c != nil {
			founded = append(founded, s.founded(t, c))
		}
	}
	return runreport.NextSteps(s.Stdout, founded, runreport.Place{Name: s.Store.Place(), Local: s.Store.Local()}, s.Options())
}

func (s *Apply) founded(t state.Target, c *config.Cluster) runreport.Founded {
	f := runreport.Founded{Cluster: t, Kubeconfig: s.Program() + " kubeconfig -merge", Addons: len(c.Addons) > 0}
	if len(s.Config.Clusters) > 1 {
		f.Kubeconfig += " -cluster=" + state.ShellWord(c.Label)
	}
	for _, n := range s.Config.Nodes {
		if n.Cluster != c.Label {
			continue
		}
		f.Simulated = f.Simulated || n.Connection.Type == "sim"
		if r := s.Observed.Reports[n.Target]; r != nil && !host.HasNetwork(r) {
			f.NoNetwork = append(f.NoNetwork, n.Target)
		}
	}
	if bringsNetwork(c) {
		f.NoNetwork = nil
	}
	return f
}

// bringsNetwork reports whether an addon is a network plugin: one of its objects mentions the
// folder of CNI configurations, into which the plugin writes on each node.
func bringsNetwork(c *config.Cluster) bool {
	for _, a := range c.Addons {
		for _, o := range a.Objects {
			if b, err := json.Marshal(o.Value); err == nil && strings.Contains(string(b), topology.CNIConfigs) {
				return true
			}
		}
	}
	return false
}
