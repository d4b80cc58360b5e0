package phases

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
	"github.com/kubewright/kubewright/state"
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
		apiPort:                  strconv.Itoa(wantedPort(c)),
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
		return c.withPort(r.Clusters[c.Label].Fixed)
	}
	if c.report == nil {
		return nil
	}
	stored := c.report.Objects[systemConfig("kubeadm-config")].Get("data").Get("ClusterConfiguration")
	read, err := kubeadm.ReadClusterConfiguration(c.Label, stored.AsString())
	if err != nil {
		return nil // drift, which the plan shows
	}
	out := fixed(read)
	// The cluster's own configuration does not have the port, and pods may mount another
	// folder for etcd's data than it says.
	delete(out, apiPort)
	delete(out, "etcd.data_dir")
	return c.withPort(out)
}

// apiPort is where API servers listen. Each tells pods its own port as that of all
// of them (Service kubernetes): while some listen on another one, calls fail.
const apiPort = "bind_port"

// wantedPort is the port that API servers are given.
func wantedPort(c *config.Cluster) int {
	if a := portArg(c); a != nil {
		port, _ := strconv.Atoi(a.Value)
		return port
	}
	return c.BindPort
}

// portArg is the argument that gives API servers their port, nil where bind_port does.
func portArg(c *config.Cluster) *config.Arg {
	for i, a := range slices.Backward(c.APIServer.Args) {
		if _, err := strconv.Atoi(a.Value); strings.ReplaceAll(a.Name, "_", "-") == "secure-port" && err == nil {
			return &c.APIServer.Args[i]
		}
	}
	return nil
}

// withPort adds the port of an API server that was seen, where nothing is
// remembered of it. One that has the wanted port speaks for all: those that have
// another one were changed by hand, and are put right.
func (c *cluster) withPort(known map[string]string) map[string]string {
	if known[apiPort] != "" {
		return known
	}
	lives := 0
	for _, n := range c.controlPlanes() {
		port := seenPort(n.report)
		if port == wantedPort(c.Cluster) {
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

// APIPort is the port of the API server on a host: what its manifest there says, and
// where there is none what the configuration does. The cluster may be nil.
func APIPort(c *config.Cluster, r *state.Report) int {
	if port := seenPort(r); port != 0 || c == nil {
		return cmp.Or(port, config.DefaultBindPort)
	}
	return wantedPort(c)
}

// APIManifest asks for what APIPort reads.
func APIManifest() state.Query {
	return state.Query{Files: []state.FileQuery{{Path: manifest("kube-apiserver"), Read: state.ReadContent}}}
}

// seenPort is 0 where there is no API server, or nobody can tell.
func seenPort(r *state.Report) int {
	if r == nil || !r.Files[manifest("kube-apiserver")].Exists {
		return 0
	}
	pod, err := kubeadm.StaticPodAttributes(r.Files[manifest("kube-apiserver")].Content)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(pod.Get("args.secure-port").AsString())
	return port
}

// checkFixed refuses configurations that want another value of any of them.
func (v *View) checkFixed() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		diags = append(diags, c.checkFixed()...)
	}
	return diags
}

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
		place, why := c.place(name), dependsOnIt
		switch name {
		case "etcd":
			text = fmt.Sprintf("%s etcd, and the configuration says %s", lives[name], value)
			place = c.Source
		case apiPort:
			why = "every API server tells pods its own port as that of all of them, so that calls fail while some listen on another one, and kubeadm has no way either"
			if a := portArg(c.Cluster); a != nil {
				place = a.Source
			}
		}
		diags = append(diags, c.refuseFixed(text, why, place))
	}
	diags = append(diags, c.checkKeptArgs(wanted, lives)...)
	if len(diags) > 0 { // of a folder that an argument or the setting moves, too
		return diags
	}
	return c.checkEtcdMoved()
}

// dependsOnIt is why a living cluster keeps most of what it keeps.
const dependsOnIt = "certificates, addresses and data in the cluster depend on it, and there is no safe way from one to the other"

func (c *cluster) refuseFixed(text, why string, place state.Source) *diag.Diagnostic {
	return diag.Errorf("Living cluster keeps this setting",
		"Cluster %q was made with %s. Nothing is changed on any host: %s. "+
			"Write the old value again; or make a new cluster with the new one, and move what runs there.",
		c.Label, text, why).At(place).For(c.target)
}
