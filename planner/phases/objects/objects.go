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

// UploadConfig keeps in the cluster the configuration that kubeadm and joining nodes read.
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

// ObjectItems returns the objects that kubeadm would create in the phase.
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

// formerDefaults returns the paths of an object that are only set initially, but that an upgrade
// replaces, as kubeadm's does: the observed value is the default of an earlier release. Outside of an
// upgrade they are left alone.
func formerDefaults(c *topology.Cluster, o kubeadm.Object) []string {
	if c.Up == nil || o.Outdated == nil {
		return nil
	}
	have := there(c, o.Ref)
	return slices.DeleteFunc(slices.Clone(o.Initial), func(path string) bool {
		return !o.Outdated(path, have.Get(path).AsString())
	})
}

// settled returns the content to write, with the observed values of fields that are only set initially:
// a user may have scaled a Deployment to which an upgrade gives another image.
func settled(c *topology.Cluster, it state.Item, o kubeadm.Object) []byte {
	have, want := there(c, o.Ref), o.Object
	for _, path := range it.Initial {
		if v := have.Get(path); !v.IsNull() && !slices.Contains(it.Outdated, path) {
			want = topology.ReplaceAt(want, state.SplitPath(path), v)
		}
	}
	return []byte(topology.Must(want.MarshalJSON()))
}

// there returns the observed object; null when it does not exist.
func there(c *topology.Cluster, ref state.ObjectRef) state.Value {
	if c.Report == nil {
		return state.Null()
	}
	return c.Report.Objects[ref]
}

// clusterInfoAttributes returns the compared attributes of the kubeconfig in cluster-info, except the
// CA. The signatures beside it belong to the controller manager.
func clusterInfoAttributes(object state.Value) state.Value {
	return topology.Attributes("data", map[string]any{"kubeconfig": map[string]any{
		"server": provenance.DocumentIn(object, state.ClusterInfoKey).Get("clusters.0.cluster.server").AsString(),
	}})
}

// toldCA returns the CA that cluster-info announces to joining nodes. While the CA is replaced at once,
// its value is pending until the step that writes cluster-info.
func toldCA(c *topology.Cluster) state.Value {
	if pki.CAsReplacedHalfway(c)[c.CABase()] != "" {
		return state.PendingValue(topology.StepAddress(c.Target, topology.TokenPhase).String(), "ca")
	}
	return pki.SignedBy(c, c.CABase())
}

// withGivenCA writes a CA of the configuration into cluster-info: an upgrade writes the object before
// it brings anything to a host.
func withGivenCA(c *topology.Cluster, content []byte) []byte {
	if pki.GivenSerial(c) == "" {
		return content
	}
	text := base64.StdEncoding.EncodeToString([]byte(c.Certificates.CA.Certificate))
	return bytes.ReplaceAll(content, []byte(kubeadm.CAPlaceholder), []byte(text))
}

// ObserveClusterInfo returns the attributes of cluster-info with the CA in it.
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

// ParseRef parses the output of state.ObjectRef.String. The API version may contain a slash, the kind
// begins with a capital letter and the group does not.
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

// Left returns the target that a reset step removes from the state.
func Left(s *planner.Step) state.Learned {
	if s.Phase != topology.ResetPhase {
		return state.Learned{}
	}
	return state.Learned{Left: []state.Target{s.Target}}
}

// Recordable returns a desired item in the form that the state records.
func Recordable(it state.Item) state.Item {
	it.Origin, it.Outdated, it.Content, it.Sealed, it.Outline = nil, nil, nil, state.Sensitive{}, state.Value{}
	return it
}

// TrustedSerial returns the serial of the trusted CA certificate: the one that the item refers to if it
// is among several.
func TrustedSerial(cas []state.CertificateInfo, it *state.Item) string {
	wanted := it.Attributes.Get(planner.CASerial).AsString()
	if slices.ContainsFunc(cas, func(c state.CertificateInfo) bool { return c.Serial == wanted }) {
		return wanted
	}
	return cas[0].Serial
}

// RankOf sorts items for which a condition holds after the others.
func RankOf(so bool) int {
	if so {
		return 1
	}
	return 0
}

// afterFirstControlPlane returns the step after which kubeadm's upgrade writes the configuration: the
// first control plane has the new version then.
func afterFirstControlPlane(c *topology.Cluster) []state.Address {
	return []state.Address{topology.StepAddress(c.InTurn()[0].Target, topology.WaitControlPlanePhase)}
}
