package main

import (
	"context"
	"os"
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
		of(ts).states, of(ts).server = b, s
	}
}

// served writes what the server of serve keeps into a file.
func served(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), of(ts).server.State(), 0o600))
}

// plant replaces what the server of serve keeps by a file.
func plant(ts *testscript.TestScript, _ bool, args []string) {
	of(ts).server.Put([]byte(ts.ReadFile(args[0])))
}

// holdRemotely takes the lock of what serveState serves for another run.
func holdRemotely(ts *testscript.TestScript, _ bool, args []string) {
	_, err := of(ts).states.Lock(context.Background(), backendtest.Info(args[0]))
	ts.Check(err)
}
