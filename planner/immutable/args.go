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

// keptArg is an argument of a static pod that says what a cluster keeps while it
// lives. It says it in an arg block or a patch too, past the setting.
type keptArg struct {
	component, name string
	// block is that of the component in the language, setting the one that gives the
	// argument, if any does; it counts where the argument is left out.
	block, setting string
	// usual is what the component takes where nothing is said.
	usual string
}

// keptArgs are all of them but API servers' port, which is known without a manifest
// too (wantedPort). What a member of etcd takes once, when it is made, is none: name
// and initial-…; and tokens of more than one issuer can be believed.
var keptArgs = []keptArg{
	{component: "etcd", name: "data-dir", block: "etcd", setting: "etcd.data_dir"},
	{component: "etcd", name: "wal-dir", block: "etcd"},
	{component: "kube-apiserver", name: "service-cluster-ip-range", block: "api_server", setting: "network.service_subnet"},
	{component: "kube-apiserver", name: "etcd-prefix", block: "api_server", usual: "/registry"},
	{component: "kube-controller-manager", name: "cluster-name", block: "controller_manager", setting: "cluster_name"},
	{component: "kube-controller-manager", name: "cluster-cidr", block: "controller_manager", setting: "network.pod_subnet"},
	{component: "kube-controller-manager", name: "service-cluster-ip-range", block: "controller_manager", setting: "network.service_subnet"},
}

// String returns the argument as the language has it.
func (k keptArg) String() string { return fmt.Sprintf("%s.arg[%q]", k.block, k.name) }

// in returns the value that a manifest gives the argument; false where nobody can tell.
func (k keptArg) in(manifest state.Value, byDefault string) (string, bool) {
	for _, a := range slices.Backward(manifest.Get("args").AsArgs()) {
		if k.names(a.Name) {
			v := a.Of()
			return v.AsString(), v.Kind() == state.KindString
		}
	}
	return byDefault, !manifest.Get("args").IsNull()
}

// names reports whether an argument's name is this one, as the component reads it.
func (k keptArg) names(name string) bool {
	return kubeadm.FlagName(k.component, name) == k.name
}

// checkKeptArgs refuses other values of them than the control planes have. One that
// was changed by hand on some host is put right like everything, and one that was
// brought to what is wanted by hand may be written down. Settings that are refused
// already are not referred to again.
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

// keptValues returns the values that the argument has on a control plane, as the state
// remembers them and as its manifest does, and the one that it is to have: none where
// that cannot be told, or where there is no control plane yet.
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

// argPlace returns where the configuration says the argument: its line or that of a
// patch, else that of the setting that gives it.
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
