//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestEtcdCare takes snapshots of a real etcd and checks them with etcdutl, defragments it,
// checks that a real PodDisruptionBudget blocks a drain, tests each drain option, and restores
// the cluster after two of three members have lost their data.
func TestEtcdCare(t *testing.T) {
	begin(t)
	s := newSite(t, "e2es", 3, 1)
	s.extra = "  upgrade {\n    drain {\n      timeout       = \"20s\"\n      stay_cordoned = false\n    }\n  }\n"
	s.configure()
	s.logIn()
	before := s.listings()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()

	t.Run("snapshot", func(t *testing.T) { s.within(t, s.snapshot) })
	t.Run("defragment", func(t *testing.T) { s.within(t, s.defragment) })
	t.Run("blocked drain", func(t *testing.T) { s.within(t, s.blockedDrain) })
	t.Run("drain options", func(t *testing.T) { s.within(t, s.drainOptions) })
	t.Run("restore", func(t *testing.T) { s.within(t, s.restore) })
	if t.Failed() {
		return
	}
	s.wantGone(before)
}

// etcdutl runs etcd's own program from its image on a host.
const etcdutl = `set -e
d=$(mktemp -d)
image=$(ctr -n k8s.io images ls -q | grep '/etcd:' | head -n 1)
ctr -n k8s.io images mount "$image" "$d" >/dev/null
$d/usr/local/bin/etcdutl %s
ctr -n k8s.io images unmount --rm "$d" >/dev/null
rmdir "$d"
`

