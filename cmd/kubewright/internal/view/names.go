package view

import (
	"net/netip"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// phaseName returns the phase of a step, with its waypoint where it has one.
func phaseName(step state.Address) string {
	name := Clean(step.Phase)
	if step.Waypoint != "" {
		name += "@" + Clean(step.Waypoint)
	}
	return name
}

// stepName returns a step's address; the run as a whole has none.
func stepName(id state.Address) string {
	if id.Target.IsZero() {
		return "kubewright"
	}
	return Clean(id.String())
}

// shortest returns a target's key or label; of an IPv4 address the last number.
func shortest(t state.Target) string {
	if !t.Keyed {
		return Clean(t.Name)
	}
	if a, err := netip.ParseAddr(t.Key); err == nil && a.Is4() {
		return "…" + t.Key[strings.LastIndex(t.Key, ".")+1:]
	}
	return Clean(t.Key)
}

// blockHead returns the block as the user wrote it.
func blockHead(t state.Target) string {
	if t.Type == state.TypeAddon {
		return "addon " + quote(t.Key)
	}
	return Clean(t.Type) + " " + quote(t.Name)
}

// sourceNote names the line of the configuration; defaults are not worth a comment.
func sourceNote(s state.Source) string {
	if s.File == "" {
		return ""
	}
	return Clean(s.String())
}
