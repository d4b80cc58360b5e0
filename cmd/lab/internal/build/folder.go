package build

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
)

// cniVersion is the version of Debian's package of the CNI plugins.
const cniVersion = "v1.1.1"

// siteSettings are the lab's additions to containerd's configuration. Without CAP_SYS_RESOURCE a
// process cannot set an OOM score below its own, and runc fails.
const siteSettings = `version = 3

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
`

// WriteFolder writes a folder of artifacts for kubewright's install block: the same programs and
// images under the names of their projects' releases.
func (a Artifacts) WriteFolder(dir string) error {
	if disk.Exists(dir) {
		return fmt.Errorf("cannot write artifacts to %s: it is there already", dir)
	}
	if err := writeFiles(dir, map[string]string{"containerd/lab.toml": siteSettings}); err != nil {
		return err
	}
	// Copies instead of hard links, because the folder's user may change them.
	copied := func(string) bool { return true }
	for from, to := range map[string]string{
		a.Program("kubelet"): "kubelet", a.Program("kubeadm"): "kubeadm", a.Program("kubectl"): "kubectl",
		a.Program("runc"): "runc." + runtime.GOARCH, filepath.Join(a.Dir, "images"): "images",
	} {
		if err := disk.LinkTree(from, filepath.Join(dir, to), copied); err != nil {
			return err
		}
	}
	platform := "linux-" + runtime.GOARCH
	for name, members := range map[string]map[string]string{
		"containerd-" + strings.TrimPrefix(containerdVersion, "v") + "-" + platform + ".tar.gz": {
			"bin/containerd": a.Program("containerd"), "bin/containerd-shim-runc-v2": a.Program("containerd-shim-runc-v2"), "bin/ctr": a.Program("ctr"),
		},
		"cni-plugins-" + platform + "-" + cniVersion + ".tgz":  a.plugins(),
		"crictl-" + crictlVersion + "-" + platform + ".tar.gz": {"crictl": a.Program("crictl")},
	} {
		if err := writeArchive(filepath.Join(dir, name), members); err != nil {
			return fmt.Errorf("cannot write %s: %w", name, err)
		}
	}
	return writeSums(dir)
}

// plugins returns the CNI plugins by their names in an archive.
func (a Artifacts) plugins() map[string]string {
	out := map[string]string{}
	found, _ := filepath.Glob(filepath.Join(a.Dir, "cni", "*"))
	for _, file := range found {
		out["./"+filepath.Base(file)] = file
	}
	return out
}

// writeArchive writes files into a new tar.gz, by their names there.
func writeArchive(name string, members map[string]string) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(z)
	for member, file := range members {
		if err := addFile(archive, member, file, 0); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), z.Close())
}
