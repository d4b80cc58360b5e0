package pipeline

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// withoutWrong returns the configuration without its known errors, so that other values that cannot be
// rendered are found as well and no error is reported twice.
func withoutWrong(cfg *config.Config, wrong []*diag.Diagnostic) *config.Config {
	if !diag.Diagnostics(wrong).HasErrors() {
		return cfg
	}
	out := *cfg
	out.Clusters, out.Nodes = nil, nil
	for _, c := range cfg.Clusters {
		if kubeadm.CheckVersion(c.KubernetesVersion) != nil {
			continue // nothing can be rendered for an unknown version
		}
		bare := *c
		bare.Patches = rightPatches(c.Patches, wrong)
		if isWrong(c.Origins, "feature_gates", wrong) {
			bare.FeatureGates = nil
		}
		if isWrong(c.Origins, "kubelet.config", wrong) {
			bare.Kubelet.Config = state.Null()
		}
		if isWrong(c.Origins, "kube_proxy.config", wrong) {
			bare.KubeProxy.Config = state.Null()
		}
		out.Clusters = append(out.Clusters, &bare)
	}
	for _, n := range cfg.Nodes {
		bare := *n
		bare.Patches = rightPatches(n.Patches, wrong)
		if isWrong(n.Origins, "kubelet.config", wrong) {
			bare.Kubelet.Config = state.Null()
		}
		out.Nodes = append(out.Nodes, &bare)
	}
	return &out
}

// rightPatches returns the patches without known errors.
func rightPatches(patches []config.Patch, wrong []*diag.Diagnostic) []config.Patch {
	return slices.DeleteFunc(slices.Clone(patches), func(p config.Patch) bool { return errorAt(p.Source, wrong) })
}

// isWrong reports whether an error refers to the value at a path, or to one inside it.
func isWrong(origins config.Origins, path string, wrong []*diag.Diagnostic) bool {
	for at, source := range origins {
		if (at == path || strings.HasPrefix(at, path+".") || strings.HasPrefix(at, path+"[")) && errorAt(source, wrong) {
			return true
		}
	}
	return false
}

// errorAt reports whether an error refers to this source line.
func errorAt(at state.Source, wrong []*diag.Diagnostic) bool {
	return slices.ContainsFunc(wrong, func(d *diag.Diagnostic) bool {
		return d.Severity == diag.Error && d.Subject.File == at.File && d.Subject.Line == at.Line
	})
}
