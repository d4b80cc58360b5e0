package objects

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// UploadConfig keeps in the cluster what kubeadm and joining nodes read.
var UploadConfig = topology.Phase{
	Name:         topology.UploadConfigPhase,
	ClusterItems: func(c *topology.Cluster) []state.Item { return ObjectItems(c, topology.UploadConfigPhase) },
	ClusterStep:  objectStep,
	ClusterNeeds: func(c *topology.Cluster) []state.Address {
		switch {
		case c.Founding, staticpod.AdminUnbound(c):
			return []state.Address{topology.StepAddress(c.Primary, topology.WaitControlPlanePhase)}
		case c.Up != nil:
			return afterFirstControlPlane(c)
		}
		var needs []state.Address
		for _, n := range c.Nodes {
			needs = append(needs, topology.StepAddress(n.Target, topology.ControlPlanePhase), topology.StepAddress(n.Target, topology.KubeletStartPhase))
		}
		return needs
	},
}

func objectStep(c *topology.Cluster, w topology.PhaseWork) planner.Step {
	return planner.Step{Via: c.Primary, Operations: objectOperations(c, w)}
}

// ObjectItems returns the objects that kubeadm would make in the phase.
func ObjectItems(c *topology.Cluster, phase string) []state.Item {
	var items []state.Item
	for _, o := range staticpod.KubeadmObjects(c) {
		if o.Phase != phase {
			continue
		}
		it := provenance.ObjectItem(c.Target, phase, o.Ref, o.Object)
		it.CreateOnly, it.Initial, it.Outdated = o.CreateOnly, o.Initial, formerDefaults(c, o)
		if len(it.Initial) > 0 {
			it.Content = settled(c, it, o)
		}
		provenance.ObjectOrigins(c, &it, o.Ref)
		if o.Ref == state.ClusterInfo {
			it.Attributes, it.Content = pki.WithCASerial(c, topology.WithAttribute(clusterInfoAttributes(o.Object), "ca", toldCA(c))), withGivenCA(c, it.Content)
		}
		items = append(items, it)
	}
	return items
}

// formerDefaults returns the paths of an object that are settled once it is there and that an
// upgrade replaces all the same, as kubeadm's does: what is there is the default of
// an earlier release. Outside of an upgrade it is left alone.
func formerDefaults(c *topology.Cluster, o kubeadm.Object) []string {
	if c.Up == nil || o.Outdated == nil {
		return nil
	}
	have := there(c, o.Ref)
	return slices.DeleteFunc(slices.Clone(o.Initial), func(path string) bool {
		return !o.Outdated(path, have.Get(path).AsString())
	})
}

// settled returns what a write would put there, with the values in it that matter no
// longer once they are there as they are by now: somebody may have scaled what an
// upgrade gives another image.
func settled(c *topology.Cluster, it state.Item, o kubeadm.Object) []byte {
	have, want := there(c, o.Ref), o.Object
	for _, path := range it.Initial {
		if v := have.Get(path); !v.IsNull() && !slices.Contains(it.Outdated, path) {
			want = topology.ReplaceAt(want, state.SplitPath(path), v)
		}
	}
	return []byte(topology.Must(want.MarshalJSON()))
}

// there returns an object as the cluster was seen to have it; null when it was not.
func there(c *topology.Cluster, ref state.ObjectRef) state.Value {
	if c.Report == nil {
		return state.Null()
	}
	return c.Report.Objects[ref]
}

// clusterInfoAttributes compares what matters of the kubeconfig in cluster-info, besides
// the CA; the signatures beside it are the controller manager's.
func clusterInfoAttributes(object state.Value) state.Value {
	return topology.Attributes("data", map[string]any{"kubeconfig": map[string]any{
		"server": provenance.DocumentIn(object, state.ClusterInfoKey).Get("clusters.0.cluster.server").AsString(),
	}})
}

// toldCA returns the CA that nodes which join are told of. While another one takes its place
// that is for the steps which tell them of it.
func toldCA(c *topology.Cluster) state.Value {
	if pki.CAsReplacedHalfway(c)[c.CABase()] != "" {
		return state.PendingValue(topology.StepAddress(c.Target, topology.TokenPhase).String(), "ca")
	}
	return pki.SignedBy(c, c.CABase())
}

