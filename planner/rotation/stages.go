package rotation

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/planner/upgrade"
	"github.com/kubewright/kubewright/state"
)

// takesPart reports whether the stage has work left for a CA.
func takesPart(s *topology.RotationStage, r *topology.CARotation) bool {
	switch s.Name {
	case topology.TrustBoth:
		return r != nil && !r.Reissuing
	case topology.Reissue:
		return r != nil && !r.Dropping
	}
	return r != nil
}

// RotationStages returns the fleet with the stages of all clusters, and the changes there and the
// changed items. The only item of a stage is the manifest of
// the controller manager: while ca.crt is a bundle it has to sign with another file. Afterwards
// observed is as the last stage leaves it.
func RotationStages(v *topology.Fleet, observed *state.Snapshot) (with *topology.Fleet, changes []planner.Change, items []state.Item) {
	stages := map[*topology.Cluster][]*topology.RotationStage{}
	for place, c := range v.Clusters {
		if !c.Rotates() {
			continue
		}
		seen := &state.Snapshot{}
		pass := func(w *topology.Waypoint) {
			changed, kept, desired := upgrade.WaypointChanges(w, seen)
			changes, items = append(changes, changed...), append(items, kept...)
			seen = desired
			upgrade.OverlayAttributes(observed, desired)
			for _, it := range desired.Items {
				if observed.Find(it.Address) == nil { // it was lost, and is restored from here on
					observed.Items = append(observed.Items, it)
					observed.Sort()
				}
			}
		}
		pass(restarting(v, place))
		for _, name := range []string{topology.TrustBoth, topology.Reissue, topology.DropOld} {
			s := &topology.RotationStage{Name: name, Place: place, Fleet: signingWith(v, place, topology.SigningAt(c, name))}
			stages[c] = append(stages[c], s)
			if takesPart(s, c.ClusterCA()) {
				pass(&topology.Waypoint{Version: name, Fleet: s.Fleet, Place: place, Items: controllerManagers(s)})
			}
		}
	}
	if len(stages) == 0 {
		return v, nil, nil
	}
	return v.WithSituations(func(c *topology.Cluster) topology.Situation { return c.WithStages(stages[c]) }), changes, items
}

// signingWith returns the view with another signing CA for the controller managers of the cluster
// at a place.
func signingWith(v *topology.Fleet, place int, with topology.Signing) *topology.Fleet {
	return resolve.With(v, v.Config, func(i int, s topology.Situation) topology.Situation {
		if i == place {
			return s.WithSigning(with)
		}
		return s
	})
}

// controllerManagers returns the manifests of the stage, sealed.
func controllerManagers(s *topology.RotationStage) []state.Item {
	swapped := resolve.WithOtherSecrets(s.Fleet)
	var out []state.Item
	for j, n := range s.Cluster().Nodes {
		if !n.IsControlPlane() {
			continue
		}
		items := controllerManager(n)
		if swapped != nil {
			sensitive.Seal(s.Fleet, items, controllerManager(swapped.Clusters[s.Place].Nodes[j]))
		}
		out = append(out, items...)
	}
	return out
}

func controllerManager(n *topology.Node) []state.Item {
	return slices.DeleteFunc(staticpod.ControlPlane.NodeItems(n), func(it state.Item) bool {
		return it.Address.ID() != topology.Manifest("kube-controller-manager")
	})
}

// AddStages adds the stages of a cluster's rotations to the draft, and makes all other steps wait
// for their end.
func AddStages(b *topology.Builder, c *topology.Cluster) {
	replaceAtOnce(b, c)
	if !c.Rotates() || len(c.Stages) == 0 {
		endRotation(b, c, nil)
		return
	}
	others := map[state.Address]bool{}
	for id := range b.Draft.Edges {
		if id.Waypoint == "" && has(c, id.Target) {
			others[id] = true
		}
	}
	back := restart(b, c)
	proofs := provenBefore(b, c, others, back)
	before := slices.Concat(proofs, back, departures(c))
	for _, s := range c.Stages {
		before = stage(b, s, before)
	}
	etcd.SnapshotBeforeRotating(b, c, proofs)
	done := endRotation(b, c, before)
	for _, r := range c.Rotating {
		b.Draft.Rotations = append(b.Draft.Rotations, cARotationSentence(b, r, c))
	}
	if c.Keys.Acts() {
		b.Draft.Rotations = append(b.Draft.Rotations, keyRotationSentence(c.Keys, c))
	}
	for id := range others {
		b.Draft.Edges[id] = append(slices.Clone(b.Draft.Edges[id]), done...)
	}
}

// provenBefore returns the proofs of failing control planes that come before the first stage: an
// interrupted apply may have left one broken. A control plane with changes outside of the stages
// gets them, and its proof, after the stages.
func provenBefore(b *topology.Builder, c *topology.Cluster, others map[state.Address]bool, back []state.Address) []state.Address {
	var out []state.Address
	for _, n := range staticpod.FailingControlPlanes(c) {
		id := topology.StepAddress(n.Target, topology.WaitControlPlanePhase)
		if lostConf(n) || len(b.Changes[topology.StepAddress(n.Target, topology.EtcdPhase)])+len(b.Changes[topology.StepAddress(n.Target, topology.ControlPlanePhase)])+len(b.Changes[topology.StepAddress(n.Target, topology.KubeletStartPhase)]) > 0 {
			continue
		}
		b.Draft.Edges[id] = back
		delete(others, id)
		out = append(out, id)
	}
	return out
}

