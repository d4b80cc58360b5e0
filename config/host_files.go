package config

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubewright/kubewright/config/hostfile"
	"github.com/kubewright/kubewright/state"
)

// File is a file of the user on hosts.
type File struct {
	Path    string
	Content string
	Mode    string
	// Owner is USER:GROUP.
	Owner string
	// Restarts names what reads the file only at its start.
	Restarts []string `json:",omitempty"`
	// Roles and Selector choose the nodes of a cluster's file; all of them if both are empty.
	Roles    []string `json:",omitempty"`
	Selector string   `json:",omitempty"`
	Source   state.Source
}

// Directory is a directory of the user on hosts.
type Directory struct {
	Path     string
	Mode     string
	Owner    string
	Roles    []string `json:",omitempty"`
	Selector string   `json:",omitempty"`
	Source   state.Source
}

// Defaults of files and directories.
const (
	DefaultFileOwner     = "root:root"
	DefaultDirectoryMode = "0755"
)

// DefaultFileMode returns the mode of a file without one.
func DefaultFileMode(sensitive bool) string {
	if sensitive {
		return "0600"
	}
	return "0644"
}

// CompleteOwner adds the group to an owner that names only a user.
func CompleteOwner(owner string) string {
	return hostfile.CompleteOwner(owner)
}

