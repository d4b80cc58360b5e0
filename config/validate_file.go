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
		checkSelection(c, fmt.Sprintf("%s[%q]", h.block, h.path), h.roles, h.selector)
	}
	for _, f := range files {
		checkContent(c, f)
		checkRestarts(c, f)
	}
	if n == nil {
		checkSyntax(c, cl, &Node{Role: ControlPlane, Files: files}, files)
		checkNesting(c, hostPaths(files, dirs), hostPaths(files, dirs))
	} else if cl != nil {
		checkSyntax(c, cl, n, files)
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
func checkSelection(c checker, at string, roles []string, selector string) {
	for _, r := range roles {
		c.oneOf(at+".roles", "Invalid role", r, string(ControlPlane), string(Worker))
	}
	if _, err := labels.Parse(selector); err != nil {
		c.errorf(at+".selector", "Invalid label selector", "%s is no label selector, as in \"node.example.com/pool=batch\": %s.", c.show(at+".selector", selector), err)
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

// checkPathArgs requires that files which arguments of static pods name are there, and those which such
// files name: by a block, or by a volume.
func checkPathArgs(c checker, cfg *Config, cl *Cluster) {
	planes := cfg.NodesOf(cl.Label, ControlPlane)
	for _, p := range cl.pods() {
		var said []string
		for _, n := range planes {
			for _, u := range cl.uses(n, p) {
				// The files of the others are kubeconfigs and certificates, which kubewright writes itself.
				named := u.By != "" || (p.name == "kube-apiserver" || p.name == "etcd") && (hostfile.Reads(p.name, u.Argument) || u.Writes)
				if named && !slices.Contains(said, u.Path+" "+u.Argument) && checkUse(c, cl, n, p, u, patched(cl, planes, p.name)) {
					said = append(said, u.Path+" "+u.Argument)
				}
			}
		}
	}
}

// checkUse checks a path that a component uses on a node, and reports whether it said something.
func checkUse(c checker, cl *Cluster, n *Node, p podBlock, u fileUse, patched bool) bool {
	if !strings.HasPrefix(u.Path, "/") || strings.Contains(u.Path, "$(") {
		return false
	}
	const missing = "File of an argument is missing"
	runs := fmt.Sprintf("%s runs with --%s=%s", p.name, u.Argument, u.Path)
	if u.By != "" {
		runs = fmt.Sprintf("%s reads %s, which names %s", p.name, u.By, u.Path)
	}
	i := slices.IndexFunc(*p.volumes, func(v Volume) bool { return v.Derived && hostfile.Below(u.Path, v.MountPath) })
	if i < 0 {
		switch {
		case patched || cl.mounted(p.name, *p.volumes, u.Path) || p.name == "etcd" && hostfile.Below(u.Path, cl.Etcd.DataDir):
			return false
		case u.Writes:
			c.warnf(fmt.Sprintf("%s.arg[%q]", p.block, u.Argument), "File is lost with its container", "%s writes --%s=%s, which is on no volume of its pod: what it writes is gone when it restarts. Write directory %q {} in the cluster block, which also mounts it.", p.name, u.Argument, u.Path, path.Dir(u.Path))
		default:
			c.errorAt(u.source, missing, "%s, and nothing provides that path in its pod, so that it would %s. %s.", runs, hostfile.Without(u.Argument), hostfile.Provide(p.name, u.Argument, u.Path))
		}
		return true
	}
	v := (*p.volumes)[i]
	dir := slices.ContainsFunc(cl.DirectoriesOn(n), func(d Directory) bool { return d.Path == v.MountPath })
	switch {
	case u.file == nil && !dir || v.PathType == "Directory" && !dir:
		c.errorAt(u.source, missing, "%s on every control plane, and no block provides that path on %s, so that it would %s there. Let the block of %q select all control planes.", runs, n.Target, hostfile.Without(u.Argument), v.MountPath)
	case u.file == nil && !u.Writes:
		c.errorAt(u.source, missing, "%s, and no file block provides it in the directory %q on %s, so that it would %s. Write file %q { source = \"…\" } in the cluster block.", runs, v.MountPath, n.Target, hostfile.Without(u.Argument), u.Path)
	default:
		return false
	}
	return true
}

// checkProbed refuses an authentication configuration with which the probes of API servers are refused.
func checkProbed(c checker, at, content string) {
	if paths, all := hostfile.AnonymousPaths(content); !all && (!slices.Contains(paths, "/livez") || !slices.Contains(paths, "/readyz")) {
		c.errorf(at, "Probes would be refused", "The kubelet probes an API server at /livez and /readyz without credentials, and restarts it when they are refused. Let requests without credentials pass at these paths, and at /healthz.")
	}
}

// checkSyntax refuses files that the component which uses them would not read.
func checkSyntax(c checker, cl *Cluster, n *Node, files []File) {
	said := map[string]bool{}
	for _, p := range cl.pods() {
		for _, u := range cl.uses(n, p) {
			i := slices.IndexFunc(files, func(f File) bool { return f.Path == u.Path })
			if i < 0 || u.Argument == "" || said[u.Path] {
				continue
			}
			err := hostfile.Check(u.Argument, files[i].Content)
			h := hostPath{block: "file", path: u.Path}
			at := h.key("content")
			if c.origins[at].IsZero() {
				at = h.key("source")
			}
			if err == nil && u.Argument == "authentication-config" {
				checkProbed(c, at, files[i].Content)
			}
			if err == nil {
				continue
			}
			why, as := err.Error(), "as --"+u.Argument
			if u.By != "" {
				as = "because of " + u.By
			}
			if c.hidden[h.key("content")] {
				why = "it is sensitive, so that the reason is not shown; decrypt it and compare it with the documentation of " + hostfile.Kind(u.Argument)
			}
			said[u.Path] = true
			c.errorf(at, "Invalid file content", "%s reads %q %s, and would %s with it: it is no valid %s: %s. Correct the file.", p.name, u.Path, as, hostfile.Without(u.Argument), hostfile.Kind(u.Argument), why)
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
