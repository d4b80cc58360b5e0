package config

import "github.com/kubewright/kubewright/state"

// Backend says where the state is kept; nil stands for a file beside the configuration.
type Backend struct {
	// Type is the block's label: http, s3, kubernetes or pg.
	Type string
	// Settings are the attributes by name, as text: "true", "3".
	Settings map[string]string
	// Sensitive names the settings that are, or may contain, secrets.
	Sensitive map[string]bool
	// From has the settings that are not from the block, by name, once they are complete.
	From map[string]Given `json:"-"`
	// Sure are the values of settings in the environment and on the command line, by name, even
	// if another value takes precedence.
	Sure map[string][]string `json:"-"`
	// Source is the place of the block.
	Source state.Source
}

// Given is the source of a setting that is not from the block.
type Given struct {
	// By is an environment variable, a flag, or the name of a file.
	By string
	// File reports whether By is a file.
	File bool
}

// Secrets returns the values that must not be shown or stored.
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
