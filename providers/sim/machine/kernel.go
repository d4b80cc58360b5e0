package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim/file"
)

// Kernel is a machine's kernel: parameters, modules and swap.
type Kernel struct{ m *Machine }

// Kernel returns the machine's kernel.
func (m *Machine) Kernel() Kernel { return Kernel{m} }

// SetSysctl sets a kernel parameter. It reports whether that changed anything.
func (k Kernel) SetSysctl(name, value string) (bool, error) {
	present, ok := k.Sysctl(name)
	if !ok {
		return false, k.m.CommandError("set "+name, 255, "sysctl: cannot stat /proc/sys/"+strings.ReplaceAll(name, ".", "/")+": No such file or directory")
	}
	if present == value {
		return false, nil
	}
	if isNumber(present) && !isNumber(value) {
		return false, k.m.CommandError("set "+name, 1, fmt.Sprintf("the kernel does not accept %s as %s", value, name))
	}
	SetText(&k.m.Sysctls, name, value, k.m.Baseline().Sysctls[name])
	return true, nil
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// LoadModule loads a module, or unloads it. It reports whether that changed anything.
func (k Kernel) LoadModule(name string, load bool) (bool, error) {
	if k.Module(name) == load {
		return false, nil
	}
	if load && slices.Contains(k.m.Conditions.NoModules, name) {
		return false, fmt.Errorf("modprobe: FATAL: Module %s not found", name)
	}
	setFlag(&k.m.Modules, name, load, k.m.Baseline().Modules[name])
	if name == "br_netfilter" && !load {
		for sysctl := range k.m.Sysctls {
			if strings.HasPrefix(sysctl, "net.bridge.") {
				delete(k.m.Sysctls, sysctl)
			}
		}
	}
	return true, nil
}

// swapTarget is the path of a mask for the unit that turns swap on at boot.
const swapTarget = "/etc/systemd/system/" + planner.SwapTarget

// ChangeSwap turns swap on or off, now and at boot.
func (k Kernel) ChangeSwap(op planner.Swap) bool {
	changed, masked := false, k.m.File(swapTarget) != nil
	switch {
	case op.Boot == planner.SwapStaysOff && !masked:
		k.m.Put(swapTarget, &file.File{Type: file.Link, Link: "/dev/null"})
		changed = true
	case op.Boot == planner.SwapReturns && masked:
		k.m.Remove(swapTarget)
		changed = true
	}
	// Turned on again as configured in fstab: without swap there nothing happens.
	if k.Swap() == op.On || op.On && !k.swapConfigured() {
		return changed
	}
	k.SetSwap(op.On)
	return true
}

// SetSwap turns swap on or off until the next boot.
func (k Kernel) SetSwap(on bool) {
	k.m.SwapOff, k.m.SwapOn = !on && k.m.HardwareProfile().Swap, on && !k.m.HardwareProfile().Swap
}

func (k Kernel) swapConfigured() bool {
	return strings.Contains(string(k.m.fleet.Content(k.m.File("/etc/fstab"))), " swap ")
}

// SwapAtBoot reports whether a boot turns swap on.
func (k Kernel) SwapAtBoot() bool {
	return k.swapConfigured() && k.m.File(swapTarget) == nil
}

// Swap reports whether swap is on.
func (k Kernel) Swap() bool { return k.m.SwapOn || k.m.HardwareProfile().Swap && !k.m.SwapOff }

// Sysctl returns a kernel parameter; false if the kernel lacks it.
func (k Kernel) Sysctl(name string) (string, bool) {
	if strings.HasPrefix(name, "net.bridge.") && !k.Module("br_netfilter") {
		return "", false
	}
	if v, ok := k.m.Sysctls[name]; ok {
		return v, true
	}
	if strings.HasPrefix(name, "net.bridge.bridge-nf-call-") {
		return "1", true
	}
	v, ok := k.m.Baseline().Sysctls[name]
	return v, ok
}

// Module reports whether a module is loaded.
func (k Kernel) Module(name string) bool {
	if loaded, ok := k.m.Modules[name]; ok {
		return loaded
	}
	return k.m.Baseline().Modules[name]
}

// bootKernel loads modules and sets kernel parameters according to files.
func (k Kernel) bootKernel() {
	for _, p := range k.m.Children("/etc/modules-load.d") {
		for line := range strings.Lines(string(k.m.fleet.Content(k.m.Resolve(p)))) {
			if name := strings.TrimSpace(line); name != "" && name[0] != '#' {
				_, _ = k.LoadModule(name, true)
			}
		}
	}
	for _, p := range k.m.Children("/etc/sysctl.d") {
		for line := range strings.Lines(string(k.m.fleet.Content(k.m.Resolve(p)))) {
			name, value, ok := strings.Cut(line, "=")
			if name = strings.TrimSpace(name); ok && name[0] != '#' {
				_, _ = k.SetSysctl(strings.TrimPrefix(name, "-"), strings.TrimSpace(value))
			}
		}
	}
}

// Tune sets those kernel parameters that the kernel has.
func (k Kernel) Tune(sysctls map[string]string) {
	for name, value := range sysctls {
		if _, has := k.Sysctl(name); has {
			SetText(&k.m.Sysctls, name, value, k.m.Baseline().Sysctls[name])
		}
	}
}
