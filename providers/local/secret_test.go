package local_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
)

// TestProcessArgumentsHoldNoSecrets checks that the arguments and environments of processes, which
// every user of a host can list, hold no secret while one is made, brought, copied and read
// there. A script's children live for a moment: everything is repeated, on new hosts, until
// some of them were seen in each act.
func TestProcessArgumentsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("there is no /proc here")
	}
	var secrets hosttest.Secrets
	w := watch(t)
	for again := true; again && t.Context().Err() == nil; {
		l := newLife(t)
		again = false
		for _, act := range l.acts() {
			w.begins(act.name)
			if err := act.do(); err != nil {
				t.Fatalf("%s: %v", act.name, err)
			}
			again = !w.saw(act.name) || again
		}
		l.hide(&secrets)
	}
	w.end()
	for during, texts := range w.texts {
		for text := range texts {
			for _, leak := range secrets.Find(text) {
				t.Errorf("a process shows a secret during %q: %s", during, leak)
			}
		}
	}
}

// life is the life of two hosts with secrets of every kind.
type life struct {
	*testing.T
	roots         []string
	first, second providers.Host
	issuer        *pki.Issuer
	owner         string
}

const (
	folder   = "/etc/kubernetes/pki"
	imported = "canary-of-the-operator"
	token    = "abcdef.0canary0process0"
)

func newLife(t *testing.T) *life {
	t.Helper()
	l := &life{T: t, issuer: pki.New(pki.Options{}), owner: owner(t)}
	host := func() providers.Host {
		o := ownRoot(t)
		l.roots = append(l.roots, o.Root)
		if err := os.MkdirAll(o.Root+folder, 0o755); err != nil {
			t.Fatal(err)
		}
		return own{local.New(o), l.owner}
	}
	l.first, l.second = host(), host()
	return l
}

// own changes the owner of written files to the user who runs the test, who may not be
// root.
type own struct {
	providers.Host
	owner string
}

func (o own) Perform(ctx context.Context, b providers.Batch) ([]providers.Outcome, error) {
	b.Operations = slices.Clone(b.Operations)
	for i, op := range b.Operations {
		if file, ok := op.(planner.WriteFile); ok {
			file.Owner = o.owner
			b.Operations[i] = file
		}
	}
	return o.Host.Perform(ctx, b)
}

type act struct {
	name string
	do   func() error
}

// acts returns all operations that bring secrets to a host or from it.
func (l *life) acts() []act {
	batch := providers.Batch{Token: 1, Lineage: "l", Contents: map[string]state.Secret{"operator:key": state.NewSecret([]byte(imported))}}
	ca := planner.Signer{Name: "kubernetes", Base: folder + "/ca"}
	const algorithm, year = "ECDSA-P256", 365 * 24 * time.Hour
	conf := planner.WriteKubeconfig{
		Path: "/etc/kubernetes/admin.conf", CA: ca, Cluster: "kubernetes", Server: "https://10.77.0.11:6443",
		User: "kubernetes-admin", CommonName: "kubernetes-admin", Algorithm: algorithm, Validity: year,
	}
	joining := planner.WriteKubeconfig{
		Path: "/etc/kubernetes/bootstrap-kubelet.conf", CA: ca, Cluster: "kubernetes", Server: "https://api:6443",
		User: "tls-bootstrap-token-user", Token: &state.Pending{Step: "x", Output: "token"},
	}
	files := []planner.SecretFile{{Path: folder + "/ca.crt", Mode: "0644", Owner: l.owner}, {Path: folder + "/ca.key", Mode: "0600", Owner: l.owner}, {Path: folder + "/sa.key", Mode: "0600", Owner: l.owner}}
	brought := []planner.SecretFile{{Path: folder + "/brought.key", Source: "operator:key", Mode: "0600", Owner: l.owner}}
	ctx := l.Context()
	only := func(_ providers.Outcome, err error) error { return err }
	return []act{
		{"a CA", func() error {
			return only(l.issuer.IssueCA(ctx, l.first, planner.IssueCA{CommonName: "kubernetes", Algorithm: algorithm, Validity: year, To: folder + "/ca"}, batch))
		}},
		{"a key pair", func() error {
			return only(l.issuer.IssueKeyPair(ctx, l.first, planner.IssueKeyPair{Algorithm: algorithm, To: folder + "/sa"}, batch))
		}},
		{"a certificate", func() error {
			op := planner.IssueCertificate{CA: ca, CommonName: "kube-apiserver", Usages: []string{"server auth"}, Algorithm: algorithm, Validity: year, To: folder + "/apiserver"}
			return only(l.issuer.IssueCertificate(ctx, l.first, l.first, op, batch))
		}},
		{"a kubeconfig with a key", func() error {
			return only(l.issuer.WriteKubeconfig(ctx, l.first, l.first, conf, state.Secret{}, batch))
		}},
		{"copied files", func() error {
			return only(l.issuer.CopySecrets(ctx, l.first, l.second, planner.CopySecrets{Files: files}, batch))
		}},
		{"a file of the operator's", func() error {
			return only(l.issuer.ImportSecrets(ctx, l.second, planner.ImportSecrets{Files: brought}, batch))
		}},
		{"a kubeconfig with a token", func() error {
			return only(l.issuer.WriteKubeconfig(ctx, l.second, l.first, joining, state.NewSecret([]byte(token)), batch))
		}},
		{"a file that is configured", func() error {
			b := batch
			b.Operations = planner.Operations{planner.WriteFile{Path: "/etc/key", Mode: "0600", Content: planner.Content{Ref: "operator:key"}}}
			_, err := l.second.Perform(ctx, b)
			return err
		}},
		{"files that are read", func() error {
			got, err := l.second.ReadSecrets(ctx, []string{folder + "/ca.key", folder + "/brought.key", "/etc/key", joining.Path})
			for path, secret := range got {
				if content, readErr := os.ReadFile(l.roots[1] + path); readErr != nil || !bytes.Equal(content, secret.Reveal()) {
					l.Errorf("%s: got %q, want %q: %v", path, secret.Reveal(), content, readErr)
				}
			}
			if len(got) != 4 {
				l.Errorf("got %d files of 4", len(got))
			}
			return err
		}},
	}
}

