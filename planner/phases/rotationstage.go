package phases

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// rotationStage is a stage of a cluster's rotations.
type rotationStage struct {
	name string
	// view is the cluster's in this stage, place its place in there.
	view  *View
	place int
}

func (s *rotationStage) cluster() *cluster { return s.view.clusters[s.place] }

func (s *rotationStage) step(t state.Target, phase string) state.Address {
	id := step(t, phase)
	id.Waypoint = s.name
	return id
}

// takesPart tells that a CA has something left to do in the stage.
func (s *rotationStage) takesPart(r *rotation) bool {
	switch s.name {
	case trustBoth:
		return r != nil && !r.reissuing
	case reissue:
		return r != nil && !r.dropping
	}
	return r != nil
}

// rotationStages prepares the stages of all clusters. Of what a stage wants, the
// manifest of the controller manager is an item: with a bundle in ca.crt it has to
// sign with another file. What is observed is then as the last stage leaves it.
func (v *View) rotationStages(observed *state.Snapshot) (changes []planner.Change, items []state.Item) {
	for place, c := range v.clusters {
		c.stages = nil
		if !c.rotates() {
			continue
		}
		seen := &state.Snapshot{}
		pass := func(w *waypoint) {
			changed, desired := w.changes(seen)
			changes, items = append(changes, changed...), append(items, w.items...)
			seen = desired
			overlay(observed, desired)
			for _, it := range desired.Items {
				if observed.Find(it.Address) == nil { // it was lost, and is there again from here on
					observed.Items = append(observed.Items, it)
					observed.Sort()
				}
			}
		}
		pass(v.restarting(place))
		for _, name := range []string{trustBoth, reissue, dropOld} {
			s := &rotationStage{name: name, place: place, view: v.signingWith(place, signingAt(c, name))}
			c.stages = append(c.stages, s)
			if s.takesPart(c.clusterCA()) {
				pass(&waypoint{version: name, view: s.view, place: place, items: s.controllerManagers()})
			}
		}
	}
	return changes, items
}

// signingAt is the CA with which controller managers sign in a stage, without
// .crt and .key; empty is the cluster's as always.
func signingAt(c *cluster, stage string) signing {
	r := c.clusterCA()
	switch {
	case r == nil || stage == dropOld:
		return signing{}
	case stage == trustBoth:
		return signing{certificate: r.oldFile(), key: r.Base + ".key"}
	}
	return signing{certificate: r.nextBase() + ".crt", key: r.nextBase() + ".key"}
}

// signingWith is the view with another CA for the controller managers of the
// cluster at a place.
func (v *View) signingWith(place int, with signing) *View {
	out := *v
	out.resolve()
	for i, original := range v.clusters {
		out.clusters[i].situation = original.situation
	}
	out.clusters[place].signing = with
	return &out
}

// controllerManagers are the manifests of the stage, sealed.
func (s *rotationStage) controllerManagers() []state.Item {
	twin := s.view.twinView()
	var out []state.Item
	for j, n := range s.cluster().nodes {
		if !n.isControlPlane() {
			continue
		}
		items := n.controllerManager()
		if twin != nil {
			s.view.seal(items, twin.clusters[s.place].nodes[j].controllerManager())
		}
		out = append(out, items...)
	}
	return out
}

func (n *node) controllerManager() []state.Item {
	return slices.DeleteFunc(controlPlane.nodeItems(n), func(it state.Item) bool {
		return it.Address.ID() != manifest("kube-controller-manager")
	})
}

// rotate adds the stages of a cluster's rotations to the draft, and has all else
// wait for their end.
func (b *builder) rotate(c *cluster) {
	b.replaceAtOnce(c)
	if !c.rotates() || len(c.stages) == 0 {
		b.endRotation(c, nil)
		return
	}
	others := map[state.Address]bool{}
	for id := range b.draft.Edges {
		if id.Waypoint == "" && c.has(id.Target) {
			others[id] = true
		}
	}
	for _, r := range c.rotating {
		b.draft.Rotations = append(b.draft.Rotations, r.sentence(c))
	}
	if c.keys.acts() {
		b.draft.Rotations = append(b.draft.Rotations, c.keys.sentence(c))
	}
	back := b.restart(c)
	proofs := b.provenBefore(c, others, back)
	before := slices.Concat(proofs, back, c.departures())
	for _, s := range c.stages {
		before = b.stage(s, before)
	}
	b.snapshotBeforeRotating(c, proofs)
	done := b.endRotation(c, before)
	for id := range others {
		b.draft.Edges[id] = append(slices.Clone(b.draft.Edges[id]), done...)
	}
}

// provenBefore are the proofs of control planes that fail, before the first stage:
// an earlier apply may have been cut short when it had broken one. Those that get
// something else than the stages bring get it behind them, and their proof with it.
func (b *builder) provenBefore(c *cluster, others map[state.Address]bool, back []state.Address) []state.Address {
	var out []state.Address
	for _, n := range c.failing() {
		id := step(n.target, waitPlanePhase)
		if n.lostConf() || len(b.changes[step(n.target, etcdPhase)])+len(b.changes[step(n.target, controlPlanePhase)])+len(b.changes[step(n.target, kubeletStartPhase)]) > 0 {
			continue
		}
		b.draft.Edges[id] = back
		delete(others, id)
		out = append(out, id)
	}
	return out
}

