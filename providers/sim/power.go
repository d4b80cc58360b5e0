package sim

// PowerOff turns a host off and stops everything on it.
func (w *World) PowerOff(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fleet.Machine(address).Off = true
	w.time.Settle()
}

// PowerOn boots a host that is off.
func (w *World) PowerOn(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.fleet.Machine(address); m.Off {
		m.Boot()
	}
}

// Reboot reboots a host.
func (w *World) Reboot(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fleet.Machine(address).Boot()
}
