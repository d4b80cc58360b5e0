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

// TestSlowAPIIsReadToTheEnd checks that an API that sends for longer than it may be silent is read to the
// end, and that one that stops sending is given up, whatever it has sent before.
func TestSlowAPIIsReadToTheEnd(t *testing.T) {
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
					t.Errorf("it took %v, with a patience of %v", took, patience)
				}
			})
		})
	}
}

// TestTricklingAPIIsGivenUp checks that an API that sends a byte now and then, and never finishes, is
// given up.
func TestTricklingAPIIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		_, h := start(t, func(user, method, path string, body []byte) answer {
			if path != "/api/v1/pods" {
				return cluster(user, method, path, body)
			}
			return answer{200, sending(func(w http.ResponseWriter) {
				for {
					select {
					case <-ended:
						return
					case <-time.After(10 * time.Second):
						_, _ = io.WriteString(w, " ")
						w.(http.Flusher).Flush()
					}
				}
			})}
		})
		api := open(t, h)
		began := time.Now()
		_, err := api.Observe(t.Context(), state.ClusterQuery{})
		close(ended)
		if took := time.Since(began); !errors.Is(err, providers.ErrTimeout) || took < 5*time.Minute || took > 6*time.Minute {
			t.Errorf("after %v: %v", took, err)
		}
		if err == nil || !strings.Contains(err.Error(), "cannot observe the API: no end of the answer after 5m0s, in which ") || providers.RemedyOf(err) == "" {
			t.Errorf("got %v", err)
		}
	})
}

// TestWriteRequestsTimeOut checks that no write request waits for ever for its answer, whether there
// is none or it never ends.
func TestWriteRequestsTimeOut(t *testing.T) {
	t.Parallel()
	for name, write := range writes {
		for what, step := range map[string]string{"silent": "", "trickles": " "} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ended := make(chan struct{})
					_, h := start(t, func(string, string, string, []byte) answer {
						return answer{200, sending(func(w http.ResponseWriter) {
							for {
								select {
								case <-ended:
									return
								case <-time.After(10 * time.Second):
									_, _ = io.WriteString(w, step)
									w.(http.Flusher).Flush()
								}
							}
						})}
					})
					began := time.Now()
					err := write(t.Context(), open(t, h))
					close(ended)
					if took := time.Since(began); !errors.Is(err, providers.ErrTimeout) || took > 6*time.Minute {
						t.Errorf("after %v: %v", took, err)
					}
				})
			})
		}
	}
}
