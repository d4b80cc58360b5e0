package kubeadmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	Texts        map[string]string      `json:"-"`
	Certificates map[string]Certificate `json:"certificates,omitempty"`
	Kubeconfigs  map[string]Kubeconfig  `json:"kubeconfigs,omitempty"`
	// Modes are those of all files and folders, in octal.
	Modes map[string]string `json:"modes,omitempty"`
}

// ReadHost reads the files below a folder that stands for a host's root.
func ReadHost(root string) (*HostFiles, error) {
	h := &HostFiles{
		Texts: map[string]string{}, Certificates: map[string]Certificate{},
		Kubeconfigs: map[string]Kubeconfig{}, Modes: map[string]string{},
	}
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
		return fmt.Errorf("kubeadm wrote %s, of which nobody thought", name)
	}
	return nil
}

// Write keeps the golden in a folder, replacing what is there.
func (g *Golden) Write(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	files := map[string]string{"images.txt": strings.Join(g.Images, "\n") + "\n"}
	var objects []string
	for _, o := range g.Objects {
		objects = append(objects, string(must(yaml.Marshal(Plain(o)))))
	}
	files["objects.yaml"] = strings.Join(objects, "---\n")
	files["patches.yaml"] = string(must(yaml.Marshal(g.Patches)))
	for name, h := range map[string]*HostFiles{"init": g.Init, "join": g.Join} {
		if h == nil {
			continue
		}
		files[name+"/files.json"] = string(must(json.MarshalIndent(h, "", "  "))) + "\n"
		for path, text := range h.Texts {
			files[name+path] = text
		}
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ReadGolden reads what Write kept.
func ReadGolden(dir string) (*Golden, error) {
	g := &Golden{}
	images, err := os.ReadFile(filepath.Join(dir, "images.txt"))
	if err != nil {
		return nil, err
	}
	g.Images = strings.Fields(string(images))
	objects, err := os.ReadFile(filepath.Join(dir, "objects.yaml"))
	if err != nil {
		return nil, err
	}
	for doc := range strings.SplitSeq(string(objects), "---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			return nil, err
		}
		g.Objects = append(g.Objects, o)
	}
	patches, err := os.ReadFile(filepath.Join(dir, "patches.yaml"))
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(patches, &g.Patches); err != nil {
		return nil, err
	}
	if g.Init, err = readHost(filepath.Join(dir, "init")); err != nil {
		return nil, err
	}
	g.Join, err = readHost(filepath.Join(dir, "join"))
	if errors.Is(err, fs.ErrNotExist) {
		return g, nil
	}
	return g, err
}

func readHost(dir string) (*HostFiles, error) {
	content, err := os.ReadFile(filepath.Join(dir, "files.json"))
	if err != nil {
		return nil, err
	}
	h := &HostFiles{Texts: map[string]string{}}
	if err := json.Unmarshal(content, h); err != nil {
		return nil, err
	}
	return h, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "files.json" {
			return err
		}
		content, err := os.ReadFile(path)
		h.Texts[strings.TrimPrefix(path, dir)] = string(content)
		return err
	})
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
