//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
	"github.com/kubewright/kubewright/planner"
)

// pools are how workers take their turns: the canary of a pool, a pause, and then
// those of no pool, of which no more than a half may be down.
const pools = `  install { artifacts = "./artifacts" }
  upgrade {
    max_unavailable = "50%"
    pool "edge" {
      selector = "node.example.com/tier=edge"
      canary   = 1
      pause    = "25s"
    }
  }
`

// beta is HCL that has the API servers serve what a later release does not.
const beta = `  api_server {
    arg "runtime-config" { value = "networking.k8s.io/v1beta1=true" }
  }
`

// addressRange is written in a version of its API that the next release does not serve.
const addressRange = `
apiVersion: networking.k8s.io/v1beta1
kind: ServiceCIDR
metadata: {name: extra}
spec: {cidrs: [10.250.0.0/24]}
`

// TestPools upgrades three workers in batches, with a canary and a pause. The plan
// tells who uses an API that goes with it.
func TestPools(t *testing.T) {
	long(t)
	beside(t, 6*time.Minute)
	const from, to = "v1.36.3", "v1.37.1"
	s := newSiteOf(t, lab.Options{Name: "e2epl", Kubernetes: from, MoreImages: []string{to}, ControlPlanes: 1, Workers: 3})
	s.workerExtra = "  labels = { \"node.example.com/tier\" = each.key == \"w3\" ? \"edge\" : \"general\" }\n"
	s.extra = beta
	s.configure()
	s.logIn()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.deploy()
	if _, err := s.KubectlInput(context.Background(), s.planes[0].Name, addressRange, "apply", "--server-side", "--field-manager=chart", "-f", "-"); err != nil {
		t.Fatal(err)
	}

	s.version, s.extra = to, pools
	s.bringKubelet(to)
	s.configure()
	wantContains(t, words(s.must("plan", "-no-color").out),
		"Warning: Removed APIs are in use", "networking.k8s.io/v1beta1 servicecidrs, removed in 1.37; written by chart (extra)",
		"kubernetes_version: 1.36.3 → 1.37.1; control planes one at a time; workers in batches:",
		"1. w3 (canary, pool edge), then a pause of 25s 2. w1, w2 (1 at a time)", "waits 25s, and until w3 is Ready")

	turned := s.watchTurns()
	r := s.must("apply", "-auto-approve", "-no-color")
	s.wantTurns(turned())
	wantInOrder(t, r.out, `node.cp["cp1"]/kubelet-start: done`,
		`node.worker["w3"]/drain: done`, `node.worker["w3"]/kubelet-start: done`, "cluster.prod/upgrade-pause@batch-1: done",
		`node.worker["w1"]/drain: done`, `node.worker["w1"]/kubelet-start: done`,
		`node.worker["w2"]/drain: done`, `node.worker["w2"]/kubelet-start: done`, "cluster.prod/addon: done", "Apply complete!")
	s.wantVersion(to)
	s.wantNoChanges()
}

// turns are how nodes were emptied: in which order they were first seen without
// leave for new pods, when that was, and how many workers were so at once.
type turns struct {
	order []string
	at    map[string]time.Time
	most  int
}

// watchTurns looks at the nodes every 200 ms until the answer is called. While the
// only API server restarts nobody knows, and no worker has its turn.
func (s *site) watchTurns() func() turns {
	s.t.Helper()
	api, err := s.api(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	seen := turns{at: map[string]time.Time{}}
	end := meanwhile(func(ctx context.Context) {
		nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return
		}
		workers := 0
		for _, n := range nodes.Items {
			if !n.Spec.Unschedulable {
				continue
			}
			if _, before := seen.at[n.Name]; !before {
				seen.order, seen.at[n.Name] = append(seen.order, n.Name), time.Now()
			}
			if strings.HasPrefix(n.Name, "w") {
				workers++
			}
		}
		seen.most = max(seen.most, workers)
	})
	return func() turns {
		end()
		return seen
	}
}

// wantTurns wants the workers to have had their turns one after the other, and the
// pause behind the canary to have been waited for.
func (s *site) wantTurns(seen turns) {
	s.t.Helper()
	s.t.Logf("nodes were emptied in the order %v, %d workers at once at most", seen.order, seen.most)
	if want := []string{"cp1", "w3", "w1", "w2"}; !slices.Equal(seen.order, want) || seen.most != 1 {
		s.t.Errorf("nodes were emptied in the order %v, %d workers at once; want %v and one", seen.order, seen.most, want)
	}
	annotation := strings.ReplaceAll(planner.LetInAnnotation, ".", `\.`)
	letIn, _, _ := strings.Cut(s.kubectl("get", "node", "w3", "-o", "jsonpath={.metadata.annotations."+annotation+"}"), " ")
	began, err := time.Parse(time.RFC3339, letIn)
	if err != nil {
		s.t.Fatalf("the canary does not know when it was let in again: %v", err)
	}
	if pause := seen.at["w1"].Sub(began); pause < 25*time.Second {
		s.t.Errorf("the worker behind the canary had its turn %s after that was let in, want a pause of 25s", pause)
	}
}

// wantInOrder wants a text to have parts in their order.
func wantInOrder(t testing.TB, text string, parts ...string) {
	t.Helper()
	for i, p := range parts {
		_, rest, found := strings.Cut(text, p)
		if !found {
			t.Errorf("%q is not printed behind %q", p, parts[:i])
			return
		}
		text = rest
	}
}
