package machine

// Boot boots a host: the contents of memory are lost, the configuration in files is
// applied.
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

// Reinstall resets the machine to its original state.
func (m *Machine) Reinstall() {
	*m = Machine{Address: m.Address, fleet: m.fleet, Profile: m.Profile, Hostname: m.Hostname, Installed: m.Installed + 1}
}

// ReplaceHardware replaces the machine's hardware, with the same faults.
func (m *Machine) ReplaceHardware(p Profile) {
	*m = Machine{Address: m.Address, fleet: m.fleet, Profile: &p, Conditions: m.Conditions, Boots: m.Boots + 1}
	m.PodsChanged()
}
