package pipeline_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
)

// TestStaticPodChangeRefusedWithStoppedKubelet checks that static pods are not changed on a control plane whose kubelet does not
// run, nor on others before it, and that the remedies in the text work: to start the kubelet by hand,
// or by an apply without other changes.
func TestStaticPodChangeRefusedWithStoppedKubelet(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*config.Config){
		"another version": func(c *config.Config) { c.Clusters[0].KubernetesVersion = "1.37.0" },
		"another argument": func(c *config.Config) {
			c.Clusters[0].APIServer.Args = append(c.Clusters[0].APIServer.Args, config.Arg{Name: "profiling", Value: "false"})
		},
	}
	stops := map[string][]string{
		"stopped":             {"unit kubelet stop"},
		"disabled and booted": {"unit kubelet disable", "power reboot"},
	}
	ways := map[string]func(*operator){
		"by hand": func(o *operator) { o.edit("10.0.0.12", "unit kubelet enable", "unit kubelet start") },
		"by an apply": func(o *operator) {
			changed := o.config
			o.config = cluster(3, 1)
			o.must(o.apply())
			o.config = changed
		},
	}
	for change, alter := range changes {
		for stop, edits := range stops {
			for way, start := range ways {
				t.Run(change+", "+stop+", started "+way, func(t *testing.T) {
					t.Parallel()
					o := founded(t, 3, 1)
					o.config = places(cluster(3, 1))
					alter(o.config)
					o.edit("10.0.0.12", edits...)
					if _, err := o.plan(); err == nil {
						t.Fatalf("the plan is not refused:\n%s", describe(o.result.Plan))
					}
					d := finding{diag.Error, "Kubelet is not running", "main.hcl:1", "cluster.prod", []string{
						`Static pods of cluster "prod" would be stopped and started on node.cp["cp2"] (10.0.0.12), whose kubelet is not running (inactive)`, "systemctl enable --now kubelet",
					}}
					if found := d.in(o.said); found == nil {
						t.Fatalf("the reason is not reported:\n%s", printedFindings(o.said))
					} else {
						show(t, found)
						d.check(t, found)
					}
					start(o)
					o.must(o.apply())
					o.wantNothing()
				})
			}
		}
	}
}

// TestStoppedKubeletIsStarted checks that the kubelet is started if nothing else changes.
func TestStoppedKubeletIsStarted(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	o.edit("10.0.0.12", "unit kubelet stop")
	p, err := o.plan()
	o.must(err)
	if s := stepOf(p, "cp2/kubelet-start"); s == nil || s.Action != planner.Update {
		t.Errorf("the kubelet is not started:\n%s", describe(p))
	}
	o.must(o.carryOut())
	o.wantNothing()
}

// TestStoppedKubeletMustRunBeforeReplacement checks that a kubelet that is about to be replaced has to run in order
// to stop its static pods.
func TestStoppedKubeletMustRunBeforeReplacement(t *testing.T) {
	t.Parallel()
	o := running(t, 3, 0, "1.35.8")
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.must(o.apply())
	o.kubelets("1.36.3")
	o.edit("10.0.0.12", "unit kubelet stop")
	if _, err := o.plan(); err == nil || !strings.Contains(err.Error(), "Kubelet is not running: ") {
		t.Errorf("the plan is not refused: %v", err)
	}
	o.edit("10.0.0.12", "unit kubelet start")
	o.must(o.apply())
	o.wantNothing()
}
