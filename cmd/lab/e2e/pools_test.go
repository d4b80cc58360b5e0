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

// pools is the order of upgrades of workers: the canary of a pool, a pause, and then the workers
// without a pool, of which at most half may be down.
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

// beta is HCL that makes the API servers serve an API that a later release does not.
const beta = `  api_server {
    arg "runtime-config" { value = "networking.k8s.io/v1beta1=true" }
  }
`

// addressRange uses an API version that the next release does not serve.
const addressRange = `
apiVersion: networking.k8s.io/v1beta1
kind: ServiceCIDR
metadata: {name: extra}
spec: {cidrs: [10.250.0.0/24]}
`

// TestPools upgrades three workers in batches, with a canary and a pause. It checks that the plan
// names the users of an API that the upgrade removes.
func TestPools(t *testing.T) {
	begin(t)
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

// turns are the drains of nodes: the order in which they were first seen as unschedulable, when
// that was, and how many workers were unschedulable at once.
type turns struct {
	order []string
	at    map[string]time.Time
	most  int
}

// watchTurns polls the nodes every 200 ms until the result is called. While the only API server
// restarts there is no information, but then no worker is being drained.
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

// wantTurns checks that the workers were drained one after the other, with the pause after the
// canary.
func (s *site) wantTurns(seen turns) {
	s.t.Helper()
	s.t.Logf("nodes were drained in the order %v, at most %d workers at once", seen.order, seen.most)
	if want := []string{"cp1", "w3", "w1", "w2"}; !slices.Equal(seen.order, want) || seen.most != 1 {
		s.t.Errorf("nodes were drained in the order %v, %d workers at once; want %v and one", seen.order, seen.most, want)
	}
	annotation := strings.ReplaceAll(planner.LetInAnnotation, ".", `\.`)
	letIn, _, _ := strings.Cut(s.kubectl("get", "node", "w3", "-o", "jsonpath={.metadata.annotations."+annotation+"}"), " ")
	began, err := time.Parse(time.RFC3339, letIn)
	if err != nil {
		s.t.Fatalf("the canary has no valid time of its uncordon: %v", err)
	}
	if pause := seen.at["w1"].Sub(began); pause < 25*time.Second {
		s.t.Errorf("the worker after the canary was drained %s after the canary's uncordon, want a pause of 25s", pause)
	}
}

// wantInOrder checks that a text contains the parts in this order.
func wantInOrder(t testing.TB, text string, parts ...string) {
	t.Helper()
	for i, p := range parts {
		_, rest, found := strings.Cut(text, p)
		if !found {
			t.Errorf("%q is not printed after %q", p, parts[:i])
			return
		}
		text = rest
	}
}
