package build

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// builtinModules maps modules that guides to Kubernetes load to a file that exists if the kernel
// has them, loaded or built in.
func builtinModules() map[string]string {
	return map[string]string{
		"kernel/fs/overlayfs/overlay.ko":            "/sys/module/overlay",
		"kernel/net/bridge/bridge.ko":               "/sys/module/bridge",
		"kernel/net/bridge/br_netfilter.ko":         "/proc/sys/net/bridge/bridge-nf-call-iptables",
		"kernel/net/netfilter/nf_conntrack.ko":      "/proc/sys/net/netfilter/nf_conntrack_max",
		"kernel/net/netfilter/nf_tables.ko":         "/sys/module/nf_tables",
		"kernel/net/netfilter/x_tables.ko":          "/proc/net/ip_tables_names",
		"kernel/net/netfilter/xt_comment.ko":        "/proc/net/ip_tables_names",
		"kernel/net/netfilter/ipvs/ip_vs.ko":        "/proc/net/ip_vs",
		"kernel/net/ipv4/netfilter/ip_tables.ko":    "/proc/net/ip_tables_names",
		"kernel/net/ipv4/netfilter/iptable_nat.ko":  "/proc/net/ip_tables_names",
		"kernel/net/ipv6/netfilter/ip6_tables.ko":   "/proc/net/ip6_tables_names",
		"kernel/net/ipv6/netfilter/ip6table_nat.ko": "/proc/net/ip6_tables_names",
	}
}

// Modules returns a layer with /lib/modules for a machine without one, whose kernel has
// everything built in: modprobe then finds the modules, as on any distribution's kernel. A
// machine with modules shares its own folder, and the result is empty.
func (c *Cache) Modules(ctx context.Context) (string, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", err
	}
	release := unix.ByteSliceToString(name.Release[:])
	if disk.Exists(filepath.Join("/lib/modules", release)) {
		return "", nil
	}
	var builtin []string
	for module, evidence := range builtinModules() {
		if disk.Exists(evidence) {
			builtin = append(builtin, module)
		}
	}
	slices.Sort(builtin)
	list := strings.Join(builtin, "\n") + "\n"
	return c.artefact(ctx, "modules/"+release+"-"+fingerprint(list), func(ctx context.Context, dir string) error {
		files := map[string]string{"modules.builtin": list, "modules.order": ""}
		if err := writeFiles(filepath.Join(dir, "usr/lib/modules", release), files); err != nil {
			return err
		}
		return process.Run(ctx, "depmod", "--basedir", filepath.Join(dir, "usr"), release)
	})
}
