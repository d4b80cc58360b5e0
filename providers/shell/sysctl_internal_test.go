package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSysctlValuesAreComparedFlat checks that a kernel parameter with tabs is found set, that another
// one is written, and that a value which the kernel shows otherwise is refused.
func TestSysctlValuesAreComparedFlat(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tcp_rmem")
	for _, tt := range []struct{ before, value, after, want string }{
		{"4096\t131072\t6291456\n", "4096 131072 6291456", "4096\t131072\t6291456\n", "done same"},
		{"4096\t131072\t6291456\n", "4096 131072 1", "4096 131072 1\n", "done changed"},
		{"5\n", "16", "16\n", "done changed"},
	} {
		if err := os.WriteFile(file, []byte(tt.before), 0o644); err != nil {
			t.Fatal(err)
		}
		out := runSwap(t, filepath.Dir(file), performScript+machineScript+"kw_done() { echo done $1; }\nkw_fail() { echo failed $1; exit; }\n"+call("kw_sysctl", "net.ipv4.tcp_rmem", file, tt.value, "no"))
		after, err := os.ReadFile(file)
		if err != nil || string(after) != tt.after || !strings.Contains(out, tt.want) {
			t.Errorf("%q to %q: %q, %s", tt.before, tt.value, after, out)
		}
	}
	out := runSwap(t, filepath.Dir(file), performScript+machineScript+"kw_done() { echo done $1; }\nkw_fail() { echo failed $1; exit; }\n"+call("kw_sysctl", "net.none", "/dev/null", "1", "no"))
	if strings.Contains(out, "done") {
		t.Errorf("a parameter that the kernel lacks was set: %s", out)
	}
	for name, want := range map[string]string{
		"net.ipv4.conf.eth0/100.forwarding": "/proc/sys/net/ipv4/conf/eth0.100/forwarding", "vm.max_map_count": "/proc/sys/vm/max_map_count",
	} {
		if got := sysctlPath(name); got != want || checkSysctl(name) != nil {
			t.Errorf("the file of %s is %s, %v", name, got, checkSysctl(name))
		}
	}
	if checkSysctl("vm.//./etc") == nil {
		t.Error("a name leads out of /proc/sys")
	}
}
