package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kubewright/kubewright/providers/hosttest"
)

// TestDiskOfEtcd checks whose flushes are counted, with a tree of devices as the kernel shows it.
func TestDiskOfEtcd(t *testing.T) {
	t.Parallel()
	const other = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"
	root := t.TempDir()
	file := func(path, content string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(path, to string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(root, to), path); err != nil {
			t.Fatal(err)
		}
	}
	file("var/lib/x", "")
	file("sys/devices/pci/block/sda/stat", other+" 5911308 604646\n")
	file("sys/devices/pci/block/sda/sda1/stat", other+" 0 0\n")
	file("sys/devices/pci/block/sda/sda1/partition", "1\n")
	file("sys/devices/virtual/block/dm-0/stat", other+" 0 0\n")
	link("sys/devices/virtual/block/dm-0/slaves/sda1", "sys/devices/pci/block/sda/sda1")
	file("sys/devices/virtual/block/dm-1/stat", other+" 0 0\n")
	link("sys/devices/virtual/block/dm-1/slaves/dm-0", "sys/devices/virtual/block/dm-0")
	file("sys/devices/pci/block/nvme0n1/stat", other+" 0 0\n")
	file("sys/devices/pci/block/old/stat", other+"\n")
	for number, device := range map[string]string{
		"8:0": "pci/block/sda", "8:1": "pci/block/sda/sda1", "253:0": "virtual/block/dm-0", "253:1": "virtual/block/dm-1",
		"259:0": "pci/block/nvme0n1", "254:0": "pci/block/old",
	} {
		link("sys/dev/block/"+number, "sys/devices/"+device)
	}
	for name, c := range map[string]struct{ findmnt, want string }{
		"a disk":                      {"8:0", " 5911308/604646"},
		"a partition":                 {"  8:1", " 5911308/604646"},
		"a logical volume":            {"253:0", " 5911308/604646"},
		"an encrypted logical volume": {"253:1", " 5911308/604646"},
		"a disk without a cache":      {"259:0", ""},
		"a kernel without the counts": {"254:0", ""},
		"a file system in memory":     {"0:42", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			hosttest.WriteProgram(t, filepath.Join(dir, "findmnt"), "#!/bin/sh\n[ \"$5\" = "+Quote(root+"/var/lib/")+" ] && echo '"+c.findmnt+"'\n")
			if got := saidDisk(t, dir+":"+os.Getenv("PATH"), root); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("a host without findmnt", func(t *testing.T) {
		t.Parallel()
		if got := saidDisk(t, t.TempDir(), root); got != "" {
			t.Errorf("got %q", got)
		}
	})
}

// saidDisk returns what kw_disk prints about a folder that is not there yet.
func saidDisk(t *testing.T, path, root string) string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(sh, "-c", "kw_r="+Quote(root)+"\n"+preludeScript+preflightScript+call("kw_disk", "/var/lib/etcd"))
	run.Env = []string{"PATH=" + path, "LC_ALL=C"}
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
