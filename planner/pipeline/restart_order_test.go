package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim"
)

// These are manual edits on a control plane.
const (
	editsScheduler   = "file /etc/kubernetes/manifests/kube-scheduler.yaml set-arg profiling=true"
	deletesScheduler = "file /etc/kubernetes/manifests/kube-scheduler.yaml delete"
	deletesAPI       = "file /etc/kubernetes/manifests/kube-apiserver.yaml delete"
	breaksAPI        = "file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg etcd-servers=https://127.0.0.1:9999"
	breaksEtcd       = "file /etc/kubernetes/manifests/etcd.yaml set-arg cert-file=/nowhere"
	deletesEtcd      = "file /etc/kubernetes/manifests/etcd.yaml delete"
	writesEtcd       = "write_file /etc/kubernetes/manifests/etcd.yaml"
	removesEtcd      = "remove_path /etc/kubernetes/manifests/etcd.yaml"
)

// raising returns a cluster of three control planes before an upgrade from a version to 1.36.3.
func raising(t *testing.T, from string) *operator {
	t.Helper()
	o := running(t, 3, 0, from)
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.kubelets("1.36.3")
	return o
}

// cutIn carries out the plan up to and including an effect of a step, such as cp2/etcd and write_file
// PATH; without an effect, up to the step's first one.
func (o *operator) cutIn(step, effect string) {
	o.t.Helper()
	_, err := o.planShown()
	o.must(err)
	begun, cut := false, false
	o.around = func(s *planner.Step) error {
		name := s.Target.Key + "/" + s.Phase
		if s.ID.Waypoint != "" {
			name += "@waypoint"
		}
		begun = name == step
		return nil
	}
	o.world.OnEffect = func(e sim.Effect) error {
		if cut = cut || begun && e.Done && strings.HasPrefix(e.Op+" "+e.Detail, effect); cut {
			return errCrash
		}
		return nil
	}
	_ = o.carryOut()
	o.around, o.world.OnEffect = nil, nil
	if !cut {
		o.t.Fatalf("no %q in %s", effect, step)
	}
}

// turnsOf returns the control planes in the order in which a plan changes their static pods.
func turnsOf(p *planner.Plan) string {
	var out []string
	for _, s := range p.Steps {
		if slices.Contains([]string{"etcd", "control-plane", "wait-control-plane"}, s.Phase) && !slices.Contains(out, s.Target.Key) {
			out = append(out, s.Target.Key)
		}
	}
	return strings.Join(out, " ")
}

// TestUpgradeBeginsWithInterruptedControlPlane checks that an upgrade begins with the control plane whose static pods an apply
// has stopped, and continues with other unhealthy ones.
func TestUpgradeBeginsWithInterruptedControlPlane(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		from, step, effect string
		// edits are manual edits in between, by the number of the control plane.
		edits map[int]string
		wait  time.Duration
		turns string
	}{
		"another one boots":             {"1.35.8", "cp2/etcd", writesEtcd, map[int]string{1: "power reboot"}, 0, "cp2 cp1 cp3"},
		"another one's member is down":  {"1.35.8", "cp2/etcd", "remove_path", map[int]string{1: breaksEtcd}, time.Minute, "cp1 cp2 cp3"},
		"another one fails":             {"1.35.8", "", "", map[int]string{1: deletesAPI, 2: breaksAPI}, time.Minute, "cp1 cp2 cp3"},
		"another one fails before it":   {"1.35.8", "", "", map[int]string{3: deletesAPI, 1: breaksAPI}, time.Minute, "cp3 cp1 cp2"},
		"kubelet, another one restarts": {"1.35.8", "cp1/kubelet-start", "remove_path", map[int]string{2: editsScheduler}, 0, "cp1 cp2"},
		"cp3, another one restarts":     {"1.35.8", "cp3/etcd", removesEtcd, map[int]string{2: editsScheduler}, 0, "cp3 cp2"},
		"cp2, the first one restarts":   {"1.35.8", "cp2/etcd", removesEtcd, map[int]string{1: editsScheduler}, 0, "cp2 cp1 cp3"},
		"on the way":                    {"1.34.9", "cp3/etcd@waypoint", removesEtcd, map[int]string{1: editsScheduler}, 0, "cp3 cp1 cp2"},
		"on the way, another one fails": {"1.34.9", "cp3/etcd@waypoint", removesEtcd, map[int]string{2: breaksAPI}, 0, "cp3 cp2 cp1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := raising(t, tt.from)
			if tt.step != "" {
				o.cutIn(tt.step, tt.effect)
			}
			for i, edit := range tt.edits {
				o.edit(address(i), edit)
			}
			o.world.Advance(tt.wait)
			p, err := o.plan()
			o.must(err)
			if got := turnsOf(p); got != tt.turns {
				t.Errorf("the turns are %s, want %s", got, tt.turns)
			}
			o.must(o.carryOut())
			o.wantDone()
		})
	}
}

