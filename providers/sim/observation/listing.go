package observation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
)

// Listing returns the state of a machine as lines of text.
func (ob Observation) Listing() string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, p := range ob.m.Tree("/") {
		f := ob.m.File(p)
		switch f.Type {
		case file.Directory:
			add("file %s directory %s %s", p, f.EffectiveMode(), f.EffectiveOwner())
		case file.Link:
			add("file %s link %s", p, f.Link)
		default:
			add("file %s %s %s %s", p, f.EffectiveMode(), f.EffectiveOwner(), f.SHA256[:min(16, len(f.SHA256))])
		}
	}
	for _, name := range ob.m.PackageManager().Known() {
		if p, there := ob.m.PackageManager().Get(name); there {
			add("package %s %s %s held=%t", name, p.Version, p.State(), p.Held)
		}
	}
	for _, name := range ob.m.Users {
		add("user %s", name)
	}
	ob.listUnits(add)
	ob.listKernel(add)
	if ob.m.Marks != nil {
		add("marks %s %s", ob.m.Marks.Lineage, ob.m.Marks.Cluster)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func (ob Observation) listUnits(add func(string, ...any)) {
	for _, name := range ob.m.Systemd().UnitNames() {
		r := ob.unitReport(name)
		if r.Exists {
			add("unit %s %s %s", machine.UnitFile(name), r.Active, r.Enabled)
		}
	}
}

// listKernel lists the contents of a host's kernel and runtime.
func (ob Observation) listKernel(add func(string, ...any)) {
	sysctls := maps.Clone(ob.m.Baseline().Sysctls)
	maps.Copy(sysctls, ob.m.Sysctls)
	for name := range sysctls {
		if v, ok := ob.m.Kernel().Sysctl(name); ok {
			add("sysctl %s = %s", name, v)
		}
	}
	modules := maps.Clone(ob.m.Baseline().Modules)
	maps.Copy(modules, ob.m.Modules)
	for name, loaded := range modules {
		if loaded {
			add("module %s", name)
		}
	}
	for _, mount := range ob.m.Mounts {
		add("mount %s", mount)
	}
	for _, link := range ob.m.Links {
		add("link %s", link)
	}
	for _, rule := range ob.m.Rules {
		add("rule %s", rule)
	}
	for name := range ob.m.Pods {
		add("pod %s", name)
	}
	for _, name := range ob.m.Daemons {
		add("pod %s", name)
	}
	if ob.m.Kernel().Swap() {
		add("swap on")
	}
}
