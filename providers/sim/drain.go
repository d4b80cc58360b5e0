package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Pod is a pod of a workload: a replica of a Deployment in the API, or put into
// the world by whoever wants one.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Node      string `json:"node,omitempty"` // empty while it is pending
	// Controller is the kind that made it, such as ReplicaSet; empty for none.
	Controller string `json:"controller,omitempty"`
	// Owner is the object in the API whose replica it is, by reference; empty
	// for a pod that was added by hand.
	Owner    string            `json:"owner,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	EmptyDir bool              `json:"empty_dir,omitempty"`
	// LocalClaims are claims whose volume is on the node's own disk.
	LocalClaims []string `json:"local_claims,omitempty"`
	// ReadyAt is when it becomes ready, after it was moved.
	ReadyAt time.Time `json:"ready_at,omitzero"`
	// GoneBy is when it was to be gone, of one that terminates and does not end.
	GoneBy time.Time `json:"gone_by,omitzero"`
	// Tolerations are those of a pod that was added by hand, and Selects a label
	// KEY=VALUE that it wants of its node.
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

// Claim is a PersistentVolumeClaim that no pod uses, and whose volume is on the disk of
// a node. Those that pods use are theirs.
type Claim struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Node      string `json:"node"`
}

const daemonSet = "DaemonSet"

// AddPod puts a pod into the cluster that has the pod's node.
func (w *World) AddPod(p Pod) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.clusterWith(p.Node)
	if c == nil {
		return fmt.Errorf("cannot add pod: no cluster has node %q", p.Node)
	}
	c.Pods = append(c.Pods, &p)
	return nil
}

// AddPDB puts a PodDisruptionBudget into the cluster that has the node.
func (w *World) AddPDB(node string, b PDB) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.clusterWith(node)
	if c == nil {
		return fmt.Errorf("cannot add PodDisruptionBudget: no cluster has node %q", node)
	}
	c.PDBs = append(c.PDBs, &b)
	return nil
}

// Pods lists the pods of the cluster that has the node.
func (w *World) Pods(node string) []Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Pod
	if c := w.clusterWith(node); c != nil {
		for _, p := range c.Pods {
			out = append(out, *p)
		}
	}
	return out
}

func (w *World) clusterWith(node string) *cluster {
	for _, id := range sortedKeys(w.d.Clusters) {
		if c := w.d.Clusters[id]; c.Nodes[node] != nil {
			return c
		}
	}
	return nil
}

// evictable lists the pods that a drain removes, and refuses as kubectl does.
func (c *cluster) evictable(now time.Time, op planner.Drain) ([]*Pod, error) {
	var out []*Pod
	var refused []string
	for _, p := range c.Pods {
		if p.Node != op.Node || p.Controller == daemonSet || !selects(op.PodSelector, p.Labels) || p.skipped(now, op) {
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

// skipped reports whether a drain does not wait for a pod that terminates for too long.
func (p *Pod) skipped(now time.Time, op planner.Drain) bool {
	return op.SkipWait > 0 && !p.GoneBy.IsZero() && now.Sub(p.GoneBy) > op.SkipWait
}

// selects understands equality-based selectors.
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

// evict removes pods one after the other, waits where a budget blocks, and
// gives up after the drain's timeout.
func (w *World) evict(ctx context.Context, c *cluster, op planner.Drain, pods []*Pod, log func(string)) error {
	deadline := w.d.Now.Add(op.Timeout)
	for len(pods) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		var blocked []*Pod
		var why string
		for _, p := range pods {
			if !p.GoneBy.IsZero() {
				if !p.skipped(w.d.Now, op) {
					blocked, why = append(blocked, p), fmt.Sprintf("pod %s/%s: %s", p.Namespace, p.Name, providers.WhyTerminating(p.GoneBy))
				}
				continue
			}
			if b := c.blocking(w.d.Now, p); b != nil && !op.DisableEviction {
				blocked = append(blocked, p)
				why = fmt.Sprintf("pod %s/%s: it would violate PodDisruptionBudget %s", p.Namespace, p.Name, b.Name)
				log("blocked " + why)
				continue
			}
			log("evicted pod " + p.Namespace + "/" + p.Name)
			w.did(w.d.Hosts[c.Nodes[op.Node].Host], "evict "+p.Namespace+"/"+p.Name)
			w.move(c, p)
		}
		pods = blocked
		if len(pods) == 0 {
			return nil
		}
		if op.Timeout > 0 && !w.d.Now.Add(drainRetry).Before(deadline) {
			w.advance(deadline.Sub(w.d.Now))
			return providers.Blocked(op, w.stillThere(c, pods))
		}
		if op.Timeout <= 0 && !c.improves(w.d.Now) && !ends(pods, op) {
			return &providers.Error{Kind: providers.ErrTimeout, Do: "drain " + op.Node, Cause: errText("for ever: " + why)}
		}
		w.advance(drainRetry)
	}
	return nil
}

// ends reports whether a drain without a deadline comes to an end by itself: what is
// left terminates, and is waited for no longer than the drain says.
func ends(pods []*Pod, op planner.Drain) bool {
	return op.SkipWait > 0 && !slices.ContainsFunc(pods, func(p *Pod) bool { return p.GoneBy.IsZero() })
}

// improves reports whether waiting can help: some pod becomes ready yet.
func (c *cluster) improves(now time.Time) bool {
	return slices.ContainsFunc(c.Pods, func(p *Pod) bool { return p.Node != "" && now.Before(p.ReadyAt) })
}

// blocking returns a budget that an eviction would violate, or nil.
func (c *cluster) blocking(now time.Time, p *Pod) *PDB {
	for _, b := range c.PDBs {
		if b.Namespace != p.Namespace || !b.matches(p) {
			continue
		}
		ready := 0
		for _, other := range c.Pods {
			if other.Namespace == b.Namespace && b.matches(other) && other.Node != "" && !now.Before(other.ReadyAt) {
				ready++
			}
		}
		if ready <= b.MinAvailable {
			return b
		}
	}
	return nil
}

func (b *PDB) matches(p *Pod) bool {
	for key, value := range b.Selector {
		if p.Labels[key] != value {
			return false
		}
	}
	return true
}

// move takes a pod off its node; its controller recreates it elsewhere.
func (w *World) move(c *cluster, p *Pod) {
	w.unplug(c, p)
	if p.Controller == "" {
		c.Pods = slices.DeleteFunc(c.Pods, func(o *Pod) bool { return o == p })
		return
	}
	from := p.Node
	p.Node = ""
	w.place(c, p, from)
}
