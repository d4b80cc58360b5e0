package phases

import (
	"bytes"
	"encoding/base64"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// uploadConfig keeps in the cluster what kubeadm and joining nodes read.
var uploadConfig = phase{
	name:         uploadConfigPhase,
	clusterItems: func(c *cluster) []state.Item { return c.objectItems(uploadConfigPhase) },
	clusterStep:  objectStep,
	clusterNeeds: func(c *cluster) []state.Address {
		switch {
		case c.founding, c.unbound():
			return []state.Address{step(c.seat, waitPlanePhase)}
		case c.up != nil:
			return c.afterFirstPlane()
		}
		var needs []state.Address
		for _, n := range c.nodes {
			needs = append(needs, step(n.target, controlPlanePhase), step(n.target, kubeletStartPhase))
		}
		return needs
	},
}

// unbound tells that the administrator has no rights: an earlier apply was cut short
// before it gave them. What is asked of an API server by its own host's admin.conf
// has to wait for them; on the founder there is super-admin.conf as well.
func (c *cluster) unbound() bool {
	if c.report == nil || c.up != nil {
		return false
	}
	_, bound := c.report.Objects[kubeadm.AdminBinding]
	return !bound
}

func objectStep(c *cluster, w work) planner.Step {
	return planner.Step{Via: c.seat, Operations: c.objectOperations(w)}
}

// objectItems are the objects that kubeadm would make in the phase.
func (c *cluster) objectItems(phase string) []state.Item {
	var items []state.Item
	for _, o := range c.kubeadmObjects() {
		if o.Phase != phase {
			continue
		}
		it := objectItem(c.target, phase, o.Ref, o.Object)
		it.CreateOnly, it.Initial, it.Outdated = o.CreateOnly, o.Initial, c.formerDefaults(o)
		if len(it.Initial) > 0 {
			it.Content = c.settled(it, o)
		}
		c.objectOrigins(&it, o.Ref)
		if o.Ref == state.ClusterInfo {
			it.Attributes, it.Content = c.trusting(with(clusterInfoAttributes(o.Object), "ca", c.toldCA())), c.withGivenCA(it.Content)
		}
		items = append(items, it)
	}
	return items
}

// formerDefaults are the paths of an object that are settled once it is there and that an
// upgrade replaces all the same, as kubeadm's does: what is there is the default of
// an earlier release. Outside of an upgrade it is left alone.
func (c *cluster) formerDefaults(o kubeadm.Object) []string {
	if c.up == nil || o.Outdated == nil {
		return nil
	}
	have := c.there(o.Ref)
	return slices.DeleteFunc(slices.Clone(o.Initial), func(path string) bool {
		return !o.Outdated(path, have.Get(path).AsString())
	})
}

// settled is what a write would put there, with the values in it that matter no
// longer once they are there as they are by now: somebody may have scaled what an
// upgrade gives another image.
func (c *cluster) settled(it state.Item, o kubeadm.Object) []byte {
	have, want := c.there(o.Ref), o.Object
	for _, path := range it.Initial {
		if v := have.Get(path); !v.IsNull() && !slices.Contains(it.Outdated, path) {
			want = replaced(want, state.SplitPath(path), v)
		}
	}
	return []byte(must(want.MarshalJSON()))
}

// there is an object as the cluster was seen to have it; null when it was not.
func (c *cluster) there(ref state.ObjectRef) state.Value {
	if c.report == nil {
		return state.Null()
	}
	return c.report.Objects[ref]
}

// objectItem is a desired object: only the leaves that we set are ours, but of
// a document inside a ConfigMap all of it.
func objectItem(t state.Target, phase string, ref state.ObjectRef, object state.Value) state.Item {
	it := state.Item{
		Address: item(t, phase, "object", ref.String()), Kind: state.KindObject, Partial: true,
		Attributes: objectAttributes(ref, object), Content: []byte(must(object.MarshalJSON())),
	}
	for _, key := range it.Attributes.Get("data").Keys() {
		it.Exact = append(it.Exact, state.JoinPath("data", key))
	}
	return it
}

// objectAttributes is the object as it is compared: without what the address
// says already, and with the documents of a ConfigMap as trees.
func objectAttributes(ref state.ObjectRef, object state.Value) state.Value {
	m := map[string]state.Value{}
	for k, e := range object.AsMap() {
		switch k {
		case "apiVersion", "kind", "status":
		case "metadata":
			meta := map[string]state.Value{}
			for _, key := range []string{"labels", "annotations"} {
				if v := e.Get(key); !v.IsNull() {
					meta[key] = v
				}
			}
			if len(meta) > 0 {
				m[k] = state.Map(meta)
			}
		case "data":
			if ref.Kind == "ConfigMap" {
				e = documents(e)
			}
			m[k] = e
		default:
			m[k] = e
		}
	}
	return state.Map(m)
}

// documents parses the values of a ConfigMap that are YAML maps.
func documents(data state.Value) state.Value {
	m := make(map[string]state.Value, len(data.AsMap()))
	for k, v := range data.AsMap() {
		m[k] = document(v)
	}
	return state.Map(m)
}

// document parses a value of a ConfigMap that is a YAML map.
func document(v state.Value) state.Value {
	if tree, err := kubeadm.YAMLDocument([]byte(v.AsString())); err == nil && len(tree.AsMap()) > 0 {
		return tree
	}
	return v
}

// clusterInfoAttributes compares what matters of the kubeconfig in cluster-info, besides
// the CA; the signatures beside it are the controller manager's.
func clusterInfoAttributes(object state.Value) state.Value {
	return attributes("data", map[string]any{"kubeconfig": map[string]any{
		"server": documentOf(object, state.ClusterInfoKey).Get("clusters.0.cluster.server").AsString(),
	}})
}

// toldCA is the CA that nodes which join are told of. While another one takes its place
// that is for the steps which tell them of it.
func (c *cluster) toldCA() state.Value {
	if c.leftEnded()[c.caBase()] != "" {
		return state.PendingValue(step(c.target, tokenPhase).String(), "ca")
	}
	return c.signedBy(c.caBase())
}

// withGivenCA puts the CA into cluster-info where it is given: an upgrade writes that before
// it brings anything to a host.
func (c *cluster) withGivenCA(content []byte) []byte {
	if c.givenSerial() == "" {
		return content
	}
	text := base64.StdEncoding.EncodeToString([]byte(c.Certificates.CA.Certificate))
	return bytes.ReplaceAll(content, []byte(kubeadm.CAPlaceholder), []byte(text))
}

// observeClusterInfo is cluster-info with the CA that is in it.
func (c *cluster) observeClusterInfo(it *state.Item, object state.Value) state.Value {
	attrs := clusterInfoAttributes(object)
	if cas := c.report.InfoCAs; len(cas) > 0 {
		attrs = with(with(attrs, "ca", cas[0].KeyDigest), planner.CASerial, trustedSerial(cas, it))
	}
	return attrs
}

func refOf(o state.Value) state.ObjectRef {
	return state.ObjectRef{
		APIVersion: o.Get("apiVersion").AsString(), Kind: o.Get("kind").AsString(),
		Namespace: o.Get("metadata.namespace").AsString(), Name: o.Get("metadata.name").AsString(),
	}
}

func (c *cluster) objectOperations(w work) []planner.Operation {
	var ops []planner.Operation
	for _, ch := range w.changes {
		it := w.find(ch)
		if it == nil {
			if ch.Action == planner.Delete {
				ops = append(ops, planner.DeleteObject{Ref: parseRef(ch.Address.ID())})
			}
			continue
		}
		if it.Kind != state.KindObject {
			continue
		}
		switch {
		case tokenID(it.Address) != "":
			ops = append(ops, c.makeToken(it))
			continue
		case it.Address.ID() == certsSecret.String() && it.Address.Phase == uploadCertsPhase:
			ops = append(ops, c.makeCerts(it))
			continue
		}
		object := parsedObject(it.Content)
		if !it.Sealed.IsZero() {
			object = it.Outline
		}
		op := planner.ApplyObject{Object: object, CreateOnly: it.CreateOnly}
		if refOf(object) == state.ClusterInfo && c.givenSerial() == "" {
			op.CAFrom, op.CAKey = c.Certificates.Dir+"/ca.crt", state.ClusterInfoKey
		}
		ops = append(ops, op)
	}
	return ops
}
