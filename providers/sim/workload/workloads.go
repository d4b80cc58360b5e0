package workload

import (
	"maps"
	"slices"
	"strconv"

	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/providers/sim/store"
)

const deployments = "apps/v1/Deployment/"

// Workloads are the pods of a cluster, with their controllers and scheduler.
type Workloads struct {
	servers *apiserver.Servers
	c       *etcd.Cluster
}

// Of returns the workloads of a cluster.
func Of(a apiserver.API) Workloads { return Workloads{a.Servers(), a.Cluster()} }

// Reconcile gives every Deployment its replicas, and every pod a node.
func (wl Workloads) Reconcile() {
	wl.c.Stale = false
	owned := map[string][]*store.Pod{}
	for _, p := range wl.c.Pods {
		if p.Owner != "" {
			owned[p.Owner] = append(owned[p.Owner], p)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(owned)) {
		if wl.c.Objects[key] == nil {
			wl.scale(key, owned[key], 0)
		}
	}
	for _, key := range wl.c.Keys(deployments) {
		wl.scale(key, owned[key], staticpod.Number(wl.c.Objects[key].Live.Get("spec.replicas").AsString()))
	}
	for _, p := range wl.c.Pods {
		if p.Node != "" && wl.c.Nodes[p.Node] == nil {
			p.Node = ""
		}
		if p.Node == "" {
			wl.place(p, "")
		}
	}
}

// scale adds or removes replicas, the newest first.
func (wl Workloads) scale(key string, pods []*store.Pod, replicas int) {
	for _, p := range pods[min(len(pods), replicas):] {
		wl.unplug(p)
		wl.c.Pods = slices.DeleteFunc(wl.c.Pods, func(o *store.Pod) bool { return o == p })
	}
	for range replicas - len(pods) {
		wl.c.Made++
		template := wl.c.Objects[key].Live.Get("spec.template")
		p := &store.Pod{
			Namespace: wl.c.Objects[key].Live.Get("metadata.namespace").AsString(), Controller: "ReplicaSet", Owner: key,
			Name: wl.c.Objects[key].Name() + "-" + wl.servers.Derive(5, "pod", wl.c.ID, key, strconv.Itoa(wl.c.Made)), Labels: map[string]string{},
		}
		for label, v := range template.Get("metadata.labels").AsMap() {
			p.Labels[label] = v.AsString()
		}
		for _, v := range template.Get("spec.volumes").AsList() {
			p.EmptyDir = p.EmptyDir || !v.Get("emptyDir").IsNull()
		}
		wl.c.Pods = append(wl.c.Pods, p)
	}
}

// place assigns a pending pod to the ready node with the fewest pods that accepts it,
// except the one it comes from. Without one it stays pending.
func (wl Workloads) place(p *store.Pod, from string) {
	counts := map[string]int{}
	for _, o := range wl.c.Pods {
		counts[o.Node]++
	}
	best := ""
	for _, name := range slices.Sorted(maps.Keys(wl.c.Nodes)) {
		n := wl.c.Nodes[name]
		if name == from || n.Unschedulable || !wl.c.Tolerates(p, n) || !wl.servers.NodeReady(n) {
			continue
		}
		if best == "" || counts[name] < counts[best] {
			best = name
		}
	}
	if best == "" {
		return
	}
	p.Node, p.ReadyAt = best, wl.servers.Now.Add(drainRetry)
	wl.plug(p)
}

// plug attaches a pod on the cluster's network to its host.
func (wl Workloads) plug(p *store.Pod) {
	m := wl.servers.Hosts[wl.c.Nodes[p.Node].Host]
	if o := wl.c.Objects[p.Owner]; m == nil || o != nil && o.Live.Get("spec.template.spec.hostNetwork").AsBool() {
		return
	}
	if networks := "/var/lib/cni/networks"; m.File(networks) == nil {
		m.Put(networks, &file.File{Type: file.Directory})
	}
	machine.Insert(&m.Links, "cni0")
	machine.Insert(&m.Links, wl.veth(p))
	machine.Insert(&m.Rules, "cni CNI-HOSTPORT-DNAT")
}

// unplug removes a pod's link; the bridge stays, as CNI leaves it.
func (wl Workloads) unplug(p *store.Pod) {
	n := wl.c.Nodes[p.Node]
	if n == nil || wl.servers.Hosts[n.Host] == nil {
		return
	}
	m := wl.servers.Hosts[n.Host]
	m.Links = slices.DeleteFunc(m.Links, func(l string) bool { return l == wl.veth(p) })
}

func (wl Workloads) veth(p *store.Pod) string {
	return "veth" + wl.servers.Derive(8, "veth", p.Namespace, p.Name)
}
