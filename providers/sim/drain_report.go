package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// podReports are the pods of nodes that a drain looks at, and the budgets that
// select them.
func (w *World) podReports(c *cluster, nodes []string) ([]state.PodReport, map[string]state.BudgetReport) {
	var out []state.PodReport
	budgets := map[string]state.BudgetReport{}
	for _, p := range c.Pods {
		if p.Controller == daemonSet || !slices.Contains(nodes, p.Node) {
			continue
		}
		r := state.PodReport{Namespace: p.Namespace, Name: p.Name, Node: p.Node, Controller: p.Controller, Labels: p.Labels, EmptyDir: p.EmptyDir, LocalClaims: p.LocalClaims, GoneBy: p.GoneBy}
		for _, b := range c.PDBs {
			if p.GoneBy.IsZero() && b.Namespace == p.Namespace && b.matches(p) {
				r.Budgets = append(r.Budgets, b.key())
				budgets[b.key()] = w.budgetReport(c, b)
			}
		}
		slices.Sort(r.Budgets)
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b state.PodReport) int { return strings.Compare(a.String(), b.String()) })
	return out, budgets
}

func (b *PDB) key() string { return b.Namespace + "/" + b.Name }

func (w *World) budgetReport(c *cluster, b *PDB) state.BudgetReport {
	r := state.BudgetReport{Wanted: b.MinAvailable}
	for _, p := range c.Pods {
		if p.Namespace != b.Namespace || !b.matches(p) {
			continue
		}
		r.Expected++
		if p.Node != "" && !w.d.Now.Before(p.ReadyAt) {
			r.Healthy++
		}
	}
	r.Allowed = max(0, r.Healthy-r.Wanted)
	return r
}

// stillThere says of pods that a drain could not evict why.
func (w *World) stillThere(c *cluster, pods []*Pod) []providers.StillThere {
	var out []providers.StillThere
	for _, p := range pods {
		why := providers.WhyTerminating(p.GoneBy)
		if b := c.blocking(w.d.Now, p); b != nil {
			why = providers.WhyBlocked(b.key(), w.budgetReport(c, b))
		}
		out = append(out, providers.StillThere{Pod: p.Namespace + "/" + p.Name, Why: why})
	}
	return out
}

// budget puts a PodDisruptionBudget into the cluster for pods with a label.
func (e *edit) budget() error {
	words, err := e.words("NAMESPACE/NAME", "how many pods have to stay, or delete")
	if err != nil {
		return err
	}
	c, err := e.cluster()
	if err != nil {
		return err
	}
	namespace, name, ok := strings.Cut(words[0], "/")
	if !ok {
		return fmt.Errorf("%q is not written NAMESPACE/NAME", words[0])
	}
	c.PDBs = slices.DeleteFunc(c.PDBs, func(b *PDB) bool { return b.key() == words[0] })
	if words[1] == "delete" {
		return nil
	}
	c.PDBs = append(c.PDBs, &PDB{Namespace: namespace, Name: name, Selector: map[string]string{"app": name}, MinAvailable: number(words[1])})
	return nil
}
