package objects

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// kubeProxy is the DaemonSet of kube-proxy.
var kubeProxy = state.ObjectRef{APIVersion: "apps/v1", Kind: "DaemonSet", Namespace: "kube-system", Name: "kube-proxy"}

// addonStep applies the objects of CoreDNS and kube-proxy, and restarts kube-proxy's pods where they
// run with another configuration than the one in their ConfigMap. kube-proxy reads it only at its
// start: the kubelet replaces the folder of a ConfigMap as a whole, which the watch on the file does
// not notice (cmd/kube-proxy/app/options.go). So the ConfigMap is written before the pods that read it
// are created.
func addonStep(c *topology.Cluster, w topology.PhaseWork) planner.Step {
	last := func(ch planner.Change) int { return RankOf(ParseRef(ch.Address.ID()) == kubeProxy) }
	w.Changes = slices.Clone(w.Changes)
	slices.SortStableFunc(w.Changes, func(a, b planner.Change) int { return last(a) - last(b) })
	s := objectStep(c, w)
	restart := planner.RestartPods{Kind: kubeProxy.Kind, Namespace: kubeProxy.Namespace, Name: kubeProxy.Name, Timeout: staticpod.ProxyRestart}
	switch {
	case rollsKubeProxy(c, w):
		restart.Mark = proxyMark(c, w)
		s.Operations = append(append(s.Operations, staticpod.WaitForNewEndpoint(c.PrimaryNode())...), restart)
		s.Impact = staticpod.RestartsProxies
	case awaitsKubeProxy(c, w):
		s.Operations = append(s.Operations, restart)
	}
	return s
}

// changesBelow reports whether a change is of attributes below a path.
func changesBelow(ch planner.Change, path string) bool {
	return slices.ContainsFunc(ch.Attributes, func(a planner.AttributeChange) bool { return strings.HasPrefix(a.Path, path) })
}

// awaitsKubeProxy reports whether the step waits until the pods of kube-proxy's changed template run:
// without it the step would end while most nodes still have the former ones. The DaemonSet's controller
// does not get past a node that is not Ready, so then the step does not wait.
func awaitsKubeProxy(c *topology.Cluster, w topology.PhaseWork) bool {
	changed := slices.ContainsFunc(w.Changes, func(ch planner.Change) bool {
		return ParseRef(ch.Address.ID()) == kubeProxy && changesBelow(ch, "spec.template")
	})
	if !changed || there(c, kubeProxy).IsNull() || len(pki.FormerHosts(c)) > 0 {
		return false
	}
	for _, n := range c.Report.Nodes {
		if !n.Ready {
			return false
		}
	}
	return true
}

// rollsKubeProxy reports whether kube-proxy's pods have to be replaced for their configuration. A
// change of their template replaces them anyway, and so does the end of an endpoint's move. Any change
// of the ConfigMap counts: the API shows when a manager last wrote to the object, but not which field.
func rollsKubeProxy(c *topology.Cluster, w topology.PhaseWork) bool {
	rolls := false
	for _, ch := range w.Changes {
		switch ParseRef(ch.Address.ID()) {
		case kubeProxy:
			// Before the rules of another mode are removed, all pods have to run in the new one.
			if before, after := proxyModes(c, w.Changes); changesBelow(ch, "spec.template") && leftBehind[after] != before {
				return false
			}
			rolls = rolls || changesBelow(ch, planner.StaleFiles)
		case state.KubeProxyConfig:
			rolls = rolls || ch.Action == planner.Create || ch.Action == planner.Update
		}
	}
	return rolls && !there(c, kubeProxy).IsNull() && len(pki.FormerHosts(c)) == 0
}

// proxyMark identifies the configuration that kube-proxy's pods are to read: the same content counts as
// another one when it is restored after a change.
func proxyMark(c *topology.Cluster, w topology.PhaseWork) string {
	h := sha256.New()
	for _, ch := range w.Changes {
		if it := w.Find(ch); it != nil && ParseRef(ch.Address.ID()) == state.KubeProxyConfig {
			h.Write(it.Content)
		}
	}
	h.Write([]byte(there(c, state.KubeProxyConfig).Get("metadata.resourceVersion").AsString()))
	return "configuration-" + hex.EncodeToString(h.Sum(nil))[:16]
}

