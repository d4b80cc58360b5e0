package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Listing is everything on a host as sorted text, one thing per line, to be
// compared before and after. What only the world counts (time, boots) and
// images are left out.
func (w *World) Listing(address string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.machine(address)
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, p := range w.tree(m, "/") {
		f := w.get(m, p)
		switch f.Type {
		case typeDirectory:
			add("file %s directory %s %s", p, f.mode(), f.owner())
		case typeLink:
			add("file %s link %s", p, f.Link)
		default:
			add("file %s %s %s %s", p, f.mode(), f.owner(), f.SHA256[:min(16, len(f.SHA256))])
		}
	}
	for name := range contents {
		if p, there := w.pkg(m, name); there {
			add("package %s %s %s held=%t", name, p.Version, p.status(), p.Held)
		}
	}
	w.listUnits(m, add)
	w.listKernel(m, add)
	if m.Marks != nil {
		add("marks %s %s", m.Marks.Lineage, m.Marks.Cluster)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func (w *World) listUnits(m *machine, add func(string, ...any)) {
	for _, name := range w.unitNames(m) {
		r := w.unitReport(m, name)
		if r.Exists {
			add("unit %s %s %s", unitFile(name), r.Active, r.Enabled)
		}
	}
}

// listKernel lists what a host's kernel and runtime hold.
func (w *World) listKernel(m *machine, add func(string, ...any)) {
	sysctls := maps.Clone(w.base(m).sysctls)
	maps.Copy(sysctls, m.Sysctls)
	for name := range sysctls {
		if v, ok := w.sysctl(m, name); ok {
			add("sysctl %s = %s", name, v)
		}
	}
	modules := maps.Clone(w.base(m).modules)
	maps.Copy(modules, m.Modules)
	for name, loaded := range modules {
		if loaded {
			add("module %s", name)
		}
	}
	for _, mount := range m.Mounts {
		add("mount %s", mount)
	}
	for _, link := range m.Links {
		add("link %s", link)
	}
	for _, rule := range m.Rules {
		add("rule %s", rule)
	}
	for name := range m.Pods {
		add("pod %s", name)
	}
	for _, name := range m.Daemons {
		add("pod %s", name)
	}
	if w.swap(m) {
		add("swap on")
	}
}
