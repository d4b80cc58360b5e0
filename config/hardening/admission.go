package hardening

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
)

// eventLimits are the limits of EventRateLimit: those of the kubelet's own (eventRecordQPS and
// eventBurst), for each namespace and each user.
var eventLimits = map[string]any{
	"apiVersion": "eventratelimit.admission.k8s.io/v1alpha1", "kind": "Configuration",
	"limits": []any{
		map[string]any{"type": "Namespace", "qps": 50, "burst": 100, "cacheSize": 2000},
		map[string]any{"type": "User", "qps": 50, "burst": 100, "cacheSize": 2000},
	},
}

// Plugins adds to the plugins of an admission block those that controls configure.
func Plugins(c *config.Cluster, plugins []map[string]any) []map[string]any {
	configured := func(name string) bool {
		return slices.ContainsFunc(plugins, func(p map[string]any) bool { return p["name"] == name })
	}
	if c.Hardening.Enforces("1.2.9") && !configured("EventRateLimit") {
		plugins = append(plugins, map[string]any{"name": "EventRateLimit", "configuration": eventLimits})
	}
	if c.Hardening.Enforces("5.2.1") && !configured("PodSecurity") {
		defaults := map[string]any{}
		for mode, level := range map[string]string{"enforce": "baseline", "audit": "restricted", "warn": "restricted"} {
			defaults[mode], defaults[mode+"-version"] = level, "latest"
		}
		plugins = append(plugins, map[string]any{"name": "PodSecurity", "configuration": PodSecurity(defaults, []string{"kube-system"}, nil, nil)})
	}
	return plugins
}

// SwitchOn adds admission plugins to those that a control has switched on; false if none has.
func SwitchOn(c *config.Cluster, names []string) bool {
	for i := range c.APIServer.Args {
		a := &c.APIServer.Args[i]
		if a.Name != "enable-admission-plugins" || a.Source.Control == "" {
			continue
		}
		for _, name := range names {
			if !slices.Contains(strings.Split(a.Value, ","), name) {
				a.Value += "," + name
			}
		}
		return true
	}
	return false
}

// PodSecurity returns the configuration of the plugin PodSecurity: the level and version of each mode, and
// what is exempt.
func PodSecurity(defaults map[string]any, namespaces, users, classes []string) map[string]any {
	list := func(names []string) []string { return append([]string{}, names...) }
	return map[string]any{
		"apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration", "defaults": defaults,
		"exemptions": map[string]any{"namespaces": list(namespaces), "usernames": list(users), "runtimeClasses": list(classes)},
	}
}
