package main

import (
	"context"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/http"
	"github.com/kubewright/kubewright/state/backend/http/httptestserver"
)

// serveState serves a state until the test ends.
func serveState(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, _ []string) {
		s := httptestserver.New(t)
		ts.Setenv("STATE_URL", s.URL)
		b, err := http.New(backend.Settings{
			"address": s.URL, "lock_address": s.URL, "username": s.User, "password": s.Password,
			"update_method": "POST", "lock_method": "LOCK", "unlock_method": "UNLOCK",
			"retry_max": "0", "retry_wait_min": "0", "retry_wait_max": "0",
		})
		ts.Check(err)
		of(ts).states = b
	}
}

// holdRemotely takes the lock of what serveState serves for another run.
func holdRemotely(ts *testscript.TestScript, _ bool, args []string) {
	_, err := of(ts).states.Lock(context.Background(), backendtest.Info(args[0]))
	ts.Check(err)
}
