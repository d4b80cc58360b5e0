package hclconfig

import "github.com/kubewright/kubewright/config"

// auditBlock describes the audit log of API servers. It stands for the policy's file, the folder of
// the log and the arguments that name them.
var auditBlock = &Block{
	Name: "audit", Doc: "The audit log of the API servers: a policy in `" + config.AuditPolicyPath + "`, and where events go. It stands for the `file`, `directory` and `arg` blocks that would do the same, and excludes these.",
	Attributes: []Attribute{
		{Name: "level", Type: typeString, Cost: CostRestart, Doc: "Log all requests with `Metadata`, `Request` or `RequestResponse`, without the stage RequestReceived. Secrets, ConfigMaps, tokens and token reviews are logged with `Metadata` in any case, so that the log holds none of them. Excludes `policy`."},
		{Name: "policy", Type: typeString, NonEmpty: true, Cost: CostRestart, Doc: "An audit policy of your own, as in `file(\"audit-policy.yaml\")`. Excludes `level`."},
	},
	Blocks: []*Block{auditLogBlock, auditWebhookBlock},
}

var auditLogBlock = &Block{
	Name: "log", Doc: "Events go into a file on each control plane. This is the default without a `webhook` block.",
	Attributes: []Attribute{
		{Name: "path", Type: typeString, Default: config.DefaultAuditLog, NonEmpty: true, Cost: CostRestart, Doc: "The file. Its folder is made, for root alone. `-` is the output of the container."},
		{Name: "max_age", Type: typeNumber, Default: 30, Cost: CostRestart, Doc: "Days after which an old file is removed; 0 keeps them."},
		{Name: "max_backup", Type: typeNumber, Default: 10, Cost: CostRestart, Doc: "How many old files are kept; 0 keeps all."},
		{Name: "max_size", Type: typeNumber, Default: 100, Cost: CostRestart, Doc: "Size in megabytes at which a new file begins."},
	},
}

var auditWebhookBlock = &Block{
	Name: "webhook", Doc: "Events go to a server.",
	Attributes: []Attribute{
		{Name: "kubeconfig", Type: typeString, Required: true, NonEmpty: true, Sensitive: true, Cost: CostRestart, Doc: "A kubeconfig with the server, and with the certificates and credentials for it."},
		{Name: "mode", Type: typeString, Default: "batch", Cost: CostRestart, Doc: "`batch`, `blocking` or `blocking-strict`, with which a request fails if its event cannot be sent."},
	},
}
