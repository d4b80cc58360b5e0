package pipeline_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// priced returns an error if the costs of a plan's changes do not match its operations: a node on which
// a component restarts has a change with that cost, and one without restarts has none.
func priced(v *topology.Fleet, p *planner.Plan) error {
	costly := map[state.Target][]string{}
	for _, c := range p.Changes {
		switch c.Cost {
		case "":
			return fmt.Errorf("%s has no cost", c.Address)
		case planner.CostRestart:
			if p.Step(c.Address.Step()) == nil {
				return fmt.Errorf("%s costs a restart, and has no step", c.Address)
			}
			if c.Address.Waypoint != "" {
				continue
			}
			costly[c.Address.Target] = append(costly[c.Address.Target], c.Address.String())
		}
	}
	if len(p.Rotations) > 0 {
		return nil // stages restart components without a change
	}
	restarts := map[state.Target][]string{}
	for _, s := range p.Steps {
		restarts[s.Target] = append(restarts[s.Target], restarted(s.Operations)...)
	}
	for _, r := range p.Resources {
		if runs(v, r.Target) && r.Action == planner.Update && (len(costly[r.Target]) > 0) != (len(restarts[r.Target]) > 0) {
			return fmt.Errorf("%s: operations restart %v, and of its changes these cost a restart: %v", r.Target, restarts[r.Target], costly[r.Target])
		}
	}
	return nil
}

// runs reports whether the node of a host is in the cluster and not about to join.
func runs(v *topology.Fleet, t state.Target) bool {
	r, c := v.Reports[t], v.ClusterReports["prod"]
	if r == nil || !r.Files["/var/lib/kubelet/config.yaml"].Exists || r.Files["/etc/kubernetes/bootstrap-kubelet.conf"].Exists {
		return false
	}
	if c == nil {
		return r.Files["/etc/kubernetes/kubelet.conf"].Exists
	}
	_, is := c.Nodes[r.Facts.Hostname]
	return is
}

// restarted returns the parts of a host's software that operations restart.
func restarted(ops planner.Operations) []string {
	var out []string
	for _, op := range ops {
		switch op := op.(type) {
		case planner.Unit:
			if op.Action == "restart" {
				out = append(out, op.Unit)
			}
		case planner.RestartProcess:
			out = append(out, op.Process.Name)
		}
		for _, path := range planner.Overwrites(op) {
			if strings.HasPrefix(path, "/etc/kubernetes/manifests/") {
				out = append(out, path)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
