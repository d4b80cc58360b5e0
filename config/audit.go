package config

// Paths of the audit block on control planes.
const (
	AuditPolicyPath  = "/etc/kubernetes/audit/policy.yaml"
	AuditWebhookPath = "/etc/kubernetes/audit/webhook.conf"
	DefaultAuditLog  = "/var/log/kubernetes/audit/audit.log"
)

// AuditLevels are the levels of the events that an audit policy logs (k8s.io/apiserver/pkg/apis/audit).
var AuditLevels = []string{"Metadata", "Request", "RequestResponse"}

// AuditPolicy returns a policy with which all requests are logged at a level. What holds secrets is
// logged without its content.
func AuditPolicy(level string) string {
	out := "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n"
	if level != AuditLevels[0] {
		out += `- level: Metadata
  resources:
  - group: ""
    resources: [secrets, configmaps, serviceaccounts/token]
  - group: authentication.k8s.io
    resources: [tokenreviews]
`
	}
	return out + "- level: " + level + "\n"
}
