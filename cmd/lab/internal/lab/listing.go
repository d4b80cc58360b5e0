package lab

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
)

// Listing returns the contents of a host as sorted lines by which two moments can be compared:
// files, units, mounts, links, addresses, routes, packet filter rules, kernel settings, cgroups.
// A line starts with its kind:
//
//	cgroup   /kubepods.slice
//	file     /etc/hosts -rw-r--r-- 0:0 183 sha256:9f86d0…
//	link     cni0 bridge
//	mount    /var/lib/kubelet ext4 rw,relatime
//	unit     kubelet.service enabled
//
// It omits what changes on an idle host: logs, the journal, runtime state of systemd, sizes and
// digests of databases. The container runtime's content is named by its digest, which is not
// computed again.
func (l hosts) Listing(ctx context.Context, host string) (string, error) {
	g, err := l.guest(host)
	if err != nil {
		return "", fmt.Errorf("cannot list host %s: %w", host, err)
	}
	pid, err := g.pid1()
	if err != nil {
		return "", fmt.Errorf("cannot list host %s: %w", host, err)
	}
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	mounts, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
	if err != nil {
		return "", err
	}
	lines, points := mountLines(string(mounts))
	files, err := fileLines(filepath.Join(proc, "root"), points)
	if err != nil {
		return "", fmt.Errorf("cannot list files of host %s: %w", host, err)
	}
	lines = append(lines, files...)
	for _, q := range questions() {
		out, err := g.exec(ctx, "", q.argv...)
		if err != nil {
			return "", fmt.Errorf("cannot list host %s: %w", host, err)
		}
		for line := range strings.Lines(string(out)) {
			if text := q.clean(strings.TrimRight(line, " \n")); text != "" {
				lines = append(lines, q.kind+" "+text)
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n", nil
}

// mountLines returns a line per mount, from the fields of /proc/PID/mountinfo, and the mount
// points.
func mountLines(mountinfo string) (lines, points []string) {
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		f, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 6 || len(kind) < 1 {
			continue
		}
		points = append(points, f[4])
		if !skipped(f[4]) {
			lines = append(lines, fmt.Sprintf("mount    %s %s %s", f[4], kind[0], f[5]))
		}
	}
	return lines, points
}

// skipped reports whether listings omit a path.
func skipped(name string) bool {
	for _, dir := range []string{
		"/proc", "/sys", "/dev", "/var/log", "/run/log", "/run/systemd", "/run/credentials", "/run/user", "/run/dbus",
		"/var/lib/systemd", "/run/utmp", "/run/xtables.lock", "/run/mount", "/var/cache/ldconfig", "/run/sudo/ts",
	} {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// volatile matches files that change with every boot: the number in a pid file, the private /tmp
// of a unit.
var volatile = regexp.MustCompile(`^/run/[^/]*\.pid$|^(/var)?/tmp/systemd-private-|^/run/initctl$`)

// fileLines returns a line per file below root. It skips mounts, which have lines of their own,
// except those that every host has.
func fileLines(root string, points []string) ([]string, error) {
	own := []string{"/", "/run", "/tmp", "/var/lib/containerd", "/var/lib/kubelet", "/var/lib/etcd"}
	var lines []string
	err := filepath.WalkDir(root+"/", func(file string, entry fs.DirEntry, err error) error {
		name := path.Join("/", strings.TrimPrefix(file, root))
		if os.IsNotExist(err) {
			return nil // removed meanwhile
		}
		if err != nil {
			return err
		}
		foreign := slices.Contains(points, name) && !slices.Contains(own, name)
		if skipped(name) || foreign || volatile.MatchString(name) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		line, err := fileLine(name, file, entry)
		if os.IsNotExist(err) {
			return nil
		}
		lines = append(lines, line)
		return err
	})
	return lines, err
}

func fileLine(name, file string, entry fs.DirEntry) (string, error) {
	info, err := entry.Info()
	if err != nil {
		return "", err
	}
	stat := info.Sys().(*syscall.Stat_t)
	line := fmt.Sprintf("file     %s %s %d:%d", name, info.Mode(), stat.Uid, stat.Gid)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(file)
		return line + " -> " + target, err
	case !info.Mode().IsRegular():
		return line, nil
	case strings.HasPrefix(name, "/var/lib/containerd/"):
		if strings.HasSuffix(name, ".db") {
			return line, nil
		}
		return fmt.Sprintf("%s %d", line, info.Size()), nil
	}
	sum, err := disk.Digest(file)
	return fmt.Sprintf("%s %d sha256:%s", line, info.Size(), sum), err
}

// DiffListings returns the lines that only one of two listings has, each after "- " (before) or
// "+ " (after), in the listings' order; empty if they are equal.
func DiffListings(before, after string) string {
	a, b := slices.Sorted(strings.Lines(before)), slices.Sorted(strings.Lines(after))
	var out strings.Builder
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			out.WriteString("- " + a[0])
			a = a[1:]
		case len(a) == 0 || b[0] < a[0]:
			out.WriteString("+ " + b[0])
			b = b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return out.String()
}
