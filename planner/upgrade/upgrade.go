package upgrade

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// AnalyzeUpgrade returns the version change of a cluster; nil if there is none, or the version is
// unknown.
func AnalyzeUpgrade(c *topology.Cluster) *topology.Upgrade {
	want, ok := skew.ParseRelease(c.KubernetesVersion)
	if !ok || c.Founding || c.Fleet.Destroy {
		return nil
	}
	up := &topology.Upgrade{Want: want, Turns: map[state.Target]string{}}
	for i, r := range apiServers(c) {
		if i == 0 || r.Compare(up.Oldest) < 0 {
			up.Oldest = r
		}
		if i == 0 || r.Compare(up.Newest) > 0 {
			up.Newest = r
		}
	}
	if up.Oldest == (skew.Release{}) {
		return nil
	}
	up.Begun, up.Raises = interrupted(c), !tells(c) && up.Oldest != want
	// A control plane that was stopped during the upgrade never ran the version that it was given.
	if was, ok := lowest(c, up.Newest); ok && up.Begun && was.Compare(up.Oldest) < 0 && slices.ContainsFunc(c.ControlPlanes(), (*topology.Node).Stopped) {
		up.Oldest = was
	}
	held := false
	for _, n := range c.Nodes {
		for _, component := range topology.ControlPlaneVersions {
			r, known := staticpod.ManifestVersion(n, component)
			if !known {
				continue
			}
			if r.Compare(up.Oldest) < 0 {
				up.Oldest = r
			}
			up.Begun, up.Raises = up.Begun || r == want, up.Raises || r != want
		}
		if to := staticpod.ComingKubelet(n); n.RunningKubelet() != "" && to != "" && !n.Joins() && n.RunningKubelet() != to {
			up.Turns[n.Target] = to
		}
		held = held || drain.Cordoned(n)
	}
	if !up.Raises && len(up.Turns) == 0 && !held {
		return nil
	}
	up.Hops, up.Err = skew.Hops(up.Oldest, up.Newest, want, through(c))
	return up
}

// lowest returns the oldest version that a control plane can have while another one has the newest:
// the recorded version or, if that is more than one minor version older, the last intermediate
// version, which all of them reach before any continues.
func lowest(c *topology.Cluster, newest skew.Release) (skew.Release, bool) {
	was, ok := skew.ParseRelease(c.RecordedVersion())
	if ok && was.Major == newest.Major && was.Minor < newest.Minor-1 {
		was, ok = through(c)[newest.Minor-1]
	}
	return was, ok
}

// apiServers returns the versions of the control planes' API servers, according to their manifests;
// without any manifest the version of the API that answered, or the recorded one if an earlier
// apply has stopped all API servers.
func apiServers(c *topology.Cluster) []skew.Release {
	var out []skew.Release
	for _, n := range c.ControlPlanes() {
		// While an API server is stopped, the components beside it show its version.
		for _, component := range topology.ControlPlaneVersions {
			if r, known := staticpod.ManifestVersion(n, component); known {
				out = append(out, r)
				break
			}
		}
	}
	version := c.RecordedVersion()
	if c.Report != nil {
		version = c.Report.Version
	}
	if r, ok := skew.ParseRelease(version); ok && len(out) == 0 {
		out = append(out, r)
	}
	return out
}

// tells reports whether a manifest of a control plane, or the API, shows the version.
func tells(c *topology.Cluster) bool {
	return c.Report != nil || slices.ContainsFunc(c.ControlPlanes(), func(n *topology.Node) bool {
		return slices.ContainsFunc(topology.ControlPlaneVersions, func(component string) bool {
			_, known := staticpod.ManifestVersion(n, component)
			return known
		})
	})
}

// interrupted reports whether an earlier apply was interrupted on the way to the desired version
// before any manifest had it: every host has its images by then, and the control plane differs from
// the record, because static pods are stopped or have an intermediate version.
func interrupted(c *topology.Cluster) bool {
	return slices.ContainsFunc(c.ControlPlanes(), func(n *topology.Node) bool {
		return n.Report != nil && !n.Joins() && halfway(n) && slices.ContainsFunc(kubeadm.Images(n.Input()), func(image string) bool {
			return strings.HasSuffix(host.Repository(image), "/kube-apiserver") && slices.Contains(n.Report.Images, image)
		})
	})
}

// halfway reports whether a static pod of a control plane is stopped, or has another version than
// the recorded one.
func halfway(n *topology.Node) bool {
	was, remembered := skew.ParseRelease(n.Cluster.RecordedVersion())
	return n.Stopped() || remembered && slices.ContainsFunc(topology.ControlPlaneVersions, func(component string) bool {
		r, known := staticpod.ManifestVersion(n, component)
		return known && r != was
	})
}

// flagsRefused returns a sentence for each control plane whose kubelet cannot start with its flags.
func flagsRefused(c *topology.Cluster) string {
	out := ""
	for _, n := range c.ControlPlanes() {
		out += staticpod.FlagsRefused(n)
	}
	return out
}

