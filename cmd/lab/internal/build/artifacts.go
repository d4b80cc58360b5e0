package build

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
)

//go:embed files/units files/containerd.toml
var hostFiles embed.FS

// Artifacts is a folder with everything that prepares a bare host for Kubernetes, as an operator
// keeps it for machines without network:
//
//	bin/          kubeadm kubelet kubectl crictl containerd ctr containerd-shim-runc-v2 runc
//	cni/          the CNI plugins
//	units/        containerd.service, kubelet.service, kubelet.service.d/10-kubeadm.conf
//	etc/          containerd/config.toml, crictl.yaml
//	images/       image archives, named as the image with / and : as _
//	SHA256SUMS    as sha256sum writes and checks it
type Artifacts struct {
	Dir     string
	Release Release
}

// Program returns the path of a program in the folder.
func (a Artifacts) Program(name string) string { return filepath.Join(a.Dir, "bin", name) }

// Kubeadm returns the path of kubeadm.
func (a Artifacts) Kubeadm() string { return a.Program("kubeadm") }

// Kubectl returns the path of kubectl.
func (a Artifacts) Kubectl() string { return a.Program("kubectl") }

// Images returns the paths of the image archives.
func (a Artifacts) Images() []string {
	var files []string
	for _, ref := range a.Release.Images() {
		files = append(files, filepath.Join(a.Dir, "images", imageFile(ref)))
	}
	return files
}

// artifactPrograms returns the programs of a host in bin.
func artifactPrograms() []string {
	return []string{"kubeadm", "kubelet", "kubectl", "crictl", "containerd", "ctr", "containerd-shim-runc-v2"}
}

// Artifacts returns the artifacts of a release, and builds missing ones. The files are hard links
// into the cache, so the folder takes no space.
func (c *Cache) Artifacts(ctx context.Context, r Release) (Artifacts, error) {
	var all map[string]string
	parts, building := errgroup.WithContext(ctx)
	parts.Go(func() (err error) { // including those of the images, which share packages with them
		all, err = c.Programs(building, r)
		return err
	})
	parts.Go(func() error { // bound by the network, while the programs are bound by the cores
		_, err := c.Rootfs(building)
		return err
	})
	if err := parts.Wait(); err != nil {
		return Artifacts{}, err
	}
	programs := map[string]string{}
	for _, name := range artifactPrograms() {
		programs[name] = all[name]
	}
	images, err := c.Images(ctx, r)
	if err != nil {
		return Artifacts{}, err
	}
	root, err := c.Rootfs(ctx)
	if err != nil {
		return Artifacts{}, err
	}
	configs, err := r.hostConfigs()
	if err != nil {
		return Artifacts{}, err
	}
	key := fmt.Sprintf("artifacts/%s-%s", r.Kubernetes, fingerprint(images, root.Runtime, fmt.Sprint(programs), fmt.Sprint(configs)))
	dir, err := c.artefact(ctx, key, func(_ context.Context, dir string) error {
		for name, file := range programs {
			if err := disk.LinkFile(file, filepath.Join(dir, "bin", name)); err != nil {
				return err
			}
		}
		if err := disk.LinkFile(filepath.Join(root.Runtime, "usr/sbin/runc"), filepath.Join(dir, "bin/runc")); err != nil {
			return err
		}
		if err := disk.LinkTree(filepath.Join(root.Runtime, "usr/lib/cni"), filepath.Join(dir, "cni"), nil); err != nil {
			return err
		}
		if err := disk.LinkTree(images, filepath.Join(dir, "images"), nil); err != nil {
			return err
		}
		if err := writeFiles(dir, configs); err != nil {
			return err
		}
		return writeSums(dir)
	})
	return Artifacts{Dir: dir, Release: r}, err
}

// hostConfigs returns the units and configuration of a prepared host, by path
// in the artifacts.
func (r Release) hostConfigs() (map[string]string, error) {
	configs := map[string]string{"etc/crictl.yaml": "runtime-endpoint: unix:///run/containerd/containerd.sock\n"}
	toml, err := hostFiles.ReadFile("files/containerd.toml")
	if err != nil {
		return nil, err
	}
	configs["etc/containerd/config.toml"] = strings.ReplaceAll(string(toml), "@PAUSE@", r.pauseImage())
	err = fs.WalkDir(hostFiles, "files/units", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := hostFiles.ReadFile(name)
		configs[strings.TrimPrefix(name, "files/")] = string(text)
		return err
	})
	return configs, err
}

func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeSums writes SHA256SUMS of all files below a folder.
func writeSums(dir string) error {
	var lines []string
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		sum, err := disk.Digest(name)
		rel, _ := filepath.Rel(dir, name)
		lines = append(lines, sum+"  "+rel+"\n")
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644)
}
