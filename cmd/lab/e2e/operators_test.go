//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/kubernetes"
)

// TestTwoOperators has two operators on separate machines change one cluster, whose state and
// lock are objects of a real API. It checks that they never change it at the same time: not when
// they start together, and not when one is paused while the other takes over.
func TestTwoOperators(t *testing.T) {
	begin(t)
	s := newSite(t, "e2eto", 1, 3)
	desks := s.workers[1:]
	s.workers = s.workers[:1]
	s.configure()
	s.must("apply", "-auto-approve", "-no-color")
	s.settled()
	s.shareState()
	t.Run("backend", s.conforms)

	ada, grace := s.operator(desks[0]), s.operator(desks[1])
	s.race(ada, grace)
	s.standStill(ada, grace)
	s.wantCluster()
	s.wantWorkload()
}

// access is the operators' kubeconfig, in their folders; team is the namespace in which it grants
// permissions.
const access, team = "team.kubeconfig", "team"

// shareState moves the state into the cluster, and gives a group access to it and to nothing else
// there.
func (s *site) shareState() {
	s.t.Helper()
	s.kubectl("create", "namespace", team)
	s.kubectl("create", "role", "states", "-n", team, "--verb=get,create,update", "--resource=secrets,leases.coordination.k8s.io")
	s.kubectl("create", "rolebinding", "states", "-n", team, "--role=states", "--group=operators")
	conf := s.kubeconfig("-user=operator", "-group=operators", "-server=https://"+s.planes[0].Address().String()+":6443")
	if err := os.WriteFile(filepath.Join(s.dir, access), conf, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.top = fmt.Sprintf("\nkubewright {\n  backend \"kubernetes\" {\n    secret_suffix = \"prod\"\n    namespace     = %q\n    config_path   = %q\n  }\n}\n", team, access)
	s.configure()
	r := s.must("init", "-migrate-state", "-force-copy")
	wantContains(s.t, r.out, "Copied the state to secret team/kubewright-state-prod")
	s.wantNoChanges()
}

// conforms runs the backend conformance tests over the cluster's API.
func (s *site) conforms(t *testing.T) {
	var places atomic.Int32
	backendtest.Test(t, backendtest.Options{Most: corev1.MaxSecretSize + 1, New: func(t *testing.T) func() backend.Backend {
		with := backend.Settings{
			"secret_suffix": fmt.Sprintf("place%d", places.Add(1)), "namespace": team, "config_path": filepath.Join(s.dir, access),
		}
		return func() backend.Backend {
			b, err := kubernetes.New(with, kubernetes.Operator{})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}})
}

// operator returns an operator with a copy of the configuration on a separate machine.
func (s *site) operator(desk lab.Host) *site {
	s.t.Helper()
	o := *s
	o.dir, o.on = s.t.TempDir(), desk.Name
	o.bring(binary(s.t), operatorFolder+"/kubewright", "755")
	o.bring(filepath.Join(s.dir, access), operatorFolder+"/"+access, "600")
	for _, file := range []string{s.PrivateKey(), s.KnownHosts()} { // at the paths in the configuration
		o.bring(file, file, "600")
	}
	return &o
}

func (s *site) bring(from, to, mode string) {
	s.t.Helper()
	if err := s.PutFile(context.Background(), s.on, from, to, mode); err != nil {
		s.t.Fatal(err)
	}
}

// edits writes an operator's configuration to that operator's machine.
func (s *site) edits(kubelet, label string) {
	s.t.Helper()
	s.kubelet = "\n" + kubelet
	s.workerExtra = fmt.Sprintf("  labels = { \"node.example.com/by\" = %q }\n", label)
	s.configure()
	s.bring(filepath.Join(s.dir, "cluster.hcl"), operatorFolder+"/cluster.hcl", "600")
}

// A revision is a value of an object, valid since the change with this number. One etcd counts
// the changes of all objects of a cluster.
type revision struct {
	number int64
	value  string
}

// history watches a value of an object until the returned function is called.
func (s *site) history(jsonpath string, object ...string) func() []revision {
	s.t.Helper()
	so, end := s.watch(jsonpath, object...)
	knows := func() {
		number := s.kubectl(append([]string{"get", "-o", "jsonpath={.metadata.resourceVersion}"}, object...)...)
		s.eventually("the watch of "+strings.Join(object, " ")+" sees "+number, func() (string, bool) {
			return fmt.Sprint(so()), slices.ContainsFunc(so(), func(r revision) bool { return strconv.FormatInt(r.number, 10) == number })
		})
	}
	knows()
	return func() (all []revision) {
		s.t.Helper()
		knows()
		end()
		for _, r := range so() {
			if len(all) == 0 || all[len(all)-1].value != r.value {
				all = append(all, r)
			}
		}
		return all
	}
}

// watch watches a value of an object, which may be deleted: the first result returns its
// revisions so far, the second stops the watch.
func (s *site) watch(jsonpath string, object ...string) (so func() []revision, end func()) {
	s.t.Helper()
	file, err := os.Create(filepath.Join(s.t.TempDir(), "history"))
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	watch, err := s.Command(ctx, s.planes[0].Name, slices.Concat([]string{"kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "get", "--watch"},
		object, []string{"-o", `jsonpath={.metadata.resourceVersion} {` + jsonpath + `}{"\n"}`})...)
	if err != nil {
		s.t.Fatal(err)
	}
	watch.Stdout, watch.Stderr = file, os.Stderr
	if err := watch.Start(); err != nil {
		s.t.Fatal(err)
	}
	end = sync.OnceFunc(func() { cancel(); _ = watch.Wait(); _ = file.Close() })
	s.t.Cleanup(end)
	return func() (all []revision) {
		s.t.Helper()
		for line := range strings.Lines(contents(s.t, file.Name())) {
			line, whole := strings.CutSuffix(line, "\n")
			if !whole {
				break // the line is still being written
			}
			number, value, _ := strings.Cut(line, " ")
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			all = append(all, revision{n, value})
		}
		return all
	}, end
}

// race has both operators apply at once, each with a label of its own. The one that does not get
// the lock waits, and then undoes the change of the other, because each configuration wants a
// different label.
func (s *site) race(ada, grace *site) {
	const rounds = 3
	w := s.workers[0].Name
	locks := s.history(`.metadata.annotations.kubewright\.io/lock`, "-n", team, "lease", "kubewright-lock-prod")
	labels := s.history(`.metadata.labels.node\.example\.com/by`, "node", w)
	states := s.history(`.metadata.annotations`, "-n", team, "secret", "kubewright-state-prod")
	for round := range rounds {
		ada.edits("", fmt.Sprintf("%s.%d", ada.on, round))
		grace.edits("", fmt.Sprintf("%s.%d", grace.on, round))
		var both sync.WaitGroup
		for _, o := range []*site{ada, grace} {
			both.Go(func() {
				if r := o.run("apply", "-auto-approve", "-no-color", "-lock-timeout=5m"); r.code != 0 {
					s.t.Errorf("apply on %s during another apply: exit code %d", o.on, r.code)
				}
			})
		}
		both.Wait()
	}
	held, changes, serials := locks(), labels(), states()
	s.wantOneAtOnce(held, changes)
	if n := len(changes) - 1; n != 2*rounds {
		s.t.Errorf("the label was changed %d times, want %d: %v", n, 2*rounds, changes)
	}
	s.wantNothingLost(serials, 2*rounds)
	last := map[bool]*site{true: ada, false: grace}[strings.HasPrefix(changes[len(changes)-1].value, ada.on)]
	last.wantNoChanges()
}

// wantOneAtOnce checks that every label was written by the holder of the lock, and that the lock
// was released before another run got it.
func (s *site) wantOneAtOnce(held, changes []revision) {
	s.t.Helper()
	s.t.Logf("the lock: %v\nthe label: %v", held, changes)
	for i := 1; i < len(held); i++ {
		if held[i-1].value != "" && held[i].value != "" {
			s.t.Errorf("revision %d: the lock went from %s to %s without being free in between", held[i].number, held[i-1].value, held[i].value)
		}
	}
	for _, c := range changes[1:] {
		at, _ := slices.BinarySearchFunc(held, c.number, func(r revision, n int64) int { return cmp.Compare(r.number, n) })
		var holder backend.LockInfo
		if err := json.Unmarshal([]byte(held[max(at-1, 0)].value), &holder); err != nil {
			s.t.Errorf("revision %d: the label %q was written while the lock was free: %v", c.number, c.value, err)
			continue
		}
		if desk, _, _ := strings.Cut(c.value, "."); holder.Who != "root@"+desk {
			s.t.Errorf("revision %d: the label %q was written while %s held the lock", c.number, c.value, holder.Who)
		}
	}
}

// wantNothingLost checks that a state's serials have no gap and one lineage.
func (s *site) wantNothingLost(states []revision, writes int) {
	s.t.Helper()
	var lineage string
	var serials []int64
	for _, r := range states {
		var of map[string]string
		if err := json.Unmarshal([]byte(r.value), &of); err != nil {
			s.t.Fatal(err)
		}
		serial, err := strconv.ParseInt(of["kubewright.io/serial"], 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		lineage = cmp.Or(lineage, of["kubewright.io/lineage"])
		if n := len(serials); of["kubewright.io/lineage"] != lineage || n > 0 && serial != serials[n-1]+1 {
			s.t.Errorf("revision %d: the state has lineage %s and serial %d, before %s and %v", r.number, of["kubewright.io/lineage"], serial, lineage, serials)
		}
		serials = append(serials, serial)
	}
	if len(serials) != writes+1 {
		s.t.Errorf("the state was written %d times, want %d: serials %v", len(serials)-1, writes, serials)
	}
}

// operatorSession matches, for pkill, the process of sshd that serves an operator.
const operatorSession = "-f '[s]shd.*: root@'"

// standStill pauses Ada's apply with SIGSTOP when one host has her change and the other's is on
// its way; sshd there is paused too. Grace takes over. Then both continue, and neither the change
// on its way nor Ada's run changes anything.
func (s *site) standStill(ada, grace *site) {
	cp, w := s.planes[0].Name, s.workers[0].Name
	ada.edits("maxPods = 121", "everybody")
	grace.edits("maxPods = 131", "everybody")
	stopped := ada.start("apply", "-auto-approve", "-no-color", "-detailed-exitcode", "-parallelism=1")
	stopped.begins(fmt.Sprintf("node.cp[%q]/kubelet-start", cp))
	stopped.pause()
	s.sh(w, "pkill -STOP "+operatorSession)
	stopped.resume()
	stopped.begins(fmt.Sprintf("node.worker[%q]/kubelet-start", w))
	stopped.pause()

	grace.takeOver("root@" + ada.on)
	before := s.seen()
	s.sh(w, "pkill -CONT "+operatorSession)
	stopped.resume()
	out, code := stopped.wait()
	if code != 5 { // locked
		s.t.Errorf("the paused run: exit code %d, want 5", code)
	}
	wantContains(s.t, out, "this run's lock was ended", "The state was written to", "kubewright.errored.state.json")
	// The host refuses the older token, unless the take-over lasted longer than the limit for a
	// silent host.
	if !strings.Contains(out, "has begun there, this is run") && !strings.Contains(out, "the host has not answered the request to open a session for 2m0s") {
		s.t.Errorf("the host did not refuse the step:\n%s", out)
	}
	s.eventually("sshd has processed the change on its way", func() (string, bool) {
		out := s.sh(w, "pgrep -a "+operatorSession+" || true")
		return out, out == ""
	})
	if after := s.seen(); after != before {
		s.t.Errorf("the paused run has changed something:\nbefore %s\nafter  %s", before, after)
	}
	grace.wantNoChanges()

	ada.edits("maxPods = 131", "everybody")
	r := ada.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, words(r.out), "Journal is obsolete", "No changes.")
	ada.wantNoChanges()
}

// takeOver ends the lock of another operator's run, and applies after the run's claim on the
// cluster has expired, one minute after its last renewal.
func (s *site) takeOver(from string) {
	s.t.Helper()
	apply := []string{"apply", "-auto-approve", "-no-color", "-detailed-exitcode"}
	r := s.run(apply...)
	if r.code != 5 {
		s.t.Fatalf("apply during a paused run: exit code %d, want 5", r.code)
	}
	var lock struct{ Holder backend.LockInfo }
	if err := json.Unmarshal([]byte(s.must("lock", "status", "-json").out), &lock); err != nil || lock.Holder.Who != from {
		s.t.Fatalf("the lock is held by %q, want %q: %v", lock.Holder.Who, from, err)
	}
	wantContains(s.t, words(r.out), "State is locked", "apply of "+from, "kubewright force-unlock "+lock.Holder.ID)
	s.must("force-unlock", "-force", lock.Holder.ID)
	r = s.run(apply...)
	_, lease, _ := strings.Cut(words(r.out), "kubectl -n kube-system delete lease ")
	lease, _, _ = strings.Cut(lease, " ")
	if r.code != 5 || lease == "" {
		s.t.Fatalf("apply during a claim on the cluster: exit code %d, want 5", r.code)
	}
	s.eventually("the paused run's claim has not been renewed for a minute", func() (string, bool) {
		renewed := s.kubectl("get", "-n", "kube-system", "lease", lease, "-o", "jsonpath={.spec.renewTime}")
		at, err := time.Parse(time.RFC3339, renewed)
		return renewed, err == nil && time.Since(at) > time.Minute
	})
	s.must(apply...)
	s.wantNoChanges()
}

// words returns a text with all whitespace, line breaks included, replaced by single spaces.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// seen returns everything that an operator could have changed on hosts, in the cluster and in the
// state.
func (s *site) seen() string {
	s.t.Helper()
	out := s.processes()
	for _, h := range s.hosts() {
		out += "\n" + s.sh(h.Name, "cd /var/lib/kubelet && sha256sum config.yaml && grep maxPods config.yaml")
	}
	for _, object := range [][]string{{team, "secret", "kubewright-state-prod"}, {"kube-system", "configmap", "kubelet-config"}} {
		out += "\n" + s.kubectl("get", "-n", object[0], object[1], object[2], "-o", "jsonpath={.metadata.resourceVersion}")
	}
	return out
}

// running is a kubewright process whose journal is watched.
type running struct {
	*site
	cmd     *exec.Cmd
	out     bytes.Buffer
	ended   chan error
	journal string
	before  []byte
}

// start starts a kubewright command, here or on a host.
func (s *site) start(args ...string) *running {
	s.t.Helper()
	r := &running{site: s, cmd: s.command(args...), ended: make(chan error, 1), journal: filepath.Join(s.dir, "kubewright.journal")}
	if s.on != "" { // the host's own files, over those that all hosts share
		r.journal = filepath.Join(s.Dir(), "hosts", s.on, "upper", operatorFolder, "kubewright.journal")
	}
	r.before, _ = os.ReadFile(r.journal)
	w := io.MultiWriter(&r.out, os.Stderr)
	r.cmd.Stdout, r.cmd.Stderr = w, w
	fmt.Fprintf(os.Stderr, "\n$ kubewright %s &\n", strings.Join(args, " "))
	if err := r.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = r.cmd.Process.Kill() }) // even a stopped one
	go func() { r.ended <- r.cmd.Wait() }()
	return r
}

// begins waits until the journal records that an operation of the step has begun.
func (r *running) begins(step string) {
	r.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-r.ended:
			r.t.Fatalf("kubewright ended before %s had begun: %v\n%s", step, err, r.out.String())
		case <-look.C:
		}
		now, _ := os.ReadFile(r.journal)
		if begun(bytes.TrimPrefix(now, r.before), step) {
			return
		}
	}
}

// pause stops kubewright on its host with SIGSTOP. nsenter, its parent, stops too.
func (r *running) pause() {
	r.t.Helper()
	pid := strconv.Itoa(r.cmd.Process.Pid)
	if out, err := exec.Command("pkill", "-STOP", "-P", pid).CombinedOutput(); err != nil {
		r.t.Fatalf("cannot stop kubewright: %v\n%s", err, out)
	}
	r.eventually("kubewright is stopped", func() (string, bool) {
		stat := contents(r.t, "/proc/"+pid+"/stat")
		return stat, strings.Contains(stat, ") T ")
	})
}

// resume continues nsenter, which continues its child.
func (r *running) resume() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		r.t.Fatal(err)
	}
}

// wait returns the output, without line breaks, and the exit code.
func (r *running) wait() (string, int) {
	r.t.Helper()
	<-r.ended
	return words(r.out.String()), r.cmd.ProcessState.ExitCode()
}