// withGivenCA puts the CA into cluster-info where it is given: an upgrade writes that before
// it brings anything to a host.
func withGivenCA(c *topology.Cluster, content []byte) []byte {
	if pki.GivenSerial(c) == "" {
		return content
	}
	text := base64.StdEncoding.EncodeToString([]byte(c.Certificates.CA.Certificate))
	return bytes.ReplaceAll(content, []byte(kubeadm.CAPlaceholder), []byte(text))
}

// ObserveClusterInfo is cluster-info with the CA that is in it.
func ObserveClusterInfo(c *topology.Cluster, it *state.Item, object state.Value) state.Value {
	attrs := clusterInfoAttributes(object)
	if cas := c.Report.InfoCAs; len(cas) > 0 {
		attrs = topology.WithAttribute(topology.WithAttribute(attrs, "ca", cas[0].KeyDigest), planner.CASerial, TrustedSerial(cas, it))
	}
	return attrs
}

func RefOf(o state.Value) state.ObjectRef {
	return state.ObjectRef{
		APIVersion: o.Get("apiVersion").AsString(), Kind: o.Get("kind").AsString(),
		Namespace: o.Get("metadata.namespace").AsString(), Name: o.Get("metadata.name").AsString(),
	}
}

func objectOperations(c *topology.Cluster, w topology.PhaseWork) []planner.Operation {
	var ops []planner.Operation
	for _, ch := range w.Changes {
		it := w.Find(ch)
		if it == nil {
			if ch.Action == planner.Delete {
				ops = append(ops, planner.DeleteObject{Ref: ParseRef(ch.Address.ID())})
			}
			continue
		}
		if it.Kind != state.KindObject {
			continue
		}
		switch {
		case TokenID(it.Address) != "":
			ops = append(ops, makeToken(c, it))
			continue
		case it.Address.ID() == CertsSecret.String() && it.Address.Phase == topology.UploadCertsPhase:
			ops = append(ops, makeCerts(c, it))
			continue
		}
		object := sensitive.ParsedObject(it.Content)
		if !it.Sealed.IsZero() {
			object = it.Outline
		}
		op := planner.ApplyObject{Object: object, CreateOnly: it.CreateOnly}
		if RefOf(object) == state.ClusterInfo && pki.GivenSerial(c) == "" {
			op.CAFrom, op.CAKey = c.Certificates.Dir+"/ca.crt", state.ClusterInfoKey
		}
		ops = append(ops, op)
	}
	return ops
}

// ParseRef reads what state.ObjectRef.String prints. The API version may hold
// a slash, the kind begins with a capital letter and the group does not.
func ParseRef(s string) state.ObjectRef {
	parts := strings.Split(s, "/")
	i := 0
	for i < len(parts) && (parts[i] == "" || parts[i][0] < 'A' || parts[i][0] > 'Z') {
		i++
	}
	r := state.ObjectRef{APIVersion: strings.Join(parts[:i], "/")}
	rest := parts[i:]
	switch len(rest) {
	case 2:
		r.Kind, r.Name = rest[0], rest[1]
	case 3:
		r.Kind, r.Namespace, r.Name = rest[0], rest[1], rest[2]
	}
	return r
}

// Left returns what a reset leaves behind in the state: nothing.
func Left(s *planner.Step) state.Learned {
	if s.Phase != topology.ResetPhase {
		return state.Learned{}
	}
	return state.Learned{Left: []state.Target{s.Target}}
}

// Recordable returns a desired item as the state remembers it.
func Recordable(it state.Item) state.Item {
	it.Origin, it.Outdated, it.Content, it.Sealed, it.Outline = nil, nil, nil, state.Sensitive{}, state.Value{}
	return it
}

// TrustedSerial returns the CA's certificate that is trusted: the one that the item refers to
// where it is among several.
func TrustedSerial(cas []state.CertificateInfo, it *state.Item) string {
	wanted := it.Attributes.Get(planner.CASerial).AsString()
	if slices.ContainsFunc(cas, func(c state.CertificateInfo) bool { return c.Serial == wanted }) {
		return wanted
	}
	return cas[0].Serial
}

// RankOf sorts those of which something is so behind the others.
func RankOf(so bool) int {
	if so {
		return 1
	}
	return 0
}

// afterFirstControlPlane returns where kubeadm's upgrade writes the configuration: when the
// first control plane has the new version.
func afterFirstControlPlane(c *topology.Cluster) []state.Address {
	return []state.Address{topology.StepAddress(c.InTurn()[0].Target, topology.WaitControlPlanePhase)}
}
