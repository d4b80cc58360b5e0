package phases

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Check reports what no file can be made of: patches that do not fit,
// component configurations that the component would not read; and addons that give what
// kubewright keeps. It looks at the configuration alone and comes before anything else.
// What is known to be wrong already is left aside.
func Check(cfg *config.Config, wrong ...*diag.Diagnostic) diag.Diagnostics {
	v := &View{Config: withoutWrong(cfg, wrong)}
	v.resolve()
	var diags diag.Diagnostics
	said := map[string]bool{}
	for _, c := range v.clusters {
		diags = append(diags, c.givenTwice()...)
		checked := map[config.Role]bool{}
		for _, n := range c.nodes {
			// Nodes that have nothing of their own fit, or do not, as one.
			if plain := n.plain(); plain && checked[n.Role] {
				continue
			} else if plain {
				checked[n.Role] = true
			}
			err := kubeadm.Check(n.input())
			if err == nil || said[err.Error()] {
				continue
			}
			said[err.Error()] = true
			diags = append(diags, n.misfit(err))
		}
	}
	return diags
}

// misfit speaks of what keeps a node's files from being rendered.
func (n *node) misfit(err error) *diag.Diagnostic {
	text := n.cluster.view.Config.Secrets.Text(err.Error())
	return diag.Errorf("Configuration does not fit the component", "For %s: %s.", n.target, text).At(n.misfitPlace(err)).For(n.target)
}

// misfitPlace is the patch that does not fit, or the block of a node: its own when it
// does without what is written there, otherwise the cluster's.
func (n *node) misfitPlace(err error) state.Source {
	if p, ok := errors.AsType[*kubeadm.PatchError](err); ok && p.Source.File != "" {
		return p.Source
	}
	in, bare := n.input(), *n.Node
	bare.Patches, bare.Kubelet.Config = nil, state.Value{}
	in.Node = &bare
	if kubeadm.Check(in) == nil {
		return n.Source
	}
	return n.cluster.Source
}

// unchangeable refuses what cannot be done with the clusters as they are seen.
func (v *View) unchangeable() diag.Diagnostics {
	var diags diag.Diagnostics
	twin := v.twinView()
	for i, c := range v.clusters {
		if twin != nil {
			diags = append(diags, c.steering(twin.clusters[i])...)
		}
		diags = append(diags, c.versionChange()...)
		diags = append(diags, c.unfitForKubelets()...)
		diags = append(diags, c.unfitIgnored()...)
		diags = append(diags, c.lostMembers()...)
		diags = append(diags, c.removedMembers()...)
		diags = append(diags, c.unseenLeavers()...)
		diags = append(diags, c.lastServing()...)
	}
	return diags
}

// unseenLeavers refuses to take nodes out of a cluster that stays while its API
// is silent: what runs on them is not known then, and nobody can be asked to
// evict it, to keep budgets, or to count members of etcd.
func (c *cluster) unseenLeavers() diag.Diagnostics {
	if c.seen != nil || c.founding {
		return nil
	}
	var names []string
	silent := ""
	for _, l := range c.view.leavers() {
		if l.cluster != c || l.whole || !l.acts() {
			continue
		}
		names = append(names, l.target.String())
		if l.report == nil {
			silent = fmt.Sprintf(" A node whose host does not answer either stays out of the configuration meanwhile: with -%s, and without saying that its host is gone, the apply goes on without it.", AllowUnreachableFlag)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.Errorf("Node cannot leave now", "The API of cluster %q did not answer, so it is not known what runs on %s, nobody can be asked to evict it, and etcd does not say who its members are. "+
		"Nothing is changed. Bring the API to answer first, in an apply with the block as it was and without -%s; then take the node out.%s "+
		"Where etcd has lost its quorum for good, kubewright etcd restore makes it anew of a snapshot.",
		c.Label, strings.Join(names, ", "), ReplaceFlag, silent).At(c.Source).For(c.target)}
}

// lastServing refuses to take away the control planes that serve the API while
// none that stays or comes does: nobody could finish, or put anything right.
func (c *cluster) lastServing() diag.Diagnostics {
	if c.seen == nil || c.founding {
		return nil
	}
	var leaving []string
	for _, l := range c.parting() {
		if !l.gone {
			leaving = append(leaving, l.target.String())
		}
	}
	var silent []string
	for _, n := range c.controlPlanes() {
		if c.view.replaces(n.target) {
			continue
		}
		if n.bootstraps() || c.showsReady(n.name) {
			return nil
		}
		silent = append(silent, n.target.String())
	}
	if len(leaving) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.Errorf("No API server would be left", "%s would leave cluster %q, and of those that stay no API server is ready: %s. "+
		"Nothing is changed. One that has just started is within a minute: plan again then. "+
		"What stays as it is has to be put right first, in an apply without the removal.",
		strings.Join(leaving, ", "), c.Label, strings.Join(silent, ", ")).At(c.Source).For(c.target)}
}
