package pipeline

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// KubeadmNames lists the names of kubeadm that -target and -skip-phase take besides those of the
// phases: of its other phases, and of the parts of phases.
func KubeadmNames() []string {
	var out []string
	for parent, parts := range config.Phases() {
		for _, name := range append([]string{parent}, parts...) {
			if name != parent {
				name = parent + "/" + name
			}
			if does, _, _ := config.OfKubeadm(name); len(does) > 0 && !slices.Contains(Names(), name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// NotAloneError is the error for a phase of kubeadm that kubewright has no step of its own for.
type NotAloneError struct{ Name, Why string }

func (e *NotAloneError) Error() string {
	return "kubewright does not do " + e.Name + " by itself. " + strings.TrimSuffix(e.Why, ".")
}

// Selectors returns what an address of -target or -exclude selects. Besides the addresses of
// planner.ParseSelector it takes kubeadm's names in the place of a phase: control-plane-prepare stands
// for three phases, certs/apiserver for a part of one.
func Selectors(address string) ([]planner.Selector, error) {
	one, err := planner.ParseSelector(address, Names())
	if err == nil {
		return []planner.Selector{one}, nil
	}
	at, name := state.Target{}, address
	for i := range address {
		if t, bad := state.ParseTarget(address[:i]); bad == nil && address[i] == '/' {
			at, name = t, address[i+1:]
			break
		}
	}
	does, part, why := config.OfKubeadm(name)
	if why != "" {
		return nil, &NotAloneError{name, why}
	}
	if len(does) == 0 {
		return []planner.Selector{one}, err
	}
	var out []planner.Selector
	for _, phase := range does {
		out = append(out, planner.Selector{Target: at, Phase: phase, Part: part})
	}
	return out, nil
}

// SkippedPhase returns the phases, or the part of a phase as PHASE/PART, that a value of -skip-phase
// stands for, or why it is refused. Without either, the name is unknown.
func SkippedPhase(name string) (names []string, why string) {
	if slices.Contains(Names(), name) {
		return []string{name}, ""
	}
	does, part, why := config.OfKubeadm(name)
	if part != "" {
		return []string{part}, ""
	}
	return does, why
}

// partOf returns the part of a phase that an item belongs to, by kubeadm's name: certs/apiserver. It
// is empty for items that the parts of a phase share.
func partOf(v *topology.Fleet, a state.Address) string {
	c := v.ClusterOf(a.Target)
	_, id, _ := strings.Cut(a.Item, ":")
	if c == nil || id == "" {
		return ""
	}
	part := strings.TrimSuffix(path.Base(id), path.Ext(id))
	switch a.Phase {
	case topology.CertsPhase:
		rel, ours := strings.CutPrefix(id, c.Certificates.Dir+"/")
		if !ours {
			return ""
		}
		part = strings.ReplaceAll(strings.TrimSuffix(rel, path.Ext(rel)), "/", "-")
	case topology.KubeconfigPhase:
		part = strings.TrimSuffix(part, "-client-current") // the certificate of the kubelet, which kubelet.conf refers to
	case topology.ControlPlanePhase:
		part = strings.TrimPrefix(part, "kube-")
	case topology.UploadConfigPhase:
		part = "kubeadm"
		if strings.Contains(id, "kubelet") {
			part = "kubelet"
		}
	case topology.AddonPhase:
		for _, whole := range []string{topology.CoreDNSPart, topology.KubeProxyPart} {
			if a.Target == c.Target && addonObjects(c, whole)[objects.ParseRef(id)] {
				return whole
			}
		}
		return ""
	}
	if _, name, _ := config.OfKubeadm(a.Phase + "/" + part); name != "" {
		return name
	}
	return ""
}

// narrowed drops the changes, or the drift, of the parts of phases that -target does not name, or that
// -skip-phase does. What the parts of a phase share stays.
func narrowed(v *topology.Fleet, o planner.Options) drift.Rule {
	named := slices.ContainsFunc(o.SkipPhases, isPart) || slices.ContainsFunc(o.Targets, func(s planner.Selector) bool { return s.Part != "" })
	return func(ch *planner.Change) bool {
		part := ""
		if named {
			part = partOf(v, ch.Address)
		}
		if part == "" {
			return true
		}
		asked, whole := false, true
		for _, s := range o.Targets {
			if s.Matches(ch.Address.Step()) {
				asked, whole = asked || s.Part == "" || s.Part == part, false
			}
		}
		return !slices.Contains(o.SkipPhases, part) && (whole || asked)
	}
}

func isPart(name string) bool { return strings.Contains(name, "/") }

// refuseParts refuses a plan that does a part of a phase where all of it is needed: in a join, an
// upgrade, a rotation. Addons are needed by no other step.
func refuseParts(v *topology.Fleet, all, kept []planner.Change, p *planner.Plan, o planner.Options) diag.Diagnostics {
	has := map[state.Address]bool{}
	for _, ch := range kept {
		has[ch.Address] = true
	}
	missing := map[state.Address][]string{}
	var order []state.Address
	for _, ch := range all {
		id := ch.Address.Step()
		if has[ch.Address] || p.Step(id) == nil || id.Phase == topology.AddonPhase || !rests(v, id) {
			continue
		}
		if missing[id] == nil {
			order = append(order, id)
		}
		if part := partOf(v, ch.Address); !slices.Contains(missing[id], part) {
			missing[id] = append(missing[id], part)
		}
	}
	if len(order) == 0 {
		return nil
	}
	var lines []string
	for i, id := range order {
		if i == violationsNamed {
			lines = append(lines, fmt.Sprintf("  and %d more", len(order)-i))
			break
		}
		lines = append(lines, "  "+id.String()+" would be done without "+strings.Join(missing[id], ", "))
	}
	return diag.Diagnostics{diag.Errorf("Part of a phase cannot be done alone", "%s takes parts of phases, and these steps belong to a join, an upgrade or a rotation, whose later steps need all of their phase:\n\n%s\n\n"+
		"Name the whole phase instead, or leave it to a later plan with %s.", ownership.Restrictions(o), strings.Join(lines, "\n"), remedy.Except)}
}
