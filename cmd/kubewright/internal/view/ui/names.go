package ui

import (
	"net/netip"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// PhaseName returns the phase of a step, with its waypoint if it has one.
func PhaseName(step state.Address) string {
	name := Clean(step.Phase)
	if step.Waypoint != "" {
		name += "@" + Clean(step.Waypoint)
	}
	return name
}

// StepName returns a step's address; the run as a whole has none.
func StepName(id state.Address) string {
	if id.Target.IsZero() {
		return "kubewright"
	}
	return Clean(id.String())
}

// ShortName returns a target's key or label; for an IPv4 address the last number.
func ShortName(t state.Target) string {
	if !t.Keyed {
		return Clean(t.Name)
	}
	if a, err := netip.ParseAddr(t.Key); err == nil && a.Is4() {
		return "…" + t.Key[strings.LastIndex(t.Key, ".")+1:]
	}
	return Clean(t.Key)
}

// BlockHead returns the head of a target's block as the user wrote it.
func BlockHead(t state.Target) string {
	if t.Type == state.TypeAddon {
		return "addon " + Quote(t.Key)
	}
	return Clean(t.Type) + " " + Quote(t.Name)
}

// SourceNote returns the line of the configuration, with the controls of a benchmark that the value
// serves; empty for defaults, which need no comment.
func SourceNote(s state.Source) string {
	if s.File == "" {
		return ""
	}
	if s.Control != "" {
		return Clean(s.String() + " (" + s.Control + ")")
	}
	return Clean(s.String())
}
