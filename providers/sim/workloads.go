package sim

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/state"
)

const deployments = "apps/v1/Deployment/"

// reconcile gives every Deployment its replicas, and every pod a node.
func (w *World) reconcile(c *cluster) {
	c.stale = false
	owned := map[string][]*Pod{}
	for _, p := range c.Pods {
		if p.Owner != "" {
			owned[p.Owner] = append(owned[p.Owner], p)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(owned)) {
		if c.Objects[key] == nil {
			w.scale(c, key, owned[key], 0)
		}
	}
	for _, key := range c.kinds(deployments) {
		w.scale(c, key, owned[key], number(c.Objects[key].Live.Get("spec.replicas").AsString()))
	}
	for _, p := range c.Pods {
		if p.Node != "" && c.Nodes[p.Node] == nil {
			p.Node = ""
		}
		if p.Node == "" {
			w.place(c, p, "")
		}
	}
}

// scale adds or removes replicas, the newest first.
func (w *World) scale(c *cluster, key string, pods []*Pod, replicas int) {
	for _, p := range pods[min(len(pods), replicas):] {
		w.unplug(c, p)
		c.Pods = slices.DeleteFunc(c.Pods, func(o *Pod) bool { return o == p })
	}
	for range replicas - len(pods) {
		c.Made++
		template := c.Objects[key].Live.Get("spec.template")
		p := &Pod{
			Namespace: c.Objects[key].Live.Get("metadata.namespace").AsString(), Controller: "ReplicaSet", Owner: key,
			Name: c.Objects[key].name() + "-" + w.derive(5, "pod", c.ID, key, strconv.Itoa(c.Made)), Labels: map[string]string{},
		}
		for label, v := range template.Get("metadata.labels").AsMap() {
			p.Labels[label] = v.AsString()
		}
		for _, v := range template.Get("spec.volumes").AsList() {
			p.EmptyDir = p.EmptyDir || !v.Get("emptyDir").IsNull()
		}
		c.Pods = append(c.Pods, p)
	}
}

// place puts a pending pod on the ready node with the fewest pods that will
// have it, but not back to where it comes from. Without one it stays pending.
func (w *World) place(c *cluster, p *Pod, from string) {
	counts := map[string]int{}
	for _, o := range c.Pods {
		counts[o.Node]++
	}
	best := ""
	for _, name := range sortedKeys(c.Nodes) {
		n := c.Nodes[name]
		if name == from || n.Unschedulable || !c.tolerates(p, n) || !w.nodeReady(n) {
			continue
		}
		if best == "" || counts[name] < counts[best] {
			best = name
		}
	}
	if best == "" {
		return
	}
	p.Node, p.ReadyAt = best, w.d.Now.Add(drainRetry)
	w.plug(c, p)
}

// tolerates reports whether a pod tolerates all taints of a node, and wants its labels.
func (c *cluster) tolerates(p *Pod, n *node) bool {
	key, value, selects := strings.Cut(p.Selects, "=")
	if has, there := n.Labels[key]; selects && (!there || has != value) {
		return false
	}
	tolerations := c.tolerationsOf(p)
	return !slices.ContainsFunc(n.Taints, func(t state.Taint) bool {
		return t.Effect != "PreferNoSchedule" && !slices.ContainsFunc(tolerations, func(o state.Toleration) bool { return o.Tolerates(t) })
	})
}

// tolerationsOf returns a pod's: of a replica those of its template.
func (c *cluster) tolerationsOf(p *Pod) []state.Toleration {
	o := c.Objects[p.Owner]
	if o == nil {
		return p.Tolerations
	}
	var out []state.Toleration
	for _, v := range o.Live.Get("spec.template.spec.tolerations").AsList() {
		t := state.Toleration{Key: v.Get("key").AsString(), Value: v.Get("value").AsString(), Effect: v.Get("effect").AsString()}
		t.Any = v.Get("operator").AsString() == "Exists"
		out = append(out, t)
	}
	return out
}

// plug makes what a pod on the cluster's network needs on its host.
func (w *World) plug(c *cluster, p *Pod) {
	m := w.d.Hosts[c.Nodes[p.Node].Host]
	if o := c.Objects[p.Owner]; m == nil || o != nil && o.Live.Get("spec.template.spec.hostNetwork").AsBool() {
		return
	}
	if networks := "/var/lib/cni/networks"; w.get(m, networks) == nil {
		w.put(m, networks, &file{Type: typeDirectory})
	}
	insert(&m.Links, "cni0")
	insert(&m.Links, w.veth(p))
	insert(&m.Rules, "cni CNI-HOSTPORT-DNAT")
}

// unplug takes a pod's link away; the bridge stays, as CNI leaves it.
func (w *World) unplug(c *cluster, p *Pod) {
	n := c.Nodes[p.Node]
	if n == nil || w.d.Hosts[n.Host] == nil {
		return
	}
	m := w.d.Hosts[n.Host]
	m.Links = slices.DeleteFunc(m.Links, func(l string) bool { return l == w.veth(p) })
}

func (w *World) veth(p *Pod) string { return "veth" + w.derive(8, "veth", p.Namespace, p.Name) }
