package observation

import (
	"maps"
	"slices"
	"time"

	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/kubelet"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/state"
)

// roundTrip is how long an observation takes.
const roundTrip = 20 * time.Millisecond

// Observation is kubewright's view of a machine.
type Observation struct {
	servers *apiserver.Servers
	m       *machine.Machine
}

// Of returns the observation of a machine.
func Of(s *apiserver.Servers, m *machine.Machine) Observation { return Observation{s, m} }

// Report answers a query.
func (ob Observation) Report(q state.Query) *state.Report {
	r := &state.Report{
		Facts: ob.facts(), Files: make(map[string]state.FileReport, len(q.Files)), Units: map[string]state.UnitReport{},
		Sysctls: map[string]string{}, Modules: map[string]bool{}, NoModules: map[string]bool{}, Ports: map[int]bool{}, Commands: map[string]bool{},
		Elapsed: roundTrip,
	}
	for _, f := range q.Files {
		r.Files[f.Path] = ob.file(file.Clean(f.Path), f.Read)
	}
	for _, glob := range q.Globs {
		ob.observeGlob(glob, r)
	}
	for _, name := range q.Units {
		r.Units[name] = ob.unitReport(machine.UnitName(name))
	}
	if q.Images && !machine.LacksRuntime(q.CRISocket) && ob.m.Systemd().Active("containerd") {
		r.Images = ob.m.ImageStore().List()
	}
	for _, name := range q.Sysctls {
		if v, ok := ob.m.Kernel().Sysctl(name); ok {
			r.Sysctls[name] = v
		}
	}
	for _, name := range q.Modules {
		r.Modules[name], r.NoModules[name] = ob.m.Kernel().Module(name), slices.Contains(ob.m.Conditions.NoModules, name)
	}
	for _, name := range q.Users {
		there := machine.AccountsOf(ob.m).Has(name)
		if r.Users == nil {
			r.Users = map[string]state.UserReport{}
		}
		r.Users[name] = state.UserReport{User: there, Group: there}
	}
	for _, port := range q.Ports {
		r.Ports[port] = ob.m.Processes().Listens(port)
	}
	if len(q.Packages.Names) > 0 {
		r.Packages = ob.m.PackageManager().Report(q.Packages)
	}
	if len(q.Processes) > 0 {
		r.Started = kubelet.On(ob.servers, ob.m).Started(q.Processes)
	}
	for _, name := range q.Commands {
		r.Commands[name] = ob.m.File("/usr/bin/"+name) != nil || ob.m.File("/usr/local/bin/"+name) != nil
	}
	if len(q.Secrets) > 0 {
		r.Secrets = ob.Secrets(q.Secrets)
	}
	r.Preflight = ob.Preflight()
	if q.Endpoint == "" {
		delete(r.Preflight, "endpoint_addresses")
	}
	if !q.Preflight {
		maps.DeleteFunc(r.Preflight, func(name, _ string) bool { return !slices.Contains(roomAnswers, name) })
	}
	r.Marks = ob.m.ReportedMarks()
	nameIssuers(r)
	return r
}
