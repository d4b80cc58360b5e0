package sim

import "strings"

// PowerOff takes a host away: what runs there stops.
func (w *World) PowerOff(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.machine(address).Off = true
	w.settle()
}

// PowerOn boots a host that is off.
func (w *World) PowerOn(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.machine(address); m.Off {
		w.boot(m)
	}
}

// Reboot boots a host again.
func (w *World) Reboot(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.boot(w.machine(address))
}

// boot starts a host: what only memory held is gone, what its files configure is back.
func (w *World) boot(m *machine) {
	m.Off = false
	m.Boots++
	m.Mounts, m.Links, m.Rules, m.Daemons, m.Pods = nil, nil, nil, nil, nil
	delete(w.planes, m.address)
	m.Modules, m.Sysctls = nil, nil
	w.bootKernel(m)
	w.turnSwap(m, w.swapAtBoot(m))
	for _, name := range w.unitNames(m) {
		if u, ok := w.unit(m, name); ok {
			u.Active = u.Enabled
			w.setUnit(m, name, u)
		}
	}
	w.kubeletTurned(m, w.active(m, "kubelet"))
	w.settle()
}

// bootKernel loads modules and sets kernel parameters as files say.
func (w *World) bootKernel(m *machine) {
	for _, p := range w.children(m, "/etc/modules-load.d") {
		for line := range strings.Lines(string(w.content(w.resolve(m, p)))) {
			if name := strings.TrimSpace(line); name != "" && name[0] != '#' {
				_, _ = w.loadModule(m, name, true)
			}
		}
	}
	for _, p := range w.children(m, "/etc/sysctl.d") {
		for line := range strings.Lines(string(w.content(w.resolve(m, p)))) {
			name, value, ok := strings.Cut(line, "=")
			if name = strings.TrimSpace(name); ok && name[0] != '#' {
				_, _ = w.setSysctl(m, strings.TrimPrefix(name, "-"), strings.TrimSpace(value))
			}
		}
	}
}

// unitNames lists the units that a host may have.
func (w *World) unitNames(m *machine) []string {
	names := map[string]bool{}
	for name := range w.base(m).units {
		names[name] = true
	}
	for name := range m.Units {
		names[name] = true
	}
	return sortedKeys(names)
}
