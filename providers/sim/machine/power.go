package machine

// Boot starts a host: what only memory held is gone, what its files configure is back.
func (m *Machine) Boot() {
	m.Off = false
	m.Boots++
	m.Mounts, m.Links, m.Rules, m.Daemons, m.Pods = nil, nil, nil, nil, nil
	m.PodsChanged()
	m.Modules, m.Sysctls = nil, nil
	m.Kernel().bootKernel()
	m.Kernel().SetSwap(m.Kernel().SwapAtBoot())
	for _, name := range m.Systemd().UnitNames() {
		if u, ok := m.Systemd().Unit(name); ok {
			u.Active = u.Enabled
			m.Systemd().setUnit(name, u)
		}
	}
	m.Processes().setKubelet(m.Systemd().Active("kubelet"))
	m.fleet.settle()
}

// Reinstall makes the machine what it was before anything was done to it.
func (m *Machine) Reinstall() {
	*m = Machine{Address: m.Address, fleet: m.fleet, Profile: m.Profile, Hostname: m.Hostname, Installed: m.Installed + 1}
}

// ReplaceHardware puts another machine in the machine's place, with the same faults.
func (m *Machine) ReplaceHardware(p Profile) {
	*m = Machine{Address: m.Address, fleet: m.fleet, Profile: &p, Conditions: m.Conditions, Boots: m.Boots + 1}
	m.PodsChanged()
}
