package phases

import (
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// expect fills in what each step rests on: the files and objects that are there
// and that it overwrites, as they were seen. Somebody else may change them
// before the step's turn has come; it is refused then. What an earlier step of
// the plan writes is our own change and rests on nothing. A node that leaves is
// taken away as it is found.
func (v *View) expect(p *planner.Plan) {
	e := expecter{view: v, seen: map[string]bool{}}
	for i := range p.Steps {
		s := &p.Steps[i]
		if v.Destroy || s.Phase == resetPhase {
			continue
		}
		for _, op := range s.Operations {
			e.files(s, op)
			e.objects(s, op)
		}
	}
}

// expecter goes through a plan's steps in order.
type expecter struct {
	view *View
	// seen has what an earlier operation of the plan writes.
	seen map[string]bool
}

// first reports whether nothing before has touched the item.
func (e expecter) first(t state.Target, key string) bool {
	key = t.String() + "/" + key
	was := e.seen[key]
	e.seen[key] = true
	return !was
}

func (e expecter) files(s *planner.Step, op planner.Operation) {
	report := e.view.Reports[s.Target]
	for _, path := range planner.Overwrites(op) {
		key := planner.FileExpectation(path)
		if !e.first(s.Target, key) || report == nil || e.view.rewrites(s.Target, path) {
			continue
		}
		if f := report.Files[path]; f.Exists && f.SHA256 != "" {
			s.Expectation(key, planner.ExpectedFile(f.SHA256))
		}
	}
}

// rewrites tells that the kubelet itself writes a file while the plan runs: its
// kubeconfig, as long as it has not got its certificate.
func (v *View) rewrites(t state.Target, path string) bool {
	c := v.clusterOf(t)
	if path != kubeletConf || c == nil {
		return false
	}
	n := c.node(t)
	return n != nil && n.joins()
}

func (e expecter) objects(s *planner.Step, op planner.Operation) {
	c := e.view.clusterOf(s.Target)
	if c == nil || c.report == nil {
		return
	}
	switch op := op.(type) {
	case planner.ApplyObject:
		ref := refOf(op.Object)
		live, there := c.report.Objects[ref]
		if key := planner.ObjectExpectation(ref); !op.CreateOnly && e.first(c.target, key) && there {
			s.Expectation(key, planner.ApplyDigest(op.Object, live))
		}
	case planner.PatchNode:
		live, there := c.report.Nodes[op.Node]
		if key := planner.ObjectExpectation(planner.NodeRef(op.Node)); e.first(c.target, key) && there {
			s.Expectation(key, planner.PatchDigest(op, live))
		}
	}
}
