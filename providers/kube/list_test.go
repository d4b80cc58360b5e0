package kube_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// crowd returns many pods of w1, followed by more.
func crowd(n int, more ...any) []any {
	var out []any
	for i := range n {
		out = append(out, pod(fmt.Sprintf("web-%04d", i), "ReplicaSet", nil))
	}
	return append(out, more...)
}

// TestListsReadEveryPage checks that every list is read in pages, and that items after the first page
// count.
func TestListsReadEveryPage(t *testing.T) {
	t.Parallel()
	s := &shop{
		pods: crowd(700, pod("db", "StatefulSet", nil,
			object{"name": "v", "persistentVolumeClaim": object{"claimName": "disk"}}, object{"name": "tmp", "emptyDir": object{}})),
	}
	for i := range 700 {
		s.budgets = append(s.budgets, budget(fmt.Sprintf("other-%d", i), 1, 1, 1, 1))
		s.volumes = append(s.volumes, object{"metadata": object{"name": fmt.Sprintf("pv-%d", i)}})
	}
	s.budgets = append(s.budgets, budget("db", 0, 1, 2, 3))
	s.volumes = append(s.volumes, object{"metadata": object{"name": "pv"}, "spec": object{"local": object{"path": "/data"}, "claimRef": object{"namespace": "shop", "name": "disk"}}})
	a, h := start(t, s.answer)
	report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{PodsOn: []string{"w1"}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(report.Pods, func(p state.PodReport) bool { return p.Name == "db" })
	if len(report.Pods) != 701 || report.Nodes["w1"].Pods != 701 || i < 0 {
		t.Fatalf("%d pods, %d counted, db is %d", len(report.Pods), report.Nodes["w1"].Pods, i)
	}
	if p := report.Pods[i]; !p.EmptyDir || !slices.Equal(p.LocalClaims, []string{"disk"}) || !slices.Equal(p.Budgets, []string{"shop/db"}) {
		t.Errorf("got %+v", p)
	}
	for _, r := range a.requests {
		if path, query, _ := strings.Cut(r, "?"); (strings.HasSuffix(path, "s") && !strings.Contains(path, "/namespaces/")) && !strings.Contains(query, "limit=500") {
			t.Errorf("not read in pages: %s", r)
		}
	}
}

// TestDrainReadsEveryPage checks that pods after the first page are evicted, or not, like those on
// it.
func TestDrainReadsEveryPage(t *testing.T) {
	t.Parallel()
	s := &shop{pods: crowd(600, pod("cache", "ReplicaSet", nil, object{"name": "tmp", "emptyDir": object{}}))}
	_, h := start(t, s.answer)
	err := open(t, h).Drain(t.Context(), planner.Drain{Node: "w1"}, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "cache") || len(s.evicted) > 0 {
		t.Errorf("%d evicted, %v", len(s.evicted), err)
	}
}

// TestExpiredListIsReadAgain checks that an expired list is read again from the start, a few times.
func TestExpiredListIsReadAgain(t *testing.T) {
	t.Parallel()
	for expired, want := range map[int]string{1: "", 3: "", 4: "cannot observe the API: it is Expired"} {
		s := &shop{pods: crowd(600)}
		a, h := start(t, s.answer)
		a.expired = expired
		report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{PodsOn: []string{"w1"}})
		switch {
		case want == "" && (err != nil || report.Nodes["w1"].Pods != 600 || len(report.Pods) != 600):
			t.Errorf("%d times: %v, %+v", expired, err, report)
		case want != "" && (!errors.Is(err, providers.ErrUnavailable) || err.Error() != want):
			t.Errorf("%d times: %v", expired, err)
		}
		if full := a.saw("kubernetes-admin GET /api/v1/pods?limit=500"); full != min(expired, 3)+1 {
			t.Errorf("%d times: begun %d times", expired, full)
		}
	}
}

// TestLargePagesAreSplit checks that too large pages are requested again with fewer items.
func TestLargePagesAreSplit(t *testing.T) {
	t.Parallel()
	many := crowd(500)
	for _, p := range many {
		var containers []any
		for range 200 {
			containers = append(containers, object{})
		}
		p.(object)["spec"].(object)["containers"] = containers
	}
	s := &shop{pods: many}
	a, h := start(t, s.answer)
	report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{})
	if err != nil || report.Nodes["w1"].Pods != 500 {
		t.Errorf("got %v", err)
	}
	if n := a.saw("kubernetes-admin GET /api/v1/pods?limit=100"); n != 1 {
		t.Errorf("%d requests for smaller pages: %v", n, a.requests)
	}
}

// TestEndlessListIsCutOff checks that a server with ever more pages is not followed for ever,
// whichever code reads the list.
func TestEndlessListIsCutOff(t *testing.T) {
	t.Parallel()
	page := object{"kind": "PodList", "apiVersion": "v1", "metadata": object{"continue": "more"}, "items": []any{}}
	s := &shop{}
	a, h := start(t, func(user, method, path string, body []byte) answer {
		if path == "/api/v1/pods" {
			return answer{http.StatusOK, page}
		}
		return s.answer(user, method, path, body)
	})
	const want = "the API server lists more than "
	if _, err := open(t, h).Observe(t.Context(), state.ClusterQuery{}); !errors.Is(err, providers.ErrProtocol) || !strings.Contains(err.Error(), want+"500000 pods") {
		t.Errorf("got %v", err)
	}
	before := len(a.requests)
	if err := open(t, h).Drain(t.Context(), planner.Drain{Node: "w1"}, func(string) {}); err == nil || !strings.Contains(err.Error(), want+"20000 pods on one node") {
		t.Errorf("got %v", err)
	}
	if n := len(a.requests) - before; n > 100 {
		t.Errorf("%d requests", n)
	}
}
