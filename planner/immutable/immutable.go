package immutable

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// fixed returns the settings that a cluster keeps while it lives, by their names in the cluster's
// block: addresses, names and paths that everything in it was created with. kubeadm cannot change
// them either.
func fixed(c *config.Cluster) map[string]string {
	out := map[string]string{
		"cluster_name":           c.Name,
		"network.pod_subnet":     c.Network.PodSubnet,
		"network.service_subnet": c.Network.ServiceSubnet,
		"network.dns_domain":     c.Network.DNSDomain,
		"certificates.dir":       c.Certificates.Dir,
		apiPort:                  strconv.Itoa(WantedPort(c)),
	}
	if c.Etcd.External != nil {
		out["etcd"] = "external"
	} else {
		out["etcd"], out["etcd.data_dir"] = "stacked", c.Etcd.DataDir
	}
	return out
}

// Recorded returns the immutable settings to record in the state, in addition to old: the first
// value is kept. Values derived from sensitive ones are not recorded.
func Recorded(c *topology.Cluster, old map[string]string) map[string]string {
	out := maps.Clone(old)
	if out == nil {
		out = map[string]string{}
	}
	open := fixed(c.Cluster)
	if swapped := c.Fleet.Config.WithOtherSecrets(); swapped != nil {
		others := fixed(swapped.Cluster(c.Label))
		maps.DeleteFunc(open, func(name, value string) bool { return others[name] != value })
	}
	for name, value := range open {
		if _, known := out[name]; !known {
			out[name] = value
		}
	}
	return out
}

// clusterLives returns the known immutable settings of the living cluster: from the state,
// otherwise from what the cluster itself stores.
func clusterLives(c *topology.Cluster) map[string]string {
	if r := c.Fleet.Recorded; r != nil && r.Clusters[c.Label] != nil && len(r.Clusters[c.Label].Fixed) > 0 {
		return withPort(c, r.Clusters[c.Label].Fixed)
	}
	if c.Report == nil {
		return nil
	}
	stored := c.Report.Objects[provenance.SystemConfigMap("kubeadm-config")].Get("data").Get("ClusterConfiguration")
	read, err := kubeadm.ReadClusterConfiguration(c.Label, stored.AsString())
	if err != nil {
		return nil // drift, which the plan shows
	}
	out := fixed(read)
	// The cluster's own configuration does not have the port, and pods may mount another folder for
	// etcd's data than it says.
	delete(out, apiPort)
	delete(out, "etcd.data_dir")
	return withPort(c, out)
}

// apiPort is the port on which API servers listen. Each advertises its own port to pods as the port
// of all of them (Service kubernetes): while the ports differ, calls fail.
const apiPort = "bind_port"

// WantedPort returns the configured port of API servers.
func WantedPort(c *config.Cluster) int {
	if a := portArg(c); a != nil {
		port, _ := strconv.Atoi(a.Value)
		return port
	}
	return c.BindPort
}

// portArg returns the argument that sets the port of API servers, or nil if bind_port does.
func portArg(c *config.Cluster) *config.Arg {
	for i, a := range slices.Backward(c.APIServer.Args) {
		if _, err := strconv.Atoi(a.Value); strings.ReplaceAll(a.Name, "_", "-") == "secure-port" && err == nil {
			return &c.APIServer.Args[i]
		}
	}
	return nil
}

// withPort adds the port of an observed API server if none is recorded. One with the desired port
// is enough: servers with another port were changed by hand, and are corrected.
func withPort(c *topology.Cluster, known map[string]string) map[string]string {
	if known[apiPort] != "" {
		return known
	}
	lives := 0
	for _, n := range c.ControlPlanes() {
		port := seenPort(n.Report)
		if port == WantedPort(c.Cluster) {
			lives = port
			break
		}
		lives = cmp.Or(lives, port)
	}
	if lives == 0 {
		return known
	}
	out := maps.Clone(known)
	out[apiPort] = strconv.Itoa(lives)
	return out
}

// APIPort returns the port of the API server on a host: from its manifest or, if there is none,
// from the configuration. The cluster may be nil.
func APIPort(c *config.Cluster, r *state.Report) int {
	if port := seenPort(r); port != 0 || c == nil {
		return cmp.Or(port, config.DefaultBindPort)
	}
	return WantedPort(c)
}

// APIManifestQuery returns the query for what APIPort reads.
func APIManifestQuery() state.Query {
	return state.Query{Files: []state.FileQuery{{Path: topology.Manifest("kube-apiserver"), Read: state.ReadContent}}}
}

// seenPort returns the observed port; 0 if there is no API server, or if its port is unknown.
func seenPort(r *state.Report) int {
	if r == nil || !r.Files[topology.Manifest("kube-apiserver")].Exists {
		return 0
	}
	pod, err := kubeadm.StaticPodAttributes(r.Files[topology.Manifest("kube-apiserver")].Content)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(pod.Get("args.secure-port").AsString())
	return port
}

// Check refuses configurations that change an immutable setting of a living cluster.
func Check(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		diags = append(diags, CheckCluster(c)...)
	}
	return diags
}

// CheckCluster is Check for one cluster.
func CheckCluster(c *topology.Cluster) diag.Diagnostics {
	if c.Founding {
		return nil
	}
	var diags diag.Diagnostics
	wanted, lives := fixed(c.Cluster), clusterLives(c)
	for _, name := range slices.Sorted(maps.Keys(lives)) {
		value, given := wanted[name]
		if !given || value == lives[name] {
			continue
		}
		text := c.Fleet.Config.Secrets.Text(fmt.Sprintf("%s = %q, and the configuration has %q", name, lives[name], value))
		place, why := pki.Place(c, name), dependsOnIt
		switch name {
		case "etcd":
			text = fmt.Sprintf("%s etcd, and the configuration has %s", lives[name], value)
			place = c.Source
		case apiPort:
			why = "every API server advertises its own port to pods as the port of all of them, so that calls fail while the ports differ, and kubeadm cannot change it either"
			if a := portArg(c.Cluster); a != nil {
				place = a.Source
			}
		}
		diags = append(diags, refuseFixed(c, text, why, place))
	}
	diags = append(diags, checkKeptArgs(c, wanted, lives)...)
	if len(diags) > 0 { // they also cover a folder that an argument or the setting moves
		return diags
	}
	return checkEtcdMoved(c)
}

// dependsOnIt is why most of these settings are immutable.
const dependsOnIt = "certificates, addresses and data in the cluster depend on it, and there is no safe way to change it"

func refuseFixed(c *topology.Cluster, text, why string, place state.Source) *diag.Diagnostic {
	return diag.Errorf("Setting is immutable",
		"Cluster %q was created with %s. A running cluster cannot change this: %s. Restore the old value; or create a new cluster with the new one, and move the workloads there.",
		c.Label, text, why).At(place).For(c.Target)
}
