package topology

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Result is a plan together with its items, which become the recorded ones as steps are done.
type Result struct {
	Plan *planner.Plan
	// Fleet is the fleet with what the plan has found out about it, such as the primaries.
	Fleet   *Fleet
	Desired *state.Snapshot
	// Observed has the observation of each desired or recorded item.
	Observed *state.Snapshot
	// Open has the items that are not as desired, including those that a restricted plan leaves
	// unchanged.
	Open map[state.Address]bool
	// Due has those of them that the configuration does not leave out with skip_phases. It is not
	// set for a refresh-only plan.
	Due map[state.Address]bool
}

// Builder collects the steps of a draft.
type Builder struct {
	Draft   *planner.Draft
	Desired *state.Snapshot
	Changes map[state.Address][]planner.Change
	// Access are the operations by which steps correct mode and owner of key files.
	Access map[state.Address][]planner.Operation
}

func (c *Cluster) Needs(p *Phase) []state.Address {
	if p.ClusterNeeds == nil {
		return nil
	}
	return p.ClusterNeeds(c)
}

func (b *Builder) Work(id state.Address) PhaseWork {
	return PhaseWork{
		Changes: b.Changes[id], Desired: b.Desired,
		Peer: func(phase string) []planner.Change { return b.Changes[StepAddress(id.Target, phase)] },
	}
}

// Add adds a step that has work, and its edges in any case.
func (b *Builder) Add(id state.Address, s planner.Step, needs []state.Address) {
	b.Draft.Edges[id] = needs
	if access := b.Access[id]; len(access) > 0 {
		if len(s.Operations) == 0 {
			s.Action = planner.Update
		}
		s.Operations = append(s.Operations, access...)
	}
	if len(s.Operations) == 0 {
		return
	}
	s.ID, s.Phase, s.Target = id, id.Phase, id.Target
	if s.Action == "" {
		s.Action = actionOf(b.Changes[id])
	}
	b.Draft.Steps = append(b.Draft.Steps, s)
}

// Owns reports whether the state records any item of the target.
func (v *Fleet) Owns(t state.Target) bool {
	return slices.ContainsFunc(v.RecordedItems.Items, func(i state.Item) bool { return i.Address.Target == t })
}

func (v *Fleet) RecordedNode(t state.Target) bool {
	return v.Recorded != nil && v.Recorded.Nodes[t] != nil
}

// Remembers reports whether the state records a cluster, or a node of it.
func (v *Fleet) Remembers(label string) bool {
	return v.Recorded != nil && (v.Recorded.Clusters[label] != nil || HasRecordedNodes(v.Recorded, label))
}
