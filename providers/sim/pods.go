package sim

import (
	"fmt"

	"github.com/kubewright/kubewright/providers/sim/store"
)

// AddPod adds a pod to the cluster of the pod's node.
func (w *World) AddPod(p store.Pod) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.etcds.WithNode(p.Node)
	if c == nil {
		return fmt.Errorf("cannot add pod: no cluster has node %q", p.Node)
	}
	c.Pods = append(c.Pods, &p)
	return nil
}

// AddPDB adds a PodDisruptionBudget to the cluster of the node.
func (w *World) AddPDB(node string, b store.PDB) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.etcds.WithNode(node)
	if c == nil {
		return fmt.Errorf("cannot add PodDisruptionBudget: no cluster has node %q", node)
	}
	c.PDBs = append(c.PDBs, &b)
	return nil
}

// Pods lists the pods of the cluster of the node.
func (w *World) Pods(node string) []store.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []store.Pod
	if c := w.etcds.WithNode(node); c != nil {
		for _, p := range c.Pods {
			out = append(out, *p)
		}
	}
	return out
}
