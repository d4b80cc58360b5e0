package kube_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// TestSlowAPI: an API that sends for longer than it may be silent is heard to the end, and
// one that sends nothing any more is given up, whatever it has sent before.
func TestSlowAPI(t *testing.T) {
	t.Parallel()
	const patience = time.Second
	for name, c := range map[string]struct {
		send func(w http.ResponseWriter, ended <-chan struct{})
		want string
	}{
		"slowly and steadily": {func(w http.ResponseWriter, _ <-chan struct{}) {
			_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","items":[`)
			for range 2 * 20 {
				w.(http.Flusher).Flush()
				time.Sleep(patience / 20)
				_, _ = io.WriteString(w, " ")
			}
			_, _ = io.WriteString(w, "]}")
		}, ""},
		"not to the end": {func(w http.ResponseWriter, ended <-chan struct{}) {
			_, _ = io.WriteString(w, `{"kind":"PodList",`)
			w.(http.Flusher).Flush()
			<-ended
		}, "cannot observe the API: nothing has come from it for 1s"},
		"nothing": {func(_ http.ResponseWriter, ended <-chan struct{}) { <-ended }, "cannot observe the API: nothing has come from it for 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan struct{})
				defer close(ended) // before the server closes, which waits for its answers
				_, h := start(t, func(user, method, path string, body []byte) answer {
					if path == "/api/v1/pods" {
						return answer{200, sending(func(w http.ResponseWriter) { c.send(w, ended) })}
					}
					return cluster(user, method, path, body)
				})
				api := open(t, h)
				api.GiveUpAfter(patience)
				began := time.Now()
				report, err := api.Observe(t.Context(), state.ClusterQuery{})
				switch took := time.Since(began); {
				case c.want != "" && (!errors.Is(err, providers.ErrTimeout) || err.Error() != c.want):
					t.Errorf("got %v", err)
				case c.want == "" && (err != nil || !report.Nodes["cp1"].Ready):
					t.Errorf("got %+v, %v", report, err)
				case c.want == "" && took < 2*patience, took < patience:
					t.Errorf("it took %v, and is to show what happens behind %v", took, patience)
				}
			})
		})
	}
}

// TestPodsPieceByPiece: pods are read in pieces that fit together, and all at once where
// the rest of a list has expired.
func TestPodsPieceByPiece(t *testing.T) {
	t.Parallel()
	for name, expired := range map[string]bool{"in pieces": false, "the rest expired": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a *api
			piece := func(name, rest string) answer {
				metadata := object{"namespace": "kube-system", "name": name, "annotations": object{"kubernetes.io/config.mirror": "h"}}
				return answer{200, object{"kind": "PodList", "apiVersion": "v1", "metadata": object{"continue": rest}, "items": []any{object{"metadata": metadata}}}}
			}
			a, h := start(t, func(user, method, path string, body []byte) answer {
				asked := a.requests[len(a.requests)-1]
				switch {
				case path != "/api/v1/pods":
					return cluster(user, method, path, body)
				case strings.HasSuffix(asked, "/pods?limit=500"):
					return piece("first", "rest")
				case strings.HasSuffix(asked, "/pods?continue=rest&limit=500") && expired:
					return status(410, "Expired")
				case strings.HasSuffix(asked, "/pods?continue=rest&limit=500"):
					return piece("second", "")
				}
				return piece("whole", "")
			})
			report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{})
			if err != nil {
				t.Fatal(err)
			}
			_, first := report.StaticPods["first"]
			_, second := report.StaticPods["second"]
			_, whole := report.StaticPods["whole"]
			if first == expired || second == expired || whole != expired {
				t.Errorf("got %v", report.StaticPods)
			}
		})
	}
}
