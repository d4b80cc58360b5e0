package upgrade

import (
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
)

// AsksForDeprecated reports whether a cluster whose API server has the version is upgraded to
// another minor version: its API servers are then queried for deprecated APIs in use. Their metrics
// are large, and nothing else needs them.
func AsksForDeprecated(cfg *config.Config, label, version string) bool {
	c := cfg.Cluster(label)
	if c == nil {
		return false
	}
	want, ok := skew.ParseRelease(c.KubernetesVersion)
	running, known := skew.ParseRelease(version)
	return ok && known && running.Minor < want.Minor
}

// deprecated warns of APIs in use that the desired version no longer serves, and of those that a
// later version will not serve. It refuses nothing: an API server counts every request since its
// start, even a single manual one.
func deprecated(c *topology.Cluster) diag.Diagnostics {
	if c.Report == nil {
		return nil
	}
	var removed, later []string
	for _, d := range c.Report.Deprecated {
		line := "  " + d.String() + ", removed in " + d.Removed
		if len(d.Users) > 0 {
			line += "; written by " + strings.Join(d.Users, ", ")
		}
		if r, ok := skew.ParseRelease(d.Removed + ".0"); ok && r.Minor <= c.Up.Want.Minor {
			removed = append(removed, line)
		} else {
			later = append(later, line)
		}
	}
	var diags diag.Diagnostics
	warn := func(summary, what string, lines []string) {
		if len(lines) == 0 {
			return
		}
		diags = append(diags, diag.Warningf(summary, "Since the API servers of cluster %q started, clients have requested %s:\n\n%s\n\n"+
			"Move these clients to a supported version of the API; Kubernetes' deprecated API migration guide names it for each. "+
			"Other callers are in the audit log, in events with the annotation k8s.io/deprecated.",
			c.Label, what, strings.Join(lines, "\n")).At(pki.Place(c, "kubernetes_version")).For(c.Target))
	}
	warn("Removed APIs are in use", fmt.Sprintf("APIs that Kubernetes %d.%d does not serve. Such requests fail after the upgrade", c.Up.Want.Major, c.Up.Want.Minor), removed)
	warn("Deprecated APIs are in use", "APIs that a later release will not serve", later)
	if len(c.Report.DeprecatedUnread) > 0 {
		diags = append(diags, diag.Warningf("Use of deprecated APIs is not fully known", "Not every API server of cluster %q reported which deprecated APIs clients have "+
			"requested, so that there may be more than this plan shows:\n\n  %s\n\nThe audit log of such a server has these requests, "+
			"in events with the annotation k8s.io/deprecated; or plan again when it answers.",
			c.Label, strings.Join(c.Report.DeprecatedUnread, "\n  ")).At(pki.Place(c, "kubernetes_version")).For(c.Target))
	}
	return diags
}
