package hclconfig

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/atrest"
)

// addAtRest adds to a cluster the encryption of its objects, and the arguments by which API servers
// read it.
func addAtRest(e *evaluator, b *block, c *config.Cluster) {
	a := e.one(b, "encryption")
	if !a.written {
		return
	}
	c.AtRest = &config.AtRest{Provider: e.str(a, "type"), Key: e.str(a, "key"), Resources: e.strings(a, "resources"), Source: source(a.at)}
	if k := e.one(a, "kms"); k.written {
		c.AtRest.KMS = &config.KMSPlugin{Name: e.str(k, "name"), Endpoint: e.str(k, "endpoint"), Timeout: e.duration(k, "timeout")}
	}
	to := composer{e: e, c: c, block: "encryption"}
	to.arg("encryption-provider-config", atrest.Path, a.at)
	to.arg("encryption-provider-config-automatic-reload", "true", a.at)
	c.EncryptAtRest()
}
