package ownership

import (
	"strings"

	"github.com/kubewright/kubewright/planner"
)

// Restrictions returns the restrictions of a plan as given on the command line.
func Restrictions(o planner.Options) []string {
	var out []string
	for _, s := range o.Targets {
		out = append(out, "-target="+Quoted(s))
	}
	for _, s := range o.Excludes {
		out = append(out, "-exclude="+Quoted(s))
	}
	for _, name := range o.SkipPhases {
		out = append(out, "-skip-phase="+name)
	}
	return out
}

// Quoted returns a selector quoted for a shell.
func Quoted(s planner.Selector) string {
	if text := s.String(); strings.ContainsAny(text, `["`) {
		return "'" + text + "'"
	}
	return s.String()
}
