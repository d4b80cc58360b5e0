package phases

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
)

// Check reports what no file can be made of: patches that do not fit,
// component configurations that the component would not read. It looks at the
// configuration alone and comes before anything else.
func Check(cfg *config.Config) diag.Diagnostics {
	v := &View{Config: cfg}
	v.resolve()
	var diags diag.Diagnostics
	said := map[string]bool{}
	for _, c := range v.clusters {
		checked := map[config.Role]bool{}
		for _, n := range c.nodes {
			// Nodes that have nothing of their own fit, or do not, as one.
			if plain := n.plain(); plain && checked[n.Role] {
				continue
			} else if plain {
				checked[n.Role] = true
			}
			err := kubeadm.Check(n.input())
			if err == nil || said[err.Error()] {
				continue
			}
			said[err.Error()] = true
			diags = append(diags, diag.Errorf("Configuration does not fit the component", "For %s: %v.", n.target, err).At(c.Source).For(n.target))
		}
	}
	return diags
}

// NotYet refuses what the language can say and the phases cannot do yet: it
// would otherwise be left out in silence. It looks at the configuration alone.
func NotYet(cfg *config.Config) diag.Diagnostics {
	v := &View{Config: cfg}
	v.resolve()
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		for _, l := range c.limits() {
			if l.asked {
				diags = append(diags, diag.Errorf("Not possible yet", "Cluster %q asks for %s, which this version of kubewright cannot do yet. "+
					"Nothing is changed. %s", c.Label, l.what, l.instead).At(c.origin(l.path)))
			}
		}
	}
	return diags
}

// unchangeable refuses what cannot be done with the clusters as they are seen.
func (v *View) unchangeable() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		diags = append(diags, c.versionChange()...)
		diags = append(diags, c.lostMembers()...)
	}
	return diags
}

// limit is one thing that cannot be done yet.
type limit struct {
	asked               bool
	what, instead, path string
}

func (c *cluster) limits() []limit {
	return []limit{
		{c.UploadCerts, "the kubeadm-certs Secret", "For a control plane joined by hand copy /etc/kubernetes/pki as kubeadm's documentation says.", "upload_certs"},
		{c.hasSecrets(), "sensitive values in what is written to hosts or the API", "They would stand in plan and state. Put them on the hosts yourself and name the file.", ""},
		{len(c.BootstrapTokens) > 0, "tokens of yours", "Make them with kubeadm token create on a control plane.", "bootstrap_token"},
	}
}

// hasSecrets tells that something sensitive would go into a file or an object.
// What a connection needs stays with the operator.
func (c *cluster) hasSecrets() bool {
	secret := slices.ContainsFunc(slices.Collect(maps.Keys(c.Sensitive)), func(path string) bool { return !brought(path) })
	for _, a := range c.Addons {
		secret = secret || a.Sensitive
	}
	for _, n := range c.nodes {
		for key := range n.Sensitive {
			secret = secret || !strings.HasPrefix(key, "connection.")
		}
	}
	return secret
}

// brought tells that a value of the cluster's block stands in a plan only as a
// reference.
func brought(path string) bool {
	return strings.HasPrefix(path, "certificates.") && strings.HasSuffix(path, "ca.key") || path == "etcd.external.key"
}

// versionChange refuses another version for a cluster that runs: an upgrade
// has an order of its own, which is not there yet.
func (c *cluster) versionChange() diag.Diagnostics {
	if c.report == nil || c.report.Version == "" {
		return nil
	}
	running := strings.TrimPrefix(c.report.Version, "v")
	if running == c.KubernetesVersion {
		return nil
	}
	return diag.Diagnostics{diag.Errorf("Not possible yet", "Cluster %q runs Kubernetes %s and the configuration asks for %s. "+
		"This version of kubewright does not upgrade clusters yet, so nothing is changed. Set kubernetes_version = %q.",
		c.Label, running, c.KubernetesVersion, running).At(c.origin("kubernetes_version"))}
}
