package phases

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// kubeProxy is the DaemonSet of kube-proxy.
var kubeProxy = state.ObjectRef{APIVersion: "apps/v1", Kind: "DaemonSet", Namespace: "kube-system", Name: "kube-proxy"}

// addonStep applies the objects of CoreDNS and kube-proxy, and rolls kube-proxy's pods
// where they run with another configuration than the one in their ConfigMap. kube-proxy
// reads it when it starts: the kubelet replaces the folder of a ConfigMap as a whole,
// which the watch on its file takes for no change (cmd/kube-proxy/app/options.go). So
// the ConfigMap is written before the pods that read it are made.
func addonStep(c *cluster, w work) planner.Step {
	last := func(ch planner.Change) int { return rankOf(parseRef(ch.Address.ID()) == kubeProxy) }
	w.changes = slices.Clone(w.changes)
	slices.SortStableFunc(w.changes, func(a, b planner.Change) int { return last(a) - last(b) })
	s := objectStep(c, w)
	if c.rollsKubeProxy(w) {
		s.Operations = append(append(s.Operations, c.seatNode().reached()...), planner.RestartPods{
			Kind: kubeProxy.Kind, Namespace: kubeProxy.Namespace, Name: kubeProxy.Name, Mark: c.proxyMark(w), Timeout: proxyRestart,
		})
		s.Impact = restartsProxies
	}
	return s
}

// rollsKubeProxy reports whether kube-proxy's pods have to be replaced for their
// configuration. A change of their template replaces them anyway, and a move of the
// endpoint at its end. Any change of the ConfigMap counts: the API tells when a manager
// has last written one of its fields, and not which.
func (c *cluster) rollsKubeProxy(w work) bool {
	rolls := false
	for _, ch := range w.changes {
		changes := func(path string) bool {
			return slices.ContainsFunc(ch.Attributes, func(a planner.AttributeChange) bool { return strings.HasPrefix(a.Path, path) })
		}
		switch parseRef(ch.Address.ID()) {
		case kubeProxy:
			if changes("spec.template") {
				return false
			}
			rolls = rolls || changes(planner.StaleFiles)
		case state.KubeProxyConfig:
			rolls = rolls || ch.Action == planner.Create || ch.Action == planner.Update
		}
	}
	return rolls && !c.there(kubeProxy).IsNull() && len(c.formerHosts()) == 0
}

// proxyMark identifies the configuration that pods of kube-proxy are to take up: the
// same content, put back after a change, is another one.
func (c *cluster) proxyMark(w work) string {
	h := sha256.New()
	for _, ch := range w.changes {
		if it := w.find(ch); it != nil && parseRef(ch.Address.ID()) == state.KubeProxyConfig {
			h.Write(it.Content)
		}
	}
	h.Write([]byte(c.there(state.KubeProxyConfig).Get("metadata.resourceVersion").AsString()))
	return "configuration-" + hex.EncodeToString(h.Sum(nil))[:16]
}

// withStaleProxies adds to kube-proxy's DaemonSet that pods of it run with a
// configuration from before the last change of their ConfigMap.
func (c *cluster) withStaleProxies(ref state.ObjectRef, attrs state.Value) state.Value {
	nodes := c.report.StaleProxies
	if ref != kubeProxy || len(nodes) == 0 {
		return attrs
	}
	on := strings.Join(nodes[:min(len(nodes), staleNamed)], ", ")
	if more := len(nodes) - staleNamed; more > 0 {
		on += fmt.Sprintf(" and %d more", more)
	}
	return with(attrs, planner.StaleFiles, []any{"config.conf on " + on})
}

// staleNamed is how many nodes with a stale kube-proxy a plan names.
const staleNamed = 5
