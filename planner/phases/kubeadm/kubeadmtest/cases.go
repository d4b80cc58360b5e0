package kubeadmtest

import (
	"github.com/kubewright/kubewright/config"
)

// Cases lists all configurations.
func Cases() []Case {
	return []Case{
		newCase("default", joinedBy(newHost("w1", config.Worker, "10.77.0.21"))),
		newCase("rsa", func(c *Case) { c.Cluster.Certificates.Algorithm = "RSA-2048" }),
	}
}
