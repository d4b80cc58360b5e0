package machine

import (
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/planner"
)

// The rules that kube-proxy makes in each mode that leaves some behind.
var modeRules = map[string][]string{
	planner.ProxyIPTables: {"kube-proxy KUBE-EXTERNAL-SERVICES", "kube-proxy KUBE-SVC-NPX46M4PTMTKRN6Y"},
	planner.ProxyIPVS:     {"kube-proxy KUBE-IPVS-FILTER", "kube-proxy KUBE-LOAD-BALANCER"},
}

const ipvsLink = "kube-ipvs0"

// ProxyRules are the rules and links that kube-proxy has made on a machine.
type ProxyRules struct{ m *Machine }

// ProxyRules returns the rules of kube-proxy on the machine.
func (m *Machine) ProxyRules() ProxyRules { return ProxyRules{m} }

// Modes lists the modes whose rules are on a host, as an observation finds them.
func (r ProxyRules) Modes() []string {
	if !slices.Contains(r.m.Links, ipvsLink) {
		return nil
	}
	if slices.Contains(r.m.Rules, modeRules[planner.ProxyIPTables][0]) {
		return []string{planner.ProxyIPVS, planner.ProxyIPTables}
	}
	return []string{planner.ProxyIPVS}
}

// Write makes the rules of a mode. Those of the other mode stay unless one of the two is
// nftables.
func (r ProxyRules) Write(mode string) {
	for _, rule := range []string{"KUBE-SERVICES", "KUBE-POSTROUTING"} {
		Insert(&r.m.Rules, "kube-proxy "+rule)
	}
	if modeRules[mode] == nil {
		for mode := range modeRules {
			r.Remove(mode)
		}
		return
	}
	for _, rule := range modeRules[mode] {
		Insert(&r.m.Rules, rule)
	}
	if mode == planner.ProxyIPVS {
		Insert(&r.m.Links, ipvsLink)
	}
}

// Clear removes the rules of one mode if those of the other exist.
func (r ProxyRules) Clear(mode string) (bool, error) {
	for other, rules := range modeRules {
		if other != mode && !slices.Contains(r.m.Rules, rules[0]) {
			return false, fmt.Errorf("kube-proxy has written no rules in its mode %s here within a minute", other)
		}
	}
	return r.Remove(mode), nil
}

// Remove removes the rules of a mode. It reports whether there were any.
func (r ProxyRules) Remove(mode string) bool {
	n := len(r.m.Rules) + len(r.m.Links)
	r.m.Rules = slices.DeleteFunc(r.m.Rules, func(rule string) bool { return slices.Contains(modeRules[mode], rule) })
	if mode == planner.ProxyIPVS {
		r.m.Links = slices.DeleteFunc(r.m.Links, func(link string) bool { return link == ipvsLink })
	}
	return len(r.m.Rules)+len(r.m.Links) != n
}
