package host

import (
	"fmt"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// FileItem returns a desired file. Its attributes are parsed from the content in the same way as
// those of an observed file. Nothing is rendered where only paths are wanted.
func FileItem(n *topology.Node, phase string, kind state.Kind, path, mode string, render func(*topology.Node) []byte) state.Item {
	it := state.Item{Address: topology.ItemAddress(n.Target, phase, "file", path), Kind: kind}
	if !topology.Observed(n.Cluster.Fleet) {
		return it
	}
	it.Content = render(n)
	var err error
	if it.Attributes, err = provenance.FileAttributes(n.Cluster.Fleet, kind, it.Content, mode, topology.Root); err != nil {
		panic(fmt.Sprintf("internal error: %s renders what it cannot parse: %v", path, err))
	}
	return it
}

// FileOperations writes the files among the changes and removes those that are no longer desired. A
// file that only has to be read again stays.
func FileOperations(w topology.PhaseWork) []planner.Operation {
	var ops []planner.Operation
	for _, c := range w.Changes {
		switch c.Kind {
		case state.KindFile, state.KindYAMLFile, state.KindEnvFile, state.KindStaticPod:
		default:
			continue
		}
		if c.OnlyRereads() {
			continue
		}
		if it := w.Find(c); it != nil {
			ops = append(ops, WriteFile(it))
		} else if c.Action == planner.Delete {
			ops = append(ops, planner.RemovePath{Path: c.Address.ID()})
		}
	}
	return ops
}

func WriteFile(it *state.Item) planner.WriteFile {
	content, digest := sensitive.Inlined(it, it.Content)
	return planner.WriteFile{
		Path: it.Address.ID(), Mode: it.Attributes.Get("mode").AsString(), Owner: it.Attributes.Get("owner").AsString(),
		Content: content, SHA256: digest, StaticPod: it.Kind == state.KindStaticPod,
	}
}
