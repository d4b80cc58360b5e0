package rotation

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// A CA that has ended is replaced at once: nobody trusts anything that it has
// signed any more, so there is no trust to keep while a new one is made known.
// Everything goes over SSH, as when all certificates have ended: the new CA takes
// the old one's place on the first control plane, and what the old one has signed
// counts as due, on every host. Cut short, it goes on by itself, since nothing
// then fits to the CA that is there; that it goes on, and that the cluster has not been told,
// shows by the old CA's certificate, which is kept until then. The front proxy's CA is
// another matter: without it the API answers, so it is rotated as if it had not ended.

// replacedCA is the waypoint at which the cluster is told of a CA that was replaced at once.
const replacedCA = "replaced"

// ExpiredCAs returns the identities of the CAs that are replaced at once, by base path;
// none when what has ended keeps nobody from answering.
func ExpiredCAs(c *topology.Cluster) map[string]string {
	if c.Founding || c.Fleet.Destroy {
		return nil
	}
	out, carries := map[string]string{}, false
	for _, a := range c.Authorities {
		if a.KeyLocation == topology.Made && asked(c, a.Name) && !tidying(c) && pki.CAExpired(c, a) {
			out[a.Base] = c.Cas[a.Base]
			carries = carries || pki.NeededByAPI(a)
		}
	}
	if !carries {
		return nil
	}
	return out
}

// replacing reports whether there are such: the command that asked for it goes on, and asks
// for no other one.
func replacing(c *topology.Cluster) bool { return len(pki.CAsReplacedHalfway(c)) > 0 }

// replaceAtOnce tells the cluster, once it answers, of its CA that was replaced, and takes
// away those that have ended.
func replaceAtOnce(b *topology.Builder, c *topology.Cluster) {
	ended := pki.CAsReplacedHalfway(c)
	maps.Copy(ended, c.AtOnce)
	if len(ended) == 0 {
		return
	}
	var before []state.Address
	for _, n := range c.Nodes {
		before = append(before, topology.StepAddress(n.Target, topology.ControlPlanePhase), topology.StepAddress(n.Target, topology.KubeletStartPhase), topology.StepAddress(n.Target, topology.KubeconfigPhase))
	}
	var ops []planner.Operation
	if old, untold := ended[c.CABase()]; untold {
		before = tellReplaced(b, c, old, before)
		ops = append(ops, host.MarkCA(c.PrimaryNode(), old))
	}
	for _, a := range c.Authorities {
		if _, kept := ended[a.Base]; kept {
			ops = append(ops, planner.RemovePath{Path: pki.ExpiredFile(a)})
		}
	}
	end := topology.StepAddress(c.Primary, topology.CertsPhase)
	end.Waypoint = replacedCA
	addUpdate(b, end, planner.Step{Operations: ops, Impact: "removes the expired CA"}, before)
}

// tellReplaced tells nodes that join, and pods, of the CA that has taken an old one's place,
// and returns what that takes.
func tellReplaced(b *topology.Builder, c *topology.Cluster, old string, before []state.Address) []state.Address {
	s := &topology.RotationStage{Name: topology.TrustBoth, View: c.Fleet, Place: slices.Index(c.Fleet.Clusters, c)}
	r := &topology.CARotation{CA: c.Authority(c.CABase()), Old: old}
	info, pods := topology.StepAddress(c.Target, topology.TokenPhase), topology.StepAddress(c.Target, topology.AddonPhase)
	info.Waypoint, pods.Waypoint = replacedCA, replacedCA
	addUpdate(b, info, told(s), before)
	addUpdate(b, pods, publishedTo(s, r), append(before, info))
	b.Draft.Rotations = append(b.Draft.Rotations, topology.Rotation{Cluster: c.Target, CA: "ca"}.String()+": the CA has expired; when everything below the new "+
		"one is issued and the API answers, the new CA is published in the cluster.")
	return []state.Address{pods}
}
