package shell_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/providers/rehearsal"
	"github.com/kubewright/kubewright/providers/shell"
)

// The programs of etcd for a test. The etcd runs until it is killed; etcdctl lists the keys of the snapshot,
// which is a list of keys.
var fakeEtcd = map[string]string{
	"etcdutl": `#!/bin/sh
[ "$1 $2" = "snapshot restore" ] || exit 2
case $(head -n 1 "$3") in
bad) echo 'Error: snapshot file integrity check failed' >&2; exit 5 ;;
esac
mkdir "$5" && cp "$3" "$5/keys" && chmod 600 "$5/keys"
while [ -e ROOT/hold ]; do sleep 0.05; done
`,
	"etcd": `#!/bin/sh
[ "$1" != --version ] || { echo 'etcd Version: 3.6.8'; exit; }
case $* in
*0.0.0.0* | *--listen-client-urls=http*) exit 3 ;;
esac
for a; do case $a in --data-dir=*) d=${a#--data-dir=} ;; esac; done
[ "$(head -n 1 "$d/keys")" != broken ] || { echo 'panic: freepages: failed to get all reachable pages' >&2; exit 2; }
cp "$d/keys" "$d/../served"
echo $$ >ROOT/etcd.pid
while :; do sleep 0.2; done
`,
	"etcdctl": `#!/bin/sh
at=${1#--endpoints=unix://}
keys=${at%/client}/served
[ -e "$keys" ] || { echo 'Error: connection refused' >&2; exit 1; }
shift 3
case $* in
"get  --from-key --limit=1 --write-out=json") echo '{"header":{"cluster_id":14841639068965178418,"revision":4711,"raft_term":2},"kvs":[]}' ;;
*--prefix*) echo '{"header":{"revision":4711},"kvs":[{"key":"L3JlZ2lzdHJ5L3NlY3JldHMvZGVmYXVsdC94","value":"eyJraW5kIjoiU2VjcmV0IiwibWV0YWRhdGEiOnsibmFtZSI6IngiLCJuYW1lc3BhY2UiOiJkZWZhdWx0In19"}]}' ;;
*--rev=4711*) sort "$keys" | awk -v from="$2" -v most="${4#--limit=}" '$0 >= from && n < most { n++; print; print "" }' ;;
*) exit 2 ;;
esac
`,
}

// rehearsalOn returns a host with the programs of etcd, and its root.
func rehearsalOn(t *testing.T) (*shell.Host, string) {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"/usr/local/bin", "/var/lib"} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range fakeEtcd {
		hosttest.WriteProgram(t, filepath.Join(root, "usr/local/bin", name), strings.ReplaceAll(text, "ROOT", root))
	}
	return local.New(shell.Options{Root: root, Unprivileged: true}), root
}

func request(text string) rehearsal.Request {
	sum := sha256.Sum256([]byte(text))
	return rehearsal.Request{
		Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:]), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
		Image: "registry.k8s.io/etcd:3.6.8-0", Socket: "unix:///run/x.sock", Prefix: "/registry",
	}
}

// wantNothingLeft checks that the host is as before, and that no etcd runs any more.
func wantNothingLeft(t *testing.T, root string) {
	t.Helper()
	gone := func() bool {
		_, err := os.Stat(root + "/var/lib/kubewright")
		pid, _ := os.ReadFile(root + "/etcd.pid")
		_, running := os.Stat("/proc/" + strings.TrimSpace(string(pid)) + "/cwd")
		return os.IsNotExist(err) && (len(pid) == 0 || running != nil)
	}
	for end := time.Now().Add(20 * time.Second); !gone(); {
		if time.Now().After(end) {
			left, _ := filepath.Glob(root + "/var/lib/kubewright/*")
			t.Fatalf("left on the host: %v, or its etcd", left)
		}
		time.Sleep(20 * time.Millisecond) // the host cleans up by itself
	}
}

