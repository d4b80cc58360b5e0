package config

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubewright/kubewright/config/hostfile"
	"github.com/kubewright/kubewright/state"
)

// hostPath is what files and directories have in common.
type hostPath struct {
	block, path, mode, owner string
	roles                    []string
	selector                 string
	source                   state.Source
}

// key returns the key of an attribute in Origins.
func (h hostPath) key(attribute string) string {
	return fmt.Sprintf("%s[%q].%s", h.block, h.path, attribute)
}

func hostPaths(files []File, dirs []Directory) []hostPath {
	var out []hostPath
	for _, f := range files {
		out = append(out, hostPath{"file", f.Path, f.Mode, f.Owner, f.Roles, f.Selector, f.Source})
	}
	for _, d := range dirs {
		out = append(out, hostPath{"directory", d.Path, d.Mode, d.Owner, d.Roles, d.Selector, d.Source})
	}
	return out
}

// checkFiles checks the files and directories of a cluster or, with n, of a node.
func checkFiles(c checker, cl *Cluster, n *Node, files []File, dirs []Directory) {
	host := hostfile.Host{}
	if cl != nil {
		host = hostfile.Host{Certificates: cl.Certificates.Dir, Installs: cl.Install.Artifacts != "" || cl.Install.Packages != nil}
		if cl.Etcd.External == nil {
			host.Etcd = cl.Etcd.DataDir
		}
	}
	for _, h := range hostPaths(files, dirs) {
		checkPlace(c, host, h)
		checkAccess(c, h)
		checkSelection(c, h)
	}
	for _, f := range files {
		checkContent(c, f)
		checkRestarts(c, f)
	}
	if cl != nil {
		checkSyntax(c, cl, files)
	}
	if n == nil {
		checkNesting(c, hostPaths(files, dirs), hostPaths(files, dirs))
	} else if cl != nil {
		checkNesting(c, hostPaths(files, dirs), hostPaths(cl.FilesOn(n), cl.DirectoriesOn(n)))
	}
}

// checkPlace refuses paths that a file or directory of the user cannot have.
func checkPlace(c checker, host hostfile.Host, h hostPath) {
	const summary = "Invalid host path"
	switch {
	case h.path == "": // reported as an empty label
	case !strings.HasPrefix(h.path, "/"):
		c.errorAt(h.source, summary, "%s %q is a path on the hosts and must begin with a slash.", h.block, h.path)
	case path.Clean(h.path) != h.path:
		c.errorAt(h.source, summary, "%s %q holds empty or relative parts, or ends with a slash. Write the path as it is: %q.", h.block, h.path, path.Clean(h.path))
	case state.CheckPath(h.path) != nil || strings.Contains(h.path, ":"):
		c.errorAt(h.source, summary, "%s %q holds a colon, a backslash or a control character. Use a path without one.", h.block, h.path)
	case len(h.path) > 1000 || slices.ContainsFunc(strings.Split(h.path, "/"), func(s string) bool { return len(s) > 200 }):
		c.errorAt(h.source, summary, "%s %s has more than 1000 characters, or more than 200 in one part: hosts could not hold it. Use a shorter path.", h.block, Quote(h.path))
	default:
		if why := host.Refused(h.path); why != "" {
			c.errorAt(h.source, "Host path belongs to another", "A %s cannot be at %s: it %s. Use a path of your own, as in \"/etc/kubernetes/audit/policy.yaml\".", h.block, h.path, why)
		}
	}
}

func checkAccess(c checker, h hostPath) {
	if h.mode != "" {
		if why := hostfile.RefusedMode(h.mode); why != "" {
			c.errorf(h.key("mode"), "Invalid file mode", "%s %s", c.show(h.key("mode"), h.mode), why)
		}
	}
	if h.owner != "" {
		if why := hostfile.RefusedOwner(h.owner); why != "" {
			c.errorf(h.key("owner"), "Invalid file owner", "%s %s", c.show(h.key("owner"), h.owner), why)
		}
	}
}

