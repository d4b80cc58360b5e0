package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
)

// sharedSysctls are settings of the machine's kernel that hosts change for all others, each with
// the minimum that the lab needs (0: none): those that kubelets set (setupKernelTunables of the
// kubelet's container manager), and inotify limits, because every systemd, container runtime and
// kubelet watches files, and the root users of all hosts are one user to the kernel.
func sharedSysctls() map[string]int {
	return map[string]int{
		"vm.overcommit_memory":           0,
		"vm.panic_on_oom":                0,
		"kernel.panic":                   0,
		"kernel.panic_on_oops":           0,
		"kernel.keys.root_maxkeys":       0,
		"kernel.keys.root_maxbytes":      0,
		"fs.inotify.max_user_instances":  8192,
		"fs.inotify.max_user_watches":    524288,
		"net.netfilter.nf_conntrack_max": 0,
	}
}

func sysctlPath(name string) string {
	return filepath.Join("/proc/sys", strings.ReplaceAll(name, ".", "/"))
}

func sysctlFile(c *build.Cache) string { return c.Path("labs", "sysctls.json") }

// saveSysctls records the machine's settings before the first lab is brought up.
func saveSysctls(ctx context.Context, cache *build.Cache) error {
	unlock, err := cache.Lock(ctx, "sysctls")
	if err != nil {
		return err
	}
	defer unlock()
	if disk.Exists(sysctlFile(cache)) {
		return nil
	}
	values := map[string]string{}
	for name := range sharedSysctls() {
		if text, err := os.ReadFile(sysctlPath(name)); err == nil {
			values[name] = strings.TrimSpace(string(text))
		}
	}
	text, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache.Path("labs"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(sysctlFile(cache), text, 0o644); err != nil {
		return err
	}
	for name, least := range sharedSysctls() {
		if now, err := strconv.Atoi(values[name]); err != nil || now >= least {
			continue
		}
		if err := os.WriteFile(sysctlPath(name), []byte(strconv.Itoa(least)), 0); err != nil {
			return fmt.Errorf("cannot set %s: %w", name, err)
		}
	}
	return nil
}

// restoreSysctls restores them after the last lab was taken down.
func restoreSysctls(ctx context.Context, cache *build.Cache) error {
	unlock, err := cache.Lock(ctx, "sysctls")
	if err != nil {
		return err
	}
	defer unlock()
	text, err := os.ReadFile(sysctlFile(cache))
	if errors.Is(err, fs.ErrNotExist) || len(Names(cache)) > 0 {
		return nil
	}
	if err != nil {
		return err
	}
	var values map[string]string
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	for name, value := range values {
		now, err := os.ReadFile(sysctlPath(name))
		if err != nil || strings.TrimSpace(string(now)) == value {
			continue
		}
		if err := os.WriteFile(sysctlPath(name), []byte(value), 0); err != nil {
			return fmt.Errorf("cannot restore %s: %w", name, err)
		}
	}
	return os.Remove(sysctlFile(cache))
}

// unmountBelow unmounts all mounts below a folder in our own mount namespace, the latest first.
func unmountBelow(dir string) error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			points = append(points, fields[4])
		}
	}
	slices.Reverse(points)
	for _, point := range points {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("cannot unmount %s: %w", point, err)
		}
	}
	return nil
}
