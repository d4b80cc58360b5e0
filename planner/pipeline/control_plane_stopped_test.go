package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/artifacts/artifactstest"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// raised returns a cluster before an upgrade.
func raised(t *testing.T, planes int, from, to string) *operator {
	t.Helper()
	o := running(t, planes, 0, from)
	o.config.Clusters[0].KubernetesVersion = to
	o.kubelets(to)
	return o
}

// shipped returns a cluster before an upgrade with artifacts.
func shipped(t *testing.T, planes int) *operator {
	t.Helper()
	o := running(t, planes, 1, "1.35.8")
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.bring(artifactstest.New("amd64", "1.36.3", kubernetesImages(o.config)...))
	return o
}

// tuned returns a cluster before a change of etcd's arguments.
func tuned(t *testing.T, planes int) *operator {
	t.Helper()
	o := founded(t, planes, 0)
	o.config.Clusters[0].Etcd.Args = []config.Arg{{Name: "snapshot-count", Value: "20000"}}
	return o
}

// interrupt interrupts an apply after it has removed or written this many manifests of static pods.
func (o *operator) interrupt(changed int) {
	o.t.Helper()
	_, err := o.planShown()
	o.must(err)
	o.world.OnEffect = func(e sim.Effect) error {
		if e.Done && (e.Op == "remove_path" || e.Op == "write_file") && strings.Contains(e.Detail, "/manifests/") {
			changed--
		}
		if changed <= 0 {
			return errCrash
		}
		return nil
	}
	if o.carryOut() == nil {
		o.t.Fatalf("%d more manifests should have been changed", changed)
	}
	o.world.OnEffect = nil
}

// wantDone checks that the same command again ends with nothing left to do. Changes that need the API
// have to wait until it answers, for the command after it.
func (o *operator) wantDone() {
	o.t.Helper()
	for range 2 {
		o.must(o.apply())
	}
	o.wantNothing()
}

// TestApplyInterruptedWhileControlPlaneIsStopped interrupts an apply while some static pods of a control plane are stopped,
// so that with a single one neither API nor etcd answers: the same command again continues, through the
// same versions. With KUBEWRIGHT_LONG set every change is tried, otherwise every third one for three
// control planes and for longer applies.
func TestApplyInterruptedWhileControlPlaneIsStopped(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T, planes int) *operator{
		"upgrade":              func(t *testing.T, planes int) *operator { return raised(t, planes, "1.35.8", "1.36.3") },
		"upgrade that pulls":   func(t *testing.T, planes int) *operator { return raised(t, planes, "1.35.8", "1.36.1") },
		"upgrade through one":  func(t *testing.T, planes int) *operator { return raised(t, planes, "1.34.9", "1.36.3") },
		"upgrade of artifacts": shipped,
		"argument":             tuned,
	} {
		for _, planes := range []int{1, 3} {
			pods := 4
			if name == "argument" {
				pods = 2
			}
			// Each manifest is removed, and then each is written.
			for changed := 1; changed <= 2*pods; changed++ {
				if whole := planes == 1 && (name == "upgrade" || name == "argument"); !whole && changed%3 != 0 && !long() {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/%d", name, planes, changed), func(t *testing.T) {
					t.Parallel()
					o := begin(t, planes)
					o.interrupt(changed)
					p, err := o.plan()
					o.must(err)
					if through := strings.Contains(describe(p), "@1.35.8"); changed < 2*pods && through != (name == "upgrade through one") {
						t.Errorf("want waypoints at 1.35.8 only for the longer upgrade:\n%s", describe(p))
					}
					o.wantDone()
				})
			}
		}
	}
}

// TestSingleControlPlaneManifestsAreRestored checks that missing manifests of the only control plane are restored,
// although there is no API to query.
func TestSingleControlPlaneManifestsAreRestored(t *testing.T) {
	t.Parallel()
	for name, edits := range map[string][]string{
		"etcd's manifest":              {"etcd.yaml delete"},
		"both manifests":               {"etcd.yaml delete", "kube-apiserver.yaml delete"},
		"the API server's":             {"kube-apiserver.yaml delete"},
		"a member that does not start": {"etcd.yaml set-arg trusted-ca-file=/etc/kubernetes/absent.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 1, 0)
			for _, edit := range edits {
				o.must(sim.Edit(o.world, "10.0.0.11", "file /etc/kubernetes/manifests/"+edit))
			}
			o.must(o.apply())
			o.wantNothing()
		})
	}
}

