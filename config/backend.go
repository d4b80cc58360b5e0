package config

import "github.com/kubewright/kubewright/state"

// Backend says where the state is kept; a nil one is a file beside the configuration.
type Backend struct {
	// Type is the block's label: http, s3, kubernetes or pg.
	Type string
	// Settings are the attributes by name, as text: "true", "3".
	Settings map[string]string
	// Sensitive names the settings that are secrets, or may hold one.
	Sensitive map[string]bool
	// Source is the place of the block.
	Source state.Source
}

// Secrets are the values that must not be shown or kept.
func (b *Backend) Secrets() []string {
	var out []string
	if b != nil {
		for name, value := range b.Settings {
			if b.Sensitive[name] && value != "" {
				out = append(out, value)
			}
		}
	}
	return out
}
