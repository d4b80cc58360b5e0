package kubeadm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/cache"
)

// patches returns the cluster's patches of a target, then the node's, each in configuration order.
// (kubeadm sorts the files of a folder by name.)
func (s *settings) patches(target string) []config.Patch {
	return patchesOf(target, s.Patches, s.node.Patches)
}

// Patches returns the patches of a target, in the order in which they are applied.
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

// PatchError is an error in a patch, with the location of the patch.
type PatchError struct {
	Source state.Source
	Err    error
}

func (e *PatchError) Error() string { return e.Err.Error() }

// Unwrap returns the error without its location.
func (e *PatchError) Unwrap() error { return e.Err }

// applyPatches patches an object in JSON. Each patch may hold several documents; an empty type
// means strategic. kind is the object's Go type, whose tags say how lists merge.
func applyPatches(object []byte, patches []config.Patch, kind reflect.Type) ([]byte, error) {
	data := string(object)
	for _, p := range patches {
		out := patchedObjects.Of(patching{data, p, kind})
		if out.err != nil {
			return nil, &PatchError{p.Source, out.err}
		}
		data = out.data
	}
	return []byte(data), nil
}

// readPatched applies patches and decodes the result. A decoding error is attributed to the first
// patch after which decoding fails.
func readPatched[T any](object []byte, patches []config.Patch, name string, read func([]byte, *T) error) (patched []byte, result T, err error) {
	kind := reflect.TypeFor[T]()
	if patched, err = applyPatches(object, patches, kind); err != nil {
		return nil, result, err
	}
	if err = read(patched, &result); err == nil || len(patches) == 0 {
		return patched, result, err
	}
	for i, p := range patches {
		var scratch T
		if part, failed := applyPatches(object, patches[:i+1], kind); failed == nil && read(part, &scratch) != nil {
			return nil, result, &PatchError{p.Source, fmt.Errorf("cannot read the patched %s: %w", name, err)}
		}
	}
	return nil, result, err
}

// patching is an object in JSON and a patch for it.
type patching struct {
	data  string
	patch config.Patch
	kind  reflect.Type
}

// patchedObject is the result of a patch, or the error of applying it.
type patchedObject struct {
	data string
	err  error
}

var patchedObjects = cache.New(func(in patching) patchedObject {
	p, data := in.patch, []byte(in.data)
	docs, err := patchDocuments(p.Content)
	if err != nil {
		return patchedObject{err: fmt.Errorf("cannot read the patch of %s%s: %w", p.Target, where(p), err)}
	}
	for _, doc := range docs {
		if data, err = applyPatch(data, doc, p.Type, reflect.Zero(in.kind).Interface()); err != nil {
			return patchedObject{err: fmt.Errorf("cannot apply the %s patch of %s%s: %w", firstOf(p.Type, "strategic"), p.Target, where(p), err)}
		}
	}
	return patchedObject{data: string(data)}
})

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
