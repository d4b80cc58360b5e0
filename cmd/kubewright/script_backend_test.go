package main

import (
	"context"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/http"
	"github.com/kubewright/kubewright/state/backend/http/httptestserver"
)

// serveState serves a state until the test ends; with an argument, as GitLab does.
func serveState(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		s := httptestserver.New(t)
		s.GitLab = len(args) > 0 && args[0] == "gitlab"
		ts.Setenv("STATE_URL", s.URL)
		settings := backend.Settings{
			"address": s.URL, "lock_address": s.URL, "username": s.User, "password": s.Password,
			"update_method": "POST", "lock_method": "LOCK", "unlock_method": "UNLOCK",
			"retry_max": "0", "retry_wait_min": "0", "retry_wait_max": "0",
		}
		if s.GitLab {
			settings["lock_address"], settings["lock_method"], settings["unlock_method"] = s.URL+"/lock", "POST", "DELETE"
		}
		b, err := http.New(settings)
		ts.Check(err)
		of(ts).states, of(ts).server = b, s
	}
}

// served writes the state on the server of serve to a file.
func served(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), of(ts).server.State(), 0o600))
}

// plant replaces the state on the server of serve with a file.
func plant(ts *testscript.TestScript, _ bool, args []string) {
	of(ts).server.Put([]byte(ts.ReadFile(args[0])))
}

// holdRemotely takes the lock of the state of serveState for another run. Its arguments may be
// hostile: they can contain Go escapes.
func holdRemotely(ts *testscript.TestScript, _ bool, args []string) {
	for i := range args {
		text, err := strconv.Unquote(`"` + args[i] + `"`)
		ts.Check(err)
		args[i] = text
	}
	info := backendtest.Info(args[0])
	if len(args) == 3 {
		info.Who, info.Operation = args[1], args[2]
	}
	ts.Setenv("HOLDER", info.ID)
	_, err := of(ts).states.Lock(context.Background(), info)
	ts.Check(err)
}

// serveBucket serves a bucket with files until the test ends.
func serveBucket(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		memory := s3mem.New()
		ts.Check(memory.CreateBucket("states"))
		for _, name := range args {
			text := ts.ReadFile(name)
			meta := map[string]string{"Last-Modified": time.Now().UTC().Format(nethttp.TimeFormat)}
			_, err := memory.PutObject("states", name, meta, strings.NewReader(text), int64(len(text)), nil)
			ts.Check(err)
		}
		server := httptest.NewServer(gofakes3.New(memory).Server())
		t.Cleanup(server.Close)
		ts.Setenv("BUCKET_URL", server.URL)
		ts.Setenv("KUBEWRIGHT_S3_ACCESS_KEY", "AKTEST")
		ts.Setenv("KUBEWRIGHT_S3_SECRET_KEY", "top-secret")
	}
}