// proxyModeKey is the path of the mode in kube-proxy's ConfigMap.
const proxyModeKey = `data["config.conf"].mode`

// proxyMode returns the mode that kube-proxy uses on Linux with this setting.
func proxyMode(configured state.Value) string {
	return cmp.Or(configured.AsString(), planner.ProxyIPTables)
}

// proxyModes returns the mode in kube-proxy's ConfigMap, and the one in it after these changes.
func proxyModes(c *topology.Cluster, changes []planner.Change) (before, after string) {
	before = proxyMode(provenance.DocumentIn(there(c, state.KubeProxyConfig), "config.conf").Get("mode"))
	for _, ch := range changes {
		for _, a := range ch.Attributes {
			if a.Path == proxyModeKey && ParseRef(ch.Address.ID()) == state.KubeProxyConfig {
				return before, proxyMode(a.After)
			}
		}
	}
	return before, before
}

// leftBehind maps each mode of kube-proxy to the mode whose rules it does not remove. kube-proxy cleans
// up after itself where nftables is one of the two (cmd/kube-proxy/app/server_linux.go).
var leftBehind = map[string]string{planner.ProxyIPVS: planner.ProxyIPTables, planner.ProxyIPTables: planner.ProxyIPVS}

// ClearProxies adds steps that remove from each host what kube-proxy left in its previous mode.
func ClearProxies(b *topology.Builder, c *topology.Cluster) {
	addon := topology.StepAddress(c.Target, topology.AddonPhase)
	ref := topology.ItemAddress(c.Target, topology.AddonPhase, "object", kubeProxy.String())
	if c.Founding || there(c, kubeProxy).IsNull() || b.Desired.Find(ref) == nil {
		return
	}
	before, after := proxyModes(c, b.Changes[addon])
	moved := addon
	moved.Waypoint = staticpod.EndpointMoved
	for _, n := range c.Nodes {
		mode := leftMode(n, before, after)
		if mode == "" {
			continue
		}
		b.Add(topology.StepAddress(n.Target, topology.AddonPhase), planner.Step{
			Action: planner.Update, Impact: "removes what kube-proxy left here in mode " + mode,
			Operations: planner.Operations{planner.RemoveProxyRules{Mode: mode}},
		}, []state.Address{addon, moved})
	}
}

// leftMode returns the mode of kube-proxy of which rules are left on a host where another mode is in
// use; empty for none.
func leftMode(n *topology.Node, before, after string) string {
	left := leftBehind[after]
	if left == "" || n.Report == nil || n.Joins() {
		return ""
	}
	there := n.Report.Facts.ProxyModes
	stale := slices.Contains(n.Cluster.Report.StaleProxies, n.NodeName) && !slices.Contains(there, after)
	if before == left || slices.Contains(there, left) || after == planner.ProxyIPVS && stale {
		return left
	}
	return ""
}

// WithLeftRules adds to kube-proxy's DaemonSet the nodes on which rules of another mode are left.
func WithLeftRules(c *topology.Cluster, ref state.ObjectRef, attrs state.Value) state.Value {
	if ref != kubeProxy {
		return attrs
	}
	var left []string
	mode, _ := proxyModes(c, nil)
	for _, n := range c.Nodes {
		if m := leftMode(n, mode, mode); m != "" {
			left = append(left, m+" on "+n.NodeName)
		}
	}
	if len(left) == 0 {
		return attrs
	}
	return topology.WithAttribute(attrs, planner.LeftRules, []any{someOf(left)})
}

// someOf returns a text that names the first entries of a list.
func someOf(list []string) string {
	text := strings.Join(list[:min(len(list), staleNamed)], ", ")
	if more := len(list) - staleNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// WithStaleProxies adds to kube-proxy's DaemonSet the nodes whose pods run with a configuration from
// before the last change of their ConfigMap.
func WithStaleProxies(c *topology.Cluster, ref state.ObjectRef, attrs state.Value) state.Value {
	nodes := c.Report.StaleProxies
	if ref != kubeProxy || len(nodes) == 0 {
		return attrs
	}
	return topology.WithAttribute(attrs, planner.StaleFiles, []any{"config.conf on " + someOf(nodes)})
}

// staleNamed is how many nodes with a stale kube-proxy a plan names.
const staleNamed = 5
