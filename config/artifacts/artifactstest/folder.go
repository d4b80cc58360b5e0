// Package artifactstest makes small folders of artifacts for tests: real archives under the
// names of releases, with programs of a few bytes in them.
package artifactstest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is a folder of artifacts in the making: contents by path.
type Folder map[string][]byte

// New returns everything that a node of the architecture needs, and an archive for each of the
// images. Programs of Kubernetes contain the version, as the linker writes it.
func New(arch, kubernetes string, images ...string) Folder {
	f := Folder{
		"containerd-2.1.4-linux-" + arch + ".tar.gz": Archive(map[string][]byte{
			"bin/containerd": Program(arch, "containerd 2.1.4"), "bin/ctr": Program(arch, "ctr 2.1.4"),
			"bin/containerd-shim-runc-v2": Program(arch, "shim 2.1.4"),
		}),
		"runc." + arch: Program(arch, "runc 1.3.0"),
		"cni-plugins-linux-" + arch + "-v1.7.1.tgz": Archive(map[string][]byte{
			"./LICENSE": []byte("Apache License"), "./README.md": []byte("plugins"),
			"./bridge": Program(arch, "bridge"), "./host-local": Program(arch, "host-local"), "./loopback": Program(arch, "loopback"),
		}),
		"crictl-v1.36.0-linux-" + arch + ".tar.gz": Archive(map[string][]byte{"crictl": Program(arch, "crictl")}),
	}
	for _, name := range []string{"kubelet", "kubeadm", "kubectl"} {
		f[arch+"/"+name] = Program(arch, name+": Kubernetes v"+kubernetes+"\x00")
	}
	for _, i := range images {
		f[arch+"/images/"+strings.NewReplacer("/", "_", ":", "_").Replace(i)+".tar"] = Image(arch, i)
	}
	return f
}

// elfNumbers are e_machine of elf(5).
var elfNumbers = map[string]uint16{"amd64": 62, "arm64": 183, "ppc64le": 21, "s390x": 22}

// Program returns the head of a program, with its architecture, followed by a text.
func Program(arch, text string) []byte {
	head := make([]byte, 64)
	copy(head, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(head[18:], elfNumbers[arch])
	if arch == "s390x" {
		head[5] = 2
		binary.BigEndian.PutUint16(head[18:], elfNumbers[arch])
	}
	return append(head, text...)
}

// Archive returns a tar.gz of files with mode 0755.
func Archive(files map[string][]byte) []byte { return archive(files, gzip.DefaultCompression) }

// LargeArchive returns an Archive of tens of megabytes, which is made in a third of the time.
func LargeArchive(files map[string][]byte) []byte { return archive(files, gzip.BestSpeed) }

func archive(files map[string][]byte, level int) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, level) // the level is valid
	writeTar(z, files)
	_ = z.Close()
	return out.Bytes()
}

func tarOf(files map[string][]byte) []byte {
	var out bytes.Buffer
	writeTar(&out, files)
	return out.Bytes()
}

func writeTar(to io.Writer, files map[string][]byte) {
	w := tar.NewWriter(to)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(files[name])), Typeflag: tar.TypeReg})
		_, _ = w.Write(files[name])
	}
	_ = w.Close()
}

// Image returns an image as docker save writes it, with these names.
func Image(arch string, names ...string) []byte {
	config, _ := json.Marshal(map[string]any{"architecture": arch, "os": "linux", "names": names})
	manifest, _ := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": names, "Layers": []string{"layer.tar"}}})
	return tarOf(map[string][]byte{"config.json": config, "layer.tar": tarOf(nil), "manifest.json": manifest})
}

// Write puts the folder into dir, with SHA256SUMS.
func (f Folder) Write(dir string) error {
	for name, content := range f {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
	}
	return Sum(dir)
}

// Sum writes the SHA256SUMS of everything in dir.
func Sum(dir string) error {
	var lines []string
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "SHA256SUMS" {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		sum := sha256.Sum256(content)
		lines = append(lines, fmt.Sprintf("%s  ./%s\n", hex.EncodeToString(sum[:]), filepath.ToSlash(rel)))
		return err
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(strings.Join(lines, "")), 0o600)
}
