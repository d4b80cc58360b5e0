package shell

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/state"
)

// FuzzQuote checks that a quoted word comes out of a shell unchanged.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "plain", "it's", "'", "''", `\`, `\'`, "$(id)`id`$HOME", "a\nb\n", "-n", "\x01\xff\x80", "*?[]{}~!#&;|<>\"\t "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, 0) {
			return
		}
		out, err := exec.Command("/bin/sh", "-c", "printf %s. "+Quote(s)).Output()
		if err != nil || string(out) != s+"." {
			t.Errorf("%q came out as %q, %v", s, out, err)
		}
	})
}

const testNonce = "NONCE"

// FuzzParseAnswer checks that any bytes can be parsed, and that all parsed parts were in
// them.
func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte("noise\nkubewright NONCE entered 0\n\nkubewright NONCE begin\n\nkubewright NONCE x y\nbody\nkubewright NONCE end\n"), []byte("before"))
	f.Add([]byte("\nkubewright NONCE "), []byte{})
	f.Add([]byte("\nkubewright NONCE \n"), []byte{0xff})
	f.Fuzz(func(t *testing.T, raw, noise []byte) {
		a := parseAnswer(raw, testNonce)
		for _, s := range a.sections {
			if !bytes.Contains(raw, s.body) || len(s.words) == 0 {
				t.Errorf("section %q", s)
			}
		}
		if bytes.Contains(noise, []byte("kubewright")) || bytes.HasSuffix(noise, []byte("\n")) {
			return
		}
		if b := parseAnswer(append(noise, raw...), testNonce); len(b.sections) != len(a.sections) && !bytes.HasPrefix(raw, []byte("\n")) {
			return // the first marker's line break may belong to the noise
		} else if len(b.sections) != len(a.sections) {
			t.Errorf("%d sections behind noise, %d without", len(b.sections), len(a.sections))
		}
	})
}

