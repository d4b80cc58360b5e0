package build

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// tools maps each program that the lab and its tests call to its Debian package.
func tools() map[string]string {
	return map[string]string{
		"debootstrap": "debootstrap",
		"depmod":      "kmod",
		"dpkg-deb":    "dpkg",
		"gpg":         "gpg",
		"ip":          "iproute2",
		"nsenter":     "util-linux",
		"pkill":       "procps",
		"ssh":         "openssh-client",
		"unshare":     "util-linux",
	}
}

// databases maps programs that the end-to-end tests need besides those of the lab to their
// packages.
func databases() map[string]string { return map[string]string{"postgres": "postgresql"} }

// InstallTools installs the packages of missing tools with apt-get. If none is missing, it does
// nothing and needs no privileges.
func InstallTools(ctx context.Context) error { return install(ctx, missing(tools())) }

// InstallTestTools is InstallTools for all programs that end-to-end tests call.
func InstallTestTools(ctx context.Context) error {
	all := tools()
	maps.Copy(all, databases())
	return install(ctx, missing(all))
}

// missing returns the packages of programs that are not installed, each once and sorted.
func missing(programs map[string]string) []string {
	var packages []string
	for program, pkg := range programs {
		if !installed(program) && !slices.Contains(packages, pkg) {
			packages = append(packages, pkg)
		}
	}
	slices.Sort(packages)
	return packages
}

// installed reports whether a program is on the PATH, or where Debian installs PostgreSQL's
// programs.
func installed(program string) bool {
	if _, err := exec.LookPath(program); err == nil {
		return true
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + program)
	return err == nil && len(found) > 0
}

func install(ctx context.Context, missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("cannot install %v: not root", missing)
	}
	if err := apt(ctx, "update"); err != nil {
		return err
	}
	return apt(ctx, append([]string{"install", "--yes", "--no-install-recommends"}, missing...)...)
}

func apt(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-o", "DPkg::Lock::Timeout=300"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	_, err := process.Output(cmd)
	return err
}
