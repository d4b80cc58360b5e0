package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// sysctlFile holds the settings that every guide to kubeadm asks for.
const sysctlFile = "net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\n"

// Prepared returns the read-only layer that prepares a Debian host for Kubernetes: what the
// packages of kubelet, kubeadm, kubectl, cri-tools, containerd and the CNI plugins would install,
// and their usual configuration.
func (c *Cache) Prepared(ctx context.Context, r Release) (string, error) {
	artifacts, err := c.Artifacts(ctx, r)
	if err != nil {
		return "", err
	}
	root, err := c.Rootfs(ctx)
	if err != nil {
		return "", err
	}
	key := fmt.Sprintf("layers/%s-%s", r.Kubernetes, fingerprint(artifacts.Dir, sysctlFile, "2"))
	return c.artefact(ctx, key, func(_ context.Context, dir string) error {
		if err := disk.LinkTree(root.Runtime, dir, nil); err != nil {
			return err
		}
		for _, part := range []struct{ from, to string }{
			{"units", "usr/lib/systemd/system"}, {"etc", "etc"},
		} {
			if err := disk.LinkTree(filepath.Join(artifacts.Dir, part.from), filepath.Join(dir, part.to), nil); err != nil {
				return err
			}
		}
		if err := linkPrograms(artifacts, dir); err != nil {
			return err
		}
		files := map[string]string{"etc/sysctl.d/99-kubernetes.conf": sysctlFile}
		if err := writeFiles(dir, files); err != nil {
			return err
		}
		return enableUnits(dir, "containerd.service", "kubelet.service")
	})
}

// linkPrograms puts Kubernetes' programs where its packages do, and the runtime's where its own
// archive does.
func linkPrograms(artifacts Artifacts, dir string) error {
	for _, name := range artifactPrograms() {
		to := "usr/bin"
		if strings.HasPrefix(name, "containerd") || name == "ctr" {
			to = "usr/local/bin"
		}
		if err := disk.LinkFile(artifacts.Program(name), filepath.Join(dir, to, name)); err != nil {
			return err
		}
	}
	return nil
}

func enableUnits(dir string, units ...string) error {
	wants := filepath.Join(dir, "etc/systemd/system/multi-user.target.wants")
	if err := os.MkdirAll(wants, 0o755); err != nil {
		return err
	}
	for _, unit := range units {
		if err := os.Symlink("/usr/lib/systemd/system/"+unit, filepath.Join(wants, unit)); err != nil {
			return err
		}
	}
	return nil
}

// Store returns a template of /var/lib/containerd with all images of the given releases, and
// those of more archives, imported and unpacked.
func (c *Cache) Store(ctx context.Context, more []string, releases ...Release) (string, error) {
	programs, err := c.Programs(ctx, releases[0], "containerd", "ctr")
	if err != nil {
		return "", err
	}
	var names, archives, folders []string
	for _, r := range releases {
		folder, err := c.Images(ctx, r)
		if err != nil {
			return "", err
		}
		for _, ref := range r.Images() {
			archives = append(archives, filepath.Join(folder, imageFile(ref)))
		}
		names, folders = append(names, r.Kubernetes), append(folders, folder)
	}
	archives = append(archives, more...)
	inputs := slices.Concat(folders, []string{programs["containerd"], storeConfig}, more)
	key := fmt.Sprintf("stores/%s-%s", strings.Join(names, "+"), fingerprint(inputs...))
	return c.artefact(ctx, key, func(ctx context.Context, dir string) error {
		return fillStore(ctx, programs, archives, dir)
	})
}

// storeConfig configures a runtime that can only import images.
const storeConfig = `version = 3
root = "@DIR@/root"
state = "@DIR@/state"
disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri",
  "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]
[grpc]
  address = "@DIR@/sock"
[ttrpc]
  address = "@DIR@/ttrpc"
`

// fillStore runs a separate container runtime on dir/root, imports the archives, and moves the
// result up to dir.
func fillStore(ctx context.Context, programs map[string]string, archives []string, dir string) error {
	config := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(storeConfig, "@DIR@", dir)), 0o644); err != nil {
		return err
	}
	logFile, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer logFile.Close()
	daemon := exec.CommandContext(ctx, "unshare", "--mount", programs["containerd"], "--config", config)
	daemon.Stdout, daemon.Stderr = logFile, logFile
	process.KillGroupOnCancel(daemon)
	if err := daemon.Start(); err != nil {
		return err
	}
	err = importAll(ctx, programs["ctr"], filepath.Join(dir, "sock"), archives)
	daemon.Process.Signal(syscall.SIGTERM)
	daemon.Wait()
	if err != nil {
		text, _ := os.ReadFile(logFile.Name())
		return fmt.Errorf("%w\ncontainerd said:\n%s", err, process.Tail(string(text), process.TailLines))
	}
	return hoist(dir)
}

func importAll(ctx context.Context, ctr, socket string, archives []string) error {
	err := process.Until(ctx, 30*time.Second, 50*time.Millisecond, "containerd", func(ctx context.Context) error {
		return process.Run(ctx, ctr, "--address", socket, "version")
	})
	if err != nil {
		return err
	}
	for _, archive := range archives {
		if err := process.Run(ctx, ctr, "--address", socket, "--namespace", "k8s.io", "images", "import", archive); err != nil {
			return err
		}
	}
	return nil
}

// hoist replaces a folder's content with the content of its folder root.
func hoist(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "root" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	inner, err := os.ReadDir(filepath.Join(dir, "root"))
	if err != nil {
		return err
	}
	for _, e := range inner {
		if err := os.Rename(filepath.Join(dir, "root", e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(filepath.Join(dir, "root"))
}

// CloneStore gives a host its own copy of a store instantly: image content and unpacked files are
// hard links, because nothing writes to them (a container writes to a layer of its own); the
// databases are real copies.
func CloneStore(from, to string) error {
	return disk.LinkTree(from, to, func(rel string) bool { return strings.HasSuffix(rel, ".db") })
}

// Prepare builds everything that hosts of a release need, and returns the artifacts.
func (c *Cache) Prepare(ctx context.Context, r Release) (Artifacts, error) {
	if _, err := c.Prepared(ctx, r); err != nil {
		return Artifacts{}, err
	}
	if _, err := c.Store(ctx, nil, r); err != nil {
		return Artifacts{}, err
	}
	return c.Artifacts(ctx, r)
}
