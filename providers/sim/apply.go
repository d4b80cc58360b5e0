package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
)

// Apply makes the leaves of an object so.
func (a *api) Apply(ctx context.Context, wanted state.Value, createOnly bool) error {
	name := wanted.Get("kind").AsString() + "/" + wanted.Get("metadata.name").AsString()
	return a.act(ctx, "apply_object", name, func(w *World, c *etcd.Cluster) error {
		ref, err := c.Admit(wanted)
		if err != nil {
			return fmt.Errorf("cannot apply %s: %w", name, err)
		}
		live := w.servers.API(c).Object(ref)
		if createOnly && !live.IsNull() {
			return nil
		}
		if version := wanted.Get("metadata.resourceVersion"); !version.IsNull() {
			if !version.Equal(live.Get("metadata.resourceVersion")) {
				return conflict(name)
			}
			wanted = store.Without(wanted, state.FromGo(map[string]any{"metadata": map[string]any{"resourceVersion": version}}))
		}
		w.servers.API(c).Apply(ref, wanted)
		if ref.Kind == "DaemonSet" {
			c.Wake()
		}
		c.Stale = true
		return nil
	})
}

// conflict says that somebody was faster.
func conflict(name string) error {
	return &providers.Error{
		Kind: providers.ErrUnavailable, Do: "apply " + name,
		Cause: errors.New("the object has been modified; please apply your changes to the latest version and try again"),
	}
}

// Delete deletes an object; of a namespace, also what is in it.
func (a *api) Delete(ctx context.Context, ref state.ObjectRef) error {
	return a.act(ctx, "delete_object", ref.String(), func(w *World, c *etcd.Cluster) error {
		switch {
		case ref.APIVersion == "v1" && ref.Kind == "Node":
			c.DeleteNode(ref.Name)
			return nil
		case ref.APIVersion == "v1" && ref.Kind == "Namespace" && slices.Contains(store.KeptNamespaces, ref.Name):
			return fmt.Errorf("namespaces %q is forbidden: this namespace may not be deleted", ref.Name)
		case ref.APIVersion == "v1" && ref.Kind == "Namespace":
			for key, o := range c.Objects {
				if o.Live.Get("metadata.namespace").AsString() == ref.Name {
					delete(c.Objects, key)
				}
			}
		}
		if o := c.Objects[ref.String()]; o != nil && ref.Kind == "DaemonSet" {
			w.servers.API(c).StopDaemonSet(o.Name())
		}
		delete(c.Objects, ref.String())
		c.Stale = true
		return nil
	})
}
