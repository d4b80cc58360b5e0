package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/providers/sim"
)

// rotateAll rotates every CA of crashConfig's cluster, and its service account keys.
var rotateAll = []string{"-replace=cluster.prod/ca", "-replace=cluster.prod/front-proxy-ca", "-replace=cluster.prod/etcd-ca", "-replace=cluster.prod/service-account"}

// trustWatch checks after each effect that every component trusts every other one, unless it
// is blind, and fails the effect with number failAt.
type trustWatch struct {
	mu       sync.Mutex
	blind    bool
	failAt   int
	effects  int
	distrust []string
}

func (w *trustWatch) open(path string) (*sim.World, error) {
	world, err := sim.Open(path)
	if err != nil {
		return nil, err
	}
	world.OnEffect = func(e sim.Effect) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !e.Done {
			w.effects++
			if w.effects == w.failAt {
				return errors.New("cut short by the test")
			}
			return nil
		}
		if w.blind {
			return nil
		}
		for _, d := range world.Distrust() {
			w.distrust = append(w.distrust, fmt.Sprintf("%s: %s", e, d))
		}
		return nil
	}
	return world, nil
}

// underWatch runs a command under the watch.
func (f folder) underWatch(w *trustWatch, args ...string) (int, string) {
	env, printed := f.env(args...)
	env.OpenWorld = w.open
	return cli.Main(env), printed()
}