// has tells that the target is the cluster, one of its nodes or of its addons.
func (c *cluster) has(t state.Target) bool {
	return t == c.target || c.node(t) != nil || t.Type == state.TypeAddon && t.Name == c.Label
}

// stage adds a stage: one control plane after the other, then all kubelets, then
// what is kept in the cluster. It returns what the next stage waits for.
func (b *builder) stage(s *rotationStage, before []state.Address) []state.Address {
	c := s.cluster()
	// What is to be made is made on the seat; what is there already can be brought
	// from anywhere.
	for _, n := range c.inOrder() {
		before = b.planeStage(s, n, before)
	}
	var kubelets []state.Address
	for _, n := range c.nodes {
		id := s.step(n.target, kubeletStartPhase)
		b.addUpdate(id, s.kubelet(n), before)
		kubelets = append(kubelets, id)
	}
	info, pods := s.step(c.target, tokenPhase), s.step(c.target, addonPhase)
	b.addUpdate(info, s.clusterInfo(), kubelets)
	b.addUpdate(pods, s.published(), append([]state.Address{info}, kubelets...))
	return []state.Address{pods}
}

// planeStage adds what is done on one control plane.
func (b *builder) planeStage(s *rotationStage, n *node, before []state.Address) []state.Address {
	wrote := map[string]bool{}
	note := func(ops []planner.Operation) planner.Step {
		for _, op := range ops {
			for _, path := range planner.Overwrites(op) {
				wrote[path] = true
			}
		}
		return planner.Step{Operations: ops}
	}
	first := s.step(n.target, certsPhase)
	ready := s.readyBefore(n)
	certificates := note(slices.Concat(ready, s.certificates(n), s.keys(n)))
	certificates.Impact = s.describe(n)
	if len(ready) > 0 {
		certificates.Via = n.target
	}
	b.addUpdate(first, certificates, before)
	confs := s.step(n.target, kubeconfigPhase)
	kubeconfigs := note(s.kubeconfigs(n))
	kubeconfigs.Impact = s.describeKubeconfigs()
	b.addUpdate(confs, kubeconfigs, []state.Address{first})
	member := s.step(n.target, etcdPhase)
	taken := taking{files: wrote, trust: s.name == trustBoth, beyond: s.untouched, started: !n.lostConf()}
	b.addUpdate(member, n.takesUp(work{desired: b.desired}, etcdPhase, taken), []state.Address{confs})
	last := s.step(n.target, controlPlanePhase)
	w := work{changes: b.changes[last], desired: b.desired}
	b.addUpdate(last, n.takesUp(w, controlPlanePhase, taken), []state.Address{member})
	return []state.Address{last}
}

// readyBefore are waits for what has to be Ready before the first CA is made.
func (s *rotationStage) readyBefore(n *node) []planner.Operation {
	c := s.cluster()
	if s.name != trustBoth || n.target != c.seat {
		return nil
	}
	var ops []planner.Operation
	for _, unready := range c.unreadyKubelets() {
		ops = append(ops, unready.readyWait()...)
	}
	return ops
}

// addUpdate adds a step that changes what is there.
func (b *builder) addUpdate(id state.Address, s planner.Step, needs []state.Address) {
	s.Action = planner.Update
	b.add(id, s, needs)
}

// endRotation takes the files of the rotations away, also what is left of one
// that was cut short in doing so.
func (b *builder) endRotation(c *cluster, before []state.Address) []state.Address {
	var done []state.Address
	for _, n := range c.controlPlanes() {
		id := step(n.target, certsPhase)
		id.Waypoint = rotated
		b.addUpdate(id, planner.Step{Operations: n.endRotations(), Impact: c.describeEnd()}, before)
		done = append(done, id)
	}
	return done
}

// describeEnd says what is taken away behind rotations.
func (c *cluster) describeEnd() string {
	if len(c.rotating) == 0 && c.keys != nil {
		return "takes away the old service account key, and the second copy of the new one"
	}
	return "takes away the old CA, and the second copy of the new one"
}

// endRotations takes away the files of this cluster's rotations, and what is left
// of one that was cut short in that: a second copy of the CA that is in use. Other
// files of these names are not ours.
func (n *node) endRotations() []planner.Operation {
	var ops []planner.Operation
	for _, a := range n.cluster.authorities {
		r := n.cluster.rotation(a.Base)
		rotating := r != nil
		if rotating && n.cluster.rotates() && a.Base == n.cluster.caBase() {
			ops = append(ops, n.markCA(r.old)) // from here on nothing else tells of the old one
		}
		next := n.casIn(a.nextBase() + ".crt")
		left := !rotating && a.custody == made && len(next) > 0 && slices.Equal(next, n.casIn(a.Base+".crt"))
		for _, path := range a.rotationPaths() {
			if rotating && n.cluster.rotates() || left && n.report.Files[path].Exists {
				ops = append(ops, planner.RemovePath{Path: path})
			}
		}
	}
	return append(ops, n.endKeyRotation()...)
}
