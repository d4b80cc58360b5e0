package view

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/planner"
)

// phases turns a resource's phases into entries: a block where items change, a
// line where only operations run.
func (p blockPrinter) phases(phases []phase, c planner.ResourceChange, reason string) []entry {
	width := 0
	for _, ph := range phases {
		if inOneLine(ph, c) {
			width = max(width, ansi.StringWidth(phaseName(ph.id)))
		}
	}
	var out []entry
	for _, ph := range phases {
		if inOneLine(ph, c) {
			out = append(out, p.phaseLine(ph, c, width)...)
			continue
		}
		out = append(out, p.phaseBlock(ph, reason))
	}
	return out
}

// inOneLine reports whether a phase has no items to show, or that those of what goes are
// only forgotten.
func inOneLine(ph phase, c planner.ResourceChange) bool {
	return len(ph.changes) == 0 || c.Action == planner.Delete && ph.step == nil
}

// phaseLine returns a step without items to show: drain, reset, an upload. Steps
// that only wait show in the order line alone.
func (p blockPrinter) phaseLine(ph phase, c planner.ResourceChange, width int) []entry {
	text, sym := "", symbolOf(c.Action)
	if ph.step != nil {
		if onlyWaits(ph.step) && ph.step.Impact == "" && !p.full {
			return nil
		}
		sym = symbolOf(ph.step.Action)
		text = describe(ph)
	} else if n := len(ph.changes); n > 0 {
		text = plural(n, "item") + " of it forgotten"
	}
	if sym == unchanged {
		sym = changed
	}
	// The text is wrapped under itself.
	indent := strings.Repeat(" ", width+11)
	out := []entry{{sym: sym, head: fill(phaseName(ph.id), width), text: "   " + wrap(text, p.width, indent)}}
	if p.full {
		for _, pod := range podsBeside(ph.step) {
			out = append(out, entry{comment: true, indented: true, text: "# " + Clean(pod.String())})
		}
	}
	return out
}

// podsBeside returns the pods of a drain where they are more than its impact names in any case.
func podsBeside(s *planner.Step) []planner.DrainedPod {
	if s == nil || len(s.Pods) <= planner.PodsNamed {
		return nil
	}
	return s.Pods
}

func onlyWaits(s *planner.Step) bool {
	for _, op := range s.Operations {
		if _, ok := op.(planner.Wait); !ok {
			return false
		}
	}
	return true
}

// phaseBlock returns a step with the items that it changes.
func (p blockPrinter) phaseBlock(ph phase, shared string) entry {
	sym := phaseSymbol(ph)
	e := entry{sym: sym, head: phaseName(ph.id), block: true}
	for _, it := range items(ph.changes, ph.step) {
		kid := p.item(it, p.full || it.Action == planner.Update)
		if r := Clean(it.Reason); r != shared && !ordinary(it.Action, it.Reason) {
			kid.note = r
		}
		e.kids = append(e.kids, kid)
	}
	align(e.kids)
	if ph.step == nil {
		return e
	}
	if p.full {
		for _, op := range ph.step.Operations {
			e.kids = append(e.kids, entry{comment: true, indented: true, text: "# " + Clean(op.Summary())})
		}
	}
	if ph.step.Impact != "" {
		e.kids = append(e.kids, entry{comment: true, text: "# " + Clean(ph.step.Impact)})
	}
	return e
}

func phaseSymbol(ph phase) symbol {
	if ph.step != nil && ph.step.Action != planner.NoOp && ph.step.Action != "" {
		return symbolOf(ph.step.Action)
	}
	first := ph.changes[0].Action
	for _, c := range ph.changes {
		if c.Action != first {
			return changed
		}
	}
	return symbolOf(first)
}

// describe says what a step means, or what its operations do in sum.
func describe(ph phase) string {
	if ph.step.Impact != "" {
		return Clean(ph.step.Impact)
	}
	var parts []string
	count := map[string]int{}
	seen := map[string]bool{}
	removed := ""
	for _, op := range ph.step.Operations {
		if o, ok := op.(planner.RemovePath); ok {
			removed = Clean(o.Path)
		}
		if word := countable(op); word != "" {
			count[word]++
			if o, ok := op.(planner.LoadImage); ok {
				count[word] += len(o.Others)
			}
			continue
		}
		if _, after := op.(planner.DeleteToken); after && len(ph.step.Operations) > 1 {
			continue // of a join, which ends with it
		}
		if text := telling(op); text != "" && !seen[text] {
			seen[text] = true
			parts = append(parts, text)
		}
	}
	for _, c := range []struct{ verb, noun string }{{"removes", "path"}, {"writes", "file"}, {"loads", "image"}, {"uploads", "artifact"}} {
		switch n := count[c.noun]; {
		case n == 1 && c.noun == "path":
			parts = append(parts, c.verb+" "+removed)
		case n > 0:
			parts = append(parts, c.verb+" "+plural(n, c.noun))
		}
	}
	return strings.Join(parts, ", ")
}

// countable names operations that are summed up by their number.
func countable(op planner.Operation) string {
	switch op.(type) {
	case planner.RemovePath:
		return "path"
	case planner.WriteFile, planner.WriteKubeconfig, planner.SetKubeconfig, planner.RenderEtcdManifest:
		return "file"
	case planner.LoadImage:
		return "image"
	case planner.UploadArtifact:
		return "artifact"
	}
	return ""
}

// telling returns an operation in a few words, "" for one that is not worth it.
func telling(op planner.Operation) string {
	switch o := op.(type) {
	case planner.Unit:
		return map[string]string{
			"start": "starts ", "stop": "stops ", "restart": "restarts ", "enable": "enables ", "disable": "disables ",
		}[o.Action] + strings.TrimSuffix(Clean(o.Unit), ".service")
	case planner.RemovePods:
		return "removes all containers"
	case planner.RemoveNetwork:
		return "removes links and firewall rules of Kubernetes"
	case planner.RemoveEtcdMember:
		return "takes it out of etcd"
	case planner.DeleteObject:
		return "deletes " + Clean(o.Ref.Kind+" "+o.Ref.Name)
	case planner.CreateToken:
		if o.ID != "" {
			return "makes bootstrap token " + Clean(o.ID)
		}
		return "makes a token for joining"
	case planner.DeleteToken:
		return "deletes the token for joining"
	case planner.DeleteJoinTokens:
		return "deletes tokens for joining that are left"
	case planner.Cordon:
		if o.Undo {
			return "lets pods in again"
		}
		return "lets no more pods in"
	case planner.Drain:
		return "evicts its pods"
	case planner.Swap, planner.SetSysctl, planner.LoadModule:
		return "puts kernel settings back"
	case planner.Unmount, planner.Wait, planner.EnsureDirectory, planner.Mark:
		return ""
	}
	return Clean(op.Summary())
}
