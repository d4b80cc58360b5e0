package staticpod

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// StoppedKubelets refuses to change static pods of a control plane whose kubelet does not run: no pod
// would start from a written manifest, and the apply would stop there, after other control planes were
// changed. While the API does not answer nothing is refused: a kubelet whose certificate has expired
// cannot start before the plan has given it another one.
func StoppedKubelets(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if c.Report == nil || c.Founding {
			continue
		}
		var hosts []string
		refused := ""
		for _, n := range c.ControlPlanes() {
			if kubeletStopped(n) && slices.ContainsFunc(p.Steps, func(s planner.Step) bool { return s.Target == n.Target && needsKubelet(c, &s) }) {
				hosts = append(hosts, fmt.Sprintf("%s (%s), whose kubelet is not running (%s)", n.Target, n.Address, cmp.Or(n.Report.Units[topology.KubeletUnit].Active, "unknown")))
				refused += FlagsRefused(n)
			}
		}
		if len(hosts) == 0 {
			continue
		}
		text, advice := stoppedKubelet+startKubelet, any(remedy.Apply)
		if refused != "" { // starting it does not help
			text, advice = stoppedKubelet+"%s", refused
		}
		diags = append(diags, diag.Errorf("Kubelet is not running", text, c.Label, strings.Join(hosts, ", "), advice).At(c.Source).For(c.Target))
	}
	return diags
}

// What is wrong with a kubelet that does not run, and what to do where the reason is unknown.
const (
	stoppedKubelet = "Static pods of cluster %q would be stopped and started on %s: " +
		"without a kubelet this does not happen, and the apply would stop in the middle."
	startKubelet = " Start the existing kubelet there, and plan again:\n\n" +
		"  systemctl enable --now kubelet\n\nAs long as no part of the change is done, %s with the previous configuration and software starts " +
		"it as well. If it does not stay up, journalctl -u kubelet shows the cause there."
)

// FlagsRefused returns a sentence, after a space, about flags with which the stopped kubelet of a node cannot
// start, with what to do; empty if there are none. Another version of the kubelet was installed then than
// the one that they were written for.
func FlagsRefused(n *topology.Node) string {
	if !kubeletStopped(n) {
		return ""
	}
	installed, known := skew.ParseRelease(n.Facts().KubeletVersion)
	if !known {
		return ""
	}
	var refused []string
	for _, a := range n.Seen(state.KindEnvFile, topology.KubeletFlags).Get("args").AsArgs() {
		flag, listed := componentflag.Flags["kubelet"][componentflag.FlagName("kubelet", a.Name)]
		if listed && !slices.Contains(flag.Minors, strconv.Itoa(installed.Minor)) {
			refused = append(refused, "--"+a.Name)
		}
	}
	if len(refused) == 0 {
		return ""
	}
	return fmt.Sprintf(" The kubelet %s that is installed on %s has no %s, which %s names, and exits. Install the kubelet %s there again, start it, and plan again.",
		installed, n.Target, strings.Join(refused, ", "), topology.KubeletFlags, strings.TrimPrefix(n.Cluster.RecordedVersion(), "v"))
}

// kubeletStopped reports whether the kubelet of a joined control plane is not active.
func kubeletStopped(n *topology.Node) bool {
	return n.Report != nil && !n.Joins() && n.Report.Units[topology.KubeletUnit].Active != "active"
}

// needsKubelet reports whether a step needs the present kubelet for its changes to static pods,
// including a step that stops them before another kubelet replaces it.
func needsKubelet(c *topology.Cluster, s *planner.Step) bool {
	switch s.Phase {
	case topology.EtcdPhase, topology.ControlPlanePhase:
		return slices.Contains(s.Limits, c.Limit("control-plane-disruption"))
	}
	return s.Phase == topology.KubeletStartPhase && len(s.Gates) > 0
}
