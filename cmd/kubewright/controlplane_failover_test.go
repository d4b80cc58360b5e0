package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/sim"
)

// edit changes the folder's simulated hosts by hand.
func (f folder) edit(t *testing.T, change func(*sim.World) error) {
	t.Helper()
	w, err := sim.Open(filepath.Join(string(f), "kubewright.sim.json"))
	if err == nil {
		err = change(w)
	}
	if err == nil {
		err = w.Save()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPlanUsesAnotherControlPlane checks that, when the control plane through which the cluster is reached has
// lost its API server or etcd, the plan observes the cluster through another one and repairs
// exactly that component.
func TestPlanUsesAnotherControlPlane(t *testing.T) {
	t.Parallel()
	founded := foundedFolder(t)
	for _, tt := range []struct{ component, step string }{
		{"kube-apiserver", `node.cp["cp1"]/control-plane`},
		{"etcd", `node.cp["cp1"]/etcd`},
	} {
		t.Run(tt.component, func(t *testing.T) {
			t.Parallel()
			f := founded.copy(t)
			manifest := "/etc/kubernetes/manifests/" + tt.component + ".yaml"
			f.edit(t, func(w *sim.World) error { return sim.Edit(w, "10.0.0.11", "file "+manifest+" delete") })
			code, out := f.run("plan", "-detailed-exitcode")
			if code != 3 || !strings.Contains(out, manifest) || !strings.Contains(out, "Plan: 0 to add, 1 to change, 0 to destroy.") {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			if out := f.must(t, "apply", "-auto-approve"); !strings.Contains(out, "[1/1] "+tt.step) {
				t.Errorf("the apply is not the one step %s:\n%s", tt.step, out)
			}
			f.must(t, "plan", "-detailed-exitcode")
		})
	}
}

// TestApplyUsesAnotherControlPlane checks that, when the control plane that serves a change becomes
// unreachable, another one serves the rest.
func TestApplyUsesAnotherControlPlane(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t)
	f.replace(t, `"general"`, `"batch"`)
	code, out := f.runAndMeanwhile(t, func(w *sim.World) error {
		w.Fault(sim.Fault{Host: "10.0.0.11", Op: "patch_node", Times: -1, Kind: sim.FaultUnreachable})
		w.Fault(sim.Fault{Host: "10.0.0.11", Op: "api.*", Times: -1, Kind: sim.FaultUnreachable})
		w.Fault(sim.Fault{Host: "10.0.0.11", Op: "*_lease", Times: -1, Kind: sim.FaultUnreachable})
		return nil
	}, "apply")
	if code != 0 || strings.Contains(out, "trying again") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	f.edit(t, func(w *sim.World) error { w.ClearFaults(); return nil })
	f.must(t, "plan", "-detailed-exitcode")
}

// TestControlPlaneWithAnotherCAIsNotUsed checks that a control plane that now holds another CA is not
// used to reach the cluster when the cluster's own control plane does not answer.
func TestControlPlaneWithAnotherCAIsNotUsed(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t)
	f.edit(t, func(w *sim.World) error {
		for _, edit := range []string{"10.0.0.12 file /etc/kubernetes/pki/ca.crt delete", "10.0.0.13 file /etc/kubernetes/pki/ca.crt delete"} {
			host, change, _ := strings.Cut(edit, " ")
			if err := sim.Edit(w, host, change); err != nil {
				return err
			}
		}
		return sim.Edit(w, "10.0.0.11", "file /etc/kubernetes/manifests/kube-apiserver.yaml delete")
	})
	_, out := f.run("plan")
	if !strings.Contains(strings.Join(strings.Fields(out), " "), "the API did not answer") {
		t.Errorf("the API was reached through a host that does not hold the cluster's CA:\n%s", out)
	}
}

// TestRestoreRefusedWhenEtcdIsUnknown checks that a restore is refused when etcd cannot be queried.
func TestRestoreRefusedWhenEtcdIsUnknown(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t)
	f.must(t, "etcd", "snapshot", "-out=good.db")
	f.edit(t, func(w *sim.World) error {
		w.Fault(sim.Fault{Op: "etcd.members", Times: -1, Kind: sim.FaultFail})
		return nil
	})
	code, out := f.run("etcd", "restore", "good.db", "-auto-approve")
	words := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{
		"Error: Cannot tell whether etcd answers", "Nothing is restored over a cluster that may work: node.cp[\"cp1\"]: ",
		"Nothing was changed. Fix what keeps etcd from being asked there, and run the same command again.",
	} {
		if code != 1 || !strings.Contains(words, want) {
			t.Errorf("exit code %d, and the output does not contain %q:\n%s", code, want, out)
		}
	}
}
