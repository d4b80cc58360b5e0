package planner

import "strings"

type (
	// Packages installs packages with the host's package manager, from its configured repositories,
	// and holds them. A package in another version is moved to the desired one. No other package is
	// removed for it. With Remove the packages are removed, together with dependencies that were
	// installed with them and that nothing else needs. The host alone performs it. Done when each
	// package is as listed, or removed; with apt, also its dependencies.
	Packages struct {
		// Manager is apt or dnf.
		Manager string `json:"manager"`
		// Repository is the file on the host that names the Kubernetes package repository, whose
		// index is refreshed first.
		Repository string    `json:"repository"`
		List       []Package `json:"packages"`
		Remove     bool      `json:"remove,omitempty"`
	}

	// Package is one of Packages.
	Package struct {
		Name string `json:"name"`
		// Version is the version of the software, as in 1.36.3; empty for the installed one, or the
		// newest if there is none.
		Version string `json:"version,omitempty"`
		// Hold is hold, unhold, or empty for no change. dnf has no such mark.
		Hold string `json:"hold,omitempty"`
	}
)

// The values of Package.Hold.
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
