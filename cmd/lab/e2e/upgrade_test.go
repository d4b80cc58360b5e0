//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

const upgradeFrom, upgradeTo = "v1.35.8", "v1.36.3"

// TestUpgrade upgrades a cluster of three control planes and two workers to the next minor
// version. It continuously checks a Deployment behind a Service, the API through the load
// balancer, and etcd's quorum. It runs alone, because it measures the effect on users.
func TestUpgrade(t *testing.T) {
	begin(t)
	s := newSiteOf(t, lab.Options{Name: "e2eu", Kubernetes: upgradeFrom, MoreImages: []string{upgradeTo}, ControlPlanes: 3, Workers: 2})
	s.logIn()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	service := s.deploy()

	s.version = upgradeTo
	s.extra = "  install { artifacts = \"./artifacts\" }\n"
	s.bringKubelet(upgradeTo)
	s.configure()
	undisturbed := s.watchUsers(service)
	r := s.must("apply", "-auto-approve", "-no-color")
	// The time of kubeadm's commands on such hosts, one after another as its guide requires:
	// upgrade apply, then upgrade node on each other control plane and on the workers.
	byTheBook := 217*time.Second + 2*188*time.Second + 2*6*time.Second
	t.Logf("upgrade of 3 control planes and 2 workers from %s to %s: %s (kubeadm by the book: %s on 2 cores, once measured)",
		upgradeFrom, upgradeTo, r.took.Round(100*time.Millisecond), byTheBook)
	wantContains(t, r.out, "kubernetes_version: 1.35.8 → 1.36.3", "etcd-snapshot", "Apply complete! Resources: 0 added, 6 changed, 0 destroyed.")
	handed := strings.Count(r.out, ": etcd's leader is ")
	t.Logf("etcd's leadership was handed over %d times", handed)
	if handed == 0 { // usually at most three, more if an overloaded member loses the leadership in between
		t.Error("no leader was handed over before its member stopped")
	}

	undisturbed()
	s.wantVersion(upgradeTo)
	s.wantWorkload()
	s.wantNoChanges()
}

// artifactsOf returns the artifacts from which the lab builds hosts of a release.
func artifactsOf(t testing.TB, version string) build.Artifacts {
	t.Helper()
	release, err := build.FindRelease(version)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	a, err := cache.Artifacts(context.Background(), release)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// bringKubelet puts the kubelet of a release into the folder of artifacts. The images are already
// on the hosts.
func (s *site) bringKubelet(version string) {
	s.t.Helper()
	program, err := os.ReadFile(artifactsOf(s.t, version).Program("kubelet"))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "artifacts"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "artifacts", "kubelet"), program, 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.sumArtifacts()
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      terminationGracePeriodSeconds: 60
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: shop}}}
      containers:
      - name: shop
        image: %[1]q
        imagePullPolicy: Never
        args: [serve]
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
        resources: {requests: {cpu: 100m}}
        lifecycle: {preStop: {sleep: {seconds: 40}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {app: shop}}}
---
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: default}
spec: {selector: {app: shop}, ports: [{port: 80, targetPort: 8080}]}
`

// deploy creates a Deployment that can be moved without a gap, and returns the address of its
// Service. kube-proxy has no CPU request, as in kubeadm's manifest, so on a busy control plane it
// learns late that a pod ends: up to half a minute late if the API server that it watched has
// just restarted (client-go, back-off of a reflector). The pods' preStop covers that time.
func (s *site) deploy() string {
	s.t.Helper()
	if _, err := s.KubectlInput(context.Background(), s.planes[0].Name, fmt.Sprintf(deployment, lab.WorkloadImage), "apply", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
	s.kubectl("rollout", "status", "deployment/shop", "--timeout=10m")
	return "http://" + s.kubectl("get", "service", "shop", "-o", "jsonpath={.spec.clusterIP}") + "/"
}

// viaKubelet returns the output of a kubectl command for which an API server has to ask a
// kubelet. An API server closes its connections to kubelets when it notices that its client
// certificate has changed (client-go, transport/cert_rotation.go), which breaks running requests;
// so it retries.
func (s *site) viaKubelet(args ...string) string {
	s.t.Helper()
	var text string
	s.eventually("kubectl "+strings.Join(args, " "), func() (string, bool) {
		out, err := s.Kubectl(context.Background(), s.planes[0].Name, args...)
		text = strings.TrimSpace(string(out))
		return fmt.Sprint(err), err == nil
	})
	return text
}

const pollers = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: pollers, namespace: default}
spec:
  selector: {matchLabels: {app: pollers}}
  template:
    metadata: {labels: {app: pollers}}
    spec:
      tolerations: [{operator: Exists}]
      terminationGracePeriodSeconds: 0
      containers:
      - {name: poller, image: %q, imagePullPolicy: Never, args: [poll, %q, 200ms], resources: {requests: {cpu: 100m}}}
`