// cas returns the files of CAs on a host, with their digests.
func (f folder) cas(t *testing.T, host string) []string {
	t.Helper()
	w, err := sim.Open(filepath.Join(string(f), "kubewright.sim.json"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(w.Listing(host), "\n"), func(line string) bool {
		return !strings.HasPrefix(line, "file /etc/kubernetes/pki/") || !strings.Contains(line, "ca.") && !strings.Contains(line, "ca-")
	})
}

// wantRotated checks that every CA is new, that all control planes have the same CAs, and
// that no further files of CAs are left.
func (f folder) wantRotated(t *testing.T, before folder) {
	t.Helper()
	was, now := before.cas(t, crashHosts[0]), f.cas(t, crashHosts[0])
	if len(was) != 6 || len(now) != 6 {
		t.Errorf("files of CAs: %d before, %d now:\n%s", len(was), len(now), strings.Join(now, "\n"))
	}
	for _, line := range now {
		if slices.Contains(was, line) {
			t.Errorf("not rotated: %s", line)
		}
	}
	for _, host := range crashHosts[1:3] {
		if other := f.cas(t, host); !slices.Equal(other, now) {
			t.Errorf("%s has other files of CAs:\n%s", host, strings.Join(other, "\n"))
		}
	}
}

// keys returns the files of the service account keys on a host, with their digests.
func (f folder) keys(t *testing.T, host string) []string {
	t.Helper()
	w, err := sim.Open(filepath.Join(string(f), "kubewright.sim.json"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(w.Listing(host), "\n"), func(line string) bool {
		return !strings.HasPrefix(line, "file /etc/kubernetes/pki/sa")
	})
}

// wantNewKeys advances the clock by more than a day and checks that an apply, also an
// interrupted one, drops the old service account key on all control planes.
func (f folder) wantNewKeys(t *testing.T, before folder, failAt int) {
	t.Helper()
	f.must(t, "sim", "edit", crashHosts[0], "time", "26h")
	w := &trustWatch{failAt: failAt}
	if code, out := f.underWatch(w, "apply", "-auto-approve", "-parallelism=1"); failAt > 0 && (code != 1 || !strings.Contains(out, "cut short")) {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	w.failAt = 0
	if code, out := f.underWatch(w, "apply", "-auto-approve"); code != 0 || failAt == 0 && !strings.Contains(out, "No changes.") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if len(w.distrust) > 0 {
		t.Errorf("distrust while the old key is dropped:\n%s", strings.Join(w.distrust, "\n"))
	}
	if out := f.must(t, "plan", "-detailed-exitcode"); strings.Contains(out, "Rotation") {
		t.Errorf("the rotation has not ended:\n%s", out)
	}
	was, now := before.keys(t, crashHosts[0]), f.keys(t, crashHosts[0])
	if len(was) != 2 || len(now) != 2 || was[0] == now[0] || was[1] == now[1] {
		t.Errorf("before:\n%s\nnow:\n%s", strings.Join(was, "\n"), strings.Join(now, "\n"))
	}
	for _, host := range crashHosts[1:3] {
		if other := f.keys(t, host); !slices.Equal(other, now) {
			t.Errorf("%s has other keys:\n%s", host, strings.Join(other, "\n"))
		}
	}
}

// TestRotationKeepsTrust rotates all CAs and keys and checks at every moment that every component
// trusts the certificates of every other one. A rotation that is interrupted continues with
// an ordinary apply, again without any distrust.
func TestRotationKeepsTrust(t *testing.T) {
	t.Parallel()
	founded := foundedFolder(t)
	apply := append([]string{"apply", "-auto-approve", "-parallelism=1"}, rotateAll...)
	whole := founded.copy(t)
	w := &trustWatch{}
	if code, out := whole.underWatch(w, apply...); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if len(w.distrust) > 0 {
		t.Fatalf("distrust during the rotation:\n%s", strings.Join(w.distrust, "\n"))
	}
	whole.must(t, "plan", "-detailed-exitcode")
	whole.wantRotated(t, founded)
	t.Run("ended", func(t *testing.T) {
		t.Parallel()
		founded.copy(t).wantReplacedAtOnce(t)
	})
	dropped := whole.copy(t)
	dropped.wantNewKeys(t, founded, 0)
	whole.wantNewKeys(t, founded, 4)
	stride := max(1, w.effects/3)
	if os.Getenv("KUBEWRIGHT_LONG") != "" {
		stride = 1
	}
	moments := []int{w.effects - 4} // when the files of the rotation are removed
	for n := stride / 2; n < w.effects; n += stride {
		moments = append(moments, n)
	}
	for _, n := range moments {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			f := founded.copy(t)
			cut := &trustWatch{failAt: max(1, n)}
			if code, out := f.underWatch(cut, apply...); code != 1 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			cut.failAt = 0
			// Without the flag: a rotation that has begun continues.
			if code, out := f.underWatch(cut, "apply", "-auto-approve"); code != 0 {
				t.Errorf("exit code %d\n%s", code, out)
			}
			if len(cut.distrust) > 0 {
				t.Errorf("interrupted at effect %d, distrust:\n%s", n, strings.Join(cut.distrust, "\n"))
			}
			f.must(t, "plan", "-detailed-exitcode")
			if n > w.effects/16 { // earlier there may be no new CA yet, so the rotation has not begun
				f.wantRotated(t, founded)
			}
		})
	}
}

// wantReplacedAtOnce lets all CAs expire, replaces them in runs that are interrupted at some
// moments, and checks that every component trusts every other one at the end.
func (f folder) wantReplacedAtOnce(t *testing.T) {
	t.Helper()
	f.must(t, "sim", "edit", crashHosts[0], "time", "88000h")
	if code, out := f.run("plan"); code != 1 || !strings.Contains(out, strings.Join(rotateAll[:3], " ")) {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	apply := append([]string{"apply", "-auto-approve"}, rotateAll[:3]...)
	whole, w := f.copy(t), &trustWatch{blind: true}
	if code, out := whole.underWatch(w, apply...); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	whole.wantTrust(t)
	parts := 3
	if os.Getenv("KUBEWRIGHT_LONG") != "" {
		parts = 12
	}
	for part := range parts {
		n := max(2, w.effects*part/parts)
		cut := f.copy(t)
		if code, out := cut.underWatch(&trustWatch{blind: true, failAt: n}, append(apply, "-parallelism=1")...); code != 1 {
			t.Fatalf("interrupted at %d: exit code %d\n%s", n, code, out)
		}
		if code, out := cut.run("apply", "-auto-approve"); code == 1 {
			// Not all CAs were created: the message names the ones that are missing.
			var again []string
			for _, flag := range rotateAll[:3] {
				if strings.Contains(out, flag) {
					again = append(again, flag)
				}
			}
			if code, out := cut.run(append([]string{"apply", "-auto-approve"}, again...)...); len(again) == 0 || code != 0 {
				t.Fatalf("interrupted at %d, %v: exit code %d\n%s", n, again, code, out)
			}
		}
		cut.wantTrust(t)
	}
}

// wantTrust checks that one apply at most corrects the objects in the API, and that every
// component then trusts every other one.
func (f folder) wantTrust(t *testing.T) {
	t.Helper()
	f.must(t, "apply", "-auto-approve")
	f.must(t, "plan", "-detailed-exitcode")
	world, err := sim.Open(filepath.Join(string(f), "kubewright.sim.json"))
	if err != nil {
		t.Fatal(err)
	}
	if d := world.Distrust(); len(d) > 0 {
		t.Errorf("distrust at the end:\n%s", strings.Join(d, "\n"))
	}
}
