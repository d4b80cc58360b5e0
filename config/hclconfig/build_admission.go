package hclconfig

import (
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hardening"
)

// podSecurityVersion is a version of the Pod Security Standards.
var podSecurityVersion = regexp.MustCompile(`^(latest|v1\.[0-9]{1,3})$`)

// addAdmission adds to a cluster the file and arguments that an admission block stands for.
func addAdmission(e *evaluator, b *block, c *config.Cluster) {
	a := e.one(b, "admission")
	to, at := composer{e: e, c: c, block: "admission"}, a.at
	if !a.written {
		h := hardened{composer{e: e, c: c, block: "hardening"}, e.one(b, "hardening").at}
		on := false
		if to, on = h.serving("1.2.9", "5.2.1"); !on || h.has("admission-control-config-file") {
			return
		}
		at = h.at
	}
	var plugins []map[string]any
	if s := e.one(a, "pod_security"); s.written {
		plugins = append(plugins, map[string]any{"name": "PodSecurity", "configuration": podSecurity(e, s)})
	}
	on := []string{"NodeRestriction"}
	for _, p := range e.all(a, "plugin") {
		if slices.ContainsFunc(plugins, func(q map[string]any) bool { return q["name"] == p.label }) {
			e.errorAt(p.at, "Setting is written twice", "pod_security of the admission block configures PodSecurity as well. Remove one of them.")
		}
		plugins = append(plugins, map[string]any{"name": p.label, "configuration": e.tree(p, "configuration").Go()})
		if slices.Contains(config.OptionalAdmissionPlugins, p.label) {
			on = append(on, p.label)
		}
	}
	plugins = hardening.Plugins(c, plugins)
	if len(plugins) == 0 {
		e.errorAt(a.at, "Invalid admission block", "An admission block configures at least one plugin. Write pod_security or plugin \"NAME\" into it.")
		return
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins})
	if err != nil {
		panic("internal error: admission: " + err.Error()) // a tree can be written
	}
	hidden := false
	for path := range c.Sensitive {
		hidden = hidden || strings.HasPrefix(path, "admission.")
	}
	to.file(config.AdmissionPath, string(text), hidden, at)
	to.arg("admission-control-config-file", config.AdmissionPath, at)
	given := hardening.SwitchOn(c, on) || slices.ContainsFunc(c.APIServer.Args, func(arg config.Arg) bool { return arg.Name == "enable-admission-plugins" })
	if len(on) > 1 && !given {
		to.arg("enable-admission-plugins", strings.Join(on, ","), at)
	}
}

// podSecurity returns the configuration of the plugin PodSecurity.
func podSecurity(e *evaluator, s *block) map[string]any {
	const summary = "Invalid pod security"
	version := e.str(s, "standards_version")
	if version != "" && !podSecurityVersion.MatchString(version) {
		e.errorAt(s.attrs["standards_version"].at, summary, "%q is no version of the Pod Security Standards. Write a minor version as in \"v1.36\", or \"latest\".", version)
	}
	defaults := map[string]any{}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		level := e.str(s, mode)
		if level != "" && !slices.Contains(config.PodSecurityLevels, level) {
			e.errorAt(s.attrs[mode].at, summary, "%q is no level of the Pod Security Standards. Levels are %s.", level, strings.Join(config.PodSecurityLevels, ", "))
		}
		defaults[mode], defaults[mode+"-version"] = level, version
	}
	return hardening.PodSecurity(defaults, e.strings(s, "exempt_namespaces"), e.strings(s, "exempt_users"), e.strings(s, "exempt_runtime_classes"))
}
