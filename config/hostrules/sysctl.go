package hostrules

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// sysctlPart is a folder or file below /proc/sys. Names of links may have dots.
var sysctlPart = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// swapped exchanges dots and slashes.
var swapped = strings.NewReplacer(".", "/", "/", ".")

// SysctlName returns the name of a kernel parameter with dots between its parts. As for sysctl(8),
// a name whose first separator is a slash is a path below /proc/sys; in one with dots, a slash
// stands for a dot within a part, as in net.ipv4.conf.eth0/100.forwarding.
func SysctlName(s string) (string, error) {
	path := s
	if i := strings.IndexAny(s, "./"); i >= 0 && s[i] == '.' {
		path = swapped.Replace(s)
	}
	parts := strings.Split(path, "/")
	for _, part := range parts {
		if !sysctlPart.MatchString(part) || len(parts) < 2 || len(s) > 255 {
			return "", fmt.Errorf("%q is no name of a kernel parameter, as sysctl -a lists them: net.core.somaxconn, or net/core/somaxconn", s)
		}
	}
	return swapped.Replace(path), nil
}

// SysctlValue returns a value as the kernel shows it, with one space between its numbers.
func SysctlValue(s string) string { return strings.Join(strings.Fields(s), " ") }

// maxSysctl is the size of a page, in which the kernel returns a value.
const maxSysctl = 4096

// CheckSysctlValue refuses what the kernel would not show as it is written: a plan would find it
// changed each time.
func CheckSysctlValue(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return fmt.Errorf("the value is empty. Write one, or leave the key out to keep the host's")
	case strings.ContainsAny(s, "\n\r\x00\\") || len(s) >= maxSysctl:
		return fmt.Errorf("the value must be one line of less than %d bytes, without backslashes", maxSysctl)
	}
	for _, f := range strings.Fields(s) {
		if n, err := strconv.ParseInt(f, 0, 64); err == nil && strconv.FormatInt(n, 10) != f {
			return fmt.Errorf("the kernel shows %s as %d. Write %d", f, n, n)
		}
	}
	return nil
}

// neededSysctls are the values without which Kubernetes does not work, and why.
var neededSysctls = map[string][2]string{
	"net.ipv4.ip_forward":                 {"1", forwards},
	"net.ipv4.conf.all.forwarding":        {"1", forwards},
	"net.ipv6.conf.all.forwarding":        {"1", forwards},
	"net.ipv6.conf.default.forwarding":    {"1", forwards},
	"net.bridge.bridge-nf-call-iptables":  {"1", bridges},
	"net.bridge.bridge-nf-call-ip6tables": {"1", bridges},
	"vm.overcommit_memory":                {"1", kubelets},
	"vm.panic_on_oom":                     {"0", kubelets},
	"kernel.panic":                        {"10", kubelets},
	"kernel.panic_on_oops":                {"1", kubelets},
	"kernel.keys.root_maxkeys":            {"1000000", kubelets},
	"kernel.keys.root_maxbytes":           {"25000000", kubelets},
}

const (
	forwards = "Kubernetes forwards packets between pods and nodes"
	bridges  = "packets between pods on a bridge would pass by the rules of services and network policies"
	kubelets = "the kubelet sets it at each start, and with protectKernelDefaults does not start with another value"
)

// NeededSysctl returns the value that Kubernetes needs of a kernel parameter, and why; "" if it
// needs none.
func NeededSysctl(name string) (value, why string) {
	n := neededSysctls[name]
	return n[0], n[1]
}

// foreignSysctls are kernel parameters that are no settings, and why. An empty value means any.
var foreignSysctls = map[string][2]string{
	"vm.drop_caches":                    {"", anAct},
	"vm.compact_memory":                 {"", anAct},
	"vm.stat_refresh":                   {"", anAct},
	"net.ipv4.route.flush":              {"", anAct},
	"net.ipv6.route.flush":              {"", anAct},
	"kernel.hostname":                   {"", "the host's name, which hostnamectl sets, and the node's name may come from it"},
	"kernel.domainname":                 {"", "part of the host's name"},
	"kernel.modules_disabled":           {"", "irreversible until the next boot, and kube-proxy and network plugins load modules"},
	"kernel.kexec_load_disabled":        {"1", oneWay},
	"kernel.unprivileged_bpf_disabled":  {"1", oneWay + "; 2 has the same effect and can be undone"},
	"kernel.yama.ptrace_scope":          {"3", oneWay},
	"kernel.perf_event_max_sample_rate": {"", "lowered by the kernel itself under load"},
}

const (
	anAct  = "no setting: writing to it acts at once, and the kernel keeps no value"
	oneWay = "irreversible with this value until the next boot, so that it could not be put back"
)

// ForeignSysctl returns why a configuration cannot set a kernel parameter to a value, as what
// completes "it is"; "" if it can.
func ForeignSysctl(name, value string) string {
	if f, ok := foreignSysctls[name]; ok && (f[0] == "" || f[0] == value) {
		return f[1]
	}
	return ""
}

// ProxySysctls are the kernel parameters that kube-proxy sets at each start unless the field of its
// conntrack configuration is zero (pkg/proxy/conntrack, cmd/kube-proxy/app/server_linux.go).
var ProxySysctls = map[string]string{
	"net.netfilter.nf_conntrack_max":                     "maxPerCore",
	"net.netfilter.nf_conntrack_tcp_timeout_established": "tcpEstablishedTimeout",
	"net.netfilter.nf_conntrack_tcp_timeout_close_wait":  "tcpCloseWaitTimeout",
}
