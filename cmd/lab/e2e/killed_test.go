//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestKilledUpgrade upgrades a small cluster with commands that are killed with SIGKILL in the
// middle of steps; running the same command again converges.
func TestKilledUpgrade(t *testing.T) {
	begin(t)
	s := newSiteOf(t, lab.Options{Name: "e2eku", Kubernetes: upgradeFrom, MoreImages: []string{upgradeTo}, ControlPlanes: 1, Workers: 1})
	s.logIn()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.version = upgradeTo
	s.extra = "  install { artifacts = \"./artifacts\" }\n"
	s.bringKubelet(upgradeTo)
	s.configure()
	cp, w := fmt.Sprintf("node.cp[%q]", s.planes[0].Name), fmt.Sprintf("node.worker[%q]", s.workers[0].Name)
	s.killedInEach([]string{"cluster.prod/etcd-snapshot"}, "apply")
	t.Run("while the API server is stopped", func(t *testing.T) {
		s.within(t, func() {
			s.killedOnce("apply", s.planes[0].Name, "! test -e "+apiServerFile)
			// The first apply only repairs the only control plane; the next one does the rest.
			r := s.must("apply", "-auto-approve", "-no-color")
			wantContains(t, r.out, "Some changes are pending", "Run kubewright apply again")
		})
	})
	s.killedInEach([]string{
		"cluster.prod/upload-config", cp + "/install", cp + "/kubelet-start",
		w + "/drain", w + "/install", w + "/kubelet-start", "cluster.prod/addon",
	}, "apply")
	s.must("apply", "-auto-approve", "-no-color")
	s.wantVersion(upgradeTo)
	s.wantWorkload()
	s.wantNoChanges()
}

// TestKilledCare kills the rotation of a CA and the restore of etcd, each in several steps.
// During the rotation the API accepts writes at all times.
func TestKilledCare(t *testing.T) {
	begin(t)
	s := newSite(t, "e2ekc", 3, 1)
	s.logIn()
	before := s.listings()
	s.founded()
	t.Run("rotation", func(t *testing.T) { s.within(t, s.killedRotation) })
	t.Run("restore", func(t *testing.T) { s.within(t, s.killedRestore) })
	if !t.Failed() {
		s.wantGone(before)
	}
}

// killedInEach kills a command in one step after another. If one kill fails, the remaining steps
// are tested nevertheless.
func (s *site) killedInEach(steps []string, command string, more ...string) {
	s.t.Helper()
	for _, step := range steps {
		s.t.Run("in "+strings.ReplaceAll(step, "/", " "), func(t *testing.T) {
			s.within(t, func() { s.killedIn(command, step, more...) })
		})
	}
}

// killedOnce starts a command and kills it as soon as a test succeeds on a host.
func (s *site) killedOnce(command, host, test string) {
	s.t.Helper()
	r := s.start(command, "-auto-approve", "-no-color")
	s.eventually(test, func() (string, bool) {
		out, err := s.Exec(context.Background(), host, "sh", "-c", test)
		return fmt.Sprint(string(out), err), err == nil
	})
	if err := r.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	if err := <-r.ended; err == nil {
		s.t.Fatalf("kubewright %s ended before it could be killed", command)
	}
}

// killedRotation rotates the cluster's CA.
func (s *site) killedRotation() {
	old := s.onPlanes(casOf)
	s.sh(s.planes[0].Name, "cp /etc/kubernetes/admin.conf /root/old.conf")
	written := s.watchWrites()
	// Which control plane comes first differs between the plans that continue the rotation.
	s.killedInEach([]string{
		"node.cp/certs@trust-both", "node.cp/control-plane@trust-both", `node.worker["w1"]/kubelet-start@trust-both`,
		"cluster.prod/addon@trust-both", "node.cp/certs@reissue", "node.cp/control-plane@reissue",
		`node.worker["w1"]/kubelet-start@reissue`, "node.cp/certs@drop-old", "cluster.prod/bootstrap-token@drop-old",
	}, "apply", "-replace=cluster.prod/ca")
	// The rotation has begun, so -replace is not needed; given again after its end, it would
	// start another rotation.
	s.must("apply", "-auto-approve", "-no-color")
	written()
	s.wantNoChanges()
	s.wantRotated(old, true, 2)
	s.wantCluster()
	s.wantWorkload()
}

// killedRestore restores etcd after two of three members have lost their data.
func (s *site) killedRestore() {
	s.kubectl("create", "configmap", "before")
	file := filepath.Join(s.dir, "good.db")
	s.must("etcd", "snapshot", "-out="+file)
	s.kubectl("create", "configmap", "after")
	s.loseData(s.planes[1:])
	s.killedInEach([]string{
		`node.cp["cp2"]/etcd-restore@stop`, `node.cp["cp1"]/etcd-restore@data`, `node.cp["cp1"]/etcd-restore@start`,
		`node.cp["cp2"]/etcd-restore@join`, `node.cp["cp3"]/etcd-restore@join`,
	}, "etcd restore", file)
	r := s.must("etcd", "restore", file, "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "Apply complete!")
	s.wantRestored()
	s.wantWorkload()
}