// TestLastServingAPIServerRestartsLast checks that the only API server that serves restarts after the others are
// back, whatever else is wrong beside it.
func TestLastServingAPIServerRestartsLast(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edits [3]string
		turns string
	}{
		"its scheduler is gone, the others are gone":     {[3]string{deletesScheduler, deletesAPI, deletesAPI}, "cp2 cp3 cp1"},
		"its scheduler is gone, the others fail":         {[3]string{breaksAPI, deletesScheduler, breaksAPI}, "cp1 cp3 cp2"},
		"its scheduler was edited, the others fail":      {[3]string{editsScheduler, breaksAPI, breaksAPI}, "cp2 cp3 cp1"},
		"its kubeconfig is missing, one of them is gone": {[3]string{"file /etc/kubernetes/admin.conf delete", deletesAPI, ""}, "cp2 cp3 cp1"},
		"its scheduler is gone, one of them goes down":   {[3]string{deletesScheduler, "", deletesEtcd}, "cp3 cp1 cp2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 0)
			o.config.Clusters[0].APIServer.Component.Args = []config.Arg{{Name: "max-requests-inflight", Value: "500"}}
			for i, edit := range tt.edits {
				if edit != "" {
					o.edit(address(i+1), edit)
				}
			}
			p, err := o.plan()
			o.must(err)
			if got := turnsOf(p); got != tt.turns {
				t.Errorf("the turns are %s, want %s", got, tt.turns)
			}
			o.world.Watch = true
			o.must(o.carryOut())
			o.wantHeld()
			o.wantDone()
		})
	}
}

// TestEtcdStoppedMemberIsRestoredFirst checks that an etcd member that an apply or a user has stopped is restored
// before anything is done on a control plane that was edited meanwhile.
func TestEtcdStoppedMemberIsRestoredFirst(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(o *operator){
		"by an apply": func(o *operator) { o.cutIn("cp1/etcd", removesEtcd) },
		"by hand":     func(o *operator) { o.edit(address(1), deletesEtcd) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tuned(t, 3)
			stop(o)
			o.edit(address(2), editsScheduler)
			p, err := o.plan()
			o.must(err)
			first, then := stepOf(p, "cp1/etcd"), stepOf(p, "cp2/etcd")
			if first == nil || then == nil || !waitsFor(p, then, first.ID) {
				t.Errorf("cp2 does not wait for cp1:\n%s", describe(p))
			}
			o.must(o.carryOut())
			o.wantDone()
		})
	}
}

// TestInterruptedUpgradeWithDisturbances interrupts an upgrade at effects, and then disturbs a control plane: there is a
// plan, or a refusal that says what is wrong. Every effect and disturbance is tried with
// KUBEWRIGHT_LONG set.
func TestInterruptedUpgradeWithDisturbances(t *testing.T) {
	t.Parallel()
	edits := []string{editsScheduler, deletesAPI, breaksAPI, deletesEtcd, "power reboot"}
	for from, stride := range map[string]int{"1.35.8": 5, "1.34.9": 11} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			begin := raising(t, from)
			_, err := begin.planShown()
			begin.must(err)
			first, last, ended := begin.copy(t).effects()
			tried := every(7)
			for n, done := range crashes(t, first, last, stride) {
				cut := begin.copy(t)
				if done && !ended[n] || !crashOnce(cut, n, done) {
					continue
				}
				for i := range 3 * len(edits) {
					if tried() {
						wantSound(t, cut, 1+i%3, edits[i/3], fmt.Sprintf("after a crash at effect %d (done %v)", n, done))
					}
				}
			}
		})
	}
}

// wantSound disturbs a control plane, right before the plan and a minute before it, and checks that no
// steps of the plan wait for each other.
func wantSound(t *testing.T, begin *operator, plane int, edit, when string) {
	t.Helper()
	for _, wait := range []time.Duration{0, time.Minute} {
		o := begin.copy(t)
		if err := sim.Edit(o.world, address(plane), edit); err != nil && strings.HasSuffix(err.Error(), "does not exist") {
			return // the edit would remove a file that the apply has removed already
		} else if err != nil {
			t.Fatal(err)
		}
		o.world.Advance(wait)
		if _, err := o.plan(); err != nil && strings.Contains(err.Error(), "Plan is not sound") {
			t.Errorf("%s, %q on cp%d and %s: %v", when, edit, plane, wait, err)
		}
	}
}