// has reports whether the target is the cluster, one of its nodes or of its addons.
func has(c *topology.Cluster, t state.Target) bool {
	return t == c.Target || c.Node(t) != nil || t.Type == state.TypeAddon && t.Name == c.Label
}

// stage adds a stage: one control plane after the other, then all kubelets, then the objects in the
// cluster. It returns the steps that the next stage waits for.
func stage(b *topology.Builder, s *topology.RotationStage, before []state.Address) []state.Address {
	c := s.Cluster()
	// New files are created on the primary; existing ones can be copied from any control plane.
	for _, n := range etcd.PrimaryFirst(c) {
		before = controlPlaneStage(b, s, n, before)
	}
	var kubelets []state.Address
	for _, n := range c.Nodes {
		id := s.Step(n.Target, topology.KubeletStartPhase)
		addUpdate(b, id, rotationStageKubelet(s, n), before)
		kubelets = append(kubelets, id)
	}
	info, pods := s.Step(c.Target, topology.TokenPhase), s.Step(c.Target, topology.AddonPhase)
	addUpdate(b, info, clusterInfo(s), kubelets)
	addUpdate(b, pods, published(s), append([]state.Address{info}, kubelets...))
	return []state.Address{pods}
}

// controlPlaneStage adds the steps of one control plane.
func controlPlaneStage(b *topology.Builder, s *topology.RotationStage, n *topology.Node, before []state.Address) []state.Address {
	wrote := map[string]bool{}
	note := func(ops []planner.Operation) planner.Step {
		for _, op := range ops {
			for _, path := range planner.Overwrites(op) {
				wrote[path] = true
			}
		}
		return planner.Step{Operations: ops}
	}
	first := s.Step(n.Target, topology.CertsPhase)
	ready := readyBefore(s, n)
	certificates := note(slices.Concat(ready, rotationStageCertificates(s, n), keys(s, n)))
	certificates.Impact = rotationStageDescribe(s, n)
	if len(ready) > 0 {
		certificates.Via = n.Target
	}
	addUpdate(b, first, certificates, before)
	confs := s.Step(n.Target, topology.KubeconfigPhase)
	kubeconfigs := note(rotationStageKubeconfigs(s, n))
	kubeconfigs.Impact = describeKubeconfigs(s)
	addUpdate(b, confs, kubeconfigs, []state.Address{first})
	member := s.Step(n.Target, topology.EtcdPhase)
	taken := staticpod.CertReload{Files: wrote, Trust: s.Name == topology.TrustBoth, Beyond: func(path string) bool { return untouched(s, path) }, Started: !lostConf(n)}
	addUpdate(b, member, takesUp(n, topology.PhaseWork{Desired: b.Desired}, topology.EtcdPhase, taken), []state.Address{confs})
	last := s.Step(n.Target, topology.ControlPlanePhase)
	w := topology.PhaseWork{Changes: b.Changes[last], Desired: b.Desired}
	addUpdate(b, last, takesUp(n, w, topology.ControlPlanePhase, taken), []state.Address{member})
	return []state.Address{last}
}

// readyBefore returns waits for the nodes that have to be Ready before the first CA is made.
func readyBefore(s *topology.RotationStage, n *topology.Node) []planner.Operation {
	c := s.Cluster()
	if s.Name != topology.TrustBoth || n.Target != c.Primary {
		return nil
	}
	var ops []planner.Operation
	for _, unready := range unreadyKubelets(c) {
		ops = append(ops, pki.ReadyWaitFor(unready)...)
	}
	return ops
}

// addUpdate adds a step with the action Update.
func addUpdate(b *topology.Builder, id state.Address, s planner.Step, needs []state.Address) {
	s.Action = planner.Update
	b.Add(id, s, needs)
}

// endRotation removes the files of the rotations, including those left by an interrupted removal.
func endRotation(b *topology.Builder, c *topology.Cluster, before []state.Address) []state.Address {
	var done []state.Address
	for _, n := range c.ControlPlanes() {
		id := topology.StepAddress(n.Target, topology.CertsPhase)
		id.Waypoint = Rotated
		addUpdate(b, id, planner.Step{Operations: endRotations(n), Impact: describeEnd(c)}, before)
		done = append(done, id)
	}
	return done
}

// describeEnd says what is removed after rotations.
func describeEnd(c *topology.Cluster) string {
	if len(c.Rotating) == 0 && c.Keys != nil {
		return "removes the old service account key and the second copy of the new one"
	}
	return "removes the old CA and the second copy of the new one"
}

// endRotations removes the files of this cluster's rotations, and what an interrupted removal has
// left: a second copy of the current CA. Other files of these names are not kubewright's.
func endRotations(n *topology.Node) []planner.Operation {
	var ops []planner.Operation
	for _, a := range n.Cluster.Authorities {
		r := n.Cluster.Rotation(a.Base)
		ends := r != nil && n.Cluster.Rotates()
		if ends && a.Base == n.Cluster.CABase() {
			ops = append(ops, host.MarkCA(n, r.Old)) // from here on nothing else shows the old one
		}
		ops = append(ops, caPair(a.Base).end(n, ends, r == nil && a.KeyLocation == topology.Made)...)
	}
	return append(ops, endKeyRotation(n)...)
}
