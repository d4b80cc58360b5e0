package build

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

const (
	suite         = "bookworm"
	defaultMirror = "http://deb.debian.org/debian"
	// MirrorVariable is the environment variable for another Debian mirror.
	MirrorVariable = "KUBEWRIGHT_LAB_MIRROR"
)

// basePackages are the packages of a freshly installed server, and the dependencies of the
// packages of kubeadm and kubelet.
const basePackages = "systemd,systemd-sysv,dbus,openssh-server,sudo,iproute2,iptables,nftables,conntrack," +
	"ebtables,ethtool,socat,kmod,mount,procps,util-linux,libseccomp2,ca-certificates,curl"

// runtimePackages go into the second layer only: a bare host has no container runtime. runc is
// Debian's because one built without libseccomp does not support the default seccomp profile.
const runtimePackages = "runc,containernetworking-plugins"

// sealScript turns a bootstrapped tree into a template of hosts; it runs inside the tree.
//
//go:embed files/seal.sh
var sealScript string

// A Rootfs is the Debian system of hosts: Base is a whole root file system, Runtime the additions
// of the runtime packages.
type Rootfs struct {
	Base    string
	Runtime string
}

// Rootfs returns the root file systems, and bootstraps missing ones.
func (c *Cache) Rootfs(ctx context.Context) (Rootfs, error) {
	key := "rootfs/" + suite + "-" + fingerprint(basePackages, runtimePackages, sealScript)
	dir, err := c.artefact(ctx, key, buildRootfs)
	return Rootfs{Base: filepath.Join(dir, "base"), Runtime: filepath.Join(dir, "runtime")}, err
}

// buildRootfs bootstraps with the runtime's packages, unpacks those separately, and purges them:
// so a single package manager run resolves all dependencies. debootstrap runs in a mount
// namespace of its own, so that nothing stays mounted below a folder that is about to be removed
// if it is killed.
func buildRootfs(ctx context.Context, dir string) error {
	base := filepath.Join(dir, "base")
	if err := bootstrap(ctx, base, basePackages+","+runtimePackages); err != nil {
		return err
	}
	if err := extractRuntime(ctx, base, dir); err != nil {
		return err
	}
	seal := exec.CommandContext(ctx, "chroot", base, "/bin/sh", "-euc", sealScript)
	seal.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}
	_, err := process.Output(seal)
	return err
}

// bootstrap unpacks and configures Debian with further packages in a folder.
func bootstrap(ctx context.Context, dir, packages string) error {
	mirror := cmp.Or(os.Getenv(MirrorVariable), defaultMirror)
	return process.Run(ctx, "unshare", "--mount", "debootstrap", "--variant=minbase", "--include="+packages, suite, dir, mirror)
}

// extractRuntime unpacks the runtime's packages and keeps their programs. (A package may contain
// /lib, which would hide the base's link of that name.)
func extractRuntime(ctx context.Context, base, dir string) error {
	whole := filepath.Join(dir, "packages")
	for pkg := range strings.SplitSeq(runtimePackages, ",") {
		debs, err := filepath.Glob(filepath.Join(base, "var/cache/apt/archives", pkg+"_*.deb"))
		if err != nil || len(debs) != 1 {
			return fmt.Errorf("cannot find the package %s among those bootstrapped: %v %w", pkg, debs, err)
		}
		if err := process.Run(ctx, "dpkg-deb", "-x", debs[0], whole); err != nil {
			return err
		}
	}
	for _, part := range []string{"usr/sbin/runc", "usr/lib/cni"} {
		target := filepath.Join(dir, "runtime", part)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(whole, part), target); err != nil {
			return err
		}
	}
	return os.RemoveAll(whole)
}
