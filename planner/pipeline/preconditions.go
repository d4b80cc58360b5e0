package pipeline

import (
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// expect returns the plan with preconditions of each step: the files and objects that exist and that the step overwrites
// have to be as observed. If they change before the step's turn, the step is refused. Files that an
// earlier step of the plan writes are our own change and no precondition. A departing node is removed
// in whatever condition it is found.
func expect(v *topology.Fleet, p *planner.Plan) *planner.Plan {
	if v.Destroy {
		return p
	}
	e := expecter{fleet: v, seen: map[string]bool{}}
	return p.WithSteps(func(s planner.Step) planner.Step {
		if s.Phase == topology.ResetPhase {
			return s
		}
		expected := map[string]string{}
		for _, op := range s.Operations {
			e.files(expected, s.Target, op)
			e.objects(expected, s.Target, op)
		}
		if len(expected) > 0 {
			s.Expect = expected
		}
		return s
	})
}

// expecter goes through a plan's steps in order.
type expecter struct {
	fleet *topology.Fleet
	// seen holds what earlier operations of the plan write.
	seen map[string]bool
}

// first reports whether no earlier operation touches the item.
func (e expecter) first(t state.Target, key string) bool {
	key = t.String() + "/" + key
	was := e.seen[key]
	e.seen[key] = true
	return !was
}

func (e expecter) files(expected map[string]string, t state.Target, op planner.Operation) {
	report := e.fleet.Reports[t]
	for _, path := range planner.Overwrites(op) {
		key := planner.FileExpectation(path)
		if !e.first(t, key) || report == nil || e.secret(t, op, path) || rewrites(e.fleet, t, path) {
			continue
		}
		if f := report.Files[path]; f.Exists && f.SHA256 != "" {
			expected[key] = planner.ExpectedFile(f.SHA256)
		}
	}
}

// secret reports whether the present or the recorded content is sensitive: a digest without a key would
// let a short secret be guessed, and no host and no API server has the key. Such a step depends on the
// diff alone.
func (e expecter) secret(t state.Target, op planner.Operation, id string) bool {
	switch op := op.(type) {
	case planner.WriteFile:
		if op.Content.Ref != "" {
			return true
		}
	case planner.RenderEtcdManifest:
		if op.Manifest.Ref != "" {
			return true
		}
	case planner.ApplyObject:
		if op.Object.HasSensitive() {
			return true
		}
	case planner.PatchNode:
		if len(op.Sealed) > 0 {
			return true
		}
	}
	if e.fleet.Recorded == nil {
		return false
	}
	for _, it := range topology.RecordedItems(e.fleet.Recorded, t) {
		if it.Address.ID() == id && it.Attributes.HasSensitive() {
			return true
		}
	}
	return false
}

// rewrites reports whether the kubelet itself writes a file while the plan runs: its certificate, and
// its kubeconfig until it has the certificate.
func rewrites(v *topology.Fleet, t state.Target, path string) bool {
	c := v.ClusterOf(t)
	if path == topology.KubeletClientCert {
		return true
	}
	if path != topology.KubeletConf || c == nil {
		return false
	}
	n := c.Node(t)
	return n != nil && n.Joins()
}

func (e expecter) objects(expected map[string]string, t state.Target, op planner.Operation) {
	c := e.fleet.ClusterOf(t)
	if c == nil || c.Report == nil {
		return
	}
	switch op := op.(type) {
	case planner.ApplyObject:
		ref := objects.RefOf(op.Object)
		live, there := c.Report.Objects[ref]
		if key := planner.ObjectExpectation(ref); !op.CreateOnly && e.first(c.Target, key) && there && !e.secret(t, op, ref.String()) {
			expected[key] = planner.ApplyDigest(op.Object, live)
		}
	case planner.PatchNode:
		live, there := c.Report.Nodes[op.Node]
		if key := planner.ObjectExpectation(planner.NodeRef(op.Node)); e.first(c.Target, key) && there && !e.secret(t, op, op.Node) {
			expected[key] = planner.PatchDigest(op, live)
		}
	}
}
