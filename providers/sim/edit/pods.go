package edit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
)

func (e *edit) pod() error {
	w, err := e.words("NAMESPACE/NAME", "a node")
	kind := strings.Fields(e.rest)
	e.rest = ""
	if err != nil {
		return err
	}
	namespace, name, ok := strings.Cut(w[0], "/")
	c, err := e.cluster()
	switch {
	case !ok:
		return fmt.Errorf("%q is not written NAMESPACE/NAME", w[0])
	case err != nil:
		return err
	case w[1] == "delete":
		c.Pods = slices.DeleteFunc(c.Pods, func(p *store.Pod) bool { return p.Namespace == namespace && p.Name == name })
		return nil
	case c.Nodes[w[1]] == nil:
		return fmt.Errorf("no node %s", strconv.Quote(w[1]))
	}
	// The pods of one workload are named APP-1, APP-2 …
	app, _, _ := strings.Cut(name, "-")
	p := &store.Pod{Namespace: namespace, Name: name, Node: w[1], Controller: "ReplicaSet", Labels: map[string]string{"app": app}}
	for _, k := range kind {
		switch k {
		case "emptydir":
			p.EmptyDir = true
		case "bare":
			p.Controller = ""
		case "unready":
			p.ReadyAt = e.servers.Now.AddDate(1, 0, 0)
		case "local":
			p.LocalClaims = []string{name + "-data"}
		case "terminating":
			p.GoneBy = e.servers.Now
		case "tolerant":
			p.Tolerations = []state.Toleration{{Any: true}}
		default:
			selects, ok := strings.CutPrefix(k, "on=")
			if !ok || !strings.Contains(selects, "=") {
				return fmt.Errorf("%q is neither emptydir, bare, local, unready, terminating, tolerant nor on=KEY=VALUE", k)
			}
			p.Selects = selects
		}
	}
	c.Pods = append(c.Pods, p)
	return nil
}

// claim adds a PersistentVolumeClaim whose volume is on a node's disk.
func (e *edit) claim() error {
	w, err := e.words("NAMESPACE/NAME", "a node, or delete")
	if err != nil {
		return err
	}
	namespace, name, ok := strings.Cut(w[0], "/")
	c, err := e.cluster()
	switch {
	case !ok:
		return fmt.Errorf("%q is not written NAMESPACE/NAME", w[0])
	case err != nil:
		return err
	case w[1] != "delete" && c.Nodes[w[1]] == nil:
		return fmt.Errorf("no node %q", w[1])
	}
	c.Claims = slices.DeleteFunc(c.Claims, func(k *store.Claim) bool { return k.Namespace == namespace && k.Name == name })
	if w[1] != "delete" {
		c.Claims = append(c.Claims, &store.Claim{Namespace: namespace, Name: name, Node: w[1]})
	}
	return nil
}

// budget adds a PodDisruptionBudget for pods with a label.
func (e *edit) budget() error {
	words, err := e.words("NAMESPACE/NAME", "how many pods have to stay, or delete")
	if err != nil {
		return err
	}
	c, err := e.cluster()
	if err != nil {
		return err
	}
	namespace, name, ok := strings.Cut(words[0], "/")
	if !ok {
		return fmt.Errorf("%q is not written NAMESPACE/NAME", words[0])
	}
	stay, err := strconv.Atoi(words[1])
	if err != nil && words[1] != "delete" {
		return fmt.Errorf("%q is no number", words[1])
	}
	c.PDBs = slices.DeleteFunc(c.PDBs, func(b *store.PDB) bool { return b.Key() == words[0] })
	if words[1] == "delete" {
		return nil
	}
	c.PDBs = append(c.PDBs, &store.PDB{Namespace: namespace, Name: name, Selector: map[string]string{"app": name}, MinAvailable: stay})
	return nil
}
