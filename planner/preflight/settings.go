package preflight

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/hostrules"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
)

// moduleOfSysctl returns the module that has a kernel parameter; "" for those of the kernel itself.
func moduleOfSysctl(name string) string {
	for _, m := range []struct{ prefix, module string }{
		{"net.bridge.", "br_netfilter"}, {"net.netfilter.nf_conntrack_", "nf_conntrack"}, {"net.nf_conntrack_", "nf_conntrack"}, {"net.ipv4.vs.", "ip_vs"},
	} {
		if strings.HasPrefix(name, m.prefix) {
			return m.module
		}
	}
	return ""
}

// builtIn matches kernel parameters that no module has.
var builtIn = regexp.MustCompile(`^(vm|kernel|net\.core|fs\.inotify)\.`)

// awaitsModule reports whether a kernel parameter may appear with a module that the plan loads.
func awaitsModule(n *topology.Node, name string) bool {
	of := moduleOfSysctl(name)
	if builtIn.MatchString(name) {
		return false
	}
	return slices.ContainsFunc(host.Modules(n), func(module string) bool {
		return !n.Report.Modules[module] && (of == "" || of == module)
	})
}

// kernelSysctls finds parameters of sysctls that the running kernel does not have.
func kernelSysctls(n *topology.Node) []finding {
	var missing, modules []string
	for _, s := range n.Cluster.SysctlsOf(n.Node) {
		if _, has := n.Report.Sysctls[s.Name]; has || awaitsModule(n, s.Name) {
			continue
		}
		missing = append(missing, s.Name)
		if m := moduleOfSysctl(s.Name); m != "" && !slices.Contains(modules, m) {
			modules = append(modules, m)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	remedy := "correct the name (sysctl -a lists those of the host), or take it out of sysctls"
	if len(modules) > 0 {
		remedy = "add " + strings.Join(modules, ", ") + " to kernel_modules, which brings it, or take it out of sysctls"
	}
	return []finding{{
		text:   fmt.Sprintf("the running kernel, %s, does not have the parameters of sysctls: %s", n.Facts().Kernel, strings.Join(missing, ", ")),
		remedy: remedy,
	}}
}

// hostUnits finds units that the configuration expects on the host and that are not there, or that
// cannot be enabled.
func hostUnits(n *topology.Node) []finding {
	var missing, static []string
	for _, u := range n.Cluster.UnitsOf(n.Node) {
		if u.Content != "" || hostrules.IsTemplate(u.Name) {
			continue
		}
		switch r, asked := n.Report.Units[u.Name]; {
		case asked && (!r.Exists || host.MadeUnit(n, u.Name)):
			missing = append(missing, u.Name)
		case u.Enabled != nil && *u.Enabled && r.Enabled == "static":
			static = append(static, u.Name)
		}
	}
	for name, unit := range topology.RuntimeUnits {
		_, asked := n.Report.Units[unit]
		ofUnit := func(p string) bool { return path.Dir(p) == path.Dir(hostrules.DropInPath(unit, "")) }
		if asked && slices.ContainsFunc(topology.FilesFor(n, name), ofUnit) && !host.HasRuntime(n, unit) {
			missing = append(missing, unit)
		}
	}
	slices.Sort(missing)
	var out []finding
	if len(missing) > 0 {
		out = append(out, finding{
			text:   "systemd has no unit " + strings.Join(missing, ", "),
			remedy: "install what brings it, give the unit block content, or correct its name (systemctl list-unit-files lists those of the host)",
		})
	}
	if len(static) > 0 {
		out = append(out, finding{
			text:   "the unit " + strings.Join(static, ", ") + " cannot be enabled: its file has no section [Install]",
			remedy: "leave enabled out, and enable what starts it, such as its timer; or add a drop_in with [Install] and WantedBy=multi-user.target",
		})
	}
	return out
}
