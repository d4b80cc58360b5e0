package build

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// A deb is a Debian package to build: files by path, from this machine or as text.
type deb struct {
	version, depends string
	files            map[string]string
	texts            map[string]string
	// unit is enabled by the package, and started if starts is set.
	unit   string
	starts bool
}

// debs returns packages with the names, files and dependencies of those on pkgs.k8s.io
// (kubernetes/release, cmd/krel/templates/latest), and of distributions' containerd and runc.
// containerd is packaged as by Docker, with its CRI plugin disabled.
func (a Artifacts) debs() map[string]deb {
	units := func(name string) string { return filepath.Join(a.Dir, "units", name) }
	kubernetes := strings.TrimPrefix(a.Release.Kubernetes, "v")
	keep := map[string]string{"var/lib/kubelet/.kubelet-keep": "", "etc/kubernetes/manifests/.kubelet-keep": "", "etc/default/kubelet": "KUBELET_EXTRA_ARGS=\n"}
	service, _ := os.ReadFile(units("containerd.service"))
	cni := map[string]string{}
	for name, file := range a.plugins() {
		cni["opt/cni/bin/"+filepath.Base(name)] = file
	}
	return map[string]deb{
		"kubelet": {
			version: kubernetes, depends: "kubernetes-cni, mount, util-linux", unit: "kubelet.service", texts: keep,
			files: map[string]string{"usr/bin/kubelet": a.Program("kubelet"), "usr/lib/systemd/system/kubelet.service": units("kubelet.service")},
		},
		"kubeadm": {
			version: kubernetes, depends: "cri-tools",
			files: map[string]string{"usr/bin/kubeadm": a.Program("kubeadm"), "usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf": units("kubelet.service.d/10-kubeadm.conf")},
		},
		"kubectl":        {version: kubernetes, files: map[string]string{"usr/bin/kubectl": a.Program("kubectl")}},
		"kubernetes-cni": {version: strings.TrimPrefix(cniVersion, "v"), files: cni},
		"cri-tools":      {version: strings.TrimPrefix(crictlVersion, "v"), files: map[string]string{"usr/bin/crictl": a.Program("crictl")}},
		"runc":           {version: "1.1.5", files: map[string]string{"usr/sbin/runc": a.Program("runc")}},
		"containerd": {
			version: strings.TrimPrefix(containerdVersion, "v"), depends: "runc", unit: "containerd.service", starts: true,
			files: map[string]string{
				"usr/bin/containerd": a.Program("containerd"), "usr/bin/ctr": a.Program("ctr"), "usr/bin/containerd-shim-runc-v2": a.Program("containerd-shim-runc-v2"),
			},
			texts: map[string]string{
				"usr/lib/systemd/system/containerd.service": strings.ReplaceAll(string(service), "/usr/local/bin", "/usr/bin"),
				"etc/containerd/config.toml":                "disabled_plugins = [\"cri\"]\n",
			},
		},
	}
}

