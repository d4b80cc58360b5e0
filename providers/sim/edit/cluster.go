package edit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
)

// cluster returns the cluster that the host is in.
func (e *edit) cluster() (*etcd.Cluster, error) {
	for _, c := range e.servers.List() {
		for _, n := range c.Nodes {
			if n.Host == e.m.Address {
				return c, nil
			}
		}
		for _, mb := range c.Members {
			if mb.Host == e.m.Address {
				return c, nil
			}
		}
	}
	return nil, fmt.Errorf("%s is in no cluster", e.m.Address)
}

func (e *edit) node() (*store.Node, error) {
	name, err := e.word("the name of a node")
	if err != nil {
		return nil, err
	}
	c, err := e.cluster()
	if err != nil {
		return nil, err
	}
	if c.Nodes[name] == nil {
		return nil, fmt.Errorf("no node %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(c.Nodes)), ", "))
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
		n.Patch(nil, nil, []string{key}, nil, nil, nil)
		return nil
	}
	key, value, err := e.pair("KEY=VALUE or KEY-")
	if err != nil {
		return err
	}
	n.Patch(map[string]string{key: value}, nil, nil, nil, nil, nil)
	return nil
}

func (e *edit) annotate() error {
	n, err := e.node()
	if err != nil {
		return err
	}
	if key, ok := strings.CutSuffix(e.rest, "-"); ok && !strings.Contains(key, "=") {
		e.rest = ""
		n.Patch(nil, nil, nil, []string{key}, nil, nil)
		return nil
	}
	key, value, err := e.pair("KEY=VALUE or KEY-")
	if err != nil {
		return err
	}
	n.Patch(nil, map[string]string{key: value}, nil, nil, nil, nil)
	return nil
}

func (e *edit) taint() error {
	n, err := e.node()
	if err != nil {
		return err
	}
	text, removed := strings.CutSuffix(e.rest, "-")
	t, err := store.ParseTaint(text)
	if err != nil {
		return err
	}
	e.rest = ""
	if removed {
		n.Patch(nil, nil, nil, nil, nil, []state.Taint{t})
		return nil
	}
	n.Patch(nil, nil, nil, nil, []state.Taint{t}, nil)
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

// deleteNode deletes a Node object. Its kubelet keeps running, and does not create another
// one until it restarts.
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
		return fmt.Errorf("no node %q; there are %s", w[0], strings.Join(slices.Sorted(maps.Keys(c.Nodes)), ", "))
	}
	c.DeleteNode(w[0])
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
	for _, key := range slices.Sorted(maps.Keys(c.Objects)) {
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
			e.servers.API(c).NewVersion(o)
		}
		return err
	}
	return fmt.Errorf("no %s %s", w[0], w[1])
}

// deprecated records a request to the host's API server for a deprecated API:
// GROUP/VERSION/RESOURCE, the RELEASE that no longer serves it, and the name of the
// client's field manager.
func (e *edit) deprecated() error {
	words, err := e.words("GROUP/VERSION/RESOURCE", "the release without it", "a field manager")
	if err != nil {
		return err
	}
	parts := strings.Split(words[0], "/")
	if len(parts) != 3 {
		return fmt.Errorf("%q is not written GROUP/VERSION/RESOURCE", words[0])
	}
	e.m.Deprecated = append(slices.Clone(e.m.Deprecated), state.DeprecatedAPI{
		Group: parts[0], Version: parts[1], Resource: parts[2], Removed: words[1], Users: []string{words[2] + " (" + parts[2] + "-1)"},
	})
	return nil
}
