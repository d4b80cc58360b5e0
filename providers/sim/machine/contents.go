package machine

import (
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/cache"
)

// config is a configuration in YAML, or the error that it has.
type config struct {
	Tree state.Value
	Err  error
}

// Config returns the configuration in a file, parsed once per content.
func (fl *Fleet) Config(digest string) config {
	s, known := fl.configs[digest]
	if !known {
		s = allConfigs.Of(string(fl.Blobs[digest]))
		fl.configs[digest] = s
	}
	return s
}

var allConfigs = cache.New(func(content string) config {
	tree, err := file.ParseYAML([]byte(content))
	if err != nil {
		return config{Err: err}
	}
	return config{Tree: state.FromGo(tree)}
})

// NewFile returns a file with content, which the fleet keeps.
func (fl *Fleet) NewFile(content []byte, mode, owner string) *file.File {
	if r := file.Decode(content); r != nil {
		return file.OfRecord(r, mode, owner)
	}
	f := file.File{SHA256: file.Digest(content), Size: int64(len(content))}
	if len(content) > 0 && len(content) <= file.MaxKept {
		fl.Blobs[f.SHA256] = file.Blob(content)
	}
	return f.WithAccess(mode, owner)
}

// Content returns the bytes of a file; an opaque one has none.
func (fl *Fleet) Content(f *file.File) []byte {
	switch {
	case f == nil:
		return nil
	case f.Record != nil:
		return f.Record.Encode()
	}
	return []byte(fl.Blobs[f.SHA256])
}

// Text returns a file's content as a reader on the host sees it.
func (fl *Fleet) Text(f *file.File) []byte {
	if f.Record != nil && f.Record.PEM != "" {
		return []byte(f.Record.PEM)
	}
	return fl.Content(f)
}

// PodHash returns the hash by which a kubelet of the version identifies a static pod.
func (fl *Fleet) PodHash(running *StaticPod, name, node, kubelet string) string {
	path := running.Path
	if path == "" {
		path = staticpod.ManifestPath(name)
	}
	key := [4]string{running.Manifest, path, node, kubelet}
	if h, known := fl.hashes[key]; known {
		return h
	}
	h := ""
	if f := fl.HashPod; f != nil {
		h = f([]byte(fl.Blobs[running.Manifest]), path, node, kubelet)
	}
	if h == "" {
		h = fl.Manifest(running.Manifest).Hash
	}
	fl.hashes[key] = h
	return h
}

// Manifest returns the manifest in a file, parsed once per content.
func (fl *Fleet) Manifest(digest string) *staticpod.Manifest {
	if p := fl.manifests[digest]; p != nil {
		return p
	}
	p := manifests.Of(string(fl.Blobs[digest]))
	fl.manifests[digest] = p
	return p
}

var manifests = cache.New(staticpod.Parse)