// VersionChange refuses versions that cannot be reached, and warns of kubelets that stay behind.
func VersionChange(c *topology.Cluster) diag.Diagnostics {
	if c.Up == nil {
		return behind(c)
	}
	refuse := func(summary, format string, args ...any) diag.Diagnostics {
		return diag.Diagnostics{diag.Errorf(summary, "Cluster %q: "+format,
			append([]any{c.Label}, args...)...).At(pki.Place(c, "kubernetes_version")).For(c.Target)}
	}
	switch {
	case c.Up.Err != nil:
		return refuse("Version cannot be reached", "%v.", c.Up.Err)
	case !c.Up.Raises:
		return slices.Concat(unmanagedLeftBehind(c), emptyPools(c), tooManyDown(c, kubelet.KubeletsToUpgrade(c, config.Worker)), behind(c))
	case c.Report == nil && !c.Up.Begun:
		return refuse("Cluster cannot be upgraded now", "%s, so that the versions of its kubelets are unknown. Bring the API back first, with kubernetes_version = %q.%s", observe.DarkTargets(c)[0].Reason, c.Up.Newest, flagsRefused(c))
	case len(pki.FormerHosts(c)) > 0:
		return diag.Diagnostics{staticpod.RefuseMove(c)}
	case exchanges(c):
		first := fmt.Sprintf("the nodes first, with kubernetes_version = %q, or the upgrade first", c.Up.Newest)
		if c.Up.Begun {
			first = "the upgrade first, which has begun, with the previous control planes"
		}
		return refuse("Cluster cannot be upgraded now", "control planes are added and removed in the same plan (%s). "+
			"Removals run before an upgrade and joins after it: etcd would have fewer members while each restarts. Do one after the other: %s.", etcd.DescribeChanges(c, etcd.MembershipChanges(c)), first)
	}
	return slices.Concat(unmanagedLeftBehind(c), unfit(c), unfitOnTheWay(c), unready(c), deprecated(c), emptyPools(c), tooManyDown(c, kubelet.KubeletsToUpgrade(c, config.Worker)), behind(c))
}

// exchanges reports whether etcd members are both added and removed.
func exchanges(c *topology.Cluster) bool {
	comes, goes := false, false
	for _, a := range etcd.MembershipChanges(c) {
		comes, goes = comes || a.Add, goes || !a.Add
	}
	return comes && goes
}

// unready warns of control planes whose Node is not Ready, with which kubeadm does not begin. The
// step waits for it right before it changes the node, which may just have been restarted.
func unready(c *topology.Cluster) diag.Diagnostics {
	var names []string
	var diags diag.Diagnostics
	for _, n := range c.ControlPlanes() {
		if staticpod.AwaitsReady(n) {
			names = append(names, n.Target.String())
		}
		if n.Upgrades() && c.Report != nil && staticpod.KubeletAheadOfAPI(n) {
			diags = append(diags, warnAhead(n))
		}
	}
	if len(names) == 0 {
		return diags
	}
	return append(diags, diag.Warningf("Control plane is not ready", "%s: the Node is not Ready. The upgrade waits %s for it before it changes the node, "+
		"and does not continue without it. kubectl describe node shows what is wrong.", strings.Join(names, ", "), c.Timeouts.KubeletHealthCheck).At(pki.Place(c, "kubernetes_version")))
}

func warnAhead(n *topology.Node) *diag.Diagnostic {
	api, _ := staticpod.ManifestVersion(n, "kube-apiserver")
	return diag.Warningf("Kubelet is newer than the API server", "%s: the kubelet %s is installed and the version of the running one is unknown, "+
		"as after a reboot of the host: it may not work with the API server %s beside it. "+
		"The upgrade does not wait for it: it recovers when the API server has its version. If the apply fails there, install the kubelet %s, restart it, and apply again.",
		n.Target, n.Facts().KubeletVersion, api, api).At(pki.Place(n.Cluster, "kubernetes_version")).For(n.Target)
}

// unfit refuses kubelets that are too old for the desired version, or newer.
func unfit(c *topology.Cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	said, kubelets := map[string]bool{}, clusterKubelets(c)
	for _, name := range slices.Sorted(maps.Keys(kubelets)) {
		kubelet, ok := skew.ParseRelease(kubelets[name])
		if !ok {
			continue
		}
		if err := skew.KubeletFits(kubelet, c.Up.Oldest, c.Up.Want); err != nil {
			said[name] = true
			diags = append(diags, misfit(c, "node "+name, err, toFit(c, kubelet)))
		}
	}
	for _, n := range c.Nodes {
		coming, ok := skew.ParseRelease(staticpod.ComingKubelet(n))
		if !ok || !n.Upgrades() || said[n.NodeName] {
			continue
		}
		if err := skew.KubeletFits(coming, c.Up.Want, c.Up.Want); err != nil {
			diags = append(diags, misfit(c, n.Target.String()+", as installed on the host", err, fmt.Sprintf("Install the kubelet %s there.", c.Up.Want)))
		}
	}
	return diags
}