// testQuery requests one of everything.
func testQuery(t testing.TB) *query {
	t.Helper()
	q, err := newQuery(state.Query{
		Files: []state.FileQuery{{Path: "/a", Read: state.ReadContent}, {Path: "/b", Read: state.ReadCertificate}, {Path: "/c", Read: state.ReadKubeconfig}, {Path: "/d"}},
		Units: []string{"kubelet.service"}, Sysctls: []string{"net.ipv4.ip_forward"}, Modules: []string{"overlay", "ip_vs"}, Ports: []int{22}, Users: []string{"etcd"},
		Commands: []string{"cp"}, Secrets: []string{"/s"}, Images: true, Preflight: true,
	}, "", true)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// goodAnswer is the answer of a host to testQuery.
const goodAnswer = `
kubewright NONCE entered 0

kubewright NONCE begin

kubewright NONCE facts
time 1700000000.500000000
arch x86_64
cpus 2
hostname CP1.example.com
kernel 6.1.0-13-amd64
boot_id 58837d5e-da5d-4636-a5d8-9f5a035a36a9
memory 2048
swap yes
swap_at_boot yes
cgroup 2
systemd yes

kubewright NONCE addresses
2: eth0    inet 10.0.0.1/24 brd 10.0.0.255 scope global eth0\       valid_lft forever
2: eth0    inet6 fd00::1/64 scope global \       valid_lft forever

kubewright NONCE sockets
0000000000000000: 00000002 00000000 00010000 0001 01 123 /run/containerd/containerd.sock
0000000000000000: 00000003 00000000 00000000 0001 03 124 /run/crio/crio.sock
0000000000000000: 00000002 00000000 00010000 0001 01 125 /run/containerd/containerd.sock.ttrpc

kubewright NONCE room
etc_writable true
etc_free_kib 1000
var_lib_free_kib 2000

kubewright NONCE stats
81a4|6|600|root:root|1700000000.250000000|/a
a1ff|7|777|root:root|1700000000.000000000|/b
41ed|4096|755|root:root|1700000000.000000000|/d

kubewright NONCE links
/b
/real/b

kubewright NONCE entries
3 /d

kubewright NONCE digests
5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03  /a
5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03  /s

kubewright NONCE sizes
6 /a
6 /s

kubewright NONCE contents
aGVsbG8KaGVsbG8K

kubewright NONCE sizes

kubewright NONCE sizes

kubewright NONCE units
LoadState=not-found
ActiveState=inactive
UnitFileState=

LoadState=loaded
ActiveState=activating
UnitFileState=enabled

kubewright NONCE sysctls
/proc/sys/net/ipv4/ip_forward:1

kubewright NONCE modules
overlay

kubewright NONCE no_modules
ip_vs

kubewright NONCE users
user etcd

kubewright NONCE ports
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0

kubewright NONCE commands
cp

kubewright NONCE preflight
root true
cgroup_controllers cpuset cpu memory pids

kubewright NONCE programs
/usr/bin/kubelet:1:2:3:4.5

kubewright NONCE versions
containerd github.com/containerd/containerd/v2 v2.4.2 abc
Kubernetes v1.36.3

kubewright NONCE resolves
true

kubewright NONCE cri
ok

kubewright NONCE between

kubewright NONCE images
registry.k8s.io/pause:3.10
sha256:1234

kubewright NONCE end
`

func TestParseReport(t *testing.T) {
	t.Parallel()
	a := parseAnswer([]byte("Welcome!\r\n"+goodAnswer+"bye"), testNonce)
	if !a.complete {
		t.Fatal("not complete")
	}
	got, err := parseReport(testQuery(t), a, time.Unix(1700000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	r := got.report
	f := r.Facts
	if f.Hostname != "cp1.example.com" || f.Arch != "amd64" || f.CPUs != 2 || f.MemoryBytes != 2<<20 || !f.Swap || !f.SwapAtBoot || !f.CgroupV2 || !f.Systemd ||
		f.ClockOffset != 500*time.Millisecond || f.KubeletVersion != "1.36.3" || f.RuntimeVersion != "2.4.2" || len(f.Addresses) != 2 ||
		len(f.CRISockets) != 1 || f.CRISocket != "unix:///var/run/containerd/containerd.sock" || f.SystemdResolved {
		t.Errorf("facts: %+v", f)
	}
	if got := r.Files["/a"]; string(got.Content) != "hello\n" || got.Mode != "0600" || got.Type != "file" || !got.Modified.Equal(time.Unix(1700000000, 250e6)) {
		t.Errorf("/a: %+v", got)
	}
	if got := r.Files["/b"]; got.Link != "/real/b" || got.Type != "link" || got.Invalid == "" {
		t.Errorf("/b: %+v", got)
	}
	if got := r.Files["/d"]; got.Entries != 3 || got.Type != "directory" {
		t.Errorf("/d: %+v", got)
	}
	if u := r.Units["kubelet.service"]; len(r.Units) != 1 || u.Active != "activating" || u.Enabled != "enabled" {
		t.Errorf("units: %+v", r.Units)
	}
	if r.Sysctls["net.ipv4.ip_forward"] != "1" || !r.Modules["overlay"] || r.NoModules["overlay"] || !r.NoModules["ip_vs"] || !r.Ports[22] || !r.Commands["cp"] || r.Users["etcd"] != (state.UserReport{User: true}) || string(r.Secrets["/s"].Reveal()) != "hello\n" {
		t.Errorf("got %+v", r)
	}
	if len(r.Images) != 1 || r.Preflight["hostname_resolves"] != "true" || r.Preflight["root"] != "true" || r.Preflight["var_lib_free_kib"] != "2000" || r.Preflight["cri"] != "ok" {
		t.Errorf("images %v, preflight %v", r.Images, r.Preflight)
	}
}

// TestParseReportRefuses checks that an answer with one line missing, doubled or changed is
// refused, or means the same in everything else.
func TestParseReportRefuses(t *testing.T) {
	t.Parallel()
	q := testQuery(t)
	for _, change := range [][2]string{
		{"cpus 2", "cpus many"},
		{"cpus 2", "gpus 2"},
		{"hostname CP1.example.com", "hostname x$(reboot)"},
		{"hostname CP1.example.com", "hostname -x"},
		{"hostname CP1.example.com", "hostname " + strings.Repeat("x", 255)},
		{"kernel 6.1.0-13-amd64", "kernel " + strings.Repeat("6", 129)},
		{"81a4|6", "zzzz|6"},
		{"|1700000000.000000000|/d", ""},
		{"/real/b\n", ""},
		{"3 /d", "many /d"},
		{"5891b5b5", "5891"},
		{"6 /s", "7 /s"},
		{"aGVsbG8KaGVsbG8K", "aGVsbG8KaGVsbG8"},
		{"aGVsbG8KaGVsbG8K", "aGVsbG8KaGVsbG9K"},
		{"ActiveState=activating", "ActiveState=\x1b[1m"},
		{"UnitFileState=enabled", "Evil=enabled"},
		{"/proc/sys/net/ipv4/ip_forward:1", "/proc/sys/kernel/x:1"},
		{"\noverlay", "\nother"},
		{":0016 ", ":zzzz "},
		{"root true", "shell true"},
		{"cri\nok", "cri\nok|reboot"},
		{"kubewright NONCE facts\n", ""},
		{"kubewright NONCE units", "kubewright NONCE stats"},
		// No answer does not mean that nothing is there.
		{"LoadState=not-found\nActiveState=inactive\nUnitFileState=\n\n", ""},
		{"LoadState=not-found\nActiveState=inactive\nUnitFileState=\n\nLoadState=loaded\nActiveState=activating\nUnitFileState=enabled\n", ""},
		{"registry.k8s.io/pause:3.10\nsha256:1234\n", "\nkubewright NONCE no_images\n"},
	} {
		if !strings.Contains(goodAnswer, change[0]) {
			t.Fatalf("%q does not occur", change[0])
		}
		raw := strings.Replace(goodAnswer, change[0], change[1], 1)
		if _, err := parseReport(q, parseAnswer([]byte(raw), testNonce), time.Now()); err == nil {
			t.Errorf("%q for %q was accepted", change[1], change[0])
		} else if !utf8.ValidString(err.Error()) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("error %q is not clean", err)
		}
	}
}

// TestUnsupportedToolOutputIsPermanent checks that the output of tools that are missing or not GNU's is
// reported as permanent, in contrast to other unexpected output, for which a retry may
// help.
func TestUnsupportedToolOutputIsPermanent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		good, bad string
		kind      error
	}{
		{"time 1700000000.500000000", "time 1700000000.%N", providers.ErrUnsupported}, // busybox
		{"time 1700000000.500000000\n", "time ", providers.ErrUnsupported},
		{"arch x86_64\n", "arch ", providers.ErrUnsupported},
		{"cpus 2\n", "cpus ", providers.ErrUnsupported},
		{"|1700000000.250000000|/a", "|?|/a", providers.ErrUnsupported},
		{"hostname CP1.example.com", "hostname -x", providers.ErrProtocol},
		{"LoadState=not-found\nActiveState=inactive\nUnitFileState=\n\n", "", providers.ErrProtocol}, // while systemd reloads
		{"registry.k8s.io/pause:3.10\nsha256:1234\n", "\nkubewright NONCE no_images\n", providers.ErrProtocol},
	} {
		if !strings.Contains(goodAnswer, c.good) {
			t.Fatalf("%q does not occur", c.good)
		}
		raw := strings.Replace(goodAnswer, c.good, c.bad, 1)
		if _, err := parseReport(testQuery(t), parseAnswer([]byte(raw), testNonce), time.Now()); !errors.Is(err, c.kind) {
			t.Errorf("%q for %q: got %v, want %v", c.bad, c.good, err, c.kind)
		}
	}
}

