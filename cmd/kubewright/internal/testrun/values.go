package testrun

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// planValue returns a plan as tests see it. A plan that was refused is nil.
func planValue(p *planner.Plan, findings diag.Diagnostics) state.Value {
	refused := p == nil
	if refused {
		p = &planner.Plan{}
	}
	add, change, destroy := p.Counts()
	actions := map[string]state.Value{}
	for _, r := range p.Resources {
		actions[r.Target.String()] = state.String(string(r.Action))
	}
	var steps []string
	impacts := map[string]state.Value{}
	for _, s := range p.Steps {
		steps = append(steps, s.ID.String())
		if s.Impact != "" {
			impacts[s.ID.String()] = state.String(s.Impact)
		}
	}
	return state.Map(map[string]state.Value{
		"refused": state.Bool(refused), "empty": state.Bool(!refused && p.Empty()),
		"add": state.Int(int64(add)), "change": state.Int(int64(change)), "destroy": state.Int(int64(destroy)),
		"actions": state.Map(actions), "steps": state.Strings(steps...), "impacts": state.Map(impacts),
		"changes": changesValue(p.Changes), "drift": changesValue(p.Drift),
		"policies": policiesValue(p.Policies), "findings": findingsValue(findings),
	})
}

// hostsValue returns what is on the simulated hosts, by the addresses of their nodes.
func hostsValue(w *sim.World, cfg *config.Config) state.Value {
	out := map[string]state.Value{}
	for _, address := range w.Hosts() {
		out[address] = sim.Contents(w, address)
	}
	for _, n := range cfg.Nodes {
		out[n.Address] = sim.Contents(w, hostOf(n))
	}
	return state.Map(out)
}

// changesValue returns changes by the addresses of their items.
func changesValue(changes []planner.Change) state.Value {
	out := map[string]state.Value{}
	for _, c := range changes {
		attributes := map[string]state.Value{}
		for _, a := range c.Attributes {
			attributes[a.Path] = state.Map(map[string]state.Value{"before": a.Before, "after": a.After})
		}
		out[c.Address.String()] = state.Map(map[string]state.Value{
			"action": state.String(string(c.Action)), "reason": state.String(c.Reason), "attributes": state.Map(attributes),
		})
	}
	return state.Map(out)
}

func policiesValue(list []planner.PolicyFinding) state.Value {
	out := make([]state.Value, len(list))
	for i, f := range list {
		out[i] = texts("policy", f.Policy, "rule", f.Rule, "message", f.Message)
	}
	return state.List(out...)
}

func findingsValue(list diag.Diagnostics) state.Value {
	out := make([]state.Value, len(list))
	for i, d := range list {
		out[i] = texts("severity", string(d.Severity), "title", d.Summary, "detail", d.Detail, "address", d.Address)
	}
	return state.List(out...)
}

// texts returns an object of names and texts in turn.
func texts(pairs ...string) state.Value {
	out := map[string]state.Value{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = state.String(pairs[i+1])
	}
	return state.Map(out)
}
