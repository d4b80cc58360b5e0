package phases

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// upgrade is how the versions of a cluster that runs come to the wanted one. It
// is found from what is observed alone, so that an upgrade that was cut short
// goes on from where it stands: manifests say which version a control plane is
// to run, the API which version a kubelet runs, and a node's annotation that it
// was cordoned for this.
//
// The order is kubeadm's: images on all hosts; then the control planes, one at a
// time and each proved before the next; the configuration in the cluster behind
// the first of them; then the kubelets of the control planes, one at a time, and
// those of the workers, each node drained first; the addons last.
type upgrade struct {
	// newest is the newest API server's version, want the wanted one. oldest is that
	// of the oldest component: a controller manager may have been left behind.
	oldest, newest, want planner.Release
	// raises tells that the version of a control plane's component changes.
	raises bool
	// begun tells that some component has the wanted version already.
	begun bool
	// hops are the versions that control planes go through, the wanted one last;
	// err says why there is no way. way are the hops but the last.
	hops []planner.Release
	err  error
	way  []*waypoint
	// turns are the versions that kubelets of other versions get, by node.
	turns map[state.Target]string
	// batches are cluster.paced, once that was asked for.
	batches []batch
}

// forUpgrade is what nodes are cordoned for.
const forUpgrade = "upgrade"

// planeVersions are the components by whose images a control plane's version is told.
var planeVersions = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// upgrade tells how versions change; nil when none does, or none is known.
func (c *cluster) upgrade() *upgrade {
	want, ok := planner.ParseRelease(c.KubernetesVersion)
	if !ok || c.founding || c.view.Destroy {
		return nil
	}
	up := &upgrade{want: want, turns: map[state.Target]string{}}
	for i, r := range c.apiServers() {
		if i == 0 || r.Compare(up.oldest) < 0 {
			up.oldest = r
		}
		if i == 0 || r.Compare(up.newest) > 0 {
			up.newest = r
		}
	}
	if up.oldest == (planner.Release{}) {
		return nil
	}
	up.begun, up.raises = c.cutShort(), !c.tells() && up.oldest != want
	// What has stopped on its way never ran with the version that it was given there.
	if was, ok := c.lowest(up.newest); ok && up.begun && was.Compare(up.oldest) < 0 && slices.ContainsFunc(c.controlPlanes(), (*node).stopped) {
		up.oldest = was
	}
	held := false
	for _, n := range c.nodes {
		for _, component := range planeVersions {
			r, known := n.planned(component)
			if !known {
				continue
			}
			if r.Compare(up.oldest) < 0 {
				up.oldest = r
			}
			up.begun, up.raises = up.begun || r == want, up.raises || r != want
		}
		if to := n.comingKubelet(); n.runningKubelet() != "" && to != "" && !n.joins() && n.runningKubelet() != to {
			up.turns[n.target] = to
		}
		held = held || n.cordoned()
	}
	if !up.raises && len(up.turns) == 0 && !held {
		return nil
	}
	up.hops, up.err = planner.Hops(up.oldest, up.newest, want, c.through())
	return up
}

// lowest is the oldest version that a control plane can have while another one has the
// newest: what the state remembers or, where that is more than one minor version
// behind, the last version on the way, which all of them reach before any goes on.
func (c *cluster) lowest(newest planner.Release) (planner.Release, bool) {
	was, ok := planner.ParseRelease(c.recordedVersion())
	if ok && was.Major == newest.Major && was.Minor < newest.Minor-1 {
		was, ok = c.through()[newest.Minor-1]
	}
	return was, ok
}

// apiServers are the versions of the control planes' API servers, as their
// manifests have them; the one that answered where no manifest tells, or the one
// that answered last where an earlier apply has stopped all of them.
func (c *cluster) apiServers() []planner.Release {
	var out []planner.Release
	for _, n := range c.controlPlanes() {
		// While one is stopped, those beside it tell what it was.
		for _, component := range planeVersions {
			if r, known := n.planned(component); known {
				out = append(out, r)
				break
			}
		}
	}
	version := c.recordedVersion()
	if c.report != nil {
		version = c.report.Version
	}
	if r, ok := planner.ParseRelease(version); ok && len(out) == 0 {
		out = append(out, r)
	}
	return out
}

// tells tells that some manifest of a control plane tells its version, or the API does.
func (c *cluster) tells() bool {
	return c.report != nil || slices.ContainsFunc(c.controlPlanes(), func(n *node) bool {
		return slices.ContainsFunc(planeVersions, func(component string) bool {
			_, known := n.planned(component)
			return known
		})
	})
}

