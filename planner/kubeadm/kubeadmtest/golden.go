package kubeadmtest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Golden is what kubeadm of one version wrote for one case.
type Golden struct {
	// Init is the founder after kubeadm init, Join the joining host, if there is one.
	Init, Join *HostFiles
	// Objects are what init made in the API, in order, without Secrets.
	Objects []map[string]any
	// Patches are what init patched, by path of the API.
	Patches map[string]any
	// Images is what kubeadm config images list prints.
	Images []string
}

// HostFiles are what kubeadm left on a host, by path. Keys are in none of them.
type HostFiles struct {
	// Texts are manifests and the kubelet's files, as they are.
	Texts        map[string]string
	Certificates map[string]Certificate
	Kubeconfigs  map[string]Kubeconfig
	// Modes are those of all files and folders, in octal.
	Modes map[string]string
}

// ReadHost reads the files below a folder that stands for a host's root.
func ReadHost(root string) (*HostFiles, error) {
	h := newHostFiles()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, root)
		if d.IsDir() {
			if name != "/etc" && name != "/var" && name != "/var/lib" {
				h.Modes[name] = fmt.Sprintf("%#o", info.Mode().Perm())
			}
			return nil
		}
		h.Modes[name] = fmt.Sprintf("%#o", info.Mode().Perm())
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return h.add(name, content)
	})
	return h, err
}

func (h *HostFiles) add(name string, content []byte) error {
	switch filepath.Ext(name) {
	case ".crt":
		c, err := ParseCertificate(content)
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", name, err)
		}
		h.Certificates[name] = c
	case ".conf":
		k, err := ParseKubeconfig(content)
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", name, err)
		}
		h.Kubeconfigs[name] = k
	case ".yaml", ".env":
		h.Texts[name] = string(content)
	case ".key", ".pub":
		// Keys are not kept.
	default:
		return fmt.Errorf("kubeadm wrote an unexpected file %s", name)
	}
	return nil
}

// files lays a golden out: lists as text, everything else a file of its own.
func (g *Golden) files() map[string]string {
	out := map[string]string{"images": lines(g.Images)}
	var order []string
	for _, o := range g.Objects {
		name := objectName(o)
		order = append(order, name)
		out["objects/"+name+".yaml"] = string(must(yaml.Marshal(Plain(o))))
	}
	out["order"] = lines(order)
	for path, p := range g.Patches {
		out["patched"+path+".yaml"] = string(must(yaml.Marshal(p)))
	}
	for name, h := range map[string]*HostFiles{"init": g.Init, "join": g.Join} {
		if h != nil {
			h.files(name, out)
		}
	}
	return out
}

func (h *HostFiles) files(prefix string, out map[string]string) {
	for path, text := range h.Texts {
		out[prefix+path] = text
	}
	for path, c := range h.Certificates {
		out[prefix+path+".json"] = toJSON(c)
	}
	for path, k := range h.Kubeconfigs {
		out[prefix+path+".json"] = toJSON(k)
	}
	var modes []string
	for _, path := range slices.Sorted(maps.Keys(h.Modes)) {
		modes = append(modes, h.Modes[path]+" "+path)
	}
	out[prefix+"/modes"] = lines(modes)
}

func lines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}

func toJSON(v any) string { return string(must(json.MarshalIndent(v, "", "  "))) + "\n" }

// objectName returns a file name for an object.
func objectName(o map[string]any) string {
	metadata, _ := o["metadata"].(map[string]any)
	name := fmt.Sprint(o["kind"], "-", metadata["name"])
	if namespace, ok := metadata["namespace"]; ok {
		name = fmt.Sprint(o["kind"], "-", namespace, "-", metadata["name"])
	}
	return strings.ReplaceAll(name, ":", ".")
}

// Read reads what Write kept. The objects are shared: they must not be changed.
func (s *Goldens) Read(version, name string) (*Golden, error) {
	files, err := s.files(goldenName{version, name})
	if err != nil {
		return nil, err
	}
	g := &Golden{Images: strings.Fields(files["images"]), Patches: map[string]any{}}
	for _, name := range strings.Fields(files["order"]) {
		text := files["objects/"+name+".yaml"]
		if s.objects[text] == nil {
			var o map[string]any
			if err := yaml.Unmarshal([]byte(text), &o); err != nil {
				return nil, err
			}
			s.objects[text] = o
		}
		g.Objects = append(g.Objects, s.objects[text])
	}
	for path, content := range files {
		api, ok := strings.CutPrefix(path, "patched")
		if !ok {
			continue
		}
		var patch any
		if err := yaml.Unmarshal([]byte(content), &patch); err != nil {
			return nil, err
		}
		g.Patches[strings.TrimSuffix(api, ".yaml")] = patch
	}
	if g.Init, err = hostOf("init", files); err == nil {
		g.Join, err = hostOf("join", files)
	}
	return g, err
}

// hostOf picks a host's files; nil when there is no such host.
func hostOf(prefix string, files map[string]string) (*HostFiles, error) {
	if _, ok := files[prefix+"/modes"]; !ok {
		return nil, nil
	}
	h := newHostFiles()
	for file, content := range files {
		path, ok := strings.CutPrefix(file, prefix)
		if !ok || !strings.HasPrefix(path, "/") {
			continue
		}
		var err error
		switch pem := strings.TrimSuffix(path, ".json"); {
		case path == "/modes":
			for line := range strings.Lines(content) {
				mode, name, _ := strings.Cut(strings.TrimSpace(line), " ")
				h.Modes[name] = mode
			}
		case strings.HasSuffix(path, ".crt.json"):
			var c Certificate
			err = json.Unmarshal([]byte(content), &c)
			h.Certificates[pem] = c
		case strings.HasSuffix(path, ".conf.json"):
			var k Kubeconfig
			err = json.Unmarshal([]byte(content), &k)
			h.Kubeconfigs[pem] = k
		default:
			h.Texts[path] = content
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", file, err)
		}
	}
	return h, nil
}

func newHostFiles() *HostFiles {
	return &HostFiles{
		Texts: map[string]string{}, Certificates: map[string]Certificate{},
		Kubeconfigs: map[string]Kubeconfig{}, Modes: map[string]string{},
	}
}

// embeddedCA finds a CA that was inlined into a kubeconfig.
var embeddedCA = regexp.MustCompile(`certificate-authority-data: \S+`)

// Plain reduces an object to the leaves that its maker set: encoders of Go
// types also write nulls, empty structures and a zero status. The cluster's CA,
// which is different each time, gives way to a word.
func Plain(o map[string]any) map[string]any {
	out, _ := plain(o).(map[string]any)
	delete(out, "status")
	if data, ok := out["data"].(map[string]any); ok {
		if text, ok := data["kubeconfig"].(string); ok {
			data["kubeconfig"] = embeddedCA.ReplaceAllString(text, "certificate-authority-data: CA")
		}
	}
	return out
}

func plain(x any) any {
	switch x := x.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, e := range x {
			if p := plain(e); p != nil {
				m[k] = p
			}
		}
		if len(m) == 0 {
			return nil
		}
		return m
	case []any:
		list := slices.Clone(x)
		for i := range list {
			if p := plain(list[i]); p != nil {
				list[i] = p
			}
		}
		if len(list) == 0 {
			return nil
		}
		return list
	}
	return x
}