// checkSelection checks which nodes a cluster's block chooses.
func checkSelection(c checker, h hostPath) {
	for _, r := range h.roles {
		c.oneOf(h.key("roles"), "Invalid role", r, string(ControlPlane), string(Worker))
	}
	if _, err := labels.Parse(h.selector); err != nil {
		c.errorf(h.key("selector"), "Invalid label selector", "%s is no label selector, as in \"node.example.com/pool=batch\": %s.", c.show(h.key("selector"), h.selector), err)
	}
}

func checkContent(c checker, f File) {
	h := hostPath{block: "file", path: f.Path}
	at := h.key("content")
	if c.origins[at].IsZero() {
		at = h.key("source")
	}
	switch {
	case len(f.Content) > hostfile.MaxContent:
		c.errorf(at, "File is too large", "file %q has %d KiB, and at most %d are possible: the state keeps its content, and each plan reads it from every host. Bring it to the hosts with their image or packages.", f.Path, (len(f.Content)+1023)>>10, hostfile.MaxContent>>10)
	case strings.Contains(f.Content, "\x00") || !utf8.ValidString(f.Content):
		c.errorf(at, "Invalid file content", "file %q holds a zero byte or no UTF-8, and a plan shows files as text. Bring it to the hosts with their image or packages.", f.Path)
	}
}

func checkRestarts(c checker, f File) {
	at := hostPath{block: "file", path: f.Path}.key("restarts")
	for _, name := range f.Restarts {
		c.oneOf(at, "Unknown component", name, restartable...)
	}
}

// checkNesting refuses own paths that contradict others on the same hosts: two blocks with one path, a
// path below a file, and a file in a directory that others than root can write to.
func checkNesting(c checker, own, all []hostPath) {
	for _, h := range own {
		for _, o := range all {
			if state.WholeMachine(o.path) || o.path == h.path && o.block == h.block || !hostfile.Below(h.path, o.path) {
				continue
			}
			if nested(c, h, o) {
				break
			}
		}
	}
}

// nested refuses a path at or below another one, and reports whether it did.
func nested(c checker, h, o hostPath) bool {
	switch {
	case h.path == o.path && h.block == "file":
		return false // reported at the directory
	case h.path == o.path:
		c.errorAt(h.source, "Host path used twice", "%s is both a file and a directory. Take one of the blocks out.", h.path)
	case o.block == "file":
		c.errorAt(h.source, "Path below a file", "%s %q lies below %q, which is a file. Move one of them.", h.block, h.path, o.path)
	case h.block == "file" && (o.owner != "" && !strings.HasPrefix(o.owner, "root:") || hostfile.GroupWrites(o.mode)):
		c.errorAt(h.source, "Directory is writable by others", "file %q lies in directory %q, which others than root can write to: they could put a link in the place of the file, so that hosts refuse to write there. Let the directory belong to root with a mode such as \"0755\", or move the file.", h.path, o.path)
	default:
		return false
	}
	return true
}

// checkPathArgs requires that files which arguments of static pods name are there: by a block, or by a
// volume.
func checkPathArgs(c checker, cfg *Config, cl *Cluster) {
	planes := cfg.NodesOf(cl.Label, ControlPlane)
	for _, p := range cl.pods() {
		if p.name != "kube-apiserver" {
			continue // the files of the others are kubeconfigs and certificates, which kubewright writes itself
		}
		for _, a := range p.Args {
			if !slices.Contains(pathArgsOf[p.name].reads, a.Name) && !slices.Contains(pathArgsOf[p.name].writes, a.Name) {
				continue
			}
			checkPathArg(c, cl, planes, p, a, patched(cl, planes, p.name))
		}
	}
}

