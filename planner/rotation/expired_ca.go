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

// An expired CA is replaced at once: no component trusts its certificates any more, so there is no
// trust to preserve while a new one is distributed. Everything happens over SSH, as when all
// certificates have expired: the new CA replaces the old one on the first control plane, and every
// certificate signed by the old one counts as due, on every host. If interrupted, the replacement
// continues by itself, since no certificate matches the new CA then. The old CA's certificate is
// kept until the cluster has been told: it shows that the replacement is not complete. The front
// proxy's CA is different: the API answers without it, so it is rotated as if it had not expired.

// replacedCA is the waypoint at which a CA that was replaced at once is published in the cluster.
const replacedCA = "replaced"

// ExpiredCAs returns the identities of the CAs that are replaced at once, by base path; none if the
// expired ones do not keep the API from answering.
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

// replacing reports whether an expired CA is being replaced: the command that requested it
// continues, and does not request another replacement.
func replacing(c *topology.Cluster) bool { return len(pki.CAsReplacedHalfway(c)) > 0 }

// replaceAtOnce publishes a replaced CA in the cluster, once it answers, and removes the expired
// CAs.
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

// tellReplaced publishes the new CA to joining nodes and pods, and returns the last step.
func tellReplaced(b *topology.Builder, c *topology.Cluster, old string, before []state.Address) []state.Address {
	s := &topology.RotationStage{Name: topology.TrustBoth, Fleet: c.Fleet, Place: slices.Index(c.Fleet.Clusters, c)}
	r := &topology.CARotation{CA: c.Authority(c.CABase()), Old: old}
	info, pods := topology.StepAddress(c.Target, topology.TokenPhase), topology.StepAddress(c.Target, topology.AddonPhase)
	info.Waypoint, pods.Waypoint = replacedCA, replacedCA
	addUpdate(b, info, told(s), before)
	addUpdate(b, pods, publishedTo(s, r), append(before, info))
	b.Draft.Rotations = append(b.Draft.Rotations, topology.Rotation{Cluster: c.Target, CA: "ca"}.String()+": the CA has expired; when everything below the new "+
		"one is issued and the API answers, the new CA is published in the cluster.")
	return []state.Address{pods}
}
