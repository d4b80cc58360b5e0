package apply

import (
	"cmp"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// job describes the run for the history.
func (s *Apply) job() state.Job {
	p := s.Result.Plan
	j := state.Job{
		Operation:   operation(cmp.Or(s.Command, Operation(s.Opts)), p),
		ToolVersion: console.Version, Commit: p.Commit, Observed: s.ObservedAfter.UTC(),
		Restricted: s.Planner != nil || p.Restricted() || p.RefreshOnly || p.Withholds(),
	}
	j.Add, j.Change, j.Destroy = p.Counts()
	return j
}

// operation returns the command of a plan with the flags that make it another one than the
// configuration asks for.
func operation(command string, p *planner.Plan) string {
	words := []string{command}
	if p.RefreshOnly {
		words = append(words, "-refresh-only")
	}
	for _, given := range []struct {
		flag   string
		values []string
	}{{"replace", p.Replace}, {"target", p.Targets}, {"exclude", p.Excluded}, {"skip-phase", p.SkippedPhases}} {
		for _, v := range given.values {
			words = append(words, "-"+given.flag+"="+state.ShellWord(v))
		}
	}
	text := strings.Join(words, " ")
	if len(text) > state.MaxOperation {
		text = strings.ToValidUTF8(text[:state.MaxOperation-len("…")], "") + "…"
	}
	return text
}
