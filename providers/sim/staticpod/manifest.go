package staticpod

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/state"
)

// Manifest is the part of a static pod's manifest that the simulator uses.
type Manifest struct {
	Name   string
	labels map[string]any
	Image  string
	Args   []string // without the binary
	// Probe is the URL of the liveness probe.
	Probe string
	// given are the last values of the flags.
	given map[string]string
	// mounted are the host's paths, by the path in the first container.
	mounted map[string]string
	// demanded are the host's paths without which the kubelet does not start it.
	demanded []string
	// DataFolder is the host's path of an etcd's data.
	DataFolder string
	// Hash stands for the kubelet's config.hash: it is equal for equal pods in any
	// formatting.
	Hash string
	Err  error
}

// Parse parses a manifest. If it is invalid, Err has the reason.
func Parse(content string) *Manifest {
	tree, err := file.ParseYAML([]byte(content))
	if err != nil {
		return &Manifest{Err: err}
	}
	canonical, _ := json.Marshal(tree)
	h := md5.Sum(canonical) //nolint:gosec // see above
	p := &Manifest{Hash: hex.EncodeToString(h[:])}
	metadata, _ := tree["metadata"].(map[string]any)
	p.Name, _ = metadata["name"].(string)
	p.labels, _ = metadata["labels"].(map[string]any)
	spec, _ := tree["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)
	if tree["kind"] != "Pod" || p.Name == "" || len(containers) == 0 {
		p.Err = errors.New("not a pod")
		return p
	}
	if at := mountedTwice(containers); at != "" {
		p.Err = fmt.Errorf("spec.containers[0].volumeMounts: Invalid value: %q: must be unique", at)
		return p
	}
	c, _ := containers[0].(map[string]any)
	p.Image, _ = c["image"].(string)
	command := append(texts(c["command"]), texts(c["args"])...)
	if len(command) > 0 {
		p.Args = command[1:]
	}
	p.Probe = probeURL(state.FromGo(c))
	p.given = map[string]string{}
	for _, a := range p.Args {
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		p.given[name] = value
	}
	p.mounted = mounted(state.FromGo(spec["volumes"]), state.FromGo(c["volumeMounts"]))
	for _, v := range state.FromGo(spec["volumes"]).AsList() {
		if kind := v.Get("hostPath.type").AsString(); kind != "" && !strings.HasSuffix(kind, "OrCreate") {
			p.demanded = append(p.demanded, file.Clean(v.Get("hostPath.path").AsString()))
		}
	}
	p.DataFolder = p.onHost(file.Clean(p.Flag("data-dir", "/var/lib/etcd"))) + "/member"
	return p
}

// probeURL returns what the kubelet asks to see whether a container lives.
func probeURL(c state.Value) string {
	get := c.Get("livenessProbe.httpGet")
	if get.IsNull() {
		return ""
	}
	port := fmt.Sprint(get.Get("port").Go())
	for _, p := range c.Get("ports").AsList() {
		if p.Get("name").AsString() == port {
			port = fmt.Sprint(p.Get("containerPort").Go())
		}
	}
	return strings.ToLower(get.Get("scheme").AsString()) + "://" + net.JoinHostPort(get.Get("host").AsString(), port) + get.Get("path").AsString()
}

// mountedTwice returns a path at which a container has two volumes, which the kubelet refuses.
func mountedTwice(containers []any) string {
	for _, c := range containers {
		seen := map[string]bool{}
		for _, m := range state.FromGo(c).Get("volumeMounts").AsList() {
			at := m.Get("mountPath").AsString()
			if seen[at] {
				return at
			}
			seen[at] = true
		}
	}
	return ""
}

func mounted(volumes, mounts state.Value) map[string]string {
	out := map[string]string{}
	for _, mount := range mounts.AsList() {
		for _, v := range volumes.AsList() {
			if host := v.Get("hostPath.path").AsString(); host != "" && v.Get("name").Equal(mount.Get("name")) {
				out[file.Clean(mount.Get("mountPath").AsString())] = file.Clean(host)
			}
		}
	}
	return out
}

// onHost returns the host's path for a path in the container.
func (p *Manifest) onHost(path string) string {
	mount := ""
	for at := range p.mounted {
		if len(at) > len(mount) && strings.HasPrefix(path+"/", at+"/") {
			mount = at
		}
	}
	if mount == "" {
		return path
	}
	return file.Clean(p.mounted[mount] + path[len(mount):])
}

func texts(x any) []string {
	list, _ := x.([]any)
	out := make([]string, 0, len(list))
	for _, e := range list {
		s, _ := e.(string)
		out = append(out, s)
	}
	return out
}

// Arg returns the last value of a flag, and whether it is given.
func (p *Manifest) Arg(name string) (string, bool) {
	value, ok := p.given[name]
	return value, ok
}

// Flag is Arg with a default.
func (p *Manifest) Flag(name, usual string) string {
	if v, ok := p.Arg(name); ok {
		return v
	}
	return usual
}

// Tag returns the image's tag.
func (p *Manifest) Tag() string {
	i := strings.LastIndexByte(p.Image, ':')
	if i < strings.LastIndexByte(p.Image, '/') {
		return ""
	}
	return p.Image[i+1:]
}

// Component returns the component of a pod, by the label that kubeadm sets.
func (p *Manifest) Component() string {
	c, _ := p.labels["component"].(string)
	if c == "" {
		return p.Name
	}
	return c
}

// FilesNeeded lists the paths in volumes or arguments that have to exist.
func (p *Manifest) FilesNeeded() []string {
	out := slices.Clone(p.demanded)
	for _, a := range p.Args {
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if strings.HasPrefix(value, "/") && namesFile(name) {
			out = append(out, value)
		}
	}
	return out
}

// NotMounted returns a path that an argument names and that is on no volume of the pod, or "".
func (p *Manifest) NotMounted() string {
	for _, a := range p.Args {
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if strings.HasPrefix(value, "/") && namesFile(name) && !p.Mounts(file.Clean(value)) {
			return value
		}
	}
	return ""
}

// Mounts reports whether the pod sees a path of its host.
func (p *Manifest) Mounts(path string) bool {
	for at := range p.mounted {
		if path == at || strings.HasPrefix(path, at+"/") {
			return true
		}
	}
	return false
}

func namesFile(flag string) bool {
	for _, suffix := range []string{"-file", "cafile", "certfile", "keyfile", "-certificate", "-key", "kubeconfig", "-config"} {
		if strings.HasSuffix(flag, suffix) {
			return true
		}
	}
	return false
}

// ManifestPath returns the path of a pod's manifest with kubeadm.
func ManifestPath(pod string) string { return manifestsFolder + "/" + pod + ".yaml" }

// manifestsFolder is kubeadm's folder of manifests.
const manifestsFolder = "/etc/kubernetes/manifests"
