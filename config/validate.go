package config

import "github.com/kubewright/kubewright/config/diag"

// Validate checks everything that can be checked without looking at a host.
func (c *Config) Validate() diag.Diagnostics {
	return nil
}
