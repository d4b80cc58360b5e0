package hclconfig

import "github.com/kubewright/kubewright/config"

// admissionBlock describes the configuration of admission plugins. It stands for the file of an
// AdmissionConfiguration and the argument that names it.
var admissionBlock = &Block{
	Name: "admission", Doc: "Configuration of admission plugins of the API servers, in `" + config.AdmissionPath + "`. It stands for the `file` block and the `arg` that would do the same, and excludes these.",
	Blocks: []*Block{podSecurityBlock, pluginBlock},
}

var podSecurityBlock = &Block{
	Name: "pod_security", Doc: "Pod Security Standards for namespaces without labels of their own.",
	Attributes: []Attribute{
		{Name: "enforce", Type: typeString, Default: "privileged", Cost: CostRestart, Doc: "Pods beyond this level are refused: `privileged`, `baseline` or `restricted`."},
		{Name: "audit", Type: typeString, Default: "privileged", Cost: CostRestart, Doc: "Pods beyond this level are marked in the audit log."},
		{Name: "warn", Type: typeString, Default: "privileged", Cost: CostRestart, Doc: "The user who makes a pod beyond this level gets a warning."},
		{Name: "standards_version", Type: typeString, Default: "latest", Cost: CostRestart, Doc: "The version whose standards count, as in `v1.36`; `latest` follows the API server."},
		{Name: "exempt_namespaces", Type: typeStrings, Default: []string{"kube-system"}, Cost: CostRestart, Doc: "Namespaces in which nothing is checked. kube-system needs rights beyond `baseline`, and so does that of most network plugins."},
		{Name: "exempt_users", Type: typeStrings, Cost: CostRestart, Doc: "Users whose pods are not checked."},
		{Name: "exempt_runtime_classes", Type: typeStrings, Cost: CostRestart, Doc: "Runtime classes of pods that are not checked."},
	},
}

var pluginBlock = &Block{
	Name: "plugin", Label: "NAME", Doc: "Configuration of another plugin, as in `plugin \"EventRateLimit\"`. A plugin that is not on by default is switched on, unless an `arg` sets `enable-admission-plugins`.",
	Attributes: []Attribute{
		{Name: "configuration", Type: typeTree, Required: true, Cost: CostRestart, Doc: "An object with apiVersion and kind, by the plugin's own names."},
	},
}
