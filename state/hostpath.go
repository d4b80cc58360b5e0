package state

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Rules for the paths on a host that a configuration may name, and for those that may be removed.
// They are defined here because the check of a configuration and the code that acts on hosts have
// to agree: a path that only the latter refuses would make a cluster that cannot be destroyed.

// CheckPath refuses paths that make a host's answer ambiguous, or that denote another file than
// they spell.
func CheckPath(p string) error {
	switch {
	case !strings.HasPrefix(p, "/"):
		return fmt.Errorf("path %q is not absolute", p)
	case path.Clean(p) != p:
		return fmt.Errorf("path %q is not in its shortest form", p)
	}
	return CheckText("path", p)
}

// CheckText refuses control characters and backslashes: whether commands print them escaped
// depends on the command.
func CheckText(what, s string) error {
	for _, r := range s {
		if unicode.IsControl(r) || r == '\\' || r == unicode.ReplacementChar {
			return fmt.Errorf("%s %q contains %q", what, s, r)
		}
	}
	return nil
}

// wholeMachine lists folders that belong to the whole machine: the folders that distributions
// have at the root, and shared folders below them.
var wholeMachine = []string{
	"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/media", "/mnt", "/opt",
	"/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var",
	"/etc/cni", "/etc/ssh", "/etc/ssl", "/etc/systemd", "/etc/systemd/system", "/etc/sysctl.d", "/etc/modules-load.d", "/etc/pki",
	"/opt/bin", "/run/systemd", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/local", "/usr/sbin", "/usr/share",
	"/usr/local/bin", "/usr/local/sbin", "/usr/local/lib",
	"/var/cache", "/var/lib", "/var/log", "/var/run", "/var/tmp",
}

// WholeMachine reports whether a path belongs to the whole machine. Nothing of kubewright is at
// such a path, so emptying or removing one is always a mistake.
func WholeMachine(p string) bool {
	return slices.Contains(wholeMachine, p) || strings.HasPrefix(p, "/proc/") || strings.HasPrefix(p, "/sys/") || strings.HasPrefix(p, "/dev/")
}

// AtRoot reports whether a path lies directly at the root. Such a folder may belong to a cluster,
// as etcd's data often has a disk mounted there. It is then emptied but not removed, because the
// operator of the machine created it.
func AtRoot(p string) bool { return path.Dir(p) == "/" }

// CheckRemoval refuses to remove, or if emptied is set to empty, a path that belongs to the whole
// machine.
func CheckRemoval(p string, emptied bool) error {
	if WholeMachine(p) || AtRoot(p) && !emptied {
		return fmt.Errorf("%s belongs to the whole machine", p)
	}
	return nil
}
