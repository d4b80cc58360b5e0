package phases

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Check reports what no file can be made of: patches that do not fit,
// component configurations that the component would not read. It looks at the
// configuration alone and comes before anything else.
func Check(cfg *config.Config) diag.Diagnostics {
	v := &View{Config: cfg}
	v.resolve()
	var diags diag.Diagnostics
	said := map[string]bool{}
	for _, c := range v.clusters {
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
			text := cfg.Secrets.Text(err.Error())
			diags = append(diags, diag.Errorf("Configuration does not fit the component", "For %s: %s.", n.target, text).At(n.misfitPlace()).For(n.target))
		}
	}
	return diags
}

// misfitPlace is the block of a node that does not fit: its own when it does
// without what is written there, otherwise the cluster's.
func (n *node) misfitPlace() state.Source {
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
		diags = append(diags, c.lostMembers()...)
		diags = append(diags, c.removedMembers()...)
	}
	return diags
}