// TestRehearseCountsKeysInPages checks what is counted over several pages, and that nothing is left.
func TestRehearseCountsKeysInPages(t *testing.T) {
	t.Parallel()
	h, root := rehearsalOn(t)
	var keys strings.Builder
	keys.WriteString("compact_rev_key\n/registry/services/specs/default/kubernetes\n/registry/services/endpoints/default/kubernetes\n/registry/cilium.io/ciliumnodes/a\n/registry/minions/cp1\n")
	for i := range 11000 {
		keys.WriteString("/registry/pods/default/p" + hex.EncodeToString([]byte{byte(i >> 8), byte(i)}) + "\n")
	}
	q, heard := request(keys.String()), map[string]bool{}
	q.Hear = func(what string) { heard[what] = true }
	r, err := h.Rehearse(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"": 1, "services/specs": 1, "services/endpoints": 1, "cilium.io/ciliumnodes": 1, "minions": 1, "pods": 11000}
	if r.Revision != 4711 || r.Etcd != "3.6.8" || !maps.Equal(r.Folders, want) {
		t.Errorf("%+v", r)
	}
	if r.Secret == nil || r.Secret.Key != "/registry/secrets/default/x" {
		t.Fatalf("the Secret is %+v", r.Secret)
	}
	if got, err := r.Secret.Open(atrest.File{}); err != nil || got != (rehearsal.Opened{By: "identity", Namespace: "default", Name: "x"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if !heard["restoring the snapshot"] || !heard["counting keys"] {
		t.Errorf("heard %v", heard)
	}
	wantNothingLeft(t, root)
}

// TestRehearseFailsAndLeavesNothing checks what a host says that cannot bring a snapshot back.
func TestRehearseFailsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, want string
		change     func(root string, q *rehearsal.Request)
	}{
		"damaged":     {"bad\n", "etcd's data cannot be made from the snapshot: Error: snapshot file integrity check failed", nil},
		"unreadable":  {"broken\n", "the etcd does not start: panic: freepages: failed to get all reachable pages", nil},
		"other bytes": {"/registry/x\n", "the snapshot did not arrive whole", func(_ string, q *rehearsal.Request) { q.SHA256 = strings.Repeat("a", 64) }},
		"no etcd": {"/registry/x\n", "the host has neither etcd, etcdctl and etcdutl, nor registry.k8s.io/etcd:3.6.8-0 in containerd", func(root string, _ *rehearsal.Request) {
			_ = os.Remove(root + "/usr/local/bin/etcdutl")
		}},
		"no room": {"/registry/x\n", "there is no room for it", func(_ string, q *rehearsal.Request) { q.Size = 1 << 60 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, root := rehearsalOn(t)
			q := request(c.text)
			if c.change != nil {
				c.change(root, &q)
			}
			_, err := h.Rehearse(t.Context(), q)
			if failed, ok := errors.AsType[*providers.CommandError](err); !ok || !strings.Contains(strings.Join(failed.Stderr, "\n"), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
			wantNothingLeft(t, root)
		})
	}
}

// TestRehearseEndsWithItsCaller checks that a host cleans up when the caller ends the rehearsal, which on
// this machine kills the commands.
func TestRehearseEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	h, root := rehearsalOn(t)
	if err := os.WriteFile(root+"/hold", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q := request("/registry/x\n")
	q.Hear = func(what string) {
		if what == "restoring the snapshot" {
			cancel()
		}
	}
	if _, err := h.Rehearse(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantNothingLeft(t, root)
}

// TestRehearseRefusesWhatCommandsMisread checks that no invalid word gets into the script.
func TestRehearseRefusesWhatCommandsMisread(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rehearsal.Request){
		"image": func(q *rehearsal.Request) { q.Image = "-x" }, "socket": func(q *rehearsal.Request) { q.Socket = "run/x.sock" },
		"digest": func(q *rehearsal.Request) { q.SHA256 = "x" }, "prefix": func(q *rehearsal.Request) { q.Prefix = "registry" },
	} {
		h, root := rehearsalOn(t)
		q := request("x")
		change(&q)
		if _, err := h.Rehearse(t.Context(), q); err == nil || !strings.Contains(err.Error(), "cannot bring the snapshot back on this machine: ") {
			t.Errorf("%s: %v", name, err)
		}
		wantNothingLeft(t, root)
	}
}
