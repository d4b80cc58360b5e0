//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/providers/hosttest"
)

// A witness looks on while kubewright works with its log and its events at their
// fullest: at the processes of operator and hosts, which all are processes of this
// machine too, at the journal, which is empty afterwards, and at the tokens by which
// nodes join, which are gone then.
type witness struct {
	*site
	// printed is what each command printed, journal the longest that it was.
	printed map[string]string
	journal string
	tokens  map[string]bool
	// processes are the texts that were seen, by where. Looks is how often each process
	// that is still there was looked at.
	processes map[place]map[string]bool
	looks     map[string]int
}

// place is where a process shows something: its namespace of process ids, its program,
// and whether that is its command line or its environment.
type place struct{ namespace, program, file string }

// witnessLog and witnessLines are the log and the events of what was looked on at.
const witnessLog, witnessLines = "witness.log", "witness.jsonl"

func (s *site) witness() *witness {
	return &witness{site: s, printed: map[string]string{}, tokens: map[string]bool{}, processes: map[place]map[string]bool{}, looks: map[string]int{}}
}

// must runs kubewright, wants it to succeed, and looks on meanwhile.
func (w *witness) must(args ...string) result {
	w.t.Helper()
	env := w.env
	w.env = append(slices.Clone(env), "KUBEWRIGHT_LOG=trace", "KUBEWRIGHT_LOG_PATH="+witnessLog)
	end := each(20*time.Millisecond, func(context.Context) { w.look() })
	defer end()
	r := w.site.must(args...)
	w.env = env
	w.printed[strings.Join(args, " ")] = r.out
	return r
}

// founds makes the cluster, and saves a plan that would replace keys of it, which is
// printed in each of its forms.
func (w *witness) founds() result {
	w.t.Helper()
	r := w.must("apply", "-auto-approve", "-no-color", "-json-into="+witnessLines)
	w.wantCluster()
	const plan, replace = "witness.kwplan", "-replace=cluster.prod/ca"
	// A kubelet that was restarted last shows its API server as not ready for some seconds.
	w.eventually("keys can be replaced", func() (string, bool) {
		r := w.run("plan", "-no-color", replace)
		return r.out, r.code == 0
	})
	w.must("plan", "-no-color", replace, "-out="+plan)
	w.must("show", "-no-color", "-full", plan)
	for _, form := range []string{"html", "markdown", "json"} {
		w.must("show", "-format="+form, plan)
	}
	w.must("state", "pull")
	return r
}

var bootstrapToken = regexp.MustCompile(`token: "?([a-z0-9]{6}\.[a-z0-9]{16})\b`)

// look looks once.
func (w *witness) look() {
	if journal, err := os.ReadFile(filepath.Join(w.dir, "kubewright.journal")); err == nil && len(journal) > len(w.journal) {
		w.journal = string(journal)
	}
	for _, h := range w.Hosts() {
		conf, err := os.ReadFile(filepath.Join(w.Dir(), "hosts", h.Name, "upper/etc/kubernetes/bootstrap-kubelet.conf"))
		if found := bootstrapToken.FindSubmatch(conf); err == nil && found != nil {
			w.tokens[string(found[1])] = true
		}
	}
	folder, err := os.Open("/proc")
	if err != nil {
		return // want finds nothing
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	looks := map[string]int{}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		// Until it executes its program a process shows what its parent shows.
		if looks[name] = w.looks[name] + 1; looks[name] <= 10 {
			w.lookAt(filepath.Join("/proc", name))
		}
	}
	w.looks = looks
}

// lookAt looks at one process, which may end at any moment.
func (w *witness) lookAt(folder string) {
	namespace, _ := os.Readlink(filepath.Join(folder, "ns/pid"))
	program := ""
	for _, file := range []string{"cmdline", "environ"} {
		text, _ := os.ReadFile(filepath.Join(folder, file))
		if file == "cmdline" {
			program, _, _ = strings.Cut(string(text), "\x00")
		}
		if at := (place{namespace, program, file}); len(text) > 0 {
			if w.processes[at] == nil {
				w.processes[at] = map[string]bool{}
			}
			w.processes[at][string(text)] = true
		}
	}
}

// sees reports whether a process of a namespace has shown a text.
func (w *witness) sees(namespace, file, text string) bool {
	for at, texts := range w.processes {
		for seen := range texts {
			if at.namespace == namespace && at.file == file && strings.Contains(seen, text) {
				return true
			}
		}
	}
	return false
}