// pollService calls a Service every 200 ms from a pod on every node. No drain evicts these pods,
// and they request CPU: without that, a pod on a busy control plane gets too little to receive
// its answer in time. The result returns the requests since all pods had an answer once; the
// duration of a request is counted from the previous one.
func (s *site) pollService(url string) func() requests {
	s.t.Helper()
	if _, err := s.KubectlInput(context.Background(), s.planes[0].Name, fmt.Sprintf(pollers, lab.WorkloadImage, url), "apply", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
	s.kubectl("rollout", "status", "daemonset/pollers", "--timeout=10m")
	names := strings.Fields(s.kubectl("get", "pods", "-l", "app=pollers", "-o", "jsonpath={.items[*].metadata.name}"))
	nodes := strings.Fields(s.kubectl("get", "pods", "-l", "app=pollers", "-o", "jsonpath={.items[*].spec.nodeName}"))
	lines := func(pod string) []string { return strings.Split(s.viaKubelet("logs", pod), "\n") }
	before := map[string]int{}
	for _, pod := range names {
		s.eventually("the Service answers "+pod, func() (string, bool) {
			all := lines(pod)
			before[pod] = len(all)
			last := all[len(all)-1]
			return last, last != "" && !strings.Contains(last, "failed: ")
		})
	}
	return func() requests {
		s.t.Helper()
		var r requests
		for n, pod := range names {
			all := lines(pod)[before[pod]-1:]
			for i, line := range all[1:] {
				began, ended := polled(s.t, all[i]), polled(s.t, line)
				var err error
				if _, why, failed := strings.Cut(line, "failed: "); failed {
					err = fmt.Errorf("%s on %s: %s", pod, nodes[n], why)
				}
				r.add(began, ended.Sub(began), nil, err, false)
			}
		}
		if restarts := s.kubectl("get", "pods", "-l", "app=pollers", "-o", "jsonpath={.items[*].status.containerStatuses[*].restartCount}"); strings.Trim(restarts, "0 ") != "" {
			s.t.Errorf("pods were restarted without a drain: %s", restarts)
		}
		s.kubectl("delete", "daemonset", "pollers")
		return r
	}
}

// polled returns when the request of a poller's output line was answered.
func polled(t reporter, line string) time.Time {
	t.Helper()
	when, _, _ := strings.Cut(line, " ")
	at, err := time.Parse(time.RFC3339Nano, when)
	if err != nil {
		t.Errorf("a poller printed %q", line)
	}
	return at
}

// watchQuorum counts every 200 ms the members of etcd that answer. The result returns when there
// were fewer than a quorum, or an empty string.
func (s *site) watchQuorum() func() string {
	worst := ""
	end := meanwhile(func(ctx context.Context) {
		up := 0
		for _, h := range s.planes {
			if s.etcdServes(ctx, h) {
				up++
			}
		}
		if ctx.Err() == nil && up <= len(s.planes)/2 {
			worst = fmt.Sprintf("%d of %d members served at %s", up, len(s.planes), time.Now().UTC().Format(time.RFC3339))
		}
	})
	return func() string {
		end()
		return worst
	}
}

// etcdServes reports whether a member accepts client connections.
func (s *site) etcdServes(ctx context.Context, h lab.Host) bool {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(h.Address(), 2379).String())
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// wantVersion checks that every component and every kubelet has this version, and that every node
// is Ready and schedulable.
func (s *site) wantVersion(version string) {
	s.t.Helper()
	s.eventually("all nodes are Ready with kubelet "+version, func() (string, bool) {
		out := s.kubectl("get", "nodes", "--no-headers")
		ok := 0
		for _, line := range strings.Split(out, "\n") {
			if f := strings.Fields(line); len(f) == 5 && f[1] == "Ready" && f[4] == version {
				ok++
			}
		}
		return out, ok == len(s.hosts())
	})
	images := s.kubectl("get", "pods", "-n", "kube-system", "-l", "tier=control-plane", "-o", "jsonpath={.items[*].spec.containers[*].image}")
	for _, image := range strings.Fields(images) {
		if !strings.Contains(image, "/etcd:") && !strings.HasSuffix(image, ":"+version) {
			s.t.Errorf("a control plane still runs %s", image)
		}
	}
	if out := s.kubectl("get", "cm", "-n", "kube-system", "kubeadm-config", "-o", "yaml"); !strings.Contains(out, "kubernetesVersion: "+version) {
		s.t.Errorf("kubeadm-config has another version:\n%s", out)
	}
	s.wantCluster()
}