func checkPathArg(c checker, cl *Cluster, planes []*Node, p podBlock, a Arg, patched bool) {
	if !strings.HasPrefix(a.Value, "/") || strings.Contains(a.Value, "$(") {
		return
	}
	i := slices.IndexFunc(p.Volumes, func(v Volume) bool { return v.Derived && hostfile.Below(a.Value, v.MountPath) })
	if i < 0 {
		switch {
		case patched || cl.mounted(p.name, *p.Component, a.Value):
		case slices.Contains(pathArgsOf[p.name].writes, a.Name):
			c.warnf(fmt.Sprintf("%s.arg[%q]", p.block, a.Name), "File is lost with its container", "%s writes --%s=%s, which is on no volume of its pod: what it writes is gone when it restarts. Write directory %q {} in the cluster block, which also mounts it.", p.name, a.Name, a.Value, path.Dir(a.Value))
		default:
			c.errorAt(a.Source, "File of an argument is missing", "%s runs with --%s=%s, and nothing provides that path in its pod, so that it would not start. Write file %q { source = \"…\" } in the cluster block, which also mounts it, or mount a path that the hosts have with extra_volume.", p.name, a.Name, a.Value, a.Value)
		}
		return
	}
	v := p.Volumes[i]
	for _, n := range planes {
		file := slices.ContainsFunc(cl.FilesOn(n), func(f File) bool { return f.Path == a.Value })
		dir := slices.ContainsFunc(cl.DirectoriesOn(n), func(d Directory) bool { return d.Path == v.MountPath })
		switch {
		case !file && !dir || v.PathType == "Directory" && !dir:
			c.errorAt(a.Source, "File of an argument is missing", "%s runs on every control plane with --%s=%s, and no block provides that path on %s, so that it would not start there. Let the block of %q select all control planes.", p.name, a.Name, a.Value, n.Target, v.MountPath)
			return
		case !file && slices.Contains(pathArgsOf[p.name].reads, a.Name):
			c.errorAt(a.Source, "File of an argument is missing", "%s runs with --%s=%s, and no file block provides it in the directory %q on %s, so that it would not start. Write file %q { source = \"…\" } in the cluster block.", p.name, a.Name, a.Value, v.MountPath, n.Target, a.Value)
			return
		}
	}
}

// checkProbed refuses an authentication configuration with which the probes of API servers are refused.
func checkProbed(c checker, at, content string) {
	if paths, all := hostfile.AnonymousPaths(content); !all && (!slices.Contains(paths, "/livez") || !slices.Contains(paths, "/readyz")) {
		c.errorf(at, "Probes would be refused", "The kubelet probes an API server at /livez and /readyz without credentials, and restarts it when they are refused. Let requests without credentials pass at these paths, and at /healthz.")
	}
}

// checkSyntax refuses files that the component with an argument for them would not read.
func checkSyntax(c checker, cl *Cluster, files []File) {
	for _, f := range files {
		for _, p := range cl.pods() {
			for _, a := range p.Args {
				if a.Value != f.Path {
					continue
				}
				err := hostfile.Check(a.Name, f.Content)
				h := hostPath{block: "file", path: f.Path}
				at := h.key("content")
				if c.origins[at].IsZero() {
					at = h.key("source")
				}
				if err == nil && a.Name == "authentication-config" {
					checkProbed(c, at, f.Content)
				}
				if err == nil {
					continue
				}
				why := err.Error()
				if c.hidden[h.key("content")] {
					why = "it is sensitive, so that the reason is not shown; decrypt it and compare it with the documentation of " + hostfile.Kind(a.Name)
				}
				c.errorf(at, "Invalid file content", "%s reads %q as --%s, and would not start with it: it is no valid %s: %s. Correct the file.", p.name, f.Path, a.Name, hostfile.Kind(a.Name), why)
			}
		}
	}
}

// patched reports whether patches change the pod of a component: they may add volumes.
func patched(cl *Cluster, planes []*Node, component string) bool {
	has := func(patches []Patch) bool {
		return slices.ContainsFunc(patches, func(p Patch) bool { return p.Target == component })
	}
	return has(cl.Patches) || slices.ContainsFunc(planes, func(n *Node) bool { return has(n.Patches) })
}
