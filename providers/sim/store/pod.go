package store

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Pod is a pod of a workload: a replica of a Deployment in the API, or added by hand.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Node      string `json:"node,omitempty"` // empty while it is pending
	// Controller is the kind of its controller, such as ReplicaSet; empty for none.
	Controller string `json:"controller,omitempty"`
	// Owner is the reference of the API object whose replica it is; empty for a pod that
	// was added by hand.
	Owner    string            `json:"owner,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	EmptyDir bool              `json:"empty_dir,omitempty"`
	// LocalClaims are claims whose volume is on the node's own disk.
	LocalClaims []string `json:"local_claims,omitempty"`
	// ReadyAt is when it becomes ready after it was moved.
	ReadyAt time.Time `json:"ready_at,omitzero"`
	// GoneBy is the deadline of a pod that terminates and does not end.
	GoneBy time.Time `json:"gone_by,omitzero"`
	// Tolerations are those of a pod that was added by hand, and Selects is a label
	// KEY=VALUE that it requires of its node.
	Tolerations []state.Toleration `json:"tolerations,omitempty"`
	Selects     string             `json:"selects,omitempty"`
}

// PDB is a PodDisruptionBudget.
type PDB struct {
	Namespace    string            `json:"namespace"`
	Name         string            `json:"name"`
	Selector     map[string]string `json:"selector"`
	MinAvailable int               `json:"min_available"`
}

// Claim is a PersistentVolumeClaim that no pod uses, and whose volume is on the disk of a
// node. Claims that pods use are in Pod.
type Claim struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Node      string `json:"node"`
}

// DaemonSet is the controller of a pod that a drain does not evict.
const DaemonSet = "DaemonSet"

// Evictable returns the pods that a drain evicts, or kubectl's reason for refusing to.
func (d *Data) Evictable(now time.Time, op planner.Drain) ([]*Pod, error) {
	var out []*Pod
	var refused []string
	for _, p := range d.Pods {
		if p.Node != op.Node || p.Controller == DaemonSet || !selects(op.PodSelector, p.Labels) || p.Skipped(now, op) {
			continue
		}
		switch {
		case p.EmptyDir && !op.DeleteEmptyDirData:
			refused = append(refused, fmt.Sprintf("pod with local storage (use delete_emptydir_data to override): %s/%s", p.Namespace, p.Name))
		case p.Controller == "" && !op.Force:
			refused = append(refused, fmt.Sprintf("pod that declares no controller (use force to override): %s/%s", p.Namespace, p.Name))
		}
		out = append(out, p)
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		return nil, fmt.Errorf("cannot delete %s", strings.Join(refused, ", "))
	}
	return out, nil
}

// Skipped reports whether a pod has been terminating for so long that a drain does not wait
// for it.
func (p *Pod) Skipped(now time.Time, op planner.Drain) bool {
	return op.SkipWait > 0 && !p.GoneBy.IsZero() && now.Sub(p.GoneBy) > op.SkipWait
}

// selects reports whether an equality-based selector matches labels.
func selects(selector string, labels map[string]string) bool {
	for term := range strings.SplitSeq(selector, ",") {
		key, value, ok := strings.Cut(term, "=")
		not := strings.HasSuffix(key, "!")
		if ok && (labels[strings.TrimSuffix(key, "!")] == strings.TrimPrefix(value, "=")) == not {
			return false
		}
	}
	return true
}

// WillImprove reports whether waiting can help because a pod is not ready yet.
func (d *Data) WillImprove(now time.Time) bool {
	return slices.ContainsFunc(d.Pods, func(p *Pod) bool { return p.Node != "" && now.Before(p.ReadyAt) })
}

// BlockedBy returns a budget that an eviction would violate, or nil.
func (d *Data) BlockedBy(now time.Time, p *Pod) *PDB {
	for _, b := range d.PDBs {
		if b.Namespace != p.Namespace || !b.Matches(p) {
			continue
		}
		ready := 0
		for _, other := range d.Pods {
			if other.Namespace == b.Namespace && b.Matches(other) && other.Node != "" && !now.Before(other.ReadyAt) {
				ready++
			}
		}
		if ready <= b.MinAvailable {
			return b
		}
	}
	return nil
}

// Matches reports whether the budget selects a pod of its namespace.
func (b *PDB) Matches(p *Pod) bool {
	for key, value := range b.Selector {
		if p.Labels[key] != value {
			return false
		}
	}
	return true
}

// Tolerates reports whether a pod tolerates all taints of a node, and its required labels
// match.
func (d *Data) Tolerates(p *Pod, n *Node) bool {
	key, value, selects := strings.Cut(p.Selects, "=")
	if has, there := n.Labels[key]; selects && (!there || has != value) {
		return false
	}
	tolerations := d.TolerationsOf(p)
	return !slices.ContainsFunc(n.Taints, func(t state.Taint) bool {
		return t.Effect != "PreferNoSchedule" && !slices.ContainsFunc(tolerations, func(o state.Toleration) bool { return o.Tolerates(t) })
	})
}

// TolerationsOf returns a pod's tolerations: for a replica those of its template.
func (d *Data) TolerationsOf(p *Pod) []state.Toleration {
	o := d.Objects[p.Owner]
	if o == nil {
		return p.Tolerations
	}
	var out []state.Toleration
	for _, v := range o.Live.Get("spec.template.spec.tolerations").AsList() {
		t := state.Toleration{Key: v.Get("key").AsString(), Value: v.Get("value").AsString(), Effect: v.Get("effect").AsString()}
		t.Any = v.Get("operator").AsString() == "Exists"
		out = append(out, t)
	}
	return out
}

// ClaimReports returns the claims whose volume is on the disk of one of the nodes.
func (d *Data) ClaimReports(nodes []string) []state.ClaimReport {
	var out []state.ClaimReport
	for _, k := range d.Claims {
		if slices.Contains(nodes, k.Node) {
			out = append(out, state.ClaimReport{Namespace: k.Namespace, Name: k.Name, Volume: "pv-" + k.Name, Node: k.Node})
		}
	}
	slices.SortFunc(out, func(a, b state.ClaimReport) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// Losses returns what ends with the cluster.
func (d *Data) Losses() *state.Losses {
	out := &state.Losses{}
	for _, p := range d.Pods {
		out.Add(state.LostPod{Namespace: p.Namespace, Name: p.Name, Controlled: p.Controller != "", EmptyDir: p.EmptyDir})
		for _, claim := range p.LocalClaims {
			out.AddVolume(state.ClaimReport{Namespace: p.Namespace, Name: claim, Volume: "pv-" + claim, Node: p.Node})
		}
	}
	for _, k := range d.Claims {
		out.AddVolume(state.ClaimReport{Namespace: k.Namespace, Name: k.Name, Volume: "pv-" + k.Name, Node: k.Node})
	}
	return out
}

// Key returns NAMESPACE/NAME.
func (b *PDB) Key() string { return b.Namespace + "/" + b.Name }
