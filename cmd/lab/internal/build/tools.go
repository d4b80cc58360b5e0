package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// tools maps each program the lab calls to its Debian package.
func tools() map[string]string {
	return map[string]string{
		"debootstrap": "debootstrap",
		"depmod":      "kmod",
		"dpkg-deb":    "dpkg",
		"ip":          "iproute2",
		"nsenter":     "util-linux",
		"unshare":     "util-linux",
	}
}

// InstallTools installs, with apt-get, the packages of those tools that are
// missing; where none is, it does nothing and asks for no rights.
func InstallTools(ctx context.Context) error {
	var missing []string
	for program, pkg := range tools() {
		if _, err := exec.LookPath(program); err != nil && !slices.Contains(missing, pkg) {
			missing = append(missing, pkg)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
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
