package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
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
	if owner != "" && !strings.Contains(owner, ":") {
		return owner + ":" + owner
	}
	return owner
}

// FilesOn returns the files of a node, sorted by path: its own, and those of its cluster that select it
// and whose path no block of the node has.
func (c *Cluster) FilesOn(n *Node) []File {
	out := slices.Clone(n.Files)
	for _, f := range c.Files {
		if selects(f.Roles, f.Selector, n) && !n.hasPath(f.Path) {
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
		if selects(d.Roles, d.Selector, n) && !n.hasPath(d.Path) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Directory) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// OwnsFile reports whether a block of the node, not of its cluster, has the path.
func (n *Node) OwnsFile(p string) bool { return n.hasPath(p) }

func (n *Node) hasPath(p string) bool {
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
	if slices.ContainsFunc(args, func(a Arg) bool { return a.Value == p }) {
		return true
	}
	return component == RestartsKubelet && (holdsText(c.Kubelet.Config, p) || holdsText(n.Kubelet.Config, p))
}

// holdsText reports whether a leaf of a tree is the text.
func holdsText(v state.Value, text string) bool {
	switch v.Kind() {
	case state.KindMap:
		for _, e := range v.AsMap() {
			if holdsText(e, text) {
				return true
			}
		}
	case state.KindList:
		return slices.ContainsFunc(v.AsList(), func(e state.Value) bool { return holdsText(e, text) })
	case state.KindString:
		return v.AsString() == text
	}
	return false
}

// pathArgs are the arguments whose value is a path that the component reads, or that it writes.
type pathArgs struct {
	reads, writes []string
}

// pathArgsOf are those of the components that run as static pods with mounts of kubewright's, for
// Kubernetes 1.34 to 1.37 (cmd/*/app/options, and the options of k8s.io/apiserver).
var pathArgsOf = map[string]pathArgs{
	"kube-apiserver": {
		reads: []string{
			"admission-control-config-file", "audit-policy-file", "audit-webhook-config-file", "authentication-config", "authentication-token-webhook-config-file",
			"authorization-config", "authorization-policy-file", "authorization-webhook-config-file", "client-ca-file", "egress-selector-config-file", "encryption-provider-config",
			"kubelet-certificate-authority", "kubelet-client-certificate", "kubelet-client-key", "oidc-ca-file", "peer-ca-file", "proxy-client-cert-file", "proxy-client-key-file",
			"requestheader-client-ca-file", "service-account-key-file", "service-account-signing-key-file", "tls-cert-file", "tls-private-key-file", "token-auth-file", "tracing-config-file",
		},
		writes: []string{"audit-log-path"},
	},
	"kube-controller-manager": {reads: []string{
		"authentication-kubeconfig", "authorization-kubeconfig", "client-ca-file", "cloud-config", "cluster-signing-cert-file", "cluster-signing-key-file", "kubeconfig",
		"requestheader-client-ca-file", "root-ca-file", "service-account-private-key-file", "tls-cert-file", "tls-private-key-file",
	}},
	"kube-scheduler": {reads: []string{
		"authentication-kubeconfig", "authorization-kubeconfig", "client-ca-file", "config", "kubeconfig", "requestheader-client-ca-file", "tls-cert-file", "tls-private-key-file",
	}},
}

// DeriveVolumes mounts the files and directories that arguments of control plane components name. A
// volume of the configuration that covers the path takes precedence.
func (c *Config) DeriveVolumes() {
	for _, cl := range c.Clusters {
		for _, p := range cl.pods() {
			for _, a := range p.Args {
				if v := cl.derived(c.NodesOf(cl.Label, ControlPlane), p.name, *p.Component, a); v != nil {
					p.Volumes = append(p.Volumes, *v)
					for _, field := range []string{"host_path", "mount_path", "read_only", "path_type"} {
						cl.Origins[fmt.Sprintf("%s.extra_volume[%q].%s", p.block, v.Name, field)] = v.Source
					}
				}
			}
		}
	}
}

// podBlock is a component of the control plane with its block.
type podBlock struct {
	block, name string
	*Component
}

func (c *Cluster) pods() []podBlock {
	return []podBlock{
		{"api_server", "kube-apiserver", &c.APIServer.Component}, {"controller_manager", "kube-controller-manager", &c.ControllerManager}, {"scheduler", "kube-scheduler", &c.Scheduler},
	}
}

// derived returns the volume that an argument needs; nil if it needs none.
func (c *Cluster) derived(planes []*Node, component string, p Component, a Arg) *Volume {
	writes := slices.Contains(pathArgsOf[component].writes, a.Name)
	if !strings.HasPrefix(a.Value, "/") || path.Clean(a.Value) != a.Value || c.mounted(component, p, a.Value) {
		return nil
	}
	at, kind := "", "Directory"
	for _, n := range planes {
		for _, d := range c.DirectoriesOn(n) {
			if hostfile.Below(a.Value, d.Path) && len(d.Path) > len(at) {
				at = d.Path
			}
		}
	}
	for _, n := range planes {
		if at == "" && slices.ContainsFunc(c.FilesOn(n), func(f File) bool { return f.Path == a.Value }) {
			at, kind = a.Value, "File"
		}
	}
	if at == "" {
		return nil
	}
	return &Volume{Name: volumeName(p.Volumes, at), HostPath: at, MountPath: at, ReadOnly: !writes, PathType: kind, Source: a.Source, Derived: true}
}

var noLabel = regexp.MustCompile(`[^a-z0-9]+`)

// volumeName names the volume of a path: after the path, with a digest where that is too long or taken.
func volumeName(taken []Volume, p string) string {
	name := strings.Trim(noLabel.ReplaceAllString(strings.ToLower(p), "-"), "-")
	used := slices.ContainsFunc(taken, func(v Volume) bool { return v.Name == name })
	if len(name) <= 63 && name != "" && !used && !slices.Contains([]string{"ca-certs", "k8s-certs", "kubeconfig", "flexvolume-dir"}, name) {
		return name
	}
	sum := sha256.Sum256([]byte(p))
	return strings.TrimRight(name[:min(len(name), 54)], "-") + "-" + hex.EncodeToString(sum[:4])
}

// mounted reports whether a component sees the path without a derived volume: by a volume of its own, or
// by one that kubeadm adds.
func (c *Cluster) mounted(component string, p Component, at string) bool {
	if slices.ContainsFunc(p.Volumes, func(v Volume) bool { return v.MountPath != "" && hostfile.Below(at, v.MountPath) }) {
		return true
	}
	folders := keys(usualMounts(component, c.Certificates.Dir))
	if component != "kube-scheduler" {
		folders = append(folders, distributionCAs...)
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

// distributionCAs are the folders that kubeadm mounts where the host has them.
var distributionCAs = []string{"/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates"}
