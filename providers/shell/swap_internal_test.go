package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
)

// swapRoot returns the files of a host that concern swap, with programs that change them as
// the real ones do.
func swapRoot(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{
		"proc/swaps": "Filename Type Size Used Priority\n",
		"bin/systemctl": `[ "$1" = --quiet ] && shift
case $* in
'mask swap.target') ln -s /dev/null "$ROOT/etc/systemd/system/swap.target" ;;
'unmask swap.target') rm "$ROOT/etc/systemd/system/swap.target" ;;
'--no-block start swap.target') ;;
*) exit 1 ;;
esac
`,
		"bin/swapoff":                  `[ "$*" = -a ] && echo Filename >"$ROOT/proc/swaps"` + "\n",
		"bin/swapon":                   `[ "$*" = -a ] && echo /dev/vda2 >>"$ROOT/proc/swaps"` + "\n",
		"etc/systemd/system/a.service": "",
	}
	for name, content := range files {
		all[name] = content
	}
	for name, content := range all {
		path := filepath.Join(root, name)
		if strings.HasPrefix(name, "bin/") {
			content = "#!/bin/sh\n" + content
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		hosttest.WriteProgram(t, path, content)
	}
	return root
}

func runSwap(t *testing.T, root, script string) string {
	t.Helper()
	sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\n"+preludeScript+script)
	sh.Env = []string{"PATH=" + root + "/bin:/usr/bin:/bin", "ROOT=" + root}
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// boots reports whether swap comes back after a boot, according to a host under root.
func boots(t *testing.T, root string) bool {
	t.Helper()
	return strings.Contains(runSwap(t, root, "kw_r="+Quote(root)+"\n"+observeScript+"if kw_swap_boots; then echo boots; fi\n"), "boots")
}

func TestSwapAtBoot(t *testing.T) {
	t.Parallel()
	const generated = "run/systemd/generator/swap.target."
	for name, tt := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"none":                     {map[string]string{"etc/fstab": "/dev/vda1 / ext4 defaults 0 1\n"}, false},
		"no fstab":                 {nil, false},
		"fstab":                    {map[string]string{"etc/fstab": "# x\n/dev/vda2\tnone  swap sw 0 0\n"}, true},
		"fstab without an end":     {map[string]string{"etc/fstab": "/swap.img none swap"}, true},
		"only by hand":             {map[string]string{"etc/fstab": "/dev/vda2 none swap sw,noauto 0 0\n"}, false},
		"commented out":            {map[string]string{"etc/fstab": "#/dev/vda2 none swap sw 0 0\n  # /dev/vda2 none swap sw\n"}, false},
		"commented out since":      {map[string]string{generated + "requires/dev-vda2.swap": "[Unit]\nSourcePath=/etc/fstab\n"}, false},
		"a generator":              {map[string]string{generated + "wants/dev-zram0.swap": "[Unit]\nDescription=zram\n"}, true},
		"a unit of the operator's": {map[string]string{"etc/systemd/system/swap.target.wants/swap.swap": "[Swap]\nWhat=/swap\n"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := swapRoot(t, tt.files)
			if got := boots(t, root); got != tt.want {
				t.Errorf("swap comes back with a boot: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestSwapIsTurnedOffAndRestored(t *testing.T) {
	t.Parallel()
	root := swapRoot(t, map[string]string{"etc/fstab": "/dev/vda2 none swap sw 0 0\n", "proc/swaps": "Filename\n/dev/vda2\n"})
	perform := func(op planner.Swap) string {
		t.Helper()
		body, err := (&compiler{root: root, batch: providers.Batch{Token: 1, Lineage: "l", Operations: []planner.Operation{op}}}).script()
		if err != nil {
			t.Fatal(err)
		}
		return runSwap(t, root, body)
	}
	for _, step := range []struct {
		op              planner.Swap
		changed         bool
		on, comesByBoot bool
	}{
		{planner.Swap{On: true, Boot: planner.SwapReturns}, false, true, true},
		{planner.Swap{Boot: planner.SwapStaysOff}, true, false, false},
		{planner.Swap{Boot: planner.SwapStaysOff}, false, false, false},
		{planner.Swap{}, false, false, false},
		{planner.Swap{Boot: planner.SwapReturns}, true, false, true},
		{planner.Swap{On: true}, true, true, true},
		{planner.Swap{}, true, false, true},
		{planner.Swap{Boot: planner.SwapStaysOff}, true, false, false},
		{planner.Swap{On: true, Boot: planner.SwapReturns}, true, true, true},
	} {
		out := perform(step.op)
		swaps, err := os.ReadFile(filepath.Join(root, "proc/swaps"))
		if err != nil {
			t.Fatal(err)
		}
		changed, on := strings.Contains(out, "done changed\n"), strings.Contains(string(swaps), "/dev/vda2")
		if changed != step.changed || on != step.on || boots(t, root) != step.comesByBoot {
			t.Errorf("%s: changed %t, on %t, at boot %t; want %t, %t, %t\n%s", step.op.Summary(), changed, on, boots(t, root), step.changed, step.on, step.comesByBoot, out)
		}
	}
	if _, err := (&compiler{batch: providers.Batch{Operations: []planner.Operation{planner.Swap{Boot: "sideways"}}}}).script(); err == nil {
		t.Error("any value is accepted for swap at boot")
	}
}