var clientKey = regexp.MustCompile(`client-key-data: (\S+)`)

// hide registers all secrets of the hosts for the search.
func (l *life) hide(secrets *hosttest.Secrets) {
	l.Helper()
	secrets.Hide("the operator's file", imported)
	_, half, _ := strings.Cut(token, ".")
	secrets.Hide("the token", half)
	keys := 0
	hide := func(what string, key []byte) {
		keys++
		if err := secrets.HideKey(what, key); err != nil {
			l.Error(err)
		}
	}
	for _, root := range l.roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			if found := clientKey.FindSubmatch(content); found != nil {
				key, decodeErr := base64.StdEncoding.DecodeString(string(found[1]))
				if decodeErr != nil {
					l.Error(decodeErr)
				}
				hide(path, key)
			}
			if bytes.Contains(content, []byte("PRIVATE KEY")) {
				hide(path, content)
			}
			return err
		})
		if err != nil {
			l.Fatal(err)
		}
	}
	if keys != 6 { // those of CA, service accounts, API server and admin.conf, and two copies
		l.Errorf("there are %d private keys on the hosts, want 6", keys)
	}
}

// A watcher inspects new processes again and again while it runs.
type watcher struct {
	mu sync.Mutex
	// during is the current act, texts are the arguments and environments seen during each,
	// and tools the children of scripts.
	during string
	texts  map[string]map[string]bool
	tools  map[string]int
	// before are the processes that existed before, ours the process groups of this test.
	before, ours map[string]bool
	end          func()
}

func watch(t *testing.T) *watcher {
	t.Helper()
	w := &watcher{texts: map[string]map[string]bool{}, tools: map[string]int{}, before: map[string]bool{}, ours: map[string]bool{}}
	for _, id := range processes(t) {
		w.before[id] = true
	}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			for _, id := range processes(t) {
				if !w.before[id] {
					w.look(id)
				}
			}
		}
	})
	w.end = func() { cancel(); done.Wait() }
	t.Cleanup(w.end)
	return w
}

// processes returns the IDs of all processes.
func processes(t *testing.T) []string {
	folder, err := os.Open("/proc")
	if err != nil {
		t.Error(err)
		return nil
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		t.Error(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name[0] < '0' || name[0] > '9' })
}

// look inspects a process, which may end at any moment: one that this test has started on a
// host, which is the leader of a group, or another one of that group.
func (w *watcher) look(id string) {
	stat, _ := os.ReadFile("/proc/" + id + "/stat")
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(rest)) // state, parent, group
	if len(fields) < 3 {
		return
	}
	if fields[1] == strconv.Itoa(os.Getpid()) && fields[2] == id {
		w.ours[id] = true
	}
	if !w.ours[fields[2]] {
		return
	}
	arguments, _ := os.ReadFile("/proc/" + id + "/cmdline")
	environment, _ := os.ReadFile("/proc/" + id + "/environ")
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.texts[w.during] == nil {
		w.texts[w.during] = map[string]bool{}
	}
	w.texts[w.during][string(arguments)] = true
	w.texts[w.during][string(environment)] = true
	if len(arguments) > 0 && !bytes.Contains(arguments, []byte("kubewright-script")) {
		w.tools[w.during]++
	}
}

func (w *watcher) begins(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.during = what
}

// saw reports whether a child of a script was seen in the act.
func (w *watcher) saw(what string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tools[what] > 0
}
