package attack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestControls: each kind of attack fails for what it does, not for what it is made of. The
// same servers and configurations without the attack are accepted.
func TestControls(t *testing.T) {
	t.Parallel()
	t.Run("backend", func(t *testing.T) {
		t.Parallel()
		a, k := newArena(t), &keeper{}
		a.kept(k)
		if o := a.kubewright("apply", "-auto-approve"); o.code != 0 || k.state == nil || k.lock != nil {
			t.Errorf("exit code %d, state of %d bytes, lock %q\n%s", o.code, len(k.state), k.lock, o.stderr)
		}
	})
	t.Run("control plane", func(t *testing.T) {
		t.Parallel()
		a, p := newArena(t), &controlPlane{}
		p.found(a)
		o := a.kubewright("kubeconfig", "-merge")
		b, err := os.ReadFile(filepath.Join(a.home, ".kube", "config"))
		if o.code != 0 || err != nil || !strings.Contains(string(b), "https://192.0.2.1:6443") {
			t.Errorf("exit code %d: %v\n%s\n%s", o.code, err, o.stderr, b)
		}
	})
	t.Run("configuration", func(t *testing.T) {
		t.Parallel()
		a := newArena(t)
		a.write("main.hcl", slots[0].with("1.36.3"))
		if o := a.kubewright("plan", "-input=false"); o.code != 0 {
			t.Errorf("exit code %d\n%s", o.code, o.stderr)
		}
	})
	t.Run("saved plan", func(t *testing.T) {
		t.Parallel()
		a := newArena(t)
		a.quickstart()
		a.write("main.hcl", strings.Replace(a.read("main.hcl"), "    w2 = \"10.77.0.22\"\n", "", 1)+calm)
		a.kubewright("plan", "-override-policy=calm", "-out=p.kwplan")
		if o := a.kubewright("apply", "-override-policy=calm", "-auto-approve", "p.kwplan"); o.code != 0 {
			t.Errorf("exit code %d\n%s", o.code, o.stderr)
		}
	})
	t.Run("injection", func(t *testing.T) {
		t.Parallel()
		if len(slots)*len(payloads) != 330 {
			t.Errorf("%d slots and %d payloads", len(slots), len(payloads))
		}
	})
}
