package config

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kubeletapis "k8s.io/kubelet/pkg/apis"
)

// taintEffects are the taint effects of Kubernetes.
var taintEffects = []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}

// kubeletLabels checks the argument node-labels as the kubelet does when it
// starts (cmd/kubelet/app/options: ValidateKubeletFlags).
func (c checker) kubeletLabels(path, value string) {
	const summary = "Invalid node label"
	for part := range strings.SplitSeq(value, ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(part), "=") // a key alone has an empty value
		switch {
		case part == "":
		case ofKubernetes(k) && !kubeletapis.IsKubeletLabel(k):
			c.errorf(path, "Label is not the kubelet's to set", "The kubelet does not start with a label %s: of those in kubernetes.io and k8s.io it sets only some, so that a node cannot make itself what it is not. Write it in labels of the node block, which the cluster's administrator sets.", k)
		case len(validation.IsQualifiedName(k)) > 0:
			c.errorf(path, summary, "%q cannot be the key of a label: %s.", k, reasons(validation.IsQualifiedName(k)))
		case len(validation.IsValidLabelValue(v)) > 0:
			c.errorf(path, summary, "%s cannot be the value of a label: %s.", c.show(path, v), reasons(validation.IsValidLabelValue(v)))
		}
	}
}

// ofKubernetes reports whether a label is in a name space of Kubernetes.
func ofKubernetes(key string) bool {
	space, _, ok := strings.Cut(key, "/")
	return ok && slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(s string) bool {
		return space == s || strings.HasSuffix(space, "."+s)
	})
}

// kubeletTaints checks the argument register-with-taints, KEY=VALUE:EFFECT and
// KEY:EFFECT, as the kubelet does (pkg/util/taints).
func (c checker) kubeletTaints(path, value string) {
	const summary = "Invalid taint"
	for part := range strings.SplitSeq(value, ",") {
		if part == "" {
			continue
		}
		head, effect, ok := strings.Cut(part, ":")
		k, v, _ := strings.Cut(head, "=")
		switch {
		case !ok || strings.Contains(effect, ":") || strings.Contains(v, "="):
			c.errorf(path, summary, "%s is not KEY=VALUE:EFFECT; several are separated by commas.", c.show(path, part))
		case !slices.Contains(taintEffects, effect):
			c.errorf(path, summary, "%s is no effect of a taint: %s.%s", Quote(effect), list(taintEffects), didYouMean(effect, taintEffects))
		case len(validation.IsQualifiedName(k)) > 0:
			c.errorf(path, summary, "%q cannot be the key of a taint: %s.", k, reasons(validation.IsQualifiedName(k)))
		case len(validation.IsValidLabelValue(v)) > 0:
			c.errorf(path, summary, "%s cannot be the value of a taint: %s.", c.show(path, v), reasons(validation.IsValidLabelValue(v)))
		}
	}
}
