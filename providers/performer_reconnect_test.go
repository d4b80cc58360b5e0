package providers_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// mortal opens APIs and etcds that answer only while the connection to their host lives.
type mortal struct {
	access
	lost string
}

func (m *mortal) err(via providers.Host) error {
	if via.(*fakeHost).name == m.lost {
		return &providers.Error{Kind: providers.ErrUnreachable, Do: "connect to 10.0.0.1:6443"}
	}
	return nil
}

func (m *mortal) API(ctx context.Context, via providers.Host, endpoint string) (providers.API, error) {
	a, err := m.access.API(ctx, via, endpoint)
	return &mortalAPI{a, m, via}, err
}

func (m *mortal) Etcd(ctx context.Context, via providers.Host, endpoints []string, folder string) (providers.Etcd, error) {
	e, err := m.access.Etcd(ctx, via, endpoints, folder)
	return &mortalEtcd{e, m, via}, err
}

type mortalAPI struct {
	providers.API
	*mortal
	via providers.Host
}

func (a *mortalAPI) Drain(context.Context, planner.Drain, func(string)) error { return a.err(a.via) }

func (a *mortalAPI) Ready(context.Context) error { return a.err(a.via) }

type mortalEtcd struct {
	providers.Etcd
	*mortal
	via providers.Host
}

func (e *mortalEtcd) Compact(context.Context) error { return e.err(e.via) }

// TestRetryUsesNewConnection checks that a retry goes through the host's new connection, not through the
// one that has ended. Both are closed at the end.
func TestRetryUsesNewConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op   planner.Operation
		what string
	}{
		"drain": {planner.Drain{Node: "w1"}, "API"},
		"wait":  {planner.Wait{For: planner.WaitAPI}, "API"},
		"etcd":  {planner.CompactEtcd{}, "etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			p := s.performer()
			m := &mortal{access: access{s}}
			p.Access = m
			before, after := &fakeHost{scene: s, name: "before"}, &fakeHost{scene: s, name: "after"}
			now, asked := before, 0
			p.Host = func(context.Context, state.Target) (providers.Host, error) {
				if asked++; asked == 3 { // lost after the first, and noticed after the second
					now = after
				}
				return now, nil
			}
			perform := func() error {
				step := &planner.Step{Target: cp1, Via: cp1, Operations: planner.Operations{c.op}}
				_, err := p.Perform(t.Context(), step, providers.Run{}, providers.Progress{})
				return err
			}
			if err := perform(); err != nil {
				t.Fatal(err)
			}
			m.lost = "before"
			if err := perform(); err != nil {
				t.Errorf("after the reconnection: %v", err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			var said []string
			for _, line := range s.log {
				if strings.HasPrefix(line, c.what) {
					said = append(said, strings.Fields(line)[1]+" "+strings.Fields(line + " -")[2])
				}
			}
			if got := strings.Join(said, ", "); got != "through before, through after, closed -, closed -" {
				t.Errorf("the connections: %s", got)
			}
		})
	}
}
