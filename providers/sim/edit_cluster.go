package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// cluster returns the cluster that the host is in.
func (e *edit) cluster() (*cluster, error) {
	for _, id := range sortedKeys(e.w.d.Clusters) {
		c := e.w.d.Clusters[id]
		for _, n := range c.Nodes {
			if n.Host == e.m.address {
				return c, nil
			}
		}
		for _, mb := range c.Members {
			if mb.Host == e.m.address {
				return c, nil
			}
		}
	}
	return nil, fmt.Errorf("%s is in no cluster", e.m.address)
}

func (e *edit) node() (*node, error) {
	name, err := e.word("the name of a node")
	if err != nil {
		return nil, err
	}
	c, err := e.cluster()
	if err != nil {
		return nil, err
	}
	if c.Nodes[name] == nil {
		return nil, fmt.Errorf("no node %q; there are %s", name, strings.Join(sortedKeys(c.Nodes), ", "))
	}
	return c.Nodes[name], nil
}

func (e *edit) label() error {
	n, err := e.node()
	if err != nil {
		return err
	}
	if key, ok := strings.CutSuffix(e.rest, "-"); ok && !strings.Contains(key, "=") {
		e.rest = ""
		n.patch(nil, nil, []string{key}, nil, nil, nil)
		return nil
	}
	key, value, err := e.pair("KEY=VALUE or KEY-")
	if err != nil {
		return err
	}
	n.patch(map[string]string{key: value}, nil, nil, nil, nil, nil)
	return nil
}

func (e *edit) annotate() error {
	n, err := e.node()
	if err != nil {
		return err
	}
	if key, ok := strings.CutSuffix(e.rest, "-"); ok && !strings.Contains(key, "=") {
		e.rest = ""
		n.patch(nil, nil, nil, []string{key}, nil, nil)
		return nil
	}
	key, value, err := e.pair("KEY=VALUE or KEY-")
	if err != nil {
		return err
	}
	n.patch(nil, map[string]string{key: value}, nil, nil, nil, nil)
	return nil
}

func (e *edit) taint() error {
	n, err := e.node()
	if err != nil {
		return err
	}
	text, removed := strings.CutSuffix(e.rest, "-")
	t, err := parseTaint(text)
	if err != nil {
		return err
	}
	e.rest = ""
	if removed {
		n.patch(nil, nil, nil, nil, nil, []state.Taint{t})
		return nil
	}
	n.patch(nil, nil, nil, nil, []state.Taint{t}, nil)
	return nil
}

func (e *edit) cordon(on bool) error {
	n, err := e.node()
	if err != nil {
		return err
	}
	n.Unschedulable = on
	return nil
}

// deleteNode deletes a Node object. Its kubelet runs on, and does not make another one
// before it starts again.
func (e *edit) deleteNode() error {
	w, err := e.words("the name of a node", "delete")
	if err != nil {
		return err
	}
	c, err := e.cluster()
	switch {
	case err != nil:
		return err
	case w[1] != "delete":
		return fmt.Errorf("unknown action %q on a node; delete", w[1])
	case c.Nodes[w[0]] == nil:
		return fmt.Errorf("no node %q; there are %s", w[0], strings.Join(sortedKeys(c.Nodes), ", "))
	}
	c.deleteNode(w[0])
	return nil
}

func (e *edit) object() error {
	w, err := e.words("a kind", "NAMESPACE/NAME", "set, unset or delete")
	if err != nil {
		return err
	}
	c, err := e.cluster()
	if err != nil {
		return err
	}
	for _, key := range sortedKeys(c.Objects) {
		if !strings.HasSuffix(key, "/"+w[0]+"/"+w[1]) {
			continue
		}
		if w[2] == "delete" {
			delete(c.Objects, key)
			return nil
		}
		change, err := e.fieldChange(w[2])
		if err != nil {
			return err
		}
		o := c.Objects[key]
		if o.Live, err = change(o.Live); err == nil {
			e.w.touch(c, o)
		}
		return err
	}
	return fmt.Errorf("no %s %s", w[0], w[1])
}

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
		c.Pods = slices.DeleteFunc(c.Pods, func(p *Pod) bool { return p.Namespace == namespace && p.Name == name })
		return nil
	case c.Nodes[w[1]] == nil:
		return fmt.Errorf("no node %s", strconv.Quote(w[1]))
	}
	// Those of one workload are named APP-1, APP-2 …
	app, _, _ := strings.Cut(name, "-")
	p := &Pod{Namespace: namespace, Name: name, Node: w[1], Controller: "ReplicaSet", Labels: map[string]string{"app": app}}
	for _, k := range kind {
		switch k {
		case "emptydir":
			p.EmptyDir = true
		case "bare":
			p.Controller = ""
		case "unready":
			p.ReadyAt = e.w.d.Now.AddDate(1, 0, 0)
		case "local":
			p.LocalClaims = []string{name + "-data"}
		case "terminating":
			p.GoneBy = e.w.d.Now
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
