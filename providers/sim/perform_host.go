package sim

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// equalMarks compares all but the token, which the host counts itself.
func equalMarks(a, b state.Marks) bool {
	a.Token, b.Token = 0, 0
	return reflect.DeepEqual(a, b)
}

func (w *World) uploadArtifact(m *machine, op planner.UploadArtifact, batch providers.Batch) (bool, error) {
	p := clean(op.Path)
	if m.Conditions.DiskFull {
		return false, m.commandError("upload "+op.Path, 1, "write error: No space left on device")
	}
	content := batch.Contents["artifact:"+op.Artifact].Reveal()
	digest := op.SHA256
	if digest == "" {
		digest = sum(append([]byte(op.Artifact), content...))
	}
	if op.Unpack {
		if m.Unpacked[p] == digest {
			return false, nil
		}
		if err := w.unpack(m, p, op.Artifact, content); err != nil {
			return false, m.commandError("unpack "+op.Artifact, 2, err.Error())
		}
		setText(&m.Unpacked, p, digest, "")
		w.advance(timeUpload)
		return true, nil
	}
	size := int64(len(content))
	f := file{SHA256: digest, Size: size}
	changed, err := w.write(m, op.Path, f.withMode(op.Mode, ""))
	if changed {
		setText(&m.Versions, p, versionInName.FindString(op.Artifact), "")
		w.advance(timeUpload)
	}
	return changed, err
}

// unpack makes the files of an archive; of one whose bytes are not at hand,
// those that an archive of that name usually has.
func (w *World) unpack(m *machine, dir, name string, content []byte) error {
	if w.get(m, dir) == nil {
		w.put(m, dir, &file{Type: typeDirectory})
	}
	version := versionInName.FindString(name)
	if len(content) == 0 {
		for _, program := range usualFiles(name) {
			p := dir + "/" + program
			w.put(m, p, w.opaque(name+" "+program, "0755"))
			setText(&m.Versions, p, version, "")
		}
		return nil
	}
	var r io.Reader = bytes.NewReader(content)
	if bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return err
		}
		r = z
	}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case header.Typeflag != tar.TypeReg:
			continue
		}
		body, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		p := clean(dir + "/" + header.Name)
		f := file{SHA256: sum(body), Size: header.Size}
		w.put(m, p, f.withMode(fmt.Sprintf("%04o", header.Mode&0o7777), ""))
		setText(&m.Versions, p, version, "")
	}
}

func usualFiles(name string) []string {
	base := path.Base(name)
	switch {
	case strings.Contains(base, "cni"):
		return []string{"bandwidth", "bridge", "firewall", "host-local", "loopback", "portmap", "ptp", "tuning"}
	case strings.HasPrefix(base, "containerd"):
		return []string{"bin/containerd", "bin/containerd-shim-runc-v2", "bin/ctr"}
	case strings.HasPrefix(base, "crictl"):
		return []string{"crictl"}
	case strings.HasPrefix(base, "kubernetes-node"):
		return []string{"kubernetes/node/bin/kubelet", "kubernetes/node/bin/kubeadm", "kubernetes/node/bin/kubectl"}
	}
	return nil
}

func (w *World) removePods(m *machine) (bool, error) {
	if !w.active(m, "containerd") || len(m.Pods) == 0 && len(m.Daemons) == 0 {
		return false, nil // without a runtime there is no socket, and so there are none
	}
	m.Pods, m.Daemons = nil, nil
	delete(w.planes, m.address)
	m.Links = slices.DeleteFunc(m.Links, func(l string) bool { return strings.HasPrefix(l, "veth") })
	w.advance(timePods)
	return true, nil
}

func (w *World) unmount(m *machine, dir string) bool {
	n := len(m.Mounts)
	m.Mounts = slices.DeleteFunc(m.Mounts, func(p string) bool { return p == dir || below(p, dir) })
	return len(m.Mounts) != n
}

func (w *World) removeNetwork(m *machine, patterns []string) bool {
	changed := len(m.Rules) > 0
	m.Rules = nil
	n := len(m.Links)
	m.Links = slices.DeleteFunc(m.Links, func(link string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, link) })
	})
	return changed || len(m.Links) != n
}