// cutShort tells that an earlier apply was cut short on its way to the wanted
// version before any manifest had that: every host has its images by then, and the
// control plane is not as it was left, for static pods are stopped, or have a version
// in between.
func (c *cluster) cutShort() bool {
	return slices.ContainsFunc(c.controlPlanes(), func(n *node) bool {
		return n.report != nil && !n.joins() && n.halfway() && slices.ContainsFunc(kubeadm.Images(n.input()), func(image string) bool {
			return strings.HasSuffix(repository(image), "/kube-apiserver") && slices.Contains(n.report.Images, image)
		})
	})
}

// stopped tells that static pods of a control plane are stopped.
func (n *node) stopped() bool {
	return n.report != nil && !n.joins() && slices.ContainsFunc(n.staticPods(), func(component string) bool {
		return !n.report.Files[manifest(component)].Exists
	})
}

// halfway tells that a static pod of a control plane is stopped, or has another
// version than the state remembers.
func (n *node) halfway() bool {
	was, remembered := planner.ParseRelease(n.cluster.recordedVersion())
	return n.stopped() || remembered && slices.ContainsFunc(planeVersions, func(component string) bool {
		r, known := n.planned(component)
		return known && r != was
	})
}

// planned is the version that a component's manifest on the host asks for; false
// when there is none, or its image has another tag than a version's.
func (n *node) planned(component string) (planner.Release, bool) {
	if n.report == nil || !n.isControlPlane() || !n.report.Files[manifest(component)].Exists {
		return planner.Release{}, false
	}
	pod, err := n.cluster.view.memo.tree(state.KindStaticPod, n.report.Files[manifest(component)].Content)
	if err != nil {
		return planner.Release{}, false
	}
	return releaseOf(pod.Get("image").AsString())
}

// releaseOf is the version that an image's tag names; false when it is none.
func releaseOf(image string) (planner.Release, bool) {
	image, _, _ = strings.Cut(image, "@")
	tag := image[strings.LastIndexByte(image, ':')+1:]
	return planner.ParseRelease(strings.ReplaceAll(tag, "_", "+"))
}

// runningKubelet is the version of the node's kubelet as the API shows it,
// without v; empty when that is not known.
func (n *node) runningKubelet() string {
	if n.cluster.report == nil {
		return ""
	}
	return strings.TrimPrefix(n.cluster.report.Nodes[n.name].KubeletVersion, "v")
}

// comingKubelet is the version of the kubelet that the host has, or gets from
// packages or artifacts: theirs is that of the cluster. Empty when it is not known.
func (n *node) comingKubelet() string {
	if n.report == nil {
		return ""
	}
	if n.packagesMisfit() {
		return n.cluster.KubernetesVersion
	}
	for _, f := range n.software() {
		if f.path == programs+"/kubelet" && n.report.Files[f.path].SHA256 != f.program.SHA256 {
			return n.cluster.KubernetesVersion
		}
	}
	return n.facts().KubeletVersion
}

// upgrades tells that the node takes part in its cluster's upgrade: it runs.
func (n *node) upgrades() bool { return n.cluster.up != nil && n.report != nil && !n.joins() }

// turns tells that the node's kubelet gets another version.
func (n *node) turns() bool { return n.turnsTo() != "" }

func (n *node) turnsTo() string {
	if n.cluster.up == nil {
		return ""
	}
	return n.cluster.up.turns[n.target]
}

// cordoned tells that the node was cordoned for an upgrade, by an earlier apply.
func (n *node) cordoned() bool { return n.cordonedFor(forUpgrade) }

// wasLeaving tells that the node was cordoned by an earlier apply to leave, and
// that it stays after all.
func (n *node) wasLeaving() bool { return n.cordonedFor(forLeaving) }

func (n *node) cordonedFor(purpose string) bool {
	return n.cluster.report != nil && n.cluster.report.Nodes[n.name].Annotations[planner.CordonAnnotation] == purpose
}

// versionChange refuses versions that cannot be reached, and says which kubelets
// stay behind.
func (c *cluster) versionChange() diag.Diagnostics {
	if c.up == nil {
		return c.behind()
	}
	refuse := func(summary, format string, args ...any) diag.Diagnostics {
		return diag.Diagnostics{diag.Errorf(summary, "Cluster %q: "+format+" Nothing is changed on any host.",
			append([]any{c.Label}, args...)...).At(c.place("kubernetes_version")).For(c.target)}
	}
	switch {
	case c.up.err != nil:
		return refuse("Version cannot be reached", "%v.", c.up.err)
	case !c.up.raises:
		return slices.Concat(c.strangersBehind(), c.emptyPools(), c.tooManyDown(), c.behind())
	case c.report == nil && !c.up.begun:
		return refuse("Cluster cannot be upgraded now", "%s, so that it is not known which versions its kubelets run. "+
			"Bring it to answer first, with kubernetes_version = %q.", c.darkTargets()[0].Reason, c.up.newest)
	case len(c.formerHosts()) > 0:
		return diag.Diagnostics{c.refuseMove()}
	case c.exchanges():
		first := fmt.Sprintf("the nodes first, with kubernetes_version = %q, or the upgrade first", c.up.newest)
		if c.up.begun {
			first = "the upgrade first, which has begun, with the control planes as they were"
		}
		return refuse("Cluster cannot be upgraded now", "control planes are to come and to go in the same plan (%s). Those that go leave before an upgrade, and those that come join after it: "+
			"etcd would have fewer members while each restarts. Do one after the other: %s.", c.story(c.acts()), first)
	}
	return slices.Concat(c.strangersBehind(), c.unfit(), c.unfitOnTheWay(), c.unready(), c.deprecated(), c.emptyPools(), c.tooManyDown(), c.behind())
}