// FilesOn returns the files of a node, sorted by path: its own, and those of its cluster that select it
// and whose path no block of the node has.
func (c *Cluster) FilesOn(n *Node) []File {
	out := slices.Clone(n.Files)
	for _, f := range c.Files {
		if selects(f.Roles, f.Selector, n) && !n.OwnsFile(f.Path) {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// DirectoriesOn returns the directories of a node in the same way.
func (c *Cluster) DirectoriesOn(n *Node) []Directory {
	out := slices.Clone(n.Directories)
	for _, d := range c.Directories {
		if selects(d.Roles, d.Selector, n) && !n.OwnsFile(d.Path) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Directory) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// OwnsFile reports whether a block of the node, not of its cluster, has the path.
func (n *Node) OwnsFile(p string) bool {
	return slices.ContainsFunc(n.Files, func(f File) bool { return f.Path == p }) ||
		slices.ContainsFunc(n.Directories, func(d Directory) bool { return d.Path == p })
}

// selects reports whether roles and a label selector choose a node. An invalid selector is reported
// elsewhere, and chooses none.
func selects(roles []string, selector string, n *Node) bool {
	if len(roles) > 0 && !slices.Contains(roles, string(n.Role)) {
		return false
	}
	s, err := labels.Parse(selector)
	return err == nil && s.Matches(labels.Set(n.Labels))
}

// The components that restart for a file, besides static pods.
const (
	RestartsKubelet    = "kubelet"
	RestartsContainerd = "containerd"
	RestartsCRIO       = "crio"
)

// restartable are the values of restarts.
var restartable = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", RestartsKubelet, RestartsContainerd, RestartsCRIO}

// Readers returns what restarts on a node when a file changes: what its block names, and the components
// with an argument or, for the kubelet, a setting that names the file.
func (c *Cluster) Readers(n *Node, f File) []string {
	return slices.DeleteFunc(slices.Clone(restartable), func(name string) bool {
		return !slices.Contains(f.Restarts, name) && !c.names(n, name, f.Path)
	})
}

// names reports whether an argument or a setting of a component is the path.
func (c *Cluster) names(n *Node, component, p string) bool {
	args := map[string][]Arg{
		"kube-apiserver": c.APIServer.Args, "kube-controller-manager": c.ControllerManager.Args, "kube-scheduler": c.Scheduler.Args, "etcd": c.Etcd.Args,
		RestartsKubelet: slices.Concat(c.Kubelet.Args, n.Kubelet.Args),
	}[component]
	if slices.ContainsFunc(args, func(a Arg) bool { return slices.Contains(hostfile.PathsIn(component, a.Name, a.Value), p) }) {
		return true
	}
	return component == RestartsKubelet && (hostfile.HoldsText(c.Kubelet.Config, p) || hostfile.HoldsText(n.Kubelet.Config, p))
}

// DeriveVolumes mounts the files and directories that arguments of control plane components name, and
// those for which the components restart. A volume of the configuration that covers the path takes
// precedence. What a file of an argument names restarts the component as well.
func (c *Config) DeriveVolumes() {
	for _, cl := range c.Clusters {
		planes := c.NodesOf(cl.Label, ControlPlane)
		for _, p := range cl.pods() {
			for _, n := range planes {
				for _, u := range cl.uses(n, p) {
					if u.file != nil && u.By != "" && !slices.Contains(u.file.Restarts, p.name) {
						u.file.Restarts = append(u.file.Restarts, p.name)
					}
				}
			}
			for _, n := range planes {
				for _, u := range cl.uses(n, p) {
					if v := cl.derived(planes, p, u); v != nil {
						*p.volumes = append(*p.volumes, *v)
						for _, field := range []string{"host_path", "mount_path", "read_only", "path_type"} {
							cl.Origins[fmt.Sprintf("%s.extra_volume[%q].%s", p.block, v.Name, field)] = v.Source
						}
					}
				}
			}
		}
	}
}

// podBlock is a component of the control plane with its block.
type podBlock struct {
	block, name string
	args        []Arg
	volumes     *[]Volume
}

func (c *Cluster) pods() []podBlock {
	out := []podBlock{
		{"api_server", "kube-apiserver", c.APIServer.Component.Args, &c.APIServer.Volumes},
		{"controller_manager", "kube-controller-manager", c.ControllerManager.Args, &c.ControllerManager.Volumes},
		{"scheduler", "kube-scheduler", c.Scheduler.Args, &c.Scheduler.Volumes},
		{"etcd", "etcd", c.Etcd.Args, &c.Etcd.Mounts},
	}
	if c.Etcd.External != nil {
		return out[:3]
	}
	return out
}

// fileUse is a path that a component uses on a control plane.
type fileUse struct {
	hostfile.Use
	source state.Source
	// file is the file block of the path; nil without one.
	file *File
}

// uses returns the paths that a component uses on a control plane.
func (c *Cluster) uses(n *Node, p podBlock) []fileUse {
	files, contents := map[string]*File{}, map[string]hostfile.Content{}
	for k, list := range [][]File{c.Files, n.Files} {
		for i := range list {
			if f := &list[i]; k == 1 || selects(f.Roles, f.Selector, n) {
				files[f.Path], contents[f.Path] = f, hostfile.Content{Text: f.Content, Restarts: f.Restarts}
			}
		}
	}
	args, sources := make([]state.Arg, len(p.args)), map[string]state.Source{}
	for i, a := range p.args {
		args[i], sources[a.Name] = state.Arg{Name: a.Name, Value: a.Value}, a.Source
	}
	var out []fileUse
	for _, u := range hostfile.Uses(p.name, args, contents) {
		use := fileUse{Use: u, source: sources[u.Argument], file: files[u.Path]}
		if f := files[cmp.Or(u.From, u.Path)]; f != nil && (u.From != "" || u.Argument == "") {
			use.source = f.Source
		}
		out = append(out, use)
	}
	return out
}

// derived returns the volume that a path needs; nil if it needs none.
func (c *Cluster) derived(planes []*Node, p podBlock, u fileUse) *Volume {
	if !strings.HasPrefix(u.Path, "/") || path.Clean(u.Path) != u.Path || c.mounted(p.name, *p.volumes, u.Path) {
		return nil
	}
	at, kind := "", "Directory"
	for _, n := range planes {
		for _, d := range c.DirectoriesOn(n) {
			if hostfile.Below(u.Path, d.Path) && len(d.Path) > len(at) {
				at = d.Path
			}
		}
	}
	for _, n := range planes {
		if at == "" && slices.ContainsFunc(c.FilesOn(n), func(f File) bool { return f.Path == u.Path }) {
			at, kind = u.Path, "File"
		}
	}
	if at == "" {
		return nil
	}
	name := hostfile.VolumeName(at, func(name string) bool {
		return slices.ContainsFunc(*p.volumes, func(v Volume) bool { return v.Name == name })
	})
	return &Volume{Name: name, HostPath: at, MountPath: at, ReadOnly: !u.Writes, PathType: kind, Source: u.source, Derived: true}
}

// mounted reports whether a component sees the path without a derived volume: by a volume of its own, or
// by one that kubeadm adds.
func (c *Cluster) mounted(component string, volumes []Volume, at string) bool {
	if slices.ContainsFunc(volumes, func(v Volume) bool { return v.MountPath != "" && hostfile.Below(at, v.MountPath) }) {
		return true
	}
	folders := keys(usualMounts(component, c.Certificates.Dir))
	if component == "kube-apiserver" || component == "kube-controller-manager" {
		folders = append(folders, hostfile.DistributionCAs...)
	}
	if e := c.Etcd.External; e != nil && component == "kube-apiserver" {
		for _, file := range []string{e.CAFile, e.CertFile, e.KeyFile} {
			if strings.HasPrefix(file, "/") {
				folders = append(folders, path.Dir(file))
			}
		}
	}
	return slices.ContainsFunc(folders, func(dir string) bool { return hostfile.Below(at, dir) })
}
