package pipeline

import (
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// itemsOf returns the items of the node at an index of the counterpart fleet; none when they cannot be
// rendered.
func itemsOf(v *topology.Fleet, i, j int) []state.Item {
	if n := v.Clusters[i].Nodes[j]; kubeadm.Check(n.Input()) == nil {
		return phases.Desired(n)
	}
	return nil
}

// clusterItemsOf returns the items of the cluster at an index of the counterpart fleet.
func clusterItemsOf(v *topology.Fleet, i int) []state.Item {
	c := v.Clusters[i]
	if primary := c.PrimaryNode(); primary != nil && kubeadm.Check(primary.Input()) != nil {
		return objects.UserAddons(c)
	}
	return desired(c)
}

// Reveal resolves a plan's reference to a secret, in the presently desired items. It fails when the
// secret is another one than at the time of the plan.
func Reveal(v *topology.Fleet, desired *state.Snapshot, s state.Sensitive) (state.Secret, error) {
	text, ok := strings.CutPrefix(s.Ref, sensitive.RefPrefix)
	if block, _, _ := strings.Cut(text, "#"); !strings.Contains(block, "/") {
		return v.Config.Resolve(s.Ref) // a value of a cluster's block
	}
	a, err := state.ParseAddress(text)
	if !ok || err != nil {
		return state.Secret{}, fmt.Errorf("internal error: %q is no reference to the configuration", s.Ref)
	}
	field := a.Field
	it := desired.Find(a.WithField(""))
	if it == nil || it.Content == nil && it.Kind != state.KindNodeObject {
		return state.Secret{}, fmt.Errorf("cannot find what %s stands for: the configuration has no such item; plan again", s.Ref)
	}
	value, sum := revealed(v, it, field)
	if s.Fingerprint != "" && sum != s.Fingerprint {
		return state.Secret{}, fmt.Errorf("cannot use %s: its sensitive values differ from those of the plan; plan again", s.Ref)
	}
	return value, nil
}

func revealed(v *topology.Fleet, it *state.Item, field string) (state.Secret, string) {
	switch {
	case field == sensitive.ContentField:
		return state.NewSecret(it.Content), v.Key.Sum(it.Content)
	case field == sensitive.HashField:
		n := v.ClusterOf(it.Address.Target).Node(it.Address.Target)
		hash := []byte(staticpod.PodHash(n, staticpod.ComponentOf(it), it.Content))
		return state.NewSecret(hash), v.Key.Sum(hash)
	case it.Kind == state.KindNodeObject:
		n := v.ClusterOf(it.Address.Target).Node(it.Address.Target)
		value := kubelet.NodeItem(n, it.Address.Phase).Attributes.Get(field)
		return state.NewSecret([]byte(value.AsString())), v.Key.Fingerprint(value)
	}
	value := sensitive.ParsedObject(it.Content).Get(field)
	b, err := value.MarshalJSON()
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return state.NewSecret(b), v.Key.Fingerprint(value)
}

// steering refuses secrets in values that kubewright itself uses: every plan shows the addresses of its
// health checks.
func steering(c *topology.Cluster, swapped *topology.Cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	for i, n := range c.Nodes {
		if n.Report == nil || healthPlaces(n) == healthPlaces(swapped.Nodes[i]) {
			continue
		}
		diags = append(diags, diag.Errorf("Value cannot be sensitive", "The health check addresses of the components of %s are derived from a sensitive value, "+
			"and kubewright shows these addresses in its plans. Wrap addresses and ports in nonsensitive().", n.Target).At(n.Source).For(n.Target))
	}
	return diags
}

func healthPlaces(n *topology.Node) string {
	out := pki.KubeletHealth(n)
	if n.Role == config.ControlPlane {
		for _, c := range staticpod.ControlPlaneComponents {
			out += " " + staticpod.Health(n, c).URL
		}
	}
	return out
}
