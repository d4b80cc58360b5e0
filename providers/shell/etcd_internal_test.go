package shell

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
)

// fakeEtcdutl makes data as etcdutl would, and records how it was called; with a snapshot
// that begins with bad it fails halfway.
const fakeEtcdutl = `#!/bin/sh
echo "$@" >"$(dirname "$0")/called"
while [ "$1" != --data-dir ]; do last=$1; shift; done
mkdir -p "$2/member/snap"
case $(cat "$last") in bad*) echo 'Error: expected sha256' >&2; exit 5 ;; esac
cp "$last" "$2/member/snap/db"
`

// restoration runs the script of one operation, with the test's programs.
type restoration struct {
	t         *testing.T
	root, bin string
}

// run returns the host's result: changed, same, or the error.
func (r restoration) run(snapshot string) string {
	r.t.Helper()
	sum := sha256.Sum256([]byte(snapshot))
	op := planner.RestoreEtcd{
		Artifact: "s.db", SHA256: hex.EncodeToString(sum[:]), DataDir: "/etcd", As: "member.before-x", Name: "cp1", PeerURL: "https://[fd00::1]:2380",
		Image: "registry.k8s.io/etcd:3.6.8-0", Socket: "unix:///run/x.sock",
	}
	c := &compiler{root: r.root, batch: providers.Batch{
		Token: 1, Lineage: "l", Operations: []planner.Operation{op},
		Artifacts: map[string]providers.Artifact{"s.db": {Size: int64(len(snapshot)), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(snapshot)), nil
		}}},
	}}
	body, err := c.script()
	if err != nil {
		r.t.Fatal(err)
	}
	sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\n"+preludeScript+body)
	sh.Env = []string{"PATH=" + r.bin + ":/usr/bin:/bin"}
	sh.Stdin = strings.NewReader(fmt.Sprintf("kubewright-frame %d\n%s", len(snapshot), snapshot))
	var stderr strings.Builder
	sh.Stderr = &stderr
	out, err := sh.Output()
	if err != nil {
		r.t.Fatalf("%v: %s", err, stderr.String())
	}
	for _, word := range []string{"done changed", "done same", "failed"} {
		if strings.Contains(string(out), word+"\n") || word == "failed" && strings.Contains(string(out), word) {
			return strings.TrimPrefix(word, "done ") + lastWords(stderr.String())
		}
	}
	r.t.Fatalf("got %s%s", out, stderr.String())
	return ""
}

func lastWords(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "kubewright ") && last != "" {
		return ": " + last
	}
	return ""
}

// data returns the content of a member's database.
func (r restoration) data(name string) string {
	b, _ := os.ReadFile(filepath.Join(r.root, "etcd", name, "snap/db"))
	return string(b)
}

func (r restoration) want(got, want, member, aside string) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("got %q, want %q", got, want)
	}
	if r.data("member") != member || r.data("member.before-x") != aside {
		r.t.Errorf("there are %q and %q, want %q and %q", r.data("member"), r.data("member.before-x"), member, aside)
	}
	left, err := filepath.Glob(filepath.Join(r.root, "var/lib/kubewright/[pi][am]*-*"))
	if err != nil || len(left) > 0 {
		r.t.Errorf("left over: %v, %v", left, err)
	}
}

// TestEtcdRestoreMakesDataOnce checks that the data is made once, next to what was there; a failed
// restore leaves no data with which an etcd could start.
func TestEtcdRestoreMakesDataOnce(t *testing.T) {
	t.Parallel()
	r := restoration{t, t.TempDir(), t.TempDir()}
	for _, dir := range []string{"/etcd/member/snap", "/var/lib"} {
		if err := os.MkdirAll(r.root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(r.root+"/etcd/member/snap/db", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.want(r.run("a snapshot"), "failed: there is neither etcdutl nor containerd with its ctr, to take it from the image of etcd", "", "old")
	hosttest.WriteProgram(t, filepath.Join(r.bin, "etcdutl"), fakeEtcdutl)
	r.want(r.run("bad snapshot"), "failed: Error: expected sha256", "", "old")
	r.want(r.run("good snapshot"), "changed", "good snapshot", "old")
	r.want(r.run("good snapshot"), "same", "good snapshot", "old")
	called, err := os.ReadFile(filepath.Join(r.bin, "called"))
	for _, want := range []string{
		"snapshot restore ", "--bump-revision 1000000000 --mark-compacted", "--name cp1", "--initial-cluster cp1=https://[fd00::1]:2380", "--initial-cluster-token kubewright-",
	} {
		if !strings.Contains(string(called), want) {
			t.Errorf("etcdutl was called with %s (%v), without %s", called, err, want)
		}
	}
}
