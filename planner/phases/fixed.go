package phases

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
)

// fixed are the settings that a cluster keeps while it lives, by their names in
// the cluster's block: addresses, names and places with which everything in it
// was made. kubeadm has no way to change them either.
func fixed(c *config.Cluster) map[string]string {
	out := map[string]string{
		"cluster_name":           c.Name,
		"network.pod_subnet":     c.Network.PodSubnet,
		"network.service_subnet": c.Network.ServiceSubnet,
		"network.dns_domain":     c.Network.DNSDomain,
		"certificates.dir":       c.Certificates.Dir,
	}
	if c.Etcd.External != nil {
		out["etcd"] = "external"
	} else {
		out["etcd"], out["etcd.data_dir"] = "stacked", c.Etcd.DataDir
	}
	return out
}

// recordedFixed is what the state remembers of them, besides old: the first
// value counts. What is made of something sensitive is not remembered.
func (c *cluster) recordedFixed(old map[string]string) map[string]string {
	out := maps.Clone(old)
	if out == nil {
		out = map[string]string{}
	}
	open := fixed(c.Cluster)
	if twin := c.view.Config.Twin(); twin != nil {
		others := fixed(twin.Cluster(c.Label))
		maps.DeleteFunc(open, func(name, value string) bool { return others[name] != value })
	}
	for name, value := range open {
		if _, known := out[name]; !known {
			out[name] = value
		}
	}
	return out
}

// lives is what is known of them of the living cluster: what the state remembers,
// else what is stored in the cluster itself.
func (c *cluster) lives() map[string]string {
	if r := c.view.Recorded; r != nil && r.Clusters[c.Label] != nil && len(r.Clusters[c.Label].Fixed) > 0 {
		return r.Clusters[c.Label].Fixed
	}
	if c.report == nil {
		return nil
	}
	stored := c.report.Objects[systemConfig("kubeadm-config")].Get("data").Get("ClusterConfiguration")
	read, err := kubeadm.ReadClusterConfiguration(c.Label, stored.AsString())
	if err != nil {
		return nil // drift, which the plan shows
	}
	return fixed(read)
}

// checkFixed refuses a configuration in which any of them is another one.
func (c *cluster) checkFixed() diag.Diagnostics {
	if c.founding {
		return nil
	}
	var diags diag.Diagnostics
	wanted, lives := fixed(c.Cluster), c.lives()
	for _, name := range slices.Sorted(maps.Keys(lives)) {
		value, given := wanted[name]
		if !given || value == lives[name] {
			continue
		}
		text := c.view.Config.Secrets.Text(fmt.Sprintf("%s = %q, and the configuration says %q", name, lives[name], value))
		place := c.origin(name)
		if name == "etcd" {
			text = fmt.Sprintf("%s etcd, and the configuration says %s", lives[name], value)
			place = c.Source
		}
		diags = append(diags, diag.Errorf("Living cluster keeps this setting",
			"Cluster %q was made with %s. Nothing is changed on any host: certificates, addresses and data in the cluster depend on it, "+
				"and there is no safe way from one to the other. Write the old value again; or make a new cluster with the new one, and move what runs there.",
			c.Label, text).At(place).For(c.target))
	}
	return diags
}