// TestStoppedControlPlaneIsNoBegunUpgrade checks that a stopped control plane alone does not count as an upgrade
// that has begun.
func TestStoppedControlPlaneIsNoBegunUpgrade(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]string{
		"the API server's": {"kube-apiserver"},
		"all":              {"kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := raised(t, 1, "1.35.8", "1.36.1") // no host has its images yet
			for _, f := range files {
				o.must(sim.Edit(o.world, "10.0.0.11", "file /etc/kubernetes/manifests/"+f+".yaml delete"))
			}
			if _, err := o.planShown(); err == nil || !strings.Contains(err.Error(), `Bring the API back first, with kubernetes_version = "1.35.8"`) {
				t.Errorf("the upgrade is not refused: %v", err)
			}
			o.config.Clusters[0].KubernetesVersion = "1.35.8"
			o.kubelets("1.35.8")
			o.must(o.apply())
			o.config.Clusters[0].KubernetesVersion = "1.36.1"
			o.kubelets("1.36.1")
			o.wantDone()
		})
	}
}

// TestEtcdStartingMemberIsNotDown checks that one of several members that runs, or is about to start by itself, does not
// count as down.
func TestEtcdStartingMemberIsNotDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		planes       int
		gone, exited bool
		want         bool
	}{
		{planes: 3, want: false},
		{planes: 3, exited: true, want: false},
		{planes: 3, gone: true, exited: true, want: true},
		{planes: 3, gone: true, want: false},
		{planes: 1, want: false},
		{planes: 1, exited: true, want: true},
	} {
		o := founded(t, c.planes, 0)
		_, err := o.planShown()
		o.must(err)
		own := slices.IndexFunc(o.config.Nodes, func(n *config.Node) bool { return n.Address == "10.0.0.11" })
		r := *o.fleet.Reports[o.config.Nodes[own].Target]
		r.Files = map[string]state.FileReport{"/etc/kubernetes/manifests/etcd.yaml": {Exists: !c.gone}, "/var/lib/etcd/member": {Exists: true}}
		if c.exited {
			r.Started = map[string]time.Time{}
		}
		if got := etcd.MemberDown(o.fleet, o.config.Nodes[own].Target, &r); got != c.want {
			t.Errorf("%+v: it is down: %v", c, got)
		}
		r.Files["/var/lib/etcd/member"] = state.FileReport{}
		if etcd.MemberDown(o.fleet, o.config.Nodes[own].Target, &r) {
			t.Errorf("%+v: a member without data counts as down", c)
		}
	}
}

// TestEtcdManifestsAreCorrectedWithoutQuorum checks that members of etcd that exit with their manifests, so that there is no
// quorum, get corrected manifests, whether an apply or a manual edit has broken these.
func TestEtcdManifestsAreCorrectedWithoutQuorum(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(o *operator){
		"one of two, by an apply": func(o *operator) {
			o.config.Clusters[0].Etcd.Args = []config.Arg{{Name: "cert-file", Value: "/nowhere"}}
			if o.apply() == nil {
				o.t.Error("etcd starts")
			}
			o.config.Clusters[0].Etcd.Args = nil
		},
		"one of two, by hand":   func(o *operator) { o.edit("10.0.0.12", breaksEtcd) },
		"two of three, by hand": func(o *operator) { o.edit("10.0.0.11", breaksEtcd); o.edit("10.0.0.13", breaksEtcd) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planes := 2
			if strings.HasPrefix(name, "two of three") {
				planes = 3
			}
			o := founded(t, planes, 0)
			o.config.Clusters[0].Upgrade.AllowDowntime = true
			stop(o)
			o.world.Advance(time.Minute)
			o.must(o.apply())
			o.wantNothing()
			o.wantVoters(planes)
		})
	}
}