// WriteRepository writes an apt repository with the layout of pkgs.k8s.io, one per minor version:
// DIR/vMINOR/deb/ for each of the releases, all signed by one key. The public key is DIR/key.asc.
func WriteRepository(ctx context.Context, dir string, releases ...Artifacts) error {
	var files []string
	for _, a := range releases {
		file, err := a.writeRelease(ctx, dir)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	return sign(ctx, filepath.Join(dir, "key.asc"), files...)
}

// writeRelease writes the repository of one release, and returns its file to sign.
func (a Artifacts) writeRelease(ctx context.Context, dir string) (string, error) {
	minor := strings.Join(strings.SplitN(a.Release.Kubernetes, ".", 3)[:2], ".")
	repository := filepath.Join(dir, minor, "deb")
	var index bytes.Buffer
	debs := a.debs()
	for _, name := range slices.Sorted(maps.Keys(debs)) {
		if err := debs[name].write(ctx, name, repository, &index); err != nil {
			return "", fmt.Errorf("cannot make package %s: %w", name, err)
		}
	}
	if err := writeFiles(repository, map[string]string{"Packages": index.String()}); err != nil {
		return "", err
	}
	sum, err := disk.Digest(filepath.Join(repository, "Packages"))
	if err != nil {
		return "", err
	}
	release := fmt.Sprintf("Origin: lab\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n %s %d Packages\n", sum, index.Len())
	return filepath.Join(repository, "Release"), writeFiles(repository, map[string]string{"Release": release})
}

// write builds the package in a folder and adds it to the index.
func (d deb) write(ctx context.Context, name, folder string, index *bytes.Buffer) error {
	tree, err := os.MkdirTemp("", "deb-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	if err := os.Chmod(tree, 0o755); err != nil {
		return err
	}
	for to, from := range d.files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(tree, to)), 0o755); err != nil {
			return err
		}
		if err := disk.LinkTree(from, filepath.Join(tree, to), func(string) bool { return true }); err != nil {
			return err
		}
	}
	control := fmt.Sprintf("Package: %s\nVersion: %s-1.1\nArchitecture: %s\nMaintainer: Lab <lab@example.com>\nDescription: %s\n", name, d.version, runtime.GOARCH, name)
	if d.depends != "" {
		control += "Depends: " + d.depends + "\n"
	}
	texts := map[string]string{"DEBIAN/control": control}
	maps.Copy(texts, d.texts)
	maps.Copy(texts, d.scripts())
	if err := writeFiles(tree, texts); err != nil {
		return err
	}
	for script := range d.scripts() {
		if err := os.Chmod(filepath.Join(tree, script), 0o755); err != nil {
			return err
		}
	}
	file := filepath.Join(folder, name+"_"+d.version+"-1.1_"+runtime.GOARCH+".deb")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := process.Run(ctx, "dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, file); err != nil {
		return err
	}
	sum, err := disk.Digest(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err == nil {
		fmt.Fprintf(index, "%sFilename: ./%s\nSize: %d\nSHA256: %s\n\n", control, filepath.Base(file), info.Size(), sum)
	}
	return err
}

// scripts returns the maintainer scripts and conffiles of the package, as debhelper would
// generate them.
func (d deb) scripts() map[string]string {
	out := map[string]string{}
	var conffiles []string
	for name := range d.texts {
		if strings.HasPrefix(name, "etc/") && !strings.HasSuffix(name, "-keep") {
			conffiles = append(conffiles, "/"+name+"\n")
		}
	}
	if len(conffiles) > 0 {
		slices.Sort(conffiles)
		out["DEBIAN/conffiles"] = strings.Join(conffiles, "")
	}
	if d.unit == "" {
		return out
	}
	post := "#!/bin/sh\nset -e\nsystemctl daemon-reload\nsystemctl enable " + d.unit + "\n"
	if d.starts {
		post += "systemctl restart " + d.unit + "\n"
	}
	out["DEBIAN/postinst"] = post
	out["DEBIAN/prerm"] = "#!/bin/sh\nset -e\nif [ \"$1\" = remove ]; then systemctl disable --now " + d.unit + "; fi\n"
	out["DEBIAN/postrm"] = "#!/bin/sh\nsystemctl daemon-reload || true\n"
	return out
}

// sign signs files with a new key, each into an InRelease beside it, and exports the public key.
func sign(ctx context.Context, public string, files ...string) error {
	home, err := os.MkdirTemp("", "gnupg-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	gpg := func(args ...string) error {
		_, err := process.Output(exec.CommandContext(ctx, "gpg", append([]string{"--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)...))
		return err
	}
	defer func() {
		_ = process.Run(context.WithoutCancel(ctx), "gpgconf", "--homedir", home, "--kill", "gpg-agent")
	}()
	if err := gpg("--quick-generate-key", "Lab <lab@example.com>", "rsa2048", "sign", "never"); err != nil {
		return err
	}
	for _, file := range files {
		if err := gpg("--output", filepath.Join(filepath.Dir(file), "InRelease"), "--clearsign", file); err != nil {
			return err
		}
	}
	return gpg("--output", public, "--armor", "--export")
}