func (s *site) snapshot() {
	r := s.must("etcd", "status", "-no-color")
	wantContains(s.t, r.out, "3 of 3 voters healthy, quorum is 2", "leader")
	file := filepath.Join(s.dir, "now.db")
	r = s.must("etcd", "snapshot", "-out="+file, "-json")
	var told struct {
		Size     int64
		Revision int64
		SHA256   string
	}
	if err := json.Unmarshal([]byte(r.out[strings.Index(r.out, "{"):]), &told); err != nil {
		s.t.Fatalf("%v in %s", err, r.out)
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() != told.Size || info.Mode().Perm() != 0o600 {
		s.t.Errorf("%v, %v; kubewright reported %+v", info, err, told)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	// What etcd's own program reports about the same bytes.
	status := s.put(s.planes[0].Name, "/root/now.db", content, fmt.Sprintf(etcdutl, "snapshot status /root/now.db -w json"))
	var seen struct{ Revision, TotalSize int64 }
	if err := json.Unmarshal([]byte(status), &seen); err != nil || seen.Revision < told.Revision || seen.TotalSize == 0 {
		s.t.Errorf("etcdutl reports %s (%v), kubewright %+v", status, err, told)
	}
	s.t.Logf("snapshot of %d bytes; etcdutl: %s", told.Size, status)
}

// put copies a file to a host, runs a script there and deletes the file.
func (s *site) put(host, path string, content []byte, script string) string {
	s.t.Helper()
	cmd := exec.Command("ssh", "-F", s.SSHConfig(), host, "cat > "+path)
	cmd.Stdin = bytes.NewReader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	defer s.sh(host, "rm -f "+path)
	return s.sh(host, script)
}

func (s *site) defragment() {
	r := s.must("etcd", "defragment", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "the database of "+s.planes[1].Name+" has", "Apply complete!")
	s.wantNoChanges()
}

// shop is one pod that is ready and one that never is; at least one has to stay.
const shop = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart, namespace: default}
spec:
  selector: {matchLabels: {app: shop, part: cart}}
  template:
    metadata: {labels: {app: shop, part: cart}}
    spec:
      containers: [{name: cart, image: %[1]q, imagePullPolicy: Never, args: [serve], ports: [{containerPort: 8080}]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: late, namespace: default}
spec:
  selector: {matchLabels: {app: shop, part: late}}
  template:
    metadata: {labels: {app: shop, part: late}}
    spec:
      containers:
      - {name: late, image: %[1]q, imagePullPolicy: Never, args: [serve], readinessProbe: {httpGet: {path: /, port: 9}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop, namespace: default}
spec:
  minAvailable: %[2]d
  selector: {matchLabels: {app: shop}}
`

// blockedDrain checks that a budget that can never be met is refused at plan. For a budget that
// allows nothing for now the drain waits until its timeout and names the pods.
func (s *site) blockedDrain() {
	apply := func(wanted int) {
		if _, err := s.KubectlInput(context.Background(), s.planes[0].Name, fmt.Sprintf(shop, lab.WorkloadImage, wanted), "apply", "-f", "-"); err != nil {
			s.t.Fatal(err)
		}
	}
	budget := func(want string) {
		s.eventually("the budget counts its pods", func() (string, bool) {
			out := s.kubectl("get", "pdb", "shop", "-o", "jsonpath={.status.currentHealthy}/{.status.desiredHealthy}/{.status.expectedPods}")
			return out, out == want
		})
	}
	apply(2)
	budget("1/2/2")
	all := s.workers
	s.workers = nil
	s.configure()
	r := s.run("plan", "-no-color")
	wantContains(s.t, r.out, "Node cannot be drained", "PodDisruptionBudget default/shop requires 2 of 2 pods to stay and so never allows")
	apply(1)
	budget("1/1/2")
	r = s.must("plan", "-no-color")
	wantContains(s.t, r.out, "PodDisruptionBudget default/shop", "allows 0", "default/cart-")
	r = s.run("apply", "-auto-approve", "-no-color")
	if r.code != 1 {
		s.t.Errorf("exit code %d", r.code)
	}
	wantContains(s.t, r.out, "after 20s pods are still on it: default/cart-", "PodDisruptionBudget default/shop allows 0", "The node lets pods in again")
	if out := s.kubectl("get", "pods", "-l", "part=cart", "--no-headers"); !strings.Contains(out, "1/1") || !strings.Contains(out, "Running") {
		s.t.Errorf("the pod that must not be evicted does not run any more:\n%s", out)
	}
	s.workers = all
	s.configure()
	s.kubectl("delete", "deployment,pdb", "--all")
	s.wantCluster()
	s.wantNoChanges()
}

// loseData stops the etcd members on these hosts and deletes their data.
func (s *site) loseData(hosts []lab.Host) {
	s.t.Helper()
	for _, h := range hosts {
		s.sh(h.Name, "mv /etc/kubernetes/manifests/etcd.yaml /root/ && while pgrep -x etcd >/dev/null; do sleep 0.2; done; rm -rf /var/lib/etcd/member /root/etcd.yaml")
	}
}

// restore checks that a restore is refused while etcd has quorum, and works after two members
// have lost their data.
func (s *site) restore() {
	s.kubectl("create", "configmap", "before")
	file := filepath.Join(s.dir, "good.db")
	s.must("etcd", "snapshot", "-out="+file)
	s.kubectl("create", "configmap", "after")
	r := s.run("etcd", "restore", file, "-auto-approve", "-no-color")
	if r.code != 1 {
		s.t.Errorf("exit code %d while a quorum answers", r.code)
	}
	wantContains(s.t, r.out, "Restore refused: etcd has quorum")
	s.loseData(s.planes[1:])
	start := time.Now()
	r = s.must("etcd", "restore", file, "-auto-approve", "-no-color")
	s.t.Logf("restored three control planes in %s", time.Since(start).Round(100*time.Millisecond))
	wantContains(s.t, r.out, "Changes after the snapshot are lost", "Apply complete!")
	s.wantRestored()
	wantContains(s.t, s.sh(s.planes[0].Name, "ls /var/lib/etcd"), "member.before-")
	s.wantWorkload()
	s.restoreOverWorking()
}

// restoreOverWorking checks that a restore with -force replaces an etcd that works, after a snapshot
// of now.
func (s *site) restoreOverWorking() {
	file := filepath.Join(s.dir, "works.db")
	s.must("etcd", "snapshot", "-out="+file)
	s.kubectl("create", "configmap", "after")
	r := s.must("etcd", "restore", "-force", file, "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "Etcd works and is replaced", "cluster.prod/etcd-snapshot: snapshot of ", "Apply complete!")
	s.wantRestored()
	for _, h := range s.planes {
		if n := strings.Count(s.sh(h.Name, "ls /var/lib/etcd"), "member.before-"); n < 1 {
			s.t.Errorf("%s has set no data of etcd aside", h.Name)
		}
	}
	s.wantWorkload()
}

// wantRestored checks that the cluster is complete and has the content of the snapshot.
func (s *site) wantRestored() {
	s.t.Helper()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	wantContains(s.t, s.must("etcd", "status", "-no-color").out, "3 of 3 voters healthy")
	s.wantCluster()
	out := s.kubectl("get", "configmaps", "-o", "name")
	if !strings.Contains(out, "configmap/before") || strings.Contains(out, "configmap/after") {
		s.t.Errorf("after the restore the configmaps are %s", out)
	}
}
