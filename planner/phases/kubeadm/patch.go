package kubeadm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
)

// patches are the cluster's patches of a target, then the node's, each in the
// order of the configuration. (kubeadm orders a folder's files by name.)
func (v view) patches(target string) []config.Patch {
	return patchesOf(target, v.Patches, v.node.Patches)
}

// Patches are those of a target, in the order in which they are applied.
func Patches(in Input, target string) []config.Patch {
	return patchesOf(target, in.Cluster.Patches, in.Node.Patches)
}

func patchesOf(target string, lists ...[]config.Patch) []config.Patch {
	var out []config.Patch
	for _, p := range slices.Concat(lists...) {
		if p.Target == target {
			out = append(out, p)
		}
	}
	return out
}

// applyPatches patches a YAML document and returns JSON. Each patch may hold
// several documents; an empty type is strategic. dataStruct is the object's Go
// type, whose tags say how lists merge.
func applyPatches(document []byte, patches []config.Patch, dataStruct any) ([]byte, error) {
	data, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, fmt.Errorf("internal error: cannot convert to JSON: %w", err)
	}
	for _, p := range patches {
		docs, err := patchDocuments(p.Content)
		if err != nil {
			return nil, fmt.Errorf("cannot read the patch of %s%s: %w", p.Target, where(p), err)
		}
		for _, doc := range docs {
			if data, err = applyPatch(data, doc, p.Type, dataStruct); err != nil {
				return nil, fmt.Errorf("cannot apply the %s patch of %s%s: %w", firstOf(p.Type, "strategic"), p.Target, where(p), err)
			}
		}
	}
	return data, nil
}

func where(p config.Patch) string {
	if s := p.Source.String(); s != "" {
		return " (" + s + ")"
	}
	return ""
}

func applyPatch(data, patch []byte, kind string, dataStruct any) ([]byte, error) {
	switch kind {
	case "json":
		p, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, err
		}
		return p.Apply(data)
	case "merge":
		return jsonpatch.MergePatch(data, patch)
	case "strategic", "":
		return strategicpatch.StrategicMergePatch(data, patch, dataStruct)
	}
	return nil, fmt.Errorf("unknown type %q, must be json, merge or strategic", kind)
}

// patchDocuments splits YAML or JSON into documents, each as JSON.
func patchDocuments(content string) ([][]byte, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(content)))
	var docs [][]byte
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		if doc = bytes.TrimSpace(doc); len(doc) == 0 {
			continue
		}
		if doc, err = yaml.YAMLToJSON(doc); err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
}
