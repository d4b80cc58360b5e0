package phases

import (
	"fmt"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

const root = "root:root"

// fileItem is a desired file. Its attributes come from parsing the content in
// the same way as an observed one's. Where only paths are wanted nothing is rendered.
func (n *node) fileItem(phase string, kind state.Kind, path, mode string, render func(*node) []byte) state.Item {
	it := state.Item{Address: item(n.target, phase, "file", path), Kind: kind}
	if n.cluster.view.pathsOnly {
		return it
	}
	it.Content = render(n)
	var err error
	if it.Attributes, err = n.cluster.view.fileAttributes(kind, it.Content, mode, root); err != nil {
		panic(fmt.Sprintf("internal error: %s renders what it cannot parse: %v", path, err))
	}
	return it
}

// fileOperations writes the files among the changes and removes those that are to go.
func fileOperations(w work) []planner.Operation {
	var ops []planner.Operation
	for _, c := range w.changes {
		switch c.Kind {
		case state.KindFile, state.KindYAMLFile, state.KindEnvFile, state.KindStaticPod:
		default:
			continue
		}
		if c.Kind == state.KindStaticPod && !rewrites(c) {
			continue
		}
		if it := w.find(c); it != nil {
			ops = append(ops, writeFile(it))
		} else if c.Action == planner.Delete {
			ops = append(ops, planner.RemovePath{Path: c.Address.ID()})
		}
	}
	return ops
}

func writeFile(it *state.Item) planner.WriteFile {
	content, digest := inlined(it, it.Content)
	return planner.WriteFile{
		Path: it.Address.ID(), Mode: it.Attributes.Get("mode").AsString(), Owner: it.Attributes.Get("owner").AsString(),
		Content: content, SHA256: digest,
	}
}

func folder(path, mode string) planner.EnsureDirectory {
	return planner.EnsureDirectory{Path: path, Mode: mode, Owner: root}
}
