package kubelet

import (
	"errors"
	"slices"

	"github.com/kubewright/kubewright/planner/skew"

	"github.com/kubewright/kubewright/providers/sim/store"
)

// stepNode does the kubelet's work for its Node: credentials, registration, rotation,
// DaemonSets.
func (kl Kubelet) stepNode() (changed, done bool) {
	k := kl.m.Kubelet
	if k.Node == "" {
		if err := kl.register(); err != nil {
			return false, false
		}
		changed = true
	}
	c := kl.servers.ByID[k.Cluster]
	if c == nil {
		return changed, true
	}
	due := kl.m.Processes().KubeletConfig().Get("rotateCertificates").AsBool() && kl.rotationDue()
	if due && kl.rotate(c) {
		due, changed = false, true
	}
	changed = kl.runDaemonSets(c) || changed
	if n := c.Nodes[k.Node]; n != nil && kl.servers.Starting(n) {
		return changed, false
	}
	if due {
		if signer, _ := kl.servers.API(c).Signer(); signer != nil {
			return changed, false // with an external CA no request is ever signed
		}
	}
	c.Stale = c.Stale || slices.ContainsFunc(c.Pods, func(p *store.Pod) bool { return p.Node == "" })
	return changed, true
}

// register bootstraps if necessary, and creates the Node.
func (kl Kubelet) register() error {
	name := kl.m.Processes().NodeName()
	conf := kl.m.Resolve(KubeletConf)
	if kl.bootstraps(conf) {
		if err := kl.bootstrap(name); err != nil {
			return err
		}
		conf = kl.m.Resolve(KubeletConf)
	}
	server, err := kl.servers.Dial(kl.m, conf)
	if err != nil {
		return err
	}
	if server.User != "system:node:"+name || !slices.Contains(server.Groups, "system:nodes") {
		return errors.New(server.User + " may not register node " + name)
	}
	if kubelet, ok := skew.ParseRelease(kl.m.Version("kubelet")); ok {
		if err := server.On.Processes().CheckSkew("kubelet", kubelet); err != nil {
			return err
		}
	}
	kl.servers.API(server.Cluster).RegisterNode(kl.m, name)
	kl.m.Kubelet.Node, kl.m.Kubelet.Cluster = name, server.Cluster.ID
	return nil
}