// exchanges tells that members of etcd are to come and to go.
func (c *cluster) exchanges() bool {
	comes, goes := false, false
	for _, a := range c.acts() {
		comes, goes = comes || a.Add, goes || !a.Add
	}
	return comes && goes
}

// unready warns of control planes whose Node is not Ready, with which kubeadm
// does not begin. The step waits for it, right before the node is touched: it
// may have been restarted a moment ago.
func (c *cluster) unready() diag.Diagnostics {
	var names []string
	var diags diag.Diagnostics
	for _, n := range c.controlPlanes() {
		if n.awaitsReady() {
			names = append(names, n.target.String())
		}
		if n.upgrades() && c.report != nil && n.ahead() {
			diags = append(diags, n.warnAhead())
		}
	}
	if len(names) == 0 {
		return diags
	}
	return append(diags, diag.Warningf("Control plane is not ready", "%s: the Node is not Ready. The upgrade waits %s for it before it touches the node, and goes no further without it. "+
		"kubectl describe node shows what is wrong.", strings.Join(names, ", "), c.Timeouts.KubeletHealthCheck).At(c.place("kubernetes_version")))
}

// awaitsReady tells that the node's version is to change and its Node was seen
// to be not Ready, which is not for its upgrade to mend.
func (n *node) awaitsReady() bool {
	return n.upgrades() && n.cluster.up.raises && n.isControlPlane() && n.cluster.report != nil && !n.cluster.report.Nodes[n.name].Ready && !n.ahead() && !n.muted()
}

// muted tells that the API server beside a kubelet, or the etcd behind that, is stopped,
// or does not run as its file says. It is the one that the kubelet reports to, and that
// is asked whether the Node is Ready, so that this comes back with its static pods.
func (n *node) muted() bool {
	return slices.ContainsFunc(n.staticPods(), func(component string) bool {
		if component != "etcd" && component != "kube-apiserver" {
			return false
		}
		return !n.report.Files[manifest(component)].Exists || n.showsAnother(component)
	})
}

// ahead tells that the kubelet which is installed is newer than the API server beside
// it, was started, and is not heard of, as when the host has booted: some cannot work
// with an older API server. The upgrade of the control plane is what brings it back.
func (n *node) ahead() bool {
	kubelet, installed := planner.ParseRelease(n.facts().KubeletVersion)
	api, known := n.planned("kube-apiserver")
	return installed && known && ofMinor(kubelet).Compare(ofMinor(api)) > 0 &&
		n.report.Units[kubeletUnit].Active == "active" && n.cluster.report.Nodes[n.name].Silent
}

func (n *node) warnAhead() *diag.Diagnostic {
	api, _ := n.planned("kube-apiserver")
	return diag.Warningf("Kubelet is ahead of its turn", "%s: the kubelet %s is installed and nothing is heard of the one that runs, as when the host has booted since: it may not work with the API server %s beside it. "+
		"The upgrade does not wait for it: it comes back when that has its version. If the apply fails there, install the kubelet %s, restart it, and apply again.",
		n.target, n.facts().KubeletVersion, api, api).At(n.cluster.place("kubernetes_version")).For(n.target)
}

// unfit refuses kubelets that are too old for the wanted version, or newer.
func (c *cluster) unfit() diag.Diagnostics {
	var diags diag.Diagnostics
	said, kubelets := map[string]bool{}, c.kubelets()
	for _, name := range slices.Sorted(maps.Keys(kubelets)) {
		kubelet, ok := planner.ParseRelease(kubelets[name])
		if !ok {
			continue
		}
		if err := planner.KubeletFits(kubelet, c.up.oldest, c.up.want); err != nil {
			said[name] = true
			diags = append(diags, c.misfit("node "+name, err, c.toFit(kubelet)))
		}
	}
	for _, n := range c.nodes {
		coming, ok := planner.ParseRelease(n.comingKubelet())
		if !ok || !n.upgrades() || said[n.name] {
			continue
		}
		if err := planner.KubeletFits(coming, c.up.want, c.up.want); err != nil {
			diags = append(diags, c.misfit(n.target.String()+", as installed on the host", err, fmt.Sprintf("Install the kubelet %s there.", c.up.want)))
		}
	}
	return diags
}