// wantSeen wants the witness to have seen what there was to see.
func (w *witness) wantSeen() {
	w.t.Helper()
	for _, step := range []string{"node.cp/certs", "cluster.prod/upload-config"} {
		if !begun([]byte(w.journal), step) {
			w.t.Errorf("the journal was not seen while it had %s: it had %d bytes at most", step, len(w.journal))
		}
	}
	if len(w.tokens) == 0 && len(w.hosts()) > 1 {
		w.t.Error("no token by which a node joined was seen")
	}
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		w.t.Fatal(err)
	}
	if !w.sees(own, "cmdline", binary(w.t)+"\x00apply\x00") || !w.sees(own, "environ", "\x00KUBEWRIGHT_LOG=trace\x00") {
		w.t.Error("the process of the operator was not seen")
	}
	for _, h := range w.hosts() {
		// What every command of kubewright's on a host begins with (providers/shell).
		if !w.sees(w.sh(h.Name, "readlink /proc/1/ns/pid"), "cmdline", `test "$k" = kubewright-script`) {
			w.t.Errorf("no process of kubewright on %s was seen", h.Name)
		}
	}
}

// places returns all texts in which a secret could show, by where.
func (w *witness) places() map[string]string {
	w.t.Helper()
	out := map[string]string{"the journal meanwhile": w.journal}
	for command, text := range w.printed {
		out["what "+command+" printed"] = text
	}
	for at, texts := range w.processes {
		var all strings.Builder
		for text := range texts {
			all.WriteString(text + "\n")
		}
		out[fmt.Sprintf("%s of %s in %s", at.file, at.program, at.namespace)] = all.String()
	}
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "cluster.hcl" {
			return err
		}
		out["the file "+d.Name()] = contents(w.t, path)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for name, least := range map[string]int{witnessLog: 20_000, witnessLines: 10_000, "kubewright.state.json": 10_000} {
		if n := len(out["the file "+name]); n < least {
			w.t.Errorf("the file %s has %d bytes: too few to have everything", name, n)
		}
	}
	return out
}

// A hidden value is a secret that is to show nowhere, but where it is meant to be.
type hidden struct{ what, value, but string }

// wantNoLeak wants no private key that is on a control plane, no token by which a node
// has joined, and none of these to show in what was printed and written, and in the
// processes that the witness has seen.
func (w *witness) wantNoLeak(more ...hidden) {
	w.t.Helper()
	w.wantSeen()
	places := w.places()
	var always hosttest.Secrets
	keys := w.privateKeys()
	for what, key := range keys {
		if err := always.HideKey(what, []byte(key)); err != nil {
			w.t.Error(err)
		}
	}
	for token := range w.tokens {
		_, secret, _ := strings.Cut(token, ".") // the first half is its name
		always.Hide("the token of a node", secret)
	}
	w.wantNone(places, &always, "")
	for _, h := range more {
		var one hosttest.Secrets
		one.Hide(h.what, h.value)
		w.wantNone(places, &one, h.but)
	}
	size := 0
	for _, text := range places {
		size += len(text)
	}
	w.t.Logf("%d private keys, %d tokens of nodes and %d more secrets show in none of %d places with %d bytes", len(keys), len(w.tokens), len(more), len(places), size)
}

// wantNone wants no text to hold a secret, but those of a place whose name says so.
func (w *witness) wantNone(places map[string]string, secrets *hosttest.Secrets, but string) {
	w.t.Helper()
	for where, text := range places {
		if but != "" && strings.Contains(where, but) {
			continue
		}
		for _, leak := range secrets.Find(text) {
			w.t.Errorf("%s: %s", where, leak)
		}
	}
}

// printKeys prints the private keys of a control plane: those of files, and those in
// kubeconfigs.
const printKeys = `cd /etc/kubernetes
for f in pki/*.key pki/etcd/*.key; do echo "file $f"; cat "$f"; done
for f in *.conf; do echo "file $f"; sed -n 's/.*client-key-data: *//p' "$f" | base64 -d; done`

// privateKeys returns those of all control planes, by host and file.
func (s *site) privateKeys() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, h := range s.planes {
		for _, file := range strings.Split("\n"+s.sh(h.Name, printKeys), "\nfile ")[1:] {
			if name, key, _ := strings.Cut(file, "\n"); key != "" {
				out[h.Name+" "+name] = key
			}
		}
		for _, name := range []string{
			"pki/ca.key", "pki/apiserver.key", "pki/apiserver-kubelet-client.key", "pki/front-proxy-ca.key", "pki/front-proxy-client.key", "pki/sa.key",
			"pki/etcd/ca.key", "pki/etcd/server.key", "pki/etcd/peer.key", "pki/etcd/healthcheck-client.key", "pki/apiserver-etcd-client.key",
			"admin.conf", "controller-manager.conf", "scheduler.conf",
		} {
			if out[h.Name+" "+name] == "" {
				s.t.Errorf("%s has no private key in %s to look for", h.Name, name)
			}
		}
	}
	return out
}
