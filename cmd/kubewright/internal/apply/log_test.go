package apply

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/logged"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

const (
	madeToken = "abcdef.0123456789abcdef"
	madeKey   = "c0ffee11c0ffee11c0ffee11c0ffee11"
)

// telltale is a world whose API makes secrets and whose hosts quote them.
type telltale struct{ hosts.World }

type telltaleHost struct{ providers.Host }

type telltaleAPI struct{ providers.API }

func (telltale) Open(context.Context, config.Connection, string) (providers.Host, error) {
	return telltaleHost{}, nil
}
func (telltale) Access() providers.Access { return telltaleAccess{} }
func (telltale) Issuer() providers.Issuer { return sim.Issuer{} }
func (telltale) Clock() providers.Clock   { return hosts.WallClock{} }

type telltaleAccess struct{ providers.Access }

func (telltaleAccess) API(context.Context, providers.Host, string) (providers.API, error) {
	return telltaleAPI{}, nil
}

func (telltaleAPI) CreateToken(context.Context, planner.CreateToken, state.Secret) (state.Secret, error) {
	return state.NewSecret([]byte(madeToken)), nil
}

func (telltaleAPI) UploadCerts(context.Context, planner.UploadCerts, map[string]state.Secret, state.Secret) (state.Secret, error) {
	return state.NewSecret([]byte(madeKey)), nil
}

func (telltaleHost) ReadSecrets(context.Context, []string) (map[string]state.Secret, error) {
	return nil, nil
}

func (telltaleHost) Perform(context.Context, providers.Batch) ([]providers.Outcome, error) {
	return nil, fmt.Errorf("cannot use %s with %s", madeToken, madeKey)
}

// TestLogHidesSecretsMadeInRun checks that the log redacts the secrets that this run made: it
// gets a host's error before anything is redacted in it.
func TestLogHidesSecretsMadeInRun(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log := logged.New(&b, logged.Options{Level: logged.LevelTrace, Now: time.Now})
	log.Hide(state.NewRedactor([]string{"hunter22"}))
	a := &workspace.Workspace{Console: &console.Console{Env: &console.Env{}, Log: log}}
	w := session.LoggedWorld{World: telltale{}, Log: log}
	s := &session.Session{Workspace: a, Hosts: &hosts.Hosts{World: w}, Observed: &topology.Fleet{}, Config: &config.Config{}, Store: &statefile.Store{}}
	p := PlanRun(s).NewPerformer()
	p.Host = func(ctx context.Context, _ state.Target) (providers.Host, error) {
		return w.Open(ctx, config.Connection{}, "10.0.0.1")
	}
	p.Seat = func(state.Target) (providers.Seat, error) { return providers.Seat{}, nil }
	node := state.NodeKeyTarget("cp", "cp1")
	step := &planner.Step{Target: node, Via: node, Operations: []planner.Operation{planner.CreateToken{}, planner.UploadCerts{}, planner.EnsureDirectory{Path: "/hunter22"}}}
	if _, err := p.Perform(t.Context(), step, providers.Run{}, providers.Progress{}); err == nil {
		t.Fatal("Perform succeeded")
	}
	if text := b.String(); !strings.Contains(text, `error="cannot use (sensitive value) with (sensitive value)"`) || strings.Contains(text, "hunter22") {
		t.Errorf("the log says\n%s", text)
	}
}
