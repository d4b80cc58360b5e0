package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/kubewright/kubewright/state"
)

// FileExpectation returns the key of Step.Expect for a file on the step's own node.
// Its value is ExpectedFile of the file's digest.
func FileExpectation(path string) string { return "file:" + path }

// ExpectedFile returns the value of Step.Expect for a file with the hex SHA-256.
func ExpectedFile(sha256 string) string { return digestPrefix + sha256 }

// ObjectExpectation returns the key of Step.Expect for an API object.
func ObjectExpectation(ref state.ObjectRef) string { return "object:" + ref.String() }

// NodeRef returns the reference to a Node object.
func NodeRef(name string) state.ObjectRef {
	return state.ObjectRef{APIVersion: "v1", Kind: "Node", Name: name}
}

const digestPrefix = "sha256:"

// Overwrites lists the files on the step's own node that an operation replaces or removes when they
// exist. It does not list files that the operation keeps.
func Overwrites(op Operation) []string {
	switch op := op.(type) {
	case WriteFile:
		return []string{op.Path}
	case RemovePath:
		return []string{op.Path}
	case UploadArtifact:
		var out []string
		for _, f := range op.Files {
			out = append(out, f.Path)
		}
		return out
	case RenderEtcdManifest:
		return []string{op.Path}
	case SetKubeconfig:
		return []string{op.Path}
	case WriteKubeconfig:
		if op.Renew {
			return []string{op.Path}
		}
	case IssueCA:
		if op.Renew {
			return []string{op.To + ".crt"}
		}
	case IssueCertificate:
		if op.Renew {
			return []string{op.To + ".crt"}
		}
	case CopySecrets:
		var out []string
		for _, f := range op.Files {
			out = append(out, f.Path)
		}
		return out
	case BundleTrust:
		return []string{op.To}
	case WriteEncryption:
		return []string{op.Path}
	case ImportSecrets:
		var out []string
		for _, f := range op.Files {
			out = append(out, f.Path)
		}
		return out
	}
	return nil
}

// ApplyDigest returns the digest of the values that an existing object has at the leaves that
// applying wanted would set. Changes to other fields do not affect it.
func ApplyDigest(wanted, observed state.Value) string {
	leaves := map[string]state.Value{}
	for _, path := range wanted.Leaves() {
		leaves[path] = observed.Get(path)
	}
	return digestOf(leaves)
}

// PatchDigest returns the digest of the labels, annotations and taints of a node
// that a patch would set or remove.
func PatchDigest(op PatchNode, observed state.NodeReport) string {
	leaves := map[string]any{}
	note := func(of string, values map[string]string, set map[string]string, removed []string) {
		for key := range set {
			leaves[of+key] = valueOf(values, key)
		}
		for _, key := range removed {
			leaves[of+key] = valueOf(values, key)
		}
	}
	note("label ", observed.Labels, op.Labels, op.RemoveLabels)
	note("annotation ", observed.Annotations, op.Annotations, op.RemoveAnnotations)
	taints := map[string]string{}
	for _, t := range observed.Taints {
		taints[t.Key+":"+t.Effect] = t.Value
	}
	for _, list := range [][]state.Taint{op.Taints, op.RemoveTaints} {
		for _, t := range list {
			leaves["taint "+t.Key+":"+t.Effect] = valueOf(taints, t.Key+":"+t.Effect)
		}
	}
	return digestOf(leaves)
}

// valueOf distinguishes an empty value from a missing one.
func valueOf(values map[string]string, key string) any {
	if v, ok := values[key]; ok {
		return v
	}
	return nil
}

func digestOf(leaves any) string {
	b, err := json.Marshal(leaves) // keys come out sorted
	if err != nil {
		panic("internal error: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return digestPrefix + hex.EncodeToString(sum[:])
}
