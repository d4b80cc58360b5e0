package state

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Which paths on a host may be referred to, and which may go. The rule stands here because
// two have to agree on it: who checks a configuration, and who acts on hosts. A path that
// only the latter refuses makes a cluster that nobody can destroy.

// CheckPath refuses paths that a host's answer could not be told apart by, or that mean
// another file than they say.
func CheckPath(p string) error {
	switch {
	case !strings.HasPrefix(p, "/"):
		return fmt.Errorf("path %q is not absolute", p)
	case path.Clean(p) != p:
		return fmt.Errorf("path %q is not in its shortest form", p)
	}
	return CheckText("path", p)
}

// CheckText refuses control characters and backslashes, which commands print
// escaped or not, as they like.
func CheckText(what, s string) error {
	for _, r := range s {
		if unicode.IsControl(r) || r == '\\' || r == unicode.ReplacementChar {
			return fmt.Errorf("%s %q contains %q", what, s, r)
		}
	}
	return nil
}

// wholeMachine are folders that belong to the whole machine: those that distributions
// have at the root, and below them those that hold what many programs put there.
var wholeMachine = []string{
	"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/media", "/mnt", "/opt",
	"/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var",
	"/etc/cni", "/etc/ssh", "/etc/ssl", "/etc/systemd", "/etc/systemd/system", "/etc/sysctl.d", "/etc/modules-load.d", "/etc/pki",
	"/opt/bin", "/run/systemd", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/local", "/usr/sbin", "/usr/share",
	"/usr/local/bin", "/usr/local/sbin", "/usr/local/lib",
	"/var/cache", "/var/lib", "/var/log", "/var/run", "/var/tmp",
}

// WholeMachine reports whether a path belongs to the whole machine. Nothing of ours is one of
// these, so that whoever would empty or remove one is mistaken.
func WholeMachine(p string) bool {
	return slices.Contains(wholeMachine, p) || strings.HasPrefix(p, "/proc/") || strings.HasPrefix(p, "/sys/") || strings.HasPrefix(p, "/dev/")
}

// AtRoot reports whether a path lies directly at the root. Such a folder may be a cluster's,
// as etcd's data often has a disk of its own mounted there, and then it is emptied only:
// who set the machine up has made it, and what an empty one is for nobody else knows.
func AtRoot(p string) bool { return path.Dir(p) == "/" }

// CheckRemoval refuses to remove, or with emptied to empty, what belongs to the whole machine.
func CheckRemoval(p string, emptied bool) error {
	if WholeMachine(p) || AtRoot(p) && !emptied {
		return fmt.Errorf("%s belongs to the whole machine", p)
	}
	return nil
}