// kubelets are the versions that kubelets run, by their nodes' names: as the API
// shows them, and while that does not answer as the state remembers them.
func (c *cluster) kubelets() map[string]string {
	out := map[string]string{}
	if c.report != nil {
		for name, n := range c.report.Nodes {
			out[name] = n.KubeletVersion
		}
		return out
	}
	for _, n := range c.nodes {
		out[n.name] = n.lastKubelet()
	}
	return out
}

// lastKubelet is runningKubelet, and while the API does not answer, or has no Node of
// the kubelet's, the version that the state remembers.
func (n *node) lastKubelet() string {
	it := n.cluster.view.recorded.Find(item(n.target, kubeletStartPhase, "unit", kubeletUnit))
	if n.cluster.report != nil && !n.unregistered() || it == nil {
		return n.runningKubelet()
	}
	return it.Attributes.Get("version").AsString()
}

func (c *cluster) misfit(where string, err error, remedy string) *diag.Diagnostic {
	return diag.Errorf("Kubelet does not fit", "Cluster %q, %s: %v. Nothing is changed on any host. %s",
		c.Label, where, err, remedy).At(c.place("kubernetes_version")).For(c.target)
}

// toFit says how a kubelet that runs comes to go with the control planes: before
// their upgrade it has to be no newer than they are, and for what comes behind it
// not too old. An older one takes as many minor versions as it may at a time.
func (c *cluster) toFit(kubelet planner.Release) string {
	oldest := c.up.oldest
	if kubelet.Minor > oldest.Minor {
		return fmt.Sprintf("Install the kubelet %s there and restart it; newer ones follow their control planes.", oldest)
	}
	first := "a release of 1." + strconv.Itoa(kubelet.Minor+planner.KubeletSkew)
	if oldest.Minor >= kubelet.Minor+planner.KubeletSkew {
		first = oldest.String()
	}
	return fmt.Sprintf("Stop at %s first: with that as kubernetes_version, install its kubelet there and apply. Then go on to %s.", first, c.up.want)
}

// behind warns of kubelets that stay older than the cluster: those that are
// installed, and that nobody has brought to the wanted version. Of patch releases
// it speaks in an upgrade only.
func (c *cluster) behind() diag.Diagnostics {
	want, _ := planner.ParseRelease(c.KubernetesVersion)
	byVersion := map[string][]string{}
	for _, n := range c.nodes {
		stays, ok := planner.ParseRelease(n.comingKubelet())
		older := stays.Minor < want.Minor || c.up != nil && stays.Compare(want) < 0
		if ok && older && n.runningKubelet() != "" && !n.joins() {
			byVersion[stays.String()] = append(byVersion[stays.String()], n.target.String())
		}
	}
	var diags diag.Diagnostics
	for _, version := range slices.Sorted(maps.Keys(byVersion)) {
		diags = append(diags, diag.Warningf("Kubelet stays behind", "%s: the installed kubelet is %s, and kubewright does not replace what it did not install. "+
			"That may be so for three minor versions. To follow: install the kubelet %s there and plan again; the plan drains each node and restarts its kubelet.",
			strings.Join(byVersion[version], ", "), version, want).At(c.place("kubernetes_version")))
	}
	return diags
}

// versionNote is the version of the cluster, or how it changes.
func (c *cluster) versionNote() string {
	if c.up == nil || !c.up.raises {
		return c.KubernetesVersion
	}
	versions := []string{c.up.oldest.String()}
	for _, hop := range c.up.hops {
		versions = append(versions, hop.String())
	}
	return strings.Join(versions, " → ")
}

// lowers tells that versions of kubelets change and all become older ones: those that
// somebody has installed. That is no upgrade.
func (c *cluster) lowers() bool {
	for t, version := range c.up.turns {
		to, _ := planner.ParseRelease(version)
		if from, ok := planner.ParseRelease(c.node(t).runningKubelet()); !ok || to.Compare(from) > 0 {
			return false
		}
	}
	return !c.up.raises && len(c.up.turns) > 0
}

// upgradeLine is the sentence about the upgrade.
func (c *cluster) upgradeLine() string {
	var parts []string
	if c.up.raises {
		parts = append(parts, "kubernetes_version: "+c.versionNote(), "control planes one at a time")
	} else {
		parts = append(parts, "kubelets to "+c.KubernetesVersion)
	}
	if len(c.turning(config.Worker)) > 1 {
		return strings.Join(append(parts, c.workersLine()), "; ")
	}
	return strings.Join(parts, "; ") + "."
}