// FuzzParseReport checks that any answer yields a report or an error.
func FuzzParseReport(f *testing.F) {
	f.Add([]byte(goodAnswer))
	// This machine's own answer, with additions as on other hosts: a message of the day,
	// sudo's output, line ends of a terminal. Then answers that were cut off, and those of
	// hosts without a runtime, without systemd and without swap.
	own, err := exec.Command("sh", "-c", "kw_n="+testNonce+"\n"+preludeScript+"kw_say entered 0\nkw_say begin\n"+testQuery(f).script()+"kw_say end\n").Output()
	if err != nil || !bytes.Contains(own, []byte("kubewright NONCE facts\n")) {
		f.Fatalf("this machine answers %v:\n%s", err, own)
	}
	f.Add(own)
	f.Add([]byte("Welcome to Debian GNU/Linux 13!\r\n\r\nLast login: Mon Mar  2 09:00:00 2026\n" + goodAnswer + "logout\n"))
	f.Add([]byte("[sudo] password for ubuntu: \nSorry, try again.\n" + goodAnswer))
	f.Add([]byte(strings.ReplaceAll(goodAnswer, "\n", "\r\n")))
	for _, part := range []int{3, 2} {
		f.Add([]byte(goodAnswer[:len(goodAnswer)/part]))
		f.Add(own[:len(own)/part])
	}
	for _, change := range [][2]string{
		{"0000000000000000: 00000002 00000000 00010000 0001 01 123 /run/containerd/containerd.sock\n", ""},
		{"registry.k8s.io/pause:3.10\nsha256:1234\n", "\nkubewright NONCE no_images\n"},
		{"systemd yes\n", ""},
		{"LoadState=not-found\nActiveState=inactive\nUnitFileState=\n\nLoadState=loaded\nActiveState=activating\nUnitFileState=enabled\n", ""},
		{"swap yes\nswap_at_boot yes\ncgroup 2\n", "cgroup 1\n"},
		{"kubewright NONCE end\n", ""},
	} {
		if !strings.Contains(goodAnswer, change[0]) {
			f.Fatalf("%q does not occur", change[0])
		}
		f.Add([]byte(strings.Replace(goodAnswer, change[0], change[1], 1)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := parseReport(testQuery(t), parseAnswer(raw, testNonce), time.Now())
		if (r == nil) == (err == nil) {
			t.Errorf("report %v, error %v", r, err)
		}
	})
}

// TestObservationWithoutRuntime checks that there are no images if nothing listens, and no units if systemd
// does not run.
func TestObservationWithoutRuntime(t *testing.T) {
	t.Parallel()
	raw := goodAnswer
	for _, change := range [][2]string{
		{"0000000000000000: 00000002 00000000 00010000 0001 01 123 /run/containerd/containerd.sock\n", ""},
		{"registry.k8s.io/pause:3.10\nsha256:1234\n", "\nkubewright NONCE no_images\n"},
		{"systemd yes\n", ""},
		{"LoadState=not-found\nActiveState=inactive\nUnitFileState=\n\nLoadState=loaded\nActiveState=activating\nUnitFileState=enabled\n", ""},
	} {
		if !strings.Contains(raw, change[0]) {
			t.Fatalf("%q does not occur", change[0])
		}
		raw = strings.Replace(raw, change[0], change[1], 1)
	}
	got, err := parseReport(testQuery(t), parseAnswer([]byte(raw), testNonce), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if r := got.report; len(r.Images) > 0 || r.Units["kubelet.service"].Exists || r.Facts.CRISocket != "" {
		t.Errorf("got %+v", r)
	}
}

// TestObservationOfDesiredRuntimeOnly checks that only the desired runtime counts, whether or not another one
// listens: if it listens but lists no images, the images are unknown.
func TestObservationOfDesiredRuntimeOnly(t *testing.T) {
	t.Parallel()
	raw := strings.Replace(goodAnswer, "registry.k8s.io/pause:3.10\nsha256:1234\n", "\nkubewright NONCE no_images\n", 1)
	for socket, want := range map[string]string{
		"":                                       "a runtime listens at unix:///var/run/containerd/containerd.sock and does not list them",
		"unix:///run/containerd/containerd.sock": "a runtime listens at unix:///run/containerd/containerd.sock and does not list them",
		"unix:///run/crio/crio.sock":             "",
		"/run/mine.sock":                         "",
	} {
		q := testQuery(t).Query
		q.CRISocket = socket
		compiled, err := newQuery(q, "", true)
		if err != nil {
			t.Fatal(err)
		}
		if file := strings.TrimPrefix(socket, "unix://"); !strings.Contains(compiled.script(), call("kw_slow", "yes", "yes", "", file, "", "", "")) {
			t.Errorf("%q is not asked", socket)
		}
		_, err = parseReport(compiled, parseAnswer([]byte(raw), testNonce), time.Now())
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", socket, err, want)
		}
	}
	if _, err := newQuery(state.Query{CRISocket: "unix://run/../x"}, "", true); err == nil {
		t.Error("an invalid path was accepted")
	}
}

func TestMarkerFilesAreParsed(t *testing.T) {
	t.Parallel()
	const none = "\x00"
	for _, tt := range []struct {
		token, marks string
		want         *state.Marks // nil if they cannot be read
	}{
		{"7 b71e\n", none, &state.Marks{Token: 7, Lineage: "b71e"}},
		{"7\n", none, &state.Marks{Token: 7}},
		{"0\n", none, &state.Marks{}},
		{"7 b71e 42\n", none, &state.Marks{Token: 7, Lineage: "b71e"}},
		{"99999999999999999999 a\n", none, &state.Marks{Token: math.MaxInt64, Lineage: "a"}},
		{"9223372036854775806 a\n", none, &state.Marks{Token: math.MaxInt64 - 1, Lineage: "a"}},
		{"7 b71e\n", `{"token": 9223372036854775806, "lineage": "b71e"}`, &state.Marks{Token: 7, Lineage: "b71e"}},
		{none, `{"token": 9223372036854775806, "lineage": "b71e"}`, &state.Marks{Token: math.MaxInt64 - 1, Lineage: "b71e"}},
		{"x b71e\n", none, nil},
		{"", none, nil},
		{"1 2 3 4\n", none, nil},
		{"007 a\n", none, nil},
		{"-7 a\n", none, nil},
		{"+7 a\n", none, nil},
		{"1_0 a\n", none, nil},
		{"0x7 a\n", none, nil},
		{"\x1b]52;c;x\x07", none, nil},
		{"7 b71e\n", `{"token": 99999999999999999999}`, nil},
		{"7 b71e\n", `[]`, nil},
		{"7 b71e\n", `garbage`, nil},
		{none, ``, nil},
	} {
		contents := map[string][]byte{}
		for file, content := range map[string]string{tokenFile: tt.token, marksFile: tt.marks} {
			if content != none {
				contents[file] = []byte(content)
			}
		}
		r := &reading{query: &query{}, report: &state.Report{}, contents: contents}
		if err := r.marks(); err != nil {
			t.Errorf("%q, %q: %v", tt.token, tt.marks, err)
			continue
		}
		got := r.report.Marks
		if tt.want == nil && got.Unreadable == "" || tt.want != nil && (got.Unreadable != "" || got.Token != tt.want.Token || got.Lineage != tt.want.Lineage) {
			t.Errorf("%q, %q: got %+v", tt.token, tt.marks, got)
		}
		if strings.Contains(got.Unreadable, "\x1b") {
			t.Errorf("%q is told as it is: %q", tt.token, got.Unreadable)
		}
	}
}

// TestUnchangedProgramIsNotStartedAgain checks that programs whose files are unchanged are not started
// again.
func TestUnchangedProgramIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	const versions = "\nkubewright NONCE versions\ncontainerd github.com/containerd/containerd/v2 v2.4.2 abc\nKubernetes v1.36.3\n"
	silent := strings.Replace(goodAnswer, versions, "", 1)
	q := testQuery(t)
	if _, err := parseReport(q, parseAnswer([]byte(silent), testNonce), time.Now()); err == nil {
		t.Error("no versions, and none seen before")
	}
	q.Programs = state.Programs{Files: "/usr/bin/kubelet:1:2:3:4.5", Versions: []string{"Kubernetes v1.36.3"}}
	r, err := parseReport(q, parseAnswer([]byte(silent), testNonce), time.Now())
	if err != nil || r.report.Facts.KubeletVersion != "1.36.3" {
		t.Errorf("%+v, %v", r, err)
	}
	q.Programs.Files = "/usr/bin/kubelet:1:2:3:4.6"
	if _, err := parseReport(q, parseAnswer([]byte(silent), testNonce), time.Now()); err == nil {
		t.Error("no versions of a program that has changed")
	}
}

