package hostrules_test

import (
	"testing"

	"github.com/kubewright/kubewright/config/hostrules"
)

// TestSysctlNamesHaveOneSpelling checks that names with dots and paths become the same name, with a
// slash for a dot within a part, and that nothing else passes.
func TestSysctlNamesHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"vm.max_map_count": "vm.max_map_count", "vm/max_map_count": "vm.max_map_count",
		"net.ipv4.conf.eth0/100.forwarding": "net.ipv4.conf.eth0/100.forwarding", "net/ipv4/conf/eth0.100/forwarding": "net.ipv4.conf.eth0/100.forwarding",
		"swappiness": "", "": "", "vm.": "", ".vm": "", "vm..x": "", "../x": "", "vm/../x": "", "a.//.b": "", "vm.x y": "", "-vm.x": "", "vm.x=1": "",
	} {
		got, err := hostrules.SysctlName(given)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("the name of %q is %q (%v), want %q", given, got, err, want)
		}
	}
}

// TestSysctlValuesAreAsTheKernelShowsThem checks that values are refused that the kernel would show
// otherwise.
func TestSysctlValuesAreAsTheKernelShowsThem(t *testing.T) {
	t.Parallel()
	for value, ok := range map[string]bool{
		"1": true, "-1": true, "4096\t131072  6291456": true, "|/usr/lib/core %p": true, "fq": true,
		"": false, " ": false, "0x10": false, "010": false, "+1": false, "1\n2": false, `a\b`: false,
	} {
		if err := hostrules.CheckSysctlValue(value); (err == nil) != ok {
			t.Errorf("%q: %v", value, err)
		}
	}
	if got := hostrules.SysctlValue(" 4096\t131072  6291456"); got != "4096 131072 6291456" {
		t.Errorf("got %q", got)
	}
}
