package outline

import (
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
)

// PodsBeyondImpact returns the pods of a drain if its impact does not name all of them.
func PodsBeyondImpact(s *planner.Step) []planner.DrainedPod {
	if s == nil || len(s.Pods) <= planner.PodsNamed {
		return nil
	}
	return s.Pods
}

// Effect returns what a step means for the cluster, or else a summary of its operations.
func Effect(ph Phase) string {
	if ph.Step.Impact != "" {
		return ui.Clean(ph.Step.Impact)
	}
	var parts []string
	count := map[string]int{}
	seen := map[string]bool{}
	removed := ""
	for _, op := range ph.Step.Operations {
		if o, ok := op.(planner.RemovePath); ok {
			removed = ui.Clean(o.Path)
		}
		if word := countedNoun(op); word != "" {
			count[word]++
			if o, ok := op.(planner.LoadImage); ok {
				count[word] += len(o.Others)
			}
			continue
		}
		if _, after := op.(planner.DeleteToken); after && len(ph.Step.Operations) > 1 {
			continue // of a join, which includes it
		}
		if text := operationInShort(op); text != "" && !seen[text] {
			seen[text] = true
			parts = append(parts, text)
		}
	}
	for _, c := range []struct{ verb, noun string }{{"removes", "path"}, {"writes", "file"}, {"loads", "image"}, {"uploads", "artifact"}} {
		switch n := count[c.noun]; {
		case n == 1 && c.noun == "path":
			parts = append(parts, c.verb+" "+removed)
		case n > 0:
			parts = append(parts, c.verb+" "+ui.Plural(n, c.noun))
		}
	}
	return strings.Join(parts, ", ")
}

// countedNoun returns the noun of operations that a summary only counts.
func countedNoun(op planner.Operation) string {
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

// operationInShort returns an operation in a few words; empty for one that a summary leaves out.
func operationInShort(op planner.Operation) string {
	switch o := op.(type) {
	case planner.Unit:
		return map[string]string{
			"start": "starts ", "stop": "stops ", "restart": "restarts ", "enable": "enables ", "disable": "disables ",
		}[o.Action] + strings.TrimSuffix(ui.Clean(o.Unit), ".service")
	case planner.RemovePods:
		return "removes all containers"
	case planner.RemoveNetwork:
		return "removes links and firewall rules of Kubernetes"
	case planner.RemoveEtcdMember:
		return "takes it out of etcd"
	case planner.DeleteObject:
		return "deletes " + ui.Clean(o.Ref.Kind+" "+o.Ref.Name)
	case planner.CreateToken:
		if o.ID != "" {
			return "makes bootstrap token " + ui.Clean(o.ID)
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
	case planner.SystemUser:
		if o.Remove {
			return "removes the user " + ui.Clean(o.Name)
		}
		return ""
	case planner.Swap, planner.SetSysctl, planner.LoadModule:
		return "puts kernel settings back"
	case planner.Unmount, planner.Wait, planner.EnsureDirectory, planner.Mark:
		return ""
	}
	return ui.Clean(op.Summary())
}

// GateCondition returns in words the condition that a gate requires right before a step.
func GateCondition(gate string) string {
	switch gate {
	case planner.QuorumGate:
		return "etcd keeps its quorum"
	case planner.DowntimeGate:
		return "both members of etcd are there, so that it only pauses"
	case planner.APIGate:
		return "another API server serves"
	case planner.WorkersGate:
		return "no more workers are down than may be"
	case planner.GoneGate:
		return "neither its kubelet nor its etcd is heard of"
	case planner.SilenceGate:
		return "no quorum of etcd answers"
	}
	return ui.Clean(gate) + " holds"
}
