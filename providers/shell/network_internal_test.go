package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// fakeNetwork are programs that work on folders in place of links.
var fakeNetwork = map[string]string{
	"ip": "#!/bin/sh\n" + `[ "$1 $2 $3" = "link delete dev" ] && rm -r "$ROOT/sys/class/net/$4" "$ROOT"/sys/class/net/*/brif/"$4" 2>/dev/null
[ "$1 $2" != "netns delete" ] || rm "$ROOT/run/netns/$3"
! [ -e "$ROOT/sys/class/net/$4" ]` + "\n",
	"nft": "#!/bin/sh\nexit 1\n", "iptables-save": "#!/bin/sh\n", "ip6tables-save": "#!/bin/sh\n",
}

// TestRemoveNetwork: the bridge of pods goes with what hangs on it, and the links of
// another container engine stay.
func TestRemoveNetwork(t *testing.T) {
	t.Parallel()
	root, bin := t.TempDir(), t.TempDir()
	for name, text := range fakeNetwork {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	links := filepath.Join(root, "sys/class/net")
	for _, dir := range []string{"cni0/brif/veth1", "cni0/brif/eth1", "veth1", "eth0", "eth1", "docker0/brif/veth2", "veth2", "veth3", "flannel.1"} {
		if err := os.MkdirAll(filepath.Join(links, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func() string {
		t.Helper()
		op := planner.RemoveNetwork{Links: []string{"cni0", "flannel.1", "kube-ipvs0"}}
		body, err := (&compiler{root: root, batch: providers.Batch{Token: 1, Lineage: "l", Operations: []planner.Operation{op}}}).script()
		if err != nil {
			t.Fatal(err)
		}
		sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\n"+preludeScript+body)
		sh.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "ROOT=" + root}
		out, err := sh.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := run(); !strings.Contains(out, "done changed\n") {
		t.Errorf("got %s", out)
	}
	if out := run(); !strings.Contains(out, "done same\n") {
		t.Errorf("once more: %s", out)
	}
	var left []string
	entries, err := os.ReadDir(links)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"docker0", "eth0", "eth1", "veth2", "veth3"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left are %v (%v), want %v", left, err, want)
	}
}