// clusterKubelets returns the versions of running kubelets by node name: according to the API, or
// to the state while the API does not answer.
func clusterKubelets(c *topology.Cluster) map[string]string {
	out := map[string]string{}
	if c.Report != nil {
		for name, n := range c.Report.Nodes {
			out[name] = n.KubeletVersion
		}
		return out
	}
	for _, n := range c.Nodes {
		out[n.NodeName] = staticpod.LastKubelet(n)
	}
	return out
}

func misfit(c *topology.Cluster, where string, err error, remedy string) *diag.Diagnostic {
	return diag.Errorf("Kubelet version does not fit", "Cluster %q, %s: %v. %s",
		c.Label, where, err, remedy).At(pki.Place(c, "kubernetes_version")).For(c.Target)
}

// toFit returns the remedy for a running kubelet that does not fit the control planes: before their
// upgrade it must not be newer than they are, and afterwards not too old. An older one is upgraded
// by as many minor versions at a time as the skew allows.
func toFit(c *topology.Cluster, kubelet skew.Release) string {
	oldest := c.Up.Oldest
	if kubelet.Minor > oldest.Minor {
		return fmt.Sprintf("Install the kubelet %s there and restart it; newer ones follow their control planes.", oldest)
	}
	first := "a release of 1." + strconv.Itoa(kubelet.Minor+skew.MaxKubelet)
	if oldest.Minor >= kubelet.Minor+skew.MaxKubelet {
		first = oldest.String()
	}
	return fmt.Sprintf("Stop at %s first: set it as kubernetes_version, install its kubelet there and apply. Then continue to %s.", first, c.Up.Want)
}

// behind warns of kubelets that stay older than the cluster: installed ones that were not upgraded
// to the desired version. It mentions patch releases only in an upgrade.
func behind(c *topology.Cluster) diag.Diagnostics {
	want, _ := skew.ParseRelease(c.KubernetesVersion)
	byVersion := map[string][]string{}
	for _, n := range c.Nodes {
		stays, ok := skew.ParseRelease(staticpod.ComingKubelet(n))
		older := stays.Minor < want.Minor || c.Up != nil && stays.Compare(want) < 0
		if ok && older && n.RunningKubelet() != "" && !n.Joins() {
			byVersion[stays.String()] = append(byVersion[stays.String()], n.Target.String())
		}
	}
	var diags diag.Diagnostics
	for _, version := range slices.Sorted(maps.Keys(byVersion)) {
		diags = append(diags, diag.Warningf("Kubelet is not upgraded", "%s: the installed kubelet is %s, and kubewright does not replace what it did not install. "+
			"A kubelet may stay behind for three minor versions. To upgrade it, install the kubelet %s there and plan again; "+
			"the plan drains each node and restarts its kubelet.",
			strings.Join(byVersion[version], ", "), version, want).At(pki.Place(c, "kubernetes_version")))
	}
	return diags
}

// LowersKubelets reports whether kubelet versions change and all become older: an administrator has
// installed them. That is no upgrade.
func LowersKubelets(c *topology.Cluster) bool {
	for t, version := range c.Up.Turns {
		to, _ := skew.ParseRelease(version)
		if from, ok := skew.ParseRelease(c.Node(t).RunningKubelet()); !ok || to.Compare(from) > 0 {
			return false
		}
	}
	return !c.Up.Raises && len(c.Up.Turns) > 0
}

// UpgradeLine returns the sentence about the upgrade.
func UpgradeLine(c *topology.Cluster) string {
	var parts []string
	if c.Up.Raises {
		parts = append(parts, "kubernetes_version: "+staticpod.VersionNote(c), "control planes one at a time")
	} else {
		parts = append(parts, "kubelets to "+c.KubernetesVersion)
	}
	if len(kubelet.KubeletsToUpgrade(c, config.Worker)) > 1 {
		return strings.Join(append(parts, workersLine(c, kubelet.UpgradeBatches(c))), "; ")
	}
	return strings.Join(parts, "; ") + "."
}

// Misfit reports the error that prevents a node's files from being rendered.
func Misfit(n *topology.Node, err error) *diag.Diagnostic {
	text := n.Cluster.Fleet.Config.Secrets.Text(err.Error())
	return diag.Errorf("Configuration does not fit the component", "For %s: %s.", n.Target, text).At(misfitPlace(n, err)).For(n.Target)
}

// misfitPlace returns the location of the patch that does not fit, or of a block: the node's if
// rendering succeeds without its settings, otherwise the cluster's.
func misfitPlace(n *topology.Node, err error) state.Source {
	if p, ok := errors.AsType[*kubeadm.PatchError](err); ok && p.Source.File != "" {
		return p.Source
	}
	in, bare := n.Input(), *n.Node
	bare.Patches, bare.Kubelet.Config = nil, state.Value{}
	in.Node = &bare
	if kubeadm.Check(in) == nil {
		return n.Source
	}
	return n.Cluster.Source
}
