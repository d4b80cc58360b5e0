package shell_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/providers/shell"
)

// mountedHost returns a host whose files are below root. Each batch runs in a mount
// namespace of its own, after the commands in mounts; those in after run when it has ended.
// Both see the root as $ROOT.
func mountedHost(t *testing.T, root, mounts, after string) *shell.Host {
	t.Helper()
	try := "d=$(mktemp -d) && mount -t tmpfs none \"$d\" && umount \"$d\" && rmdir \"$d\""
	if out, err := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", try).CombinedOutput(); err != nil {
		t.Skipf("needs to mount in a namespace of its own, as root can: %v: %s", err, out)
	}
	sh := filepath.Join(t.TempDir(), "sh")
	hosttest.WriteProgram(t, sh, "#!/bin/sh\nexport ROOT="+shell.Quote(root)+"\n"+
		"exec unshare --mount --propagation private sh -c "+shell.Quote("set -e; "+mounts+"\nset +e; /bin/sh \"$@\"; x=$?; "+after+"\nexit $x")+" sh \"$@\"\n")
	return shell.New("cp1", local.Machine{Shell: sh}, shell.Options{Root: root, Unprivileged: true})
}

// TestRemovalStopsAtMounts checks that nothing of a tree is removed while another file
// system, or another folder of the same one, is mounted in it, however deep.
func TestRemovalStopsAtMounts(t *testing.T) {
	t.Parallel()
	const dir = "/etc/kubernetes/tree"
	for name, tt := range map[string]struct {
		mount, point string
	}{
		"folder of the same file system":            {`mount --bind "$ROOT/data" "$ROOT/etc/kubernetes/tree/a/b"`, "a/b"},
		"folder of the same file system on top":     {`mount --bind "$ROOT/data" "$ROOT/etc/kubernetes/tree/a"`, "a"},
		"another file system":                       {`mount -t tmpfs none "$ROOT/etc/kubernetes/tree/a/b"; echo x >"$ROOT/etc/kubernetes/tree/a/b/precious"`, "a/b"},
		"another file system on top":                {`mount -t tmpfs none "$ROOT/etc/kubernetes/tree/a"; echo x >"$ROOT/etc/kubernetes/tree/a/precious"`, "a"},
		"file":                                      {`mount --bind "$ROOT/data/precious" "$ROOT/etc/kubernetes/tree/a/file"`, "a/file"},
		"name with a blank, a tab and a back slash": {`mkdir "$ROOT/etc/kubernetes/tree/a b	c\\d"; mount --bind "$ROOT/data" "$ROOT/etc/kubernetes/tree/a b	c\\d"`, "a b	c\\d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, op := range []planner.RemovePath{{Path: dir}, {Path: dir, ContentsOnly: true}} {
				_, root, _ := newHost(t)
				point := root + dir + "/" + tt.point
				h := mountedHost(t, root, tt.mount, `[ ! -d "`+strings.ReplaceAll(point, `\`, `\\`)+`" ] || ls "`+strings.ReplaceAll(point, `\`, `\\`)+`" >"$ROOT/seen"`)
				put(t, root+"/data/precious", "x")
				put(t, root+dir+"/a/b/below", "x")
				put(t, root+dir+"/a/file", "x")
				put(t, root+dir+"/other", "x")
				_, err := perform(t, h, op)
				says(t, op, err, point+" is mounted")
				for _, path := range []string{"/data/precious", dir + "/other", dir + "/a/b/below"} {
					if _, err := os.Stat(root + path); err != nil {
						t.Errorf("%+v: %v", op, err)
					}
				}
				if seen, _ := os.ReadFile(root + "/seen"); name != "file" && string(seen) != "precious\n" {
					t.Errorf("%+v: of what is mounted there is left %q", op, seen)
				}
			}
		})
	}
}

