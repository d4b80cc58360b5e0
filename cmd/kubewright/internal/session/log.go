package session

import (
	"context"
	"fmt"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/logged"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
)

// LoggedWorld is a world that logs its requests.
type LoggedWorld struct {
	hosts.World
	Log *logged.Log
}

// Open opens a host that writes to the log.
func (w LoggedWorld) Open(ctx context.Context, c config.Connection, address string) (providers.Host, error) {
	if c.Host != "" {
		address = c.Host
	}
	return w.Log.Open(ui.Clean(address), func() (providers.Host, error) { return w.World.Open(ctx, c, address) })
}

// Access returns access to clusters that writes to the log.
func (w LoggedWorld) Access() providers.Access { return w.Log.Access(w.World.Access()) }

// Clock returns a clock that writes to the log.
func (w LoggedWorld) Clock() providers.Clock { return w.Log.Clock(w.World.Clock()) }

func withLog(a *workspace.Workspace, w hosts.World) hosts.World {
	if a.Log == nil {
		return w
	}
	return LoggedWorld{w, a.Log}
}

// logState logs what a run that writes does with the state's lock.
func logState(s *Session, what string) {
	if s.Log != nil && s.RunID != "" {
		s.Log.Info(what, "state", s.Store.Place(), "run", s.RunID)
	}
}

// logPlan logs the size of a plan.
func logPlan(s *Session) {
	if p := s.Result.Plan; s.Log != nil && p != nil {
		s.Log.Info("planned", "hosts", fmt.Sprintf("%d answered, %d did not", len(s.Observed.Reports), len(s.Observed.Unobserved)),
			"changes", len(p.Changes), "steps", len(p.Steps))
	}
}

// logLooked logs the hosts that could not be observed.
func logLooked(s *Session, v *topology.Fleet) *topology.Fleet {
	for _, m := range s.Hosts.Members {
		if u, dark := v.Unobserved[m.Target]; dark {
			s.Log.Warn("host not observed", "node", m.Target.String(), "reason", u.Reason)
		}
	}
	return v
}
