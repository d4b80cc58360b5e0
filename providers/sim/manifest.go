package sim

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the kubelet's hash of a pod, no protection
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/cache"
)

// manifest is what of a static pod's manifest matters.
type manifest struct {
	name   string
	labels map[string]any
	image  string
	args   []string // without the binary
	// given are the flags' last values.
	given map[string]string
	// mounted are the host's paths, by where the first container has them.
	mounted map[string]string
	// demanded are the host's paths without which the kubelet does not start it.
	demanded []string
	// dataFolder is where on the host an etcd has its member's data.
	dataFolder string
	// hash stands for the kubelet's config.hash: equal for equal pods, however written.
	hash string
	err  error
}

// manifest parses the content of a file, once per content.
func (w *World) manifest(digest string) *manifest {
	if p := w.manifests[digest]; p != nil {
		return p
	}
	p := manifests.Of(string(w.d.Blobs[digest]))
	w.manifests[digest] = p
	return p
}

var manifests = cache.New(parseManifest)

func parseManifest(content string) *manifest {
	tree, err := parseYAML([]byte(content))
	if err != nil {
		return &manifest{err: err}
	}
	canonical, _ := json.Marshal(tree)
	h := md5.Sum(canonical) //nolint:gosec // see above
	p := &manifest{hash: hex.EncodeToString(h[:])}
	metadata, _ := tree["metadata"].(map[string]any)
	p.name, _ = metadata["name"].(string)
	p.labels, _ = metadata["labels"].(map[string]any)
	spec, _ := tree["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)
	if tree["kind"] != "Pod" || p.name == "" || len(containers) == 0 {
		p.err = errors.New("not a pod")
		return p
	}
	if at := mountedTwice(containers); at != "" {
		p.err = fmt.Errorf("spec.containers[0].volumeMounts: Invalid value: %q: must be unique", at)
		return p
	}
	c, _ := containers[0].(map[string]any)
	p.image, _ = c["image"].(string)
	command := append(texts(c["command"]), texts(c["args"])...)
	if len(command) > 0 {
		p.args = command[1:]
	}
	p.given = map[string]string{}
	for _, a := range p.args {
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		p.given[name] = value
	}
	p.mounted = mounted(state.FromGo(spec["volumes"]), state.FromGo(c["volumeMounts"]))
	for _, v := range state.FromGo(spec["volumes"]).AsList() {
		if kind := v.Get("hostPath.type").AsString(); kind != "" && !strings.HasSuffix(kind, "OrCreate") {
			p.demanded = append(p.demanded, clean(v.Get("hostPath.path").AsString()))
		}
	}
	p.dataFolder = p.onHost(clean(p.flag("data-dir", "/var/lib/etcd"))) + "/member"
	return p
}

// mountedTwice returns a path at which a container has two volumes: the kubelet refuses its pod.
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
				out[clean(mount.Get("mountPath").AsString())] = clean(host)
			}
		}
	}
	return out
}

// onHost returns where the host has what the container has at a path.
func (p *manifest) onHost(path string) string {
	mount := ""
	for at := range p.mounted {
		if len(at) > len(mount) && strings.HasPrefix(path+"/", at+"/") {
			mount = at
		}
	}
	if mount == "" {
		return path
	}
	return clean(p.mounted[mount] + path[len(mount):])
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

// parseYAML reads a document into a tree whose numbers keep their digits.
func parseYAML(content []byte) (map[string]any, error) {
	asJSON, err := yaml.YAMLToJSON(content)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(asJSON))
	dec.UseNumber()
	var tree map[string]any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("not a mapping: %w", err)
	}
	return tree, nil
}

// arg returns the last value of a flag, and whether it is given.
func (p *manifest) arg(name string) (string, bool) {
	value, ok := p.given[name]
	return value, ok
}

// flag is arg with a default.
func (p *manifest) flag(name, usual string) string {
	if v, ok := p.arg(name); ok {
		return v
	}
	return usual
}

// tag returns the image's tag.
func (p *manifest) tag() string {
	i := strings.LastIndexByte(p.image, ':')
	if i < strings.LastIndexByte(p.image, '/') {
		return ""
	}
	return p.image[i+1:]
}

// kind is the component that a pod is, by its label as kubeadm sets it.
func (p *manifest) component() string {
	c, _ := p.labels["component"].(string)
	if c == "" {
		return p.name
	}
	return c
}

// filesNeeded lists the paths that volumes or arguments name and that have to exist.
func (p *manifest) filesNeeded() []string {
	out := slices.Clone(p.demanded)
	for _, a := range p.args {
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if strings.HasPrefix(value, "/") && namesFile(name) {
			out = append(out, value)
		}
	}
	return out
}

func namesFile(flag string) bool {
	for _, suffix := range []string{"-file", "cafile", "certfile", "keyfile", "-certificate", "-key", "kubeconfig", "-config"} {
		if strings.HasSuffix(flag, suffix) {
			return true
		}
	}
	return false
}

// certificateAt returns the first certificate of a file, checked as its user would.
func (w *World) certificateAt(m *machine, certFile, keyFile string) (*state.CertificateInfo, error) {
	f := w.resolve(m, clean(certFile))
	if f == nil || f.Record == nil || len(f.Record.Certificates) == 0 {
		return nil, fmt.Errorf("open %s: no certificate", certFile)
	}
	c := &f.Record.Certificates[0]
	if keyFile != "" {
		key := w.resolve(m, clean(keyFile))
		if key == nil || key.Record == nil || key.Record.Key != c.KeyDigest {
			return nil, fmt.Errorf("%s: private key does not match public key", certFile)
		}
	}
	return c, w.valid(m, c)
}

// valid checks a certificate's time.
func (w *World) valid(m *machine, c *state.CertificateInfo) error {
	switch now := w.clock(m); {
	case now.Before(c.NotBefore):
		return fmt.Errorf("certificate of %s is not yet valid: current time %s is before %s", c.CommonName, stamp(now), stamp(c.NotBefore))
	case now.After(c.NotAfter):
		return fmt.Errorf("certificate of %s has expired: current time %s is after %s", c.CommonName, stamp(now), stamp(c.NotAfter))
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// unlessGone returns the path of a key, or empty where that has vanished: who runs has
// read it.
func (w *World) unlessGone(m *machine, path string) string {
	if w.resolve(m, clean(path)) == nil {
		return ""
	}
	return path
}

// stillTrusts is trusts of a component that runs: it goes on with what it has
// read of a file that has vanished.
func (w *World) stillTrusts(m *machine, caFile string, c *state.CertificateInfo) bool {
	return w.resolve(m, clean(caFile)) == nil || w.trusts(m, caFile, c)
}

// trusts reports whether the CA file on a host holds the certificate's issuer.
func (w *World) trusts(m *machine, caFile string, c *state.CertificateInfo) bool {
	f := w.resolve(m, clean(caFile))
	if f == nil || f.Record == nil {
		return false
	}
	for _, ca := range f.Record.Certificates {
		if ca.KeyDigest == c.IssuerKeyDigest && w.valid(m, &ca) == nil {
			return true
		}
	}
	return false
}
