package kube_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/kube"
	"github.com/kubewright/kubewright/state"
)

// writes are all write requests.
var writes = map[string]func(ctx context.Context, a *kube.API) error{
	"apply":  func(ctx context.Context, a *kube.API) error { return a.Apply(ctx, writtenObject, false) },
	"create": func(ctx context.Context, a *kube.API) error { return a.Apply(ctx, writtenObject, true) },
	"delete": func(ctx context.Context, a *kube.API) error {
		return a.Delete(ctx, state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "s", Name: "c"})
	},
	"label": func(ctx context.Context, a *kube.API) error {
		return a.PatchNode(ctx, planner.PatchNode{Node: "n", Labels: map[string]string{"a": "b"}}, nil)
	},
	"restart": func(ctx context.Context, a *kube.API) error {
		return a.Restart(ctx, planner.RestartPods{Kind: "DaemonSet", Namespace: "s", Name: "d", Mark: "new"})
	},
	"cordon": func(ctx context.Context, a *kube.API) error { return a.Cordon(ctx, planner.Cordon{Node: "n"}) },
	"cordon for": func(ctx context.Context, a *kube.API) error {
		return a.Cordon(ctx, planner.Cordon{Node: "n", For: "x"})
	},
	"token": func(ctx context.Context, a *kube.API) error {
		_, err := a.CreateToken(ctx, planner.CreateToken{TTL: time.Hour}, state.Secret{})
		return err
	},
	"token with an ID": func(ctx context.Context, a *kube.API) error {
		_, err := a.CreateToken(ctx, planner.CreateToken{ID: "abcdef", TTL: time.Hour}, state.Secret{})
		return err
	},
	"token with an ID, again": func(ctx context.Context, a *kube.API) error {
		_, err := a.CreateToken(ctx, planner.CreateToken{ID: "there00", TTL: time.Hour}, state.Secret{})
		return err
	},
	"token's end": func(ctx context.Context, a *kube.API) error {
		return a.DeleteToken(ctx, state.NewSecret([]byte("abcdef.0123456789abcdef")))
	},
	"certificates": func(ctx context.Context, a *kube.API) error {
		_, err := a.UploadCerts(ctx, planner.UploadCerts{TTL: time.Hour}, nil, state.Secret{})
		return err
	},
	"lease": func(ctx context.Context, a *kube.API) error {
		_, err := a.PutLease(ctx, providers.Lease{Name: "l"})
		return err
	},
	"lease's end": func(ctx context.Context, a *kube.API) error {
		return a.DeleteLease(ctx, providers.Lease{Name: "l", Version: "1"})
	},
}

var writtenObject = state.FromGo(object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "c", "namespace": "s"}})

// TestServerErrorLeavesWriteOutcomeOpen checks that after a server error it counts as open whether the server has
// written, and after "service unavailable" as not written. A read is retried elsewhere in
// both cases.
func TestServerErrorLeavesWriteOutcomeOpen(t *testing.T) {
	t.Parallel()
	answers := map[string]struct {
		answer answer
		kind   error
	}{
		"timed out":         {status(504, "Timeout"), providers.ErrTimeout},
		"etcd timed out":    {status(500, "InternalError"), providers.ErrTimeout},
		"a balancer's word": {answer{502, raw("Bad Gateway")}, providers.ErrTimeout},
		"not served":        {status(503, "ServiceUnavailable"), providers.ErrUnavailable},
		"too many":          {status(429, "TooManyRequests"), providers.ErrUnavailable},
	}
	for name, write := range writes {
		for what, c := range answers {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				posted := false // the token that owns the certificates is made first
				_, h := start(t, func(_, method, path string, _ []byte) answer {
					switch {
					case method == "GET":
						return before(path)
					case name == "certificates" && !posted:
						posted = true
						return answer{201, object{"kind": "Secret", "apiVersion": "v1"}}
					}
					return c.answer
				})
				if err := write(t.Context(), open(t, h)); !errors.Is(err, c.kind) || errors.Is(err, providers.ErrUnavailable) != (c.kind == providers.ErrUnavailable) {
					t.Errorf("got %v, want %v", err, c.kind)
				}
			})
		}
	}
	for what, c := range answers {
		_, h := start(t, func(_, _, _ string, _ []byte) answer { return c.answer })
		for _, name := range []string{"label", "restart", "cordon"} {
			if err := writes[name](t.Context(), open(t, h)); !errors.Is(err, providers.ErrUnavailable) || errors.Is(err, providers.ErrTimeout) {
				t.Errorf("%s, %s when it looked: got %v", name, what, err)
			}
		}
	}
}

// before returns the state before a write.
func before(path string) answer {
	switch {
	case strings.Contains(path, "/nodes/"):
		return answer{200, object{"kind": "Node", "apiVersion": "v1", "metadata": object{"name": "n", "resourceVersion": "7"}}}
	case strings.Contains(path, "/daemonsets/"):
		return answer{200, object{"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": object{"name": "d"}}}
	case strings.Contains(path, "/secrets/bootstrap-token-") && !strings.HasSuffix(path, "abcdef"):
		return answer{200, object{"kind": "Secret", "apiVersion": "v1", "metadata": object{"name": "x", "uid": "u", "resourceVersion": "7"}}}
	}
	return status(404, "NotFound")
}
