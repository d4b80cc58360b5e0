package build

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// WorkloadImage is the test image of pods: an HTTP server and its clients.
const WorkloadImage = "localhost/kubewright-lab/workload:1"

// registry is the default registry of kubeadm.
const registry = "registry.k8s.io"

//go:embed files/pause/main.go files/sh/main.go files/workload/main.go
var ownPrograms embed.FS

// imagesRecipe changes when the same programs result in different images.
const imagesRecipe = "2"

// Images returns the names of a release's images: those that "kubeadm config images list" prints,
// and the workload's.
func (r Release) Images() []string {
	return []string{
		registry + "/kube-apiserver:" + r.Kubernetes,
		registry + "/kube-controller-manager:" + r.Kubernetes,
		registry + "/kube-scheduler:" + r.Kubernetes,
		registry + "/kube-proxy:" + r.Kubernetes,
		registry + "/coredns/coredns:" + r.CoreDNS,
		r.pauseImage(),
		registry + "/etcd:" + strings.TrimPrefix(r.Etcd, "v") + "-0",
		WorkloadImage,
	}
}

func (r Release) pauseImage() string { return registry + "/pause:" + r.Pause }

// imageFile returns the file name of an image's archive.
func imageFile(ref string) string {
	return strings.NewReplacer("/", "_", ":", "_").Replace(ref) + ".tar"
}

// Images returns the folder of a release's image archives, and builds missing ones.
func (c *Cache) Images(ctx context.Context, r Release) (string, error) {
	programs, err := c.Programs(ctx, r, "kube-apiserver", "kube-controller-manager", "kube-scheduler",
		"kube-proxy", "coredns", "etcd", "etcdctl", "etcdutl")
	if err != nil {
		return "", err
	}
	root, err := c.Rootfs(ctx)
	if err != nil {
		return "", err
	}
	own, err := c.ownPrograms(ctx)
	if err != nil {
		return "", err
	}
	key := fmt.Sprintf("images/%s-%s", r.Kubernetes, fingerprint(append(r.Images(), imagesRecipe, own, root.Base)...))
	return c.artefact(ctx, key, func(ctx context.Context, dir string) error {
		images, err := r.images(ctx, programs, own, root.Base)
		if err != nil {
			return err
		}
		for _, i := range images {
			if err := i.writeFile(filepath.Join(dir, imageFile(i.ref))); err != nil {
				return err
			}
		}
		return nil
	})
}

func (i image) writeFile(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := i.write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// ownPrograms builds the lab's own small programs, which need only the standard library, in a
// separate module.
func (c *Cache) ownPrograms(ctx context.Context) (string, error) {
	names := []string{"pause", "sh", "workload"}
	var texts []string
	for _, name := range names {
		text, err := ownPrograms.ReadFile("files/" + name + "/main.go")
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text))
	}
	return c.artefact(ctx, "programs/lab-"+fingerprint(texts...), func(ctx context.Context, dir string) error {
		source := filepath.Join(dir, "source")
		for i, name := range names {
			folder := filepath.Join(source, name)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(texts[i]), 0o644); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(source, "go.mod"), []byte("module kubewright.test/lab\n\ngo 1.26\n"), 0o644); err != nil {
			return err
		}
		_, err := goCommand(ctx, source, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w",
			"-o", dir+string(filepath.Separator), "./...")
		return err
	})
}

// images describes the images: one static program each, at the path that kubeadm's manifests
// expect.
func (r Release) images(ctx context.Context, programs map[string]string, own, rootfs string) ([]image, error) {
	var images []image
	for _, ref := range r.Images() {
		name, _, _ := strings.Cut(path.Base(ref), ":")
		i := image{ref: ref, files: map[string]string{"/usr/local/bin/" + name: programs[name]}}
		switch name {
		case "coredns": // its manifest has arguments only
			i.files = map[string]string{"/coredns": programs[name]}
			i.entrypoint = []string{"/coredns"}
		case "etcd":
			i.files["/usr/local/bin/etcdctl"] = programs["etcdctl"]
			i.files["/usr/local/bin/etcdutl"] = programs["etcdutl"]
		case "pause", "workload":
			i.files = map[string]string{"/" + name: filepath.Join(own, name)}
			i.entrypoint = []string{"/" + name}
		case "kube-proxy":
			if err := i.addPacketFilter(ctx, rootfs); err != nil {
				return nil, err
			}
		}
		images = append(images, i)
	}
	return images, nil
}

// addPacketFilter adds the programs that kube-proxy calls: nft, conntrack, and both kinds of
// iptables, of which nft is the default as on Debian.
func (i *image) addPacketFilter(ctx context.Context, rootfs string) error {
	i.links = map[string]string{}
	for _, multi := range []struct{ program, suffix string }{
		{"xtables-nft-multi", ""}, {"xtables-nft-multi", "-nft"}, {"xtables-legacy-multi", "-legacy"},
	} {
		for _, family := range []string{"iptables", "ip6tables"} {
			for _, verb := range []string{"", "-save", "-restore"} {
				i.links["/usr/sbin/"+family+multi.suffix+verb] = multi.program
			}
		}
	}
	extensions, err := filepath.Glob(filepath.Join(rootfs, "usr/lib/*/xtables/*.so"))
	if err != nil {
		return err
	}
	objects := []string{"/usr/sbin/nft", "/usr/sbin/conntrack", "/usr/sbin/xtables-nft-multi", "/usr/sbin/xtables-legacy-multi"}
	for _, file := range extensions {
		objects = append(objects, strings.TrimPrefix(file, rootfs))
	}
	return i.addDynamic(ctx, rootfs, objects)
}

// addDynamic adds programs and libraries of the root file system with the libraries that their
// loader needs, from lines like "libmnl.so.0 => /lib/…/libmnl.so.0 (0x…)" and
// "/lib64/ld-linux-x86-64.so.2 (0x…)".
func (i *image) addDynamic(ctx context.Context, rootfs string, objects []string) error {
	out, err := process.Output(exec.CommandContext(ctx, "chroot", append([]string{rootfs, "ldd"}, objects...)...))
	if err != nil {
		return err
	}
	names := objects
	for line := range strings.Lines(string(out)) {
		for field := range strings.FieldsSeq(line) {
			if strings.HasPrefix(field, "/") && !strings.HasSuffix(field, ":") { // not a heading
				names = append(names, field)
			}
		}
	}
	for _, name := range names {
		file, err := inRoot(rootfs, name)
		if err != nil {
			return err
		}
		i.files[name] = file
	}
	return nil
}

// inRoot returns the file that a path denotes for programs below a root: an absolute link starts
// at that root, not at ours.
func inRoot(root, name string) (string, error) {
	for range 8 {
		file := filepath.Join(root, name)
		stat, err := os.Lstat(file)
		if err != nil {
			return "", err
		}
		if stat.Mode()&os.ModeSymlink == 0 {
			return file, nil
		}
		target, err := os.Readlink(file)
		if err != nil {
			return "", err
		}
		if name = target; !path.IsAbs(target) {
			name = path.Join(path.Dir(strings.TrimPrefix(file, root)), target)
		}
	}
	return "", fmt.Errorf("cannot follow %s: too many links", name)
}
