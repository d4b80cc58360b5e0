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

// A witness watches kubewright while it runs with its most detailed log and events: the processes
// of operator and hosts, which are all processes of this machine too; the journal, which is empty
// afterwards; and the tokens with which nodes join, which are deleted afterwards.
type witness struct {
	*site
	// printed is the output of each command; journal is the longest content of the journal.
	printed map[string]string
	journal string
	tokens  map[string]bool
	// processes are the texts that were seen, by place. looks is how often each process that
	// still exists was read.
	processes map[place]map[string]bool
	looks     map[string]int
}

// place is where a process shows a text: its PID namespace, its program, and whether the text is
// its command line or its environment.
type place struct{ namespace, program, file string }

// witnessLog and witnessLines are the files of the log and of the events.
const witnessLog, witnessLines = "witness.log", "witness.jsonl"

func (s *site) witness() *witness {
	return &witness{site: s, printed: map[string]string{}, tokens: map[string]bool{}, processes: map[place]map[string]bool{}, looks: map[string]int{}}
}

// must runs kubewright, checks that it succeeds, and watches it.
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

// founds creates the cluster, and saves a plan that would replace its keys and prints it in each
// format.
func (w *witness) founds() result {
	w.t.Helper()
	r := w.must("apply", "-auto-approve", "-no-color", "-json-into="+witnessLines)
	w.wantCluster()
	const plan, replace = "witness.kwplan", "-replace=cluster.prod/ca"
	// After a kubelet's restart its API server is shown as not ready for some seconds.
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

// look reads everything once.
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
		return // wantSeen then fails
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	looks := map[string]int{}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		// Until a process executes its program, it shows its parent's texts.
		if looks[name] = w.looks[name] + 1; looks[name] <= 10 {
			w.lookAt(filepath.Join("/proc", name))
		}
	}
	w.looks = looks
}

// lookAt reads one process, which may end at any moment.
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

// wantSeen checks that the witness has seen everything that exists during a run.
func (w *witness) wantSeen() {
	w.t.Helper()
	for _, step := range []string{"node.cp/certs", "cluster.prod/upload-config"} {
		if !begun([]byte(w.journal), step) {
			w.t.Errorf("the journal was not seen with step %s: it had at most %d bytes", step, len(w.journal))
		}
	}
	if len(w.tokens) == 0 && len(w.hosts()) > 1 {
		w.t.Error("no join token of a node was seen")
	}
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		w.t.Fatal(err)
	}
	if !w.sees(own, "cmdline", program(w.t)+"\x00apply\x00") || !w.sees(own, "environ", "\x00KUBEWRIGHT_LOG=trace\x00") {
		w.t.Error("the operator's process was not seen")
	}
	for _, h := range w.hosts() {
		// Every command of kubewright on a host starts with this (providers/shell).
		if !w.sees(w.sh(h.Name, "readlink /proc/1/ns/pid"), "cmdline", `test "$k" = kubewright-script`) {
			w.t.Errorf("no process of kubewright on %s was seen", h.Name)
		}
	}
}

// places returns all texts in which a secret could appear, by place.
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
			w.t.Errorf("the file %s has only %d bytes, too few to be complete", name, n)
		}
	}
	return out
}

// A hidden value is a secret that must appear only in the places whose name contains but.
type hidden struct{ what, value, but string }

// wantNoLeak checks that no private key of a control plane, no join token of a node and none of
// the given secrets appears in the output, in the written files or in the processes that the
// witness has seen.
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
		_, secret, _ := strings.Cut(token, ".") // the first part is its ID
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
	w.t.Logf("%d private keys, %d tokens of nodes and %d more secrets appear in none of %d places with %d bytes", len(keys), len(w.tokens), len(more), len(places), size)
}

// wantNone checks that no text contains a secret, except in places whose name contains but.
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

// printKeys prints the private keys of a control plane: those in files and those in kubeconfigs.
const printKeys = `cd /etc/kubernetes
for f in pki/*.key pki/etcd/*.key; do echo "file $f"; cat "$f"; done
for f in *.conf; do echo "file $f"; sed -n 's/.*client-key-data: *//p' "$f" | base64 -d; done`

// privateKeys returns the private keys of all control planes, by host and file.
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
				s.t.Errorf("%s has no private key in %s", h.Name, name)
			}
		}
	}
	return out
}
