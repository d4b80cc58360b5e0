package phases

import (
	"fmt"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

const root = "root:root"

// fileItem is a desired file. Its attributes come from parsing the content in
// the same way as an observed one's.
func fileItem(t state.Target, phase string, kind state.Kind, path, mode string, content []byte) state.Item {
	attrs, err := fileAttributes(kind, content, mode, root)
	if err != nil {
		panic(fmt.Sprintf("internal error: %s renders what it cannot parse: %v", path, err))
	}
	return state.Item{Address: item(t, phase, "file", path), Kind: kind, Attributes: attrs, Content: content}
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