// TestReplacedProgramIsStartedAgain checks that a program is started for its version once, and
// again when its file was replaced, even by one of the same size and age.
func TestReplacedProgramIsStartedAgain(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	install := func(version string) {
		t.Helper()
		old := time.Unix(1_700_000_000, 0)
		program := "#!/bin/sh\necho 'Kubernetes v" + version + "'\n"
		// By rename, as a package does it.
		hosttest.WriteProgram(t, bin+"/new", program)
		if err := errors.Join(os.Chtimes(bin+"/new", old, old), os.Rename(bin+"/new", bin+"/kubelet")); err != nil {
			t.Fatal(err)
		}
	}
	// ask returns the programs' files, and whether a program was started.
	ask := func(seen string) (string, bool) {
		t.Helper()
		sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\n"+preludeScript+observeScript+call("kw_versions", seen)+"kw_say end\n")
		sh.Env = []string{"PATH=" + bin + ":/usr/bin:/bin"}
		out, err := sh.Output()
		if err != nil {
			t.Fatal(err)
		}
		r := reading{sections: map[string][]section{}}
		for _, s := range parseAnswer(out, testNonce).sections {
			r.sections[s.words[0]] = append(r.sections[s.words[0]], s)
		}
		files, err := r.lines("programs")
		if err != nil || len(files) != 1 {
			t.Fatalf("%q, %v", files, err)
		}
		return files[0], len(r.sections["versions"]) > 0
	}
	install("1.36.1")
	first, _ := ask("")
	if again, started := ask(first); started || again != first {
		t.Errorf("the same kubelet: started %v, %q and before %q", started, again, first)
	}
	install("1.36.2")
	if second, started := ask(first); !started || second == first {
		t.Errorf("another kubelet: started %v, %q and before %q", started, second, first)
	}
}
