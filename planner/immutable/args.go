package immutable

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// keptArg is an argument of a static pod with a value that a cluster keeps while it lives. An arg
// block or a patch can set it too, bypassing the setting.
type keptArg struct {
	component, name string
	// block is the block of the component in the language; setting is the one that sets the
	// argument, if any, and applies when the argument is not given.
	block, setting string
	// usual is the component's default.
	usual string
}

// keptArgs lists them all except the API servers' port, which is known even without a manifest (see
// WantedPort). Arguments that an etcd member reads only when it is created are not listed: name and
// initial-…; nor is the service account issuer, because several issuers can be accepted.
var keptArgs = []keptArg{
	{component: "etcd", name: "data-dir", block: "etcd", setting: "etcd.data_dir"},
	{component: "etcd", name: "wal-dir", block: "etcd"},
	{component: "kube-apiserver", name: "service-cluster-ip-range", block: "api_server", setting: "network.service_subnet"},
	{component: "kube-apiserver", name: "etcd-prefix", block: "api_server", usual: "/registry"},
	{component: "kube-controller-manager", name: "cluster-name", block: "controller_manager", setting: "cluster_name"},
	{component: "kube-controller-manager", name: "cluster-cidr", block: "controller_manager", setting: "network.pod_subnet"},
	{component: "kube-controller-manager", name: "service-cluster-ip-range", block: "controller_manager", setting: "network.service_subnet"},
}

// String returns the argument as written in the configuration.
func (k keptArg) String() string { return fmt.Sprintf("%s.arg[%q]", k.block, k.name) }

// in returns the value that a manifest gives the argument; false if it is unknown.
func (k keptArg) in(manifest state.Value, byDefault string) (string, bool) {
	for _, a := range slices.Backward(manifest.Get("args").AsArgs()) {
		if k.names(a.Name) {
			v := a.Of()
			return v.AsString(), v.Kind() == state.KindString
		}
	}
	return byDefault, !manifest.Get("args").IsNull()
}

// names reports whether the component takes name for this argument.
func (k keptArg) names(name string) bool {
	return kubeadm.FlagName(k.component, name) == k.name
}

// checkKeptArgs refuses values that differ from those of the control planes. An argument that was
// changed by hand on a host is corrected like any drift, and one that was set to the desired value
// by hand may be added to the configuration. Settings that are already refused are not reported
// again.
func checkKeptArgs(c *topology.Cluster, wanted, lives map[string]string) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, k := range keptArgs {
		if known, ok := lives[k.setting]; ok && known != wanted[k.setting] {
			continue
		}
		had, n := "", (*topology.Node)(nil)
		kept := slices.ContainsFunc(c.ControlPlanes(), func(p *topology.Node) bool {
			values, want := keptValues(p, k, cmp.Or(wanted[k.setting], k.usual))
			if len(values) > 0 && n == nil {
				had, n = values[0], p
			}
			return slices.Contains(values, want)
		})
		if n == nil || kept {
			continue
		}
		tree, _ := staticpod.ManifestTree(n, k.component)
		value, _ := k.in(tree, cmp.Or(wanted[k.setting], k.usual))
		text := c.Fleet.Config.Secrets.Text(fmt.Sprintf("%s = %q, and the configuration has %q", k, had, value))
		diags = append(diags, refuseFixed(c, text, dependsOnIt, argPlace(n, k)))
	}
	return diags
}

// keptValues returns the recorded and the observed value of the argument on a control plane, and
// the desired one; nothing if they are unknown, or if the control plane has yet to join.
func keptValues(n *topology.Node, k keptArg, byDefault string) (values []string, wanted string) {
	if n.Report == nil || n.Joins() || k.component == "etcd" && n.Cluster.Etcd.External != nil {
		return nil, ""
	}
	tree, err := staticpod.ManifestTree(n, k.component)
	if err != nil {
		return nil, "" // refused where it is rendered
	}
	wanted, _ = k.in(tree, byDefault)
	phase := topology.ControlPlanePhase
	if k.component == "etcd" {
		phase = topology.EtcdPhase
	}
	if it := n.Cluster.Fleet.RecordedItems.Find(topology.ItemAddress(n.Target, phase, "file", topology.Manifest(k.component))); it != nil {
		if value, ok := k.in(it.Attributes, byDefault); ok {
			values = append(values, value)
		}
	}
	if f := n.Report.Files[topology.Manifest(k.component)]; f.Exists {
		pod, err := kubeadm.StaticPodAttributes(f.Content)
		if value, ok := k.in(pod, byDefault); ok && err == nil {
			values = append(values, value)
		}
	}
	return values, wanted
}

// argPlace returns where the configuration sets the argument: its own line or the line of a patch,
// otherwise the line of the setting that sets it.
func argPlace(n *topology.Node, k keptArg) state.Source {
	phase := staticpod.ControlPlane
	if k.component == "etcd" {
		phase = staticpod.Etcd
	}
	for _, it := range phase.NodeItems(n) {
		if it.Address.ID() != topology.Manifest(k.component) {
			continue
		}
		for _, a := range it.Attributes.Get("args").AsArgs() {
			if s := config.Origins(it.Origin).Of(state.JoinPath("args", a.Name)); k.names(a.Name) && s.File != "" {
				return s
			}
		}
	}
	if k.setting != "" {
		return pki.Place(n.Cluster, k.setting)
	}
	return n.Cluster.Source
}
