package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/nearest"
	"github.com/kubewright/kubewright/state"
)

// Validate checks everything that can be checked without observing a host, as strictly as
// kubeadm and the components do. The loader reports misplaced empty values: here an empty value
// counts as not written.
func (c *Config) Validate() diag.Diagnostics {
	var out diag.Diagnostics
	for _, cl := range c.Clusters {
		ch := checker{out: &out, origins: cl.Origins, hidden: cl.Sensitive, block: cl.Source, about: state.ClusterTarget(cl.Label), minor: MinorOf(cl.KubernetesVersion)}
		ch.cluster(cl)
		ch.topology(c, cl)
		checkFiles(ch, cl, nil, cl.Files, cl.Directories)
		checkPathArgs(ch, c, cl)
		ch.lifecycle(cl.Lifecycle, clusterIgnorable)
		ch.secrets()
	}
	for _, n := range c.Nodes {
		ch := checker{out: &out, origins: n.Origins, hidden: n.Sensitive, block: n.Source, about: n.Target}
		cl := c.Cluster(n.Cluster)
		if cl != nil {
			ch.minor = MinorOf(cl.KubernetesVersion)
		}
		ch.node(n, cl)
		checkFiles(ch, cl, n, n.Files, n.Directories)
		ch.lifecycle(n.Lifecycle, nodeIgnorable)
		ch.secrets()
	}
	c.changes(&out)
	c.policies(&out)
	out.Append(c.Encryption.Check()...)
	c.secretNames(&out)
	c.checkDuplicates(&out)
	return out
}

// checker collects findings about one cluster or node.
type checker struct {
	out     *diag.Diagnostics
	origins Origins
	hidden  map[string]bool
	block   state.Source
	about   fmt.Stringer
	// here is the position of the checked value if its path is ambiguous: for arguments with
	// the same name, the path leads to the last one.
	here state.Source
	// minor is the minor version of Kubernetes, 0 if it is unknown.
	minor int
}

// at returns the position of a value, or of the block if it is a default.
func (c checker) at(path string) state.Source {
	if !c.here.IsZero() {
		return c.here
	}
	if s := c.origins.Of(path); !s.IsZero() {
		return s
	}
	return c.block
}

// errorf adds an error at the place of a value.
func (c checker) errorf(path, summary, format string, args ...any) {
	c.errorAt(c.at(path), summary, format, args...)
}

// warnf adds a warning at the place of a value.
func (c checker) warnf(path, summary, format string, args ...any) {
	c.out.Append(diag.Warningf(summary, format, args...).At(c.at(path)).In(c.block).For(c.about))
}

// errorAt adds an error at a place.
func (c checker) errorAt(at state.Source, summary, format string, args ...any) {
	if at.IsZero() {
		at = c.block
	}
	c.out.Append(diag.Errorf(summary, format, args...).At(at).In(c.block).For(c.about))
}

// show quotes a value for a message, unless it must not be shown.
func (c checker) show(path, value string) string {
	for p := path; p != ""; p = enclosing(p) {
		if c.hidden[p] {
			return "the value"
		}
	}
	return Quote(value)
}

// oneOf requires one of the values; empty is not written.
func (c checker) oneOf(path, summary, value string, allowed ...string) bool {
	if value == "" || slices.Contains(allowed, value) {
		return true
	}
	c.errorf(path, summary, "%s is not one of %s.%s", c.show(path, value), list(allowed), didYouMean(value, allowed))
	return false
}

// absolute requires a clean absolute path; empty is not written. A trailing slash is allowed in
// a path that is only passed on. It reports whether the path is written and valid.
func (c checker) absolute(path, value string) bool {
	bare := value
	if len(value) > 1 {
		bare = strings.TrimSuffix(value, "/")
	}
	switch {
	case value == "":
	case !strings.HasPrefix(value, "/"):
		c.errorf(path, "Path is not absolute", "%s is a path on the hosts and must begin with a slash.", c.show(path, value))
	case state.CheckPath(bare) != nil:
		c.errorf(path, "Path is not plain", "%s holds empty or relative parts, control characters or backslashes. Write the path as it is.", c.show(path, value))
	case strings.Contains(value, ":"):
		c.errorf(path, "Path holds a colon", "%s holds a colon, which separates paths in arguments of components. Use a path without one.", c.show(path, value))
	default:
		return true
	}
	return false
}

// ownPath requires the path of a file or folder that kubewright itself reads on hosts: hosts
// are queried for it literally.
func (c checker) ownPath(path, value string) bool {
	switch {
	case !c.absolute(path, value):
	case len(value) > 1 && strings.HasSuffix(value, "/"):
		c.errorf(path, "Path ends with a slash", "%s has a slash at its end. Write the path without it.", c.show(path, value))
	default:
		return true
	}
	return false
}

// ownFolder requires a folder that can belong to the cluster alone: a reset empties or deletes
// it, which hosts refuse for folders of the whole machine. A folder directly at the root is
// allowed, such as /etcd: users mount a disk for etcd there, also in clusters that are
// imported.
func (c checker) ownFolder(path, value string) {
	if c.ownPath(path, value) && state.WholeMachine(value) {
		c.errorf(path, "Folder of the whole machine", "%s belongs to the whole machine, and the cluster's folders are deleted when its hosts are reset. Use another one, for this cluster alone.", c.show(path, value))
	}
}

// ownFile requires a file that is written to hosts, and deleted when they are released.
func (c checker) ownFile(path, value string) {
	if c.ownPath(path, value) && (state.WholeMachine(value) || state.AtRoot(value)) {
		c.errorf(path, "File at the root", "%s is written to the hosts, and taken away when they are given back; that is done in a folder, and not at the root or in place of a folder of the whole machine. Give a path such as \"/etc/kubernetes/etcd/ca.crt\".", c.show(path, value))
	}
}

// list joins words for a sentence.
func list(words []string) string { return strings.Join(words, ", ") }

// didYouMean returns a sentence, or "".
func didYouMean(given string, names []string) string {
	if s := Nearest(given, names); s != "" {
		return fmt.Sprintf(" Did you mean %q?", s)
	}
	return ""
}

// didYouMeanOr returns a sentence: the name that was probably intended, or otherwise, also if
// several names are equally near: VersionTLS14 may stand for any version.
func didYouMeanOr(given string, names []string, otherwise string) string {
	near := Nearest(given, names)
	as := func(name string) int { return nearest.Distance(strings.ToLower(given), strings.ToLower(name)) }
	if near == "" || slices.ContainsFunc(names, func(n string) bool { return n != near && as(n) <= as(near) }) {
		return " " + otherwise
	}
	return didYouMean(given, names)
}

// reasons joins the findings of the API machinery's checks, without the regular expressions
// that they add.
func reasons(found []string) string {
	short := make([]string, len(found))
	for i, s := range found {
		short[i], _, _ = strings.Cut(s, " (e.g. ")
	}
	return strings.Join(short, "; ")
}
