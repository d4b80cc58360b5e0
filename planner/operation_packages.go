package planner

import "strings"

type (
	// Packages installs packages with the host's package manager, from the
	// repositories that it has, and holds them; one that is there in another version
	// is moved to the wanted one. No other package is removed for it. With Remove
	// they go, and with them what the installation brought along and nothing else
	// needs. It is an operation of the host alone. Done when each package is as
	// listed, or gone; with apt, also what came along.
	Packages struct {
		// Manager is apt or dnf.
		Manager string `json:"manager"`
		// Repository is the file on the host that names where Kubernetes' packages
		// are: what that repository has is reread before.
		Repository string    `json:"repository"`
		List       []Package `json:"packages"`
		Remove     bool      `json:"remove,omitempty"`
	}

	// Package is one of Packages.
	Package struct {
		Name string `json:"name"`
		// Version is that of the software, as in 1.36.3; empty for what is there,
		// otherwise the newest.
		Version string `json:"version,omitempty"`
		// Hold is hold, unhold, or empty for as it is. dnf has no such mark.
		Hold string `json:"hold,omitempty"`
	}
)

// What Package.Hold says.
const (
	Hold   = "hold"
	Unhold = "unhold"
)

// Op returns the name in JSON.
func (Packages) Op() string { return "packages" }

// Summary returns one line for the progress display.
func (o Packages) Summary() string {
	var names []string
	for _, p := range o.List {
		name := p.Name
		if p.Version != "" {
			name += " " + p.Version
		}
		names = append(names, name)
	}
	verb := "install "
	if o.Remove {
		verb = "remove "
	}
	return verb + strings.Join(names, ", ") + " with " + o.Manager
}
