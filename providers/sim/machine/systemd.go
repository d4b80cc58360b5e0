package machine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim/file"
)

// Systemd is a machine's systemd and its units.
type Systemd struct{ m *Machine }

// Systemd returns the machine's systemd.
func (m *Machine) Systemd() Systemd { return Systemd{m} }

// Act starts, stops, restarts, enables or disables a unit. It reports whether that changed
// anything.
func (s Systemd) Act(name, action string) (bool, error) {
	if action == planner.DaemonReload {
		return true, nil
	}
	u, ok := s.Unit(name)
	what := action + " unit " + UnitFile(name)
	if !ok && (action == "stop" || action == "disable") {
		return false, nil // an absent unit does not run
	}
	if !ok {
		return false, s.m.CommandError(what, 5, "Unit "+UnitFile(name)+" not found.")
	}
	before := u
	if name == "containerd" && (action == "start" || action == "restart") && !s.m.HasProgram(name) {
		return false, s.m.CommandError(what, 1, "Failed at step EXEC: No such file or directory")
	}
	if program := s.missingProgram(name); program != "" && (action == "restart" || action == "start" && !u.Active) {
		u.Active = false
		s.setUnit(name, u)
		return false, s.m.CommandError(what, 1, fmt.Sprintf("%s: Unable to locate executable '%s': No such file or directory\n%[1]s: Failed at step EXEC spawning %[2]s: No such file or directory", UnitFile(name), program))
	}
	switch action {
	case "start", "restart":
		u.Active = true
	case "stop":
		u.Active = false
	case "enable":
		u.Enabled = true
	case "disable":
		u.Enabled = false
	default:
		return false, fmt.Errorf("internal error: unknown unit action %q", action)
	}
	s.setUnit(name, u)
	if name == "containerd" && u.Active {
		s.makeStore()
	}
	changed := u != before || action == "restart"
	if changed && u.Active && u != before || action == "restart" {
		s.started(name)
	}
	if name == "kubelet" && (action == "restart" || u.Active != before.Active) {
		s.m.Processes().setKubelet(u.Active)
	}
	if changed {
		s.m.fleet.Advance(timeUnit)
	}
	return changed, nil
}

// missingProgram returns the program of a unit file in /etc that the machine lacks; "" if it has it.
// Programs of the distribution are there.
func (s Systemd) missingProgram(name string) string {
	content := string(s.m.fleet.Content(s.m.File("/etc/systemd/system/" + UnitFile(name))))
	for line := range strings.Lines(content) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart=")
		if !ok {
			continue
		}
		words := strings.Fields(strings.TrimLeft(command, "-@:+!"))
		if len(words) == 0 || strings.HasPrefix(words[0], "/usr/bin/") || strings.HasPrefix(words[0], "/bin/") || strings.HasPrefix(words[0], "/usr/sbin/") || strings.HasPrefix(words[0], "/sbin/") {
			continue
		}
		if strings.HasPrefix(words[0], "/") && s.m.Resolve(words[0]) == nil {
			return words[0]
		}
	}
	return ""
}

// started records when a container runtime was started.
func (s Systemd) started(name string) {
	if name != "containerd" && name != "crio" {
		return
	}
	if s.m.RuntimeStarted == nil {
		s.m.RuntimeStarted = map[string]time.Time{}
	}
	s.m.RuntimeStarted[name] = s.m.fleet.Now
	s.m.CountChange("start " + name)
}

// RuntimeStore is containerd's folder of images.
const RuntimeStore = "/var/lib/containerd"

// storeFolders are the folders that containerd makes at its start.
var storeFolders = []string{
	RuntimeStore + "/io.containerd.content.v1.content", RuntimeStore + "/io.containerd.metadata.v1.bolt",
	"/run/containerd/io.containerd.runtime.v2.task", "/opt/containerd/bin", "/opt/containerd/lib",
}

// makeStore makes the missing folders of storeFolders.
func (s Systemd) makeStore() {
	for _, p := range storeFolders {
		if s.m.File(p) == nil {
			s.m.Put(p, &file.File{Type: file.Directory})
		}
	}
}

// Unit is a systemd unit.
type Unit struct {
	Active  bool `json:"active,omitempty"`
	Enabled bool `json:"enabled,omitempty"`
}

// Unit returns a systemd unit and whether it exists: in a unit file, or in the profile.
func (s Systemd) Unit(name string) (Unit, bool) {
	for _, dir := range []string{"/etc/systemd/system/", "/usr/local/lib/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"} {
		if s.m.File(dir+UnitFile(name)) != nil {
			if u, ok := s.m.Units[name]; ok {
				return u, true
			}
			return s.m.Baseline().units[name], true
		}
	}
	return Unit{}, false
}

// setUnit sets the state of a unit, and starts nothing.
func (s Systemd) setUnit(name string, u Unit) {
	if base, ok := s.m.Baseline().units[name]; ok && base == u || !ok && u == (Unit{}) {
		delete(s.m.Units, name)
		return
	}
	if s.m.Units == nil {
		s.m.Units = map[string]Unit{}
	}
	s.m.Units[name] = u
}

// UnitName returns the name of a unit without the suffix of services.
func UnitName(s string) string { return strings.TrimSuffix(s, ".service") }

// UnitFile returns the name of a unit's file.
func UnitFile(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return name + ".service"
}

// Active reports whether a unit is active.
func (s Systemd) Active(name string) bool {
	u, ok := s.Unit(name)
	return ok && u.Active
}

// UnitNames lists the units that a host may have.
func (s Systemd) UnitNames() []string {
	names := map[string]bool{}
	for name := range s.m.Baseline().units {
		names[name] = true
	}
	for name := range s.m.Units {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}
