package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// podReports returns the pods of nodes that a drain looks at, and the budgets that
// select them.
func (w *World) podReports(c *cluster, nodes []string) ([]state.PodReport, map[string]state.BudgetReport) {
	var out []state.PodReport
	budgets := map[string]state.BudgetReport{}
	for _, p := range c.Pods {
		if p.Controller == daemonSet || !slices.Contains(nodes, p.Node) {
			continue
		}
		r := state.PodReport{Namespace: p.Namespace, Name: p.Name, Node: p.Node, Controller: p.Controller, Labels: p.Labels, EmptyDir: p.EmptyDir, LocalClaims: p.LocalClaims, GoneBy: p.GoneBy, Tolerations: c.tolerationsOf(p)}
		if p.Selects != "" {
			r.NodeSelectors = []string{p.Selects}
		}
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

// claimReports returns the claims whose volume one of the nodes alone has.
func (c *cluster) claimReports(nodes []string) []state.ClaimReport {
	var out []state.ClaimReport
	for _, k := range c.Claims {
		if slices.Contains(nodes, k.Node) {
			out = append(out, state.ClaimReport{Namespace: k.Namespace, Name: k.Name, Volume: "pv-" + k.Name, Node: k.Node})
		}
	}
	slices.SortFunc(out, func(a, b state.ClaimReport) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// claim puts a PersistentVolumeClaim into the cluster whose volume is on a node's disk.
func (e *edit) claim() error {
	w, err := e.words("NAMESPACE/NAME", "a node, or delete")
	if err != nil {
		return err
	}
	namespace, name, ok := strings.Cut(w[0], "/")
	c, err := e.cluster()
	switch {
	case !ok:
		return fmt.Errorf("%q is not written NAMESPACE/NAME", w[0])
	case err != nil:
		return err
	case w[1] != "delete" && c.Nodes[w[1]] == nil:
		return fmt.Errorf("no node %q", w[1])
	}
	c.Claims = slices.DeleteFunc(c.Claims, func(k *Claim) bool { return k.Namespace == namespace && k.Name == name })
	if w[1] != "delete" {
		c.Claims = append(c.Claims, &Claim{Namespace: namespace, Name: name, Node: w[1]})
	}
	return nil
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
		left := providers.StillThere{Pod: p.Namespace + "/" + p.Name, Why: providers.WhyTerminating(p.GoneBy)}
		if b := c.blocking(w.d.Now, p); b != nil {
			left.Why, left.Budget = providers.WhyBlocked(b.key(), w.budgetReport(c, b)), b.key()
		}
		out = append(out, left)
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
	stay, err := strconv.Atoi(words[1])
	if err != nil && words[1] != "delete" {
		return fmt.Errorf("%q is no number", words[1])
	}
	c.PDBs = slices.DeleteFunc(c.PDBs, func(b *PDB) bool { return b.key() == words[0] })
	if words[1] == "delete" {
		return nil
	}
	c.PDBs = append(c.PDBs, &PDB{Namespace: namespace, Name: name, Selector: map[string]string{"app": name}, MinAvailable: stay})
	return nil
}
