package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDiffListings(t *testing.T) {
	t.Parallel()
	const before = "file a 1\nfile b 1\nfile c 1\nunit x\n"
	for _, test := range []struct{ name, after, want string }{
		{"equal", before, ""},
		{"order does not matter", "unit x\nfile c 1\nfile b 1\nfile a 1\n", ""},
		{"changed", "file a 1\nfile b 2\nfile c 1\nunit x\n", "- file b 1\n+ file b 2\n"},
		{"added and removed", "file 0\nfile a 1\nfile b 1\nfile c 1\n", "+ file 0\n- unit x\n"},
		{"repeated", before + "unit x\n", "+ unit x\n"},
		{"empty", "", "- file a 1\n- file b 1\n- file c 1\n- unit x\n"},
	} {
		if got := DiffListings(before, test.after); got != test.want {
			t.Errorf("%s: got\n%swant\n%s", test.name, got, test.want)
		}
	}
}

func TestMountLines(t *testing.T) {
	t.Parallel()
	const info = `22 1 0:40 / / rw,relatime shared:1 - overlay overlay rw,lowerdir=/a:/b
30 22 0:41 / /proc rw - proc proc rw
31 22 254:0 /x /var/lib/kubelet rw,relatime shared:9 master:2 - ext4 /dev/vda rw
32 22 0:50 / /run rw - tmpfs tmpfs rw
`
	lines, points := mountLines(info)
	want := []string{"mount    / overlay rw,relatime", "mount    /var/lib/kubelet ext4 rw,relatime", "mount    /run tmpfs rw"}
	if !slices.Equal(lines, want) {
		t.Errorf("lines %q, want %q", lines, want)
	}
	if !slices.Equal(points, []string{"/", "/proc", "/var/lib/kubelet", "/run"}) {
		t.Errorf("points %q", points)
	}
}

func TestFileLines(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"etc/a": "a", "proc/1/stat": "x", "var/log/syslog": "x", "run/systemd/private": "x", "run/x.pid": "7",
		"var/lib/containerd/meta.db": "x", "var/lib/containerd/blob": "xyz", "mnt/foreign/file": "x",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(root, "etc/b")); err != nil {
		t.Fatal(err)
	}
	lines, err := fileLines(root, []string{"/", "/mnt/foreign"})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines, "\n") + "\n"
	for _, want := range []string{
		" 1 sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\n", // a
		"file     /etc/b Lrwxrwxrwx ", " -> a\n", "/var/lib/containerd/blob -rw-r--r-- ", " 3\n", "file     /run drwx",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, out := range []string{"/proc", "/var/log", "/run/systemd", "x.pid", "foreign", "meta.db -rw-r--r-- 0:0 "} {
		if strings.Contains(text, out) {
			t.Errorf("%q is listed in\n%s", out, text)
		}
	}
}

func TestListingCleaners(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		clean func(string) string
		lines []string
		want  []string
	}{
		{
			"iptables-save", tables(),
			[]string{"# Generated", "*nat", ":INPUT ACCEPT [5:300]", "-A INPUT -j X", "COMMIT"},
			[]string{"", "nat *nat", "nat :INPUT ACCEPT", "nat -A INPUT -j X", ""},
		},
		{
			"nft", nested(),
			[]string{"table ip nat {", "\tchain a {", "\t\tjump b", "\t}", "}", "table inet f {", "}"},
			[]string{"table ip nat", "table ip nat: chain a", "table ip nat: chain a: jump b", "", "", "table inet f", ""},
		},
		{"words", words(2), []string{"kubelet.service enabled enabled", "one"}, []string{"kubelet.service enabled", "one"}},
		{"without", without(`^\d+: `, `@\S+`), []string{"12: eth0@if13   UP"}, []string{"eth0 UP"}},
	} {
		for i, line := range test.lines {
			if got := test.clean(line); got != test.want[i] {
				t.Errorf("%s: %q became %q, want %q", test.name, line, got, test.want[i])
			}
		}
	}
}