// TestMountPointIsEmptiedAndStays checks that a folder that is a mount point itself is emptied and
// stays, and that a neighbouring mount whose name begins with its own is not affected.
func TestMountPointIsEmptiedAndStays(t *testing.T) {
	t.Parallel()
	const dir = "/etc/kubernetes/tree"
	_, root, _ := newHost(t)
	put(t, root+"/data/a/file", "x")
	put(t, root+"/precious/file", "x")
	for _, path := range []string{dir, dir + "-beside"} {
		if err := os.MkdirAll(root+path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h := mountedHost(t, root, `mount --bind "$ROOT/data" "$ROOT/etc/kubernetes/tree"; mount --bind "$ROOT/precious" "$ROOT/etc/kubernetes/tree-beside"`,
		`mountpoint -q "$ROOT/etc/kubernetes/tree" && echo stays >"$ROOT/seen"`)
	out, err := perform(t, h, planner.RemovePath{Path: dir}, planner.RemovePath{Path: dir})
	if err != nil || !out[0].Changed || out[1].Changed {
		t.Errorf("%v, %v", out, err)
	}
	if left, _ := os.ReadDir(root + "/data"); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	for _, path := range []string{"/precious/file", "/seen"} {
		if _, err := os.Stat(root + path); err != nil {
			t.Error(err)
		}
	}
}

// TestUnmountBelowFolder checks that everything mounted below a folder is unmounted, the deepest
// first, under any name; the folder itself and its neighbours stay mounted.
func TestUnmountBelowFolder(t *testing.T) {
	t.Parallel()
	_, root, _ := newHost(t)
	const dir = "/var/lib/kubelet"
	for _, path := range []string{dir, dir + "-beside"} {
		if err := os.MkdirAll(root+path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, root+"/data/precious", "x")
	h := mountedHost(t, root, `cd "$ROOT/var/lib"; mount -t tmpfs none kubelet-beside; mount -t tmpfs none kubelet; mkdir kubelet/a "kubelet/a b	c\\d" kubelet/e
mount -t tmpfs none kubelet/a; mkdir kubelet/a/b; mount -t tmpfs none kubelet/a/b; mkdir kubelet/a/b/c; mount --bind "$ROOT/data" kubelet/a/b/c
mount --bind "$ROOT/data" "kubelet/a b	c\\d"; mount --bind "$ROOT/data" kubelet/e; mount --bind "$ROOT/data" kubelet/e; cd /`,
		`grep -c "$ROOT/var/lib" /proc/mounts >"$ROOT/seen"; grep -o "$ROOT/var/lib[^ ]*" /proc/mounts >>"$ROOT/seen"`)
	out, err := perform(t, h, planner.Unmount{Below: dir}, planner.Unmount{Below: dir}, planner.RemovePath{Path: dir})
	if err != nil || !out[0].Changed || out[1].Changed {
		t.Errorf("%v, %v", out, err)
	}
	want := "2\n" + root + dir + "-beside\n" + root + dir + "\n"
	if seen, err := os.ReadFile(root + "/seen"); string(seen) != want {
		t.Errorf("mounted is %q, want %q: %v", seen, want, err)
	}
	if _, err := os.Stat(root + "/data/precious"); err != nil {
		t.Error(err)
	}
}

// TestRemovalOfOwnFoldersStopsAtMounts checks the same for kubewright's own folders, where a killed
// restore can have left a mounted image.
func TestRemovalOfOwnFoldersStopsAtMounts(t *testing.T) {
	t.Parallel()
	snapshot := []byte("snapshot")
	for point, op := range map[string]planner.Operation{
		kept + "/image-x/usr":                  planner.Mark{Remove: true},
		"/var/lib/etcd/kubewright-restore/mnt": planner.RestoreEtcd{Artifact: "s.db", SHA256: sha(snapshot), DataDir: "/var/lib/etcd", As: "member.x", Name: "cp1", PeerURL: "https://192.0.2.1:2380", Image: "etcd:1", Socket: "unix:///run/x.sock"},
	} {
		_, root, _ := newHost(t)
		h := mountedHost(t, root, `mount --bind "$ROOT/data" "$ROOT`+point+`"`, "")
		put(t, root+"/data/precious", "x")
		put(t, root+"/var/lib/etcd/member/precious", "x")
		if err := os.MkdirAll(root+point, 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := h.Perform(t.Context(), providers.Batch{Token: 1, Lineage: "l", Operations: []planner.Operation{op}, Artifacts: map[string]providers.Artifact{
			"s.db": {Size: int64(len(snapshot)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(snapshot)), nil }},
		}})
		says(t, op, err, root+point+" is mounted")
		for _, path := range []string{"/data/precious", "/var/lib/etcd/member/precious"} {
			if _, err := os.Stat(root + path); err != nil {
				t.Error(err)
			}
		}
	}
}
