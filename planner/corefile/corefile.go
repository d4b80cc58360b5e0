package corefile

import (
	"slices"
	"strings"

	"github.com/coredns/corefile-migration/migration"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// The names of kubeadm's checks (app/phases/upgrade/health.go), by which they are ignored.
const (
	unsupportedPlugins = "CoreDNSUnsupportedPlugins"
	migrationNeeded    = "CoreDNSMigration"
)

var (
	deployment = state.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "kube-system", Name: "coredns"}
	configMap  = state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "coredns"}
)

// Check refuses Corefiles that CoreDNS cannot read in the version that it is upgraded to. A version
// that the library does not know, such as that of an image of one's own, is not checked.
func Check(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if c.Report == nil || c.Founding || v.Destroy || c.PrimaryNode() == nil {
			continue
		}
		from, to := version(c.Report.Objects[deployment]), version(desired(c))
		text := c.Report.Objects[configMap].Get("data.Corefile").AsString()
		if from == to || text == "" || migration.ValidUpMigration(from, to) != nil {
			continue
		}
		diags = append(diags, check(c, from, to, text)...)
	}
	return diags
}

// desired returns the Deployment of the configuration; null if it has none.
func desired(c *topology.Cluster) state.Value {
	for _, o := range kubeadm.Objects(c.PrimaryNode().Input()) {
		if o.Ref == deployment {
			return o.Object
		}
	}
	return state.Null()
}

// version returns the version of CoreDNS in a Deployment, without its v; empty if there is none.
func version(d state.Value) string {
	for _, container := range d.Get("spec.template.spec.containers").AsList() {
		if container.Get("name").AsString() == "coredns" {
			image, _, _ := strings.Cut(container.Get("image").AsString(), "@")
			return strings.TrimPrefix(image[strings.LastIndex(image, ":")+1:], "v")
		}
	}
	return ""
}

func check(c *topology.Cluster, from, to, text string) diag.Diagnostics {
	var diags diag.Diagnostics
	report := func(name, summary, format string, args ...any) {
		d := diag.Errorf(summary, format, args...)
		if preflight.Ignores(c.PrimaryNode(), name) {
			d.Severity = diag.Warning
		} else {
			d.Add("To continue anyway: ignore_preflight_errors = [%q].", name)
		}
		diags.Append(d.At(c.Source).For(c.Target))
	}
	changed, err := migration.Deprecated(from, to, text)
	unknown, unread := migration.Unsupported(from, to, text)
	if err != nil || unread != nil {
		return nil // not a Corefile, which CoreDNS does not read today either
	}
	gone := slices.DeleteFunc(changed, func(n migration.Notice) bool { return n.Severity != migration.SevRemoved })
	unknown = slices.DeleteFunc(unknown, func(n migration.Notice) bool {
		return slices.ContainsFunc(gone, func(g migration.Notice) bool { return g.Plugin == n.Plugin && g.Option == n.Option })
	})
	if len(unknown) > 0 {
		report(unsupportedPlugins, "CoreDNS may not read its Corefile", "%s: CoreDNS goes from %s to %s, and the ConfigMap kube-system/coredns has what is not known to be in %s: %s. CoreDNS exits if it is not in the image, and names of Services are not resolved. "+
			"Take it out first with kubectl -n kube-system edit configmap coredns, or keep an image that has it with dns { image_repository, image_tag }. ",
			c.Target, from, to, to, named(unknown))
	}
	if len(gone) > 0 {
		instead, err := migration.Migrate(from, to, text, false)
		if err != nil {
			instead = "(" + err.Error() + ")"
		}
		report(migrationNeeded, "CoreDNS cannot read its Corefile", "%s: CoreDNS goes from %s to %s, and the ConfigMap kube-system/coredns has what was removed: %s. CoreDNS would exit, and names of Services would not be resolved. "+
			"Change it first with kubectl -n kube-system edit configmap coredns. CoreDNS %s reads:\n\n%s\n\n", c.Target, from, to, named(gone), to, strings.TrimSpace(instead))
	}
	return diags
}

// named lists plugins and their options, each once.
func named(notices []migration.Notice) string {
	var out []string
	for _, n := range notices {
		text := "plugin " + n.Plugin
		if n.Option != "" {
			text = "option " + n.Option + " of " + text
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}
