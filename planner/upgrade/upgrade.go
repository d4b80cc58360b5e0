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

// AnalyzeUpgrade tells how versions change; nil when none does, or none is known.
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
	up.Begun, up.Raises = cutShort(c), !tells(c) && up.Oldest != want
	// What has stopped on its way never ran with the version that it was given there.
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

// lowest returns the oldest version that a control plane can have while another one has the
// newest: what the state remembers or, where that is more than one minor version
// behind, the last version on the way, which all of them reach before any goes on.
func lowest(c *topology.Cluster, newest skew.Release) (skew.Release, bool) {
	was, ok := skew.ParseRelease(c.RecordedVersion())
	if ok && was.Major == newest.Major && was.Minor < newest.Minor-1 {
		was, ok = through(c)[newest.Minor-1]
	}
	return was, ok
}

// apiServers returns the versions of the control planes' API servers, as their
// manifests have them; the one that answered where no manifest tells, or the one
// that answered last where an earlier apply has stopped all of them.
func apiServers(c *topology.Cluster) []skew.Release {
	var out []skew.Release
	for _, n := range c.ControlPlanes() {
		// While one is stopped, those beside it tell what it was.
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

// tells reports whether some manifest of a control plane tells its version, or the API does.
func tells(c *topology.Cluster) bool {
	return c.Report != nil || slices.ContainsFunc(c.ControlPlanes(), func(n *topology.Node) bool {
		return slices.ContainsFunc(topology.ControlPlaneVersions, func(component string) bool {
			_, known := staticpod.ManifestVersion(n, component)
			return known
		})
	})
}

// cutShort reports whether an earlier apply was cut short on its way to the wanted
// version before any manifest had that: every host has its images by then, and the
// control plane is not as it was left, for static pods are stopped, or have a version
// in between.
func cutShort(c *topology.Cluster) bool {
	return slices.ContainsFunc(c.ControlPlanes(), func(n *topology.Node) bool {
		return n.Report != nil && !n.Joins() && halfway(n) && slices.ContainsFunc(kubeadm.Images(n.Input()), func(image string) bool {
			return strings.HasSuffix(host.Repository(image), "/kube-apiserver") && slices.Contains(n.Report.Images, image)
		})
	})
}

// halfway reports whether a static pod of a control plane is stopped, or has another
// version than the state remembers.
func halfway(n *topology.Node) bool {
	was, remembered := skew.ParseRelease(n.Cluster.RecordedVersion())
	return n.Stopped() || remembered && slices.ContainsFunc(topology.ControlPlaneVersions, func(component string) bool {
		r, known := staticpod.ManifestVersion(n, component)
		return known && r != was
	})
}

// VersionChange refuses versions that cannot be reached, and says which kubelets
// stay behind.
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
		return slices.Concat(unmanagedLeftBehind(c), emptyPools(c), tooManyDown(c), behind(c))
	case c.Report == nil && !c.Up.Begun:
		return refuse("Cluster cannot be upgraded now", "%s, so that the versions of its kubelets are unknown. Bring the API back first, with kubernetes_version = %q.", observe.DarkTargets(c)[0].Reason, c.Up.Newest)
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
	return slices.Concat(unmanagedLeftBehind(c), unfit(c), unfitOnTheWay(c), unready(c), deprecated(c), emptyPools(c), tooManyDown(c), behind(c))
}

// exchanges reports whether members of etcd are to come and to go.
func exchanges(c *topology.Cluster) bool {
	comes, goes := false, false
	for _, a := range etcd.MembershipChanges(c) {
		comes, goes = comes || a.Add, goes || !a.Add
	}
	return comes && goes
}

// unready warns of control planes whose Node is not Ready, with which kubeadm
// does not begin. The step waits for it, right before the node is touched: it
// may have been restarted a moment ago.
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

// unfit refuses kubelets that are too old for the wanted version, or newer.
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

// clusterKubelets returns the versions that kubelets run, by their nodes' names: as the API
// shows them, and while that does not answer as the state remembers them.
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

// toFit says how a kubelet that runs comes to go with the control planes: before
// their upgrade it has to be no newer than they are, and for what comes behind it
// not too old. An older one takes as many minor versions as it may at a time.
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

// behind warns of kubelets that stay older than the cluster: those that are
// installed, and that nobody has brought to the wanted version. Of patch releases
// it speaks in an upgrade only.
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

// LowersKubelets reports whether versions of kubelets change and all become older ones: those that
// somebody has installed. That is no upgrade.
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
		return strings.Join(append(parts, workersLine(c)), "; ")
	}
	return strings.Join(parts, "; ") + "."
}

// Misfit reports what keeps a node's files from being rendered.
func Misfit(n *topology.Node, err error) *diag.Diagnostic {
	text := n.Cluster.Fleet.Config.Secrets.Text(err.Error())
	return diag.Errorf("Configuration does not fit the component", "For %s: %s.", n.Target, text).At(misfitPlace(n, err)).For(n.Target)
}

// misfitPlace returns the patch that does not fit, or the block of a node: its own when it
// does without what is written there, otherwise the cluster's.
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

// UnmanagedNodes returns the nodes that the cluster has and the configuration has not.
func UnmanagedNodes(c *topology.Cluster) []string {
	if c.Report == nil {
		return nil
	}
	known := map[string]bool{}
	for _, n := range c.Nodes {
		known[n.NodeName] = true
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.Report.Nodes)) {
		if !known[name] {
			names = append(names, name)
		}
	}
	return names
}
