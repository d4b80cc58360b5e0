//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
	"github.com/kubewright/kubewright/config/keypair"
	"github.com/kubewright/kubewright/state"
)

// TestFirstLight creates a cluster of three control planes and two workers, checks that nothing
// changes, and restores the hosts. It runs alone, because it measures durations.
func TestFirstLight(t *testing.T) {
	begin(t)
	s := newSite(t, "e2e", 3, 2)
	s.logIn()
	before := s.listings()

	r := s.must("plan", "-no-color")
	wantContains(t, r.out, "Plan: 6 to add, 0 to change, 0 to destroy.")
	if after := s.listings(); !same(before, after) {
		t.Fatal("plan wrote to a host")
	}

	r = s.must("apply", "-auto-approve", "-no-color")
	t.Logf("apply of 3 control planes and 2 workers from prepared hosts: %s", r.took.Round(100*time.Millisecond))
	s.wantCluster()
	s.wantWorkload()
	s.wantStable()
	s.wantGone(before)
}

// TestChanges takes such a cluster through drift and repair, addons, changes, the removal of a
// worker, and destroy.
func TestChanges(t *testing.T) {
	begin(t)
	s := newSite(t, "e2ec", 3, 2)
	s.logIn()
	before := s.listings()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.wantWorkload()

	t.Run("drift", func(t *testing.T) { s.within(t, s.drift) })
	t.Run("addons", func(t *testing.T) { s.within(t, s.addons) })
	t.Run("change", func(t *testing.T) { s.within(t, s.change) })
	t.Run("worker leaves", func(t *testing.T) { s.within(t, s.removeWorker) })
	if t.Failed() {
		return
	}

	s.wantGone(before)
}

// wantGone destroys everything and checks that the hosts are in their previous condition.
func (s *site) wantGone(before map[string]string) {
	s.t.Helper()
	r := s.must("destroy", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "Destroy complete!")
	s.wantBefore(before)
}

// logIn logs in to every host once: the first login to a host writes its motd.
func (s *site) logIn() {
	s.t.Helper()
	for _, h := range s.Hosts() {
		if out, err := exec.Command("ssh", "-F", s.SSHConfig(), h.Name, "true").CombinedOutput(); err != nil {
			s.t.Fatalf("cannot log in to %s: %v\n%s", h.Name, err, out)
		}
	}
}

// within runs a part of the test as a subtest of the same site.
func (s *site) within(t *testing.T, part func()) {
	outer := s.t
	s.t = reporter{t}
	defer func() { s.t = outer }()
	part()
}

func wantContains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("the output does not contain %q", p)
		}
	}
}

func (s *site) hosts() []lab.Host { return append(append([]lab.Host{}, s.planes...), s.workers...) }

// founded creates the cluster, checks it, and expects no further changes.
func (s *site) founded() {
	s.t.Helper()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.settled()
	s.wantNoChanges()
}

// wantCluster checks that every node is Ready and every system pod is running.
func (s *site) wantCluster() {
	s.t.Helper()
	s.eventually("all nodes are Ready", func() (string, bool) {
		out := s.kubectl("get", "nodes", "--no-headers")
		lines := strings.Split(out, "\n")
		ready := 0
		for _, l := range lines {
			if f := strings.Fields(l); len(f) > 1 && f[1] == "Ready" {
				ready++
			}
		}
		return out, ready == len(s.hosts()) && len(lines) == ready
	})
	s.eventually("no node has a taint for being not ready", func() (string, bool) {
		// The controller removes the taints some seconds after a node is Ready.
		out := s.kubectl("get", "nodes", "-o", "jsonpath={.items[*].spec.taints[*].key}")
		return out, !strings.Contains(out, corev1.TaintNodeNotReady) && !strings.Contains(out, corev1.TaintNodeUnreachable)
	})
	s.eventually("all pods of kube-system run", func() (string, bool) {
		out := s.kubectl("get", "pods", "-n", "kube-system", "--no-headers", "-o", "wide")
		lines := strings.Split(out, "\n")
		for _, l := range lines {
			f := strings.Fields(l)
			if len(f) < 3 || f[1] != "1/1" || f[2] != "Running" {
				return out, false
			}
		}
		// Three components and etcd per control plane; kube-proxy everywhere; two CoreDNS.
		want := 3*len(s.planes) + len(s.hosts()) + 2
		if !s.externalEtcd {
			want += len(s.planes)
		}
		return fmt.Sprintf("%s\n(%d pods, want %d)", out, len(lines), want), len(lines) == want
	})
	s.wantDNS()
}

const workload = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      tolerations: [%[2]s]
      containers: [{name: web, image: %[1]q, imagePullPolicy: Never, args: [serve], ports: [{containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec:
  selector: {app: web}
  ipFamilyPolicy: PreferDualStack
  ports: [{port: 80, targetPort: 8080}]
`

// runners returns the hosts that run the workload's pods, and the taints that the pods tolerate:
// the workers, or the control planes if there are no workers.
func (s *site) runners() (hosts []lab.Host, taints []string) {
	taints = []string{"dedicated", "nvidia.com/gpu"}
	if len(s.workers) == 0 {
		return s.planes, append(taints, "node-role.kubernetes.io/control-plane")
	}
	return s.workers, taints
}

// wantWorkload checks that the pods on all workers answer each other through a Service, by its
// name, and by its address of each family.
func (s *site) wantWorkload() {
	s.t.Helper()
	hosts, taints := s.runners()
	tolerated := "{operator: Exists, key: " + strings.Join(taints, "}, {operator: Exists, key: ") + "}"
	if _, err := s.KubectlInput(context.Background(), s.planes[0].Name, fmt.Sprintf(workload, lab.WorkloadImage, tolerated), "apply", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
	var pods []string
	s.eventually("a pod runs on each worker", func() (string, bool) {
		out := s.kubectl("get", "pods", "-l", "app=web", "--no-headers")
		pods = nil
		for _, l := range strings.Split(out, "\n") {
			if f := strings.Fields(l); len(f) > 2 && f[1] == "1/1" {
				pods = append(pods, f[0])
			}
		}
		return out, len(pods) == len(hosts)
	})
	urls := []string{"http://web.default.svc." + cmp.Or(s.domain, "cluster.local") + "/"}
	addresses := strings.Fields(s.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIPs[*]}"))
	if len(addresses) != len(s.PodSubnets()) {
		s.t.Errorf("the Service has the addresses %v, want one of each of %v", addresses, s.PodSubnets())
	}
	for _, a := range addresses {
		urls = append(urls, "http://"+net.JoinHostPort(a, "80")+"/")
	}
	for _, pod := range pods {
		for _, url := range urls {
			s.eventually("pod "+pod+" gets answers of all pods through "+url, func() (string, bool) {
				out, err := s.Kubectl(context.Background(), s.planes[0].Name, "exec", pod, "--", "/workload", "get", url, "20")
				if err != nil {
					return err.Error(), false
				}
				answers := strings.Fields(string(out))
				slices.Sort(answers)
				return string(out), len(slices.Compact(answers)) == len(pods)
			})
		}
	}
}

// wantStable checks that a second plan and a second apply find no changes and leave no trace on
// any host.
func (s *site) wantStable() {
	s.t.Helper()
	s.settled()
	s.wantNoChanges()
	s.wantOneEach()
	s.timePlan()
	s.wantNoOperation()
}

// kubeletsOwn are paths below /var/lib/kubelet that a running kubelet writes.
const kubeletsOwn = `-path /var/lib/kubelet/pods -o -path '/var/lib/kubelet/plugins*' -o -path /var/lib/kubelet/device-plugins`

// wantNoOperation checks that an apply performs no operation: nothing is written on the hosts,
// not even with the same content, nothing is restarted, and no object of the cluster is replaced.
func (s *site) wantNoOperation() {
	s.t.Helper()
	for _, h := range s.hosts() {
		s.sh(h.Name, "touch /run/kubewright-e2e-mark")
	}
	before := s.stands()
	r := s.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "No changes.", "Apply complete! Resources: 0 added, 0 changed, 0 destroyed.")
	for _, h := range s.hosts() {
		find := "find /etc /usr /opt /root /home /var/lib/kubewright /var/lib/kubelet /var/lib/cni " +
			`\( ` + kubeletsOwn + ` -o -path /root/.kube \) -prune -o -cnewer /run/kubewright-e2e-mark -print`
		if written := s.sh(h.Name, find+" 2>/dev/null || true"); written != "" {
			s.t.Errorf("an apply without changes wrote on %s:\n%s", h.Name, written)
		}
	}
	s.wantUntouched(before)
}

var askedHost = regexp.MustCompile(`msg="asking host" host=(\S+) for=("[^"]*"|\S+)`)

// wantOneEach checks that a plan without changes connects to each host once and runs one command
// on it. The ways through it, to API and etcd, are channels of the same connection.
func (s *site) wantOneEach() {
	s.t.Helper()
	s.wantShownReady()
	env := s.env
	s.env = append(slices.Clone(env), "KUBEWRIGHT_LOG=trace", "KUBEWRIGHT_LOG_PATH=asked.log")
	s.wantNoChanges()
	s.env = env
	asked := map[string][]string{}
	for _, line := range askedHost.FindAllStringSubmatch(contents(s.t, filepath.Join(s.dir, "asked.log")), -1) {
		if line[2] != `"way through"` {
			asked[line[1]] = append(asked[line[1]], line[2])
		}
	}
	for _, h := range s.hosts() {
		if got, want := asked[h.Address().String()], []string{"connection", "observation"}; !slices.Equal(got, want) {
			s.t.Errorf("a plan without changes asked %s for %q, want %q", h.Name, got, want)
		}
	}
}

// wantShownReady waits until the pod of each API server is Ready; otherwise a plan asks the
// server itself. The node controller removes that condition from pods that change while their
// node is not Ready yet, and the kubelet restores it some seconds later; their containers are
// ready all the time, as kubectl's READY column shows (MarkPodsNotReady of Kubernetes 1.36).
func (s *site) wantShownReady() {
	s.t.Helper()
	s.eventually("the API servers are shown as ready", func() (string, bool) {
		out := s.kubectl("get", "pods", "-n", "kube-system", "-l", "component=kube-apiserver",
			"-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)
		return out, out == strings.TrimSpace(strings.Repeat("True ", len(s.planes)))
	})
}

// timePlan logs the duration of a plan without changes beside that of an empty OpenSSH login, as
// medians of five, measured in turn: both run with warm caches on the hosts, and with the same
// other load.
func (s *site) timePlan() {
	s.t.Helper()
	var plans, logins []time.Duration
	for range 5 {
		plans = append(plans, s.must("plan", "-no-color").took)
		logins = append(logins, s.timeSSH())
	}
	plan, login := median(plans), median(logins)
	s.t.Logf("plan without changes of %d hosts, API and etcd: %s; ssh HOST true on all at once: %s; ratio %.2f (medians of %v and %v)",
		len(s.hosts()), plan.Round(10*time.Millisecond), login.Round(10*time.Millisecond), float64(plan)/float64(login), plans, logins)
}

// timeSSH returns how long OpenSSH's client takes to run true on all hosts at once.
func (s *site) timeSSH() time.Duration {
	s.t.Helper()
	var all sync.WaitGroup
	start := time.Now()
	for _, h := range s.hosts() {
		all.Go(func() {
			if out, err := exec.Command("ssh", "-F", s.SSHConfig(), h.Name, "true").CombinedOutput(); err != nil {
				s.t.Errorf("ssh %s: %v\n%s", h.Name, err, out)
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

// settled waits until the kubelets have written their own files.
func (s *site) settled() {
	s.t.Helper()
	for _, h := range s.hosts() {
		s.eventually("the kubelet of "+h.Name+" has its certificate", func() (string, bool) {
			out, err := s.Exec(context.Background(), h.Name, "test", "-e", "/var/lib/kubelet/pki/kubelet-client-current.pem")
			return string(out), err == nil
		})
	}
}

// processes returns the processes of Kubernetes on all hosts.
func (s *site) processes() string {
	s.t.Helper()
	return s.processesOf("kubelet|etcd|kube-apiserver|kube-controller|kube-scheduler")
}

// processesOf returns the processes with these names on all hosts: ID, name and start time, in
// ticks since the machine was booted.
func (s *site) processesOf(names string) string {
	s.t.Helper()
	var out []string
	for _, h := range s.hosts() {
		lines := s.sh(h.Name, "for p in $(pgrep -x '"+names+"'); do cut -d ' ' -f 1,2,22 /proc/$p/stat; done | sort -n")
		out = append(out, h.Name+": "+strings.ReplaceAll(lines, "\n", ", "))
	}
	return strings.Join(out, "; ")
}

// drift makes manual changes, and checks that they are shown by field and repaired.
func (s *site) drift() {
	cp, w := s.planes[len(s.planes)-1].Name, s.workers[0].Name
	first, marked := s.nodeName(s.planes[0]), "node.kubernetes.io/exclude-from-external-load-balancers"
	s.kubectl("label", "node", first, marked+"-")
	pods := cmp.Or(s.sh(w, "sed -n 's/^maxPods: //p' "+kubeletFile), "null")
	s.sh(w, "sed -i -e '/^maxPods:/d' -e 's/^rotateCertificates: true/&\\nmaxPods: 50/' "+kubeletFile)
	s.sh(cp, "sed -i 's/- --secure-port=6443/&\\n    - --request-timeout=59s/' "+apiServerFile)
	s.eventually("the API server of "+cp+" serves with the flag", func() (string, bool) {
		out, err := s.Exec(context.Background(), cp, "sh", "-c",
			"pgrep -f '[k]ube-apiserver .*--request-timeout=59s' >/dev/null && kubectl --kubeconfig /etc/kubernetes/admin.conf --server https://"+netip.AddrPortFrom(s.planes[len(s.planes)-1].Address(), 6443).String()+" get --raw /readyz")
		return fmt.Sprint(string(out), err), err == nil
	})

	otherCA := s.tellOtherCA(cp)
	s.sh(w, leftRules)

	r := s.run("plan", "-detailed-exitcode", "-no-color")
	if r.code != 3 { // only drift
		s.t.Fatalf("plan after drift: exit code %d, want 3", r.code)
	}
	changed := 4
	if len(s.planes) == 1 { // the manifest and the label belong to the same node
		changed = 3
	}
	wantContains(s.t, r.out, fmt.Sprintf("Plan: 0 to add, %d to change, 0 to destroy.", changed))
	s.wantItems(map[string]string{
		s.nodeName(s.planes[len(s.planes)-1]) + "/control-plane/file:" + apiServerFile: `args.request-timeout: "59s" -> null`,
		s.nodeName(s.workers[0]) + "/kubelet-start/file:" + kubeletFile:                "maxPods: 50 -> " + pods,
		first + "/mark-control-plane/node:" + first:                                    fmt.Sprintf("labels[%q]: null -> %q", marked, ""),
		s.cluster() + "/bootstrap-token/object:" + state.ClusterInfo.String():          otherCA,
		s.cluster() + "/addon/object:apps/v1/DaemonSet/kube-system/kube-proxy":         fmt.Sprintf("left_rules: [%q] -> null", "ipvs on "+s.nodeName(s.workers[0])),
	})
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	if s.sh(cp, "grep -c request-timeout "+apiServerFile+" || true") != "0" {
		s.t.Error("the flag is still in the manifest")
	}
	s.sh(w, "! ip link show kube-ipvs0 2>/dev/null && ! iptables-save | grep -e KUBE-LOAD-BALANCER -e 'KUBE-NODE-PORT ' -e 'KUBE-NODE-PORT$' && iptables-save -t nat | grep -q KUBE-SVC-")
	s.wantCluster()
}

// leftRules creates what kube-proxy in mode ipvs leaves on a host that it now serves in mode
// iptables. It does not need IPVS in the kernel.
const leftRules = "ip link add kube-ipvs0 type bridge && iptables -w -t nat -N KUBE-LOAD-BALANCER && iptables -w -t nat -A KUBE-LOAD-BALANCER -j RETURN && " +
	"iptables -w -N KUBE-NODE-PORT && iptables -w -I INPUT -m comment --comment 'kubernetes health check rules' -j KUBE-NODE-PORT"

// cluster returns the address of the site's cluster in the state.
func (s *site) cluster() string {
	s.t.Helper()
	for address := range strings.Lines(s.must("state", "list").out) {
		if strings.HasPrefix(address, "cluster.") {
			return strings.TrimSpace(address)
		}
	}
	s.t.Fatal("the state has no cluster")
	return ""
}

// tellOtherCA replaces the cluster's CA in cluster-info, which joining nodes read, with the front
// proxy's CA. It returns the repair that a plan shows.
func (s *site) tellOtherCA(plane string) string {
	s.t.Helper()
	read := func(path string) (encoded string, ca state.CertificateInfo) {
		text := s.sh(plane, "cat "+path)
		certs, err := keypair.ParseCertificates([]byte(text))
		if err != nil {
			s.t.Fatalf("%s: %v", path, err)
		}
		return base64.StdEncoding.EncodeToString([]byte(text + "\n")), state.CertificateInfoOf(certs[0])
	}
	encoded, ca := read("/etc/kubernetes/pki/ca.crt")
	instead, other := read("/etc/kubernetes/pki/front-proxy-ca.crt")
	is := s.kubectl("get", "configmap", "-n", "kube-public", "cluster-info", "-o", "jsonpath={.data.kubeconfig}")
	if !strings.Contains(is, encoded) {
		s.t.Fatalf("cluster-info lacks the cluster's CA:\n%s", is)
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"kubeconfig": strings.ReplaceAll(is, encoded, instead)}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.kubectl("patch", "configmap", "-n", "kube-public", "cluster-info", "-p", string(patch))
	change := fmt.Sprintf("ca: %q -> %q", other.KeyDigest, ca.KeyDigest)
	if s.givenCA {
		change += fmt.Sprintf(", ca_serial: %q -> %q", other.Serial, ca.Serial)
	}
	return change
}

// movable is a pod that a Deployment recreates elsewhere, with a preferred node.
const movable = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: movable, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: movable}}
  template:
    metadata: {labels: {app: movable}}
    spec:
      terminationGracePeriodSeconds: 1
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - {weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}}
      containers: [{name: movable, image: %q, imagePullPolicy: Never, args: [serve]}]
`

// movablePod returns the name of the Deployment's pod, and the node it runs on.
func (s *site) movablePod() (name, node string) {
	s.t.Helper()
	s.eventually("one pod of the Deployment runs", func() (string, bool) {
		out := s.kubectl("get", "pods", "-l", "app=movable", "--no-headers", "-o", "custom-columns=N:.metadata.name,W:.spec.nodeName,P:.status.phase,D:.metadata.deletionTimestamp")
		f := strings.Fields(out)
		if len(f) != 4 || f[2] != "Running" || f[3] != "<none>" {
			return out, false
		}
		name, node = f[0], f[1]
		return out, true
	})
	return name, node
}

// watchLeaving watches a node that is removed, and a pod that runs there. The returned function
// ends it and checks that the node was cordoned before the pod was evicted.
func (s *site) watchLeaving(node, pod string) func() {
	s.t.Helper()
	cordoned, endNode := s.watch(".spec.unschedulable", "node", node)
	evicted, endPod := s.watch(".metadata.deletionTimestamp", "pod", pod)
	s.eventually("both are watched", func() (string, bool) {
		return fmt.Sprint(cordoned(), evicted()), len(cordoned()) > 0 && len(evicted()) > 0
	})
	return func() {
		s.t.Helper()
		set := func(r revision) bool { return r.value != "" }
		var at, then int
		s.eventually("node "+node+" was cordoned, and pod "+pod+" evicted", func() (string, bool) {
			at, then = slices.IndexFunc(cordoned(), set), slices.IndexFunc(evicted(), set)
			return fmt.Sprint(cordoned(), evicted()), at >= 0 && then >= 0
		})
		endNode()
		endPod()
		if a, b := cordoned()[at], evicted()[then]; a.number > b.number {
			s.t.Errorf("node %s was cordoned at revision %d, after pod %s was evicted at %d", node, a.number, pod, b.number)
		}
	}
}

// removeWorker removes a worker from the configuration. Its pod is listed in the plan before it
// is evicted, and runs elsewhere afterwards.
func (s *site) removeWorker() {
	gone := s.workers[len(s.workers)-1]
	if _, err := s.KubectlInput(context.Background(), s.planes[0].Name, fmt.Sprintf(movable, gone.Name, lab.WorkloadImage), "apply", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
	before, node := s.movablePod()
	if node != gone.Name {
		s.t.Fatalf("pod %s runs on %s, not on the departing node %s", before, node, gone.Name)
	}
	cordoned := s.watchLeaving(gone.Name, before)
	s.workers = s.workers[:len(s.workers)-1]
	s.configure()
	r := s.must("apply", "-auto-approve", "-no-color")
	cordoned()
	wantContains(s.t, r.out, "Plan: 0 to add, 0 to change, 1 to destroy.")
	wantContains(s.t, strings.Join(strings.Fields(r.out), " "), " to evict: ", "default/"+before+" (ReplicaSet)")
	if out := s.kubectl("get", "nodes", "--no-headers"); strings.Contains(out, gone.Name+" ") {
		s.t.Errorf("node %s is still there:\n%s", gone.Name, out)
	}
	if left := s.sh(gone.Name, "ls -d /etc/kubernetes/kubelet.conf /var/lib/kubewright /var/lib/kubelet/config.yaml 2>/dev/null || true"); left != "" {
		s.t.Errorf("left behind on %s:\n%s", gone.Name, left)
	}
	after, node := s.movablePod()
	if after == before || node == gone.Name {
		s.t.Errorf("pod %s of %s is now %s of %s", before, gone.Name, after, node)
	}
	s.wantNoChanges()
	s.wantCluster()
	s.wantWorkload()
}

// listings returns the listings of all hosts.
func (s *site) listings() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, h := range s.Hosts() {
		text, err := s.Listing(context.Background(), h.Name)
		if err != nil {
			s.t.Fatal(err)
		}
		// A kubelet without configuration starts every ten seconds and fails: the listing shows
		// one or the other.
		out[h.Name] = strings.ReplaceAll(text, "kubelet.service loaded activating", "kubelet.service loaded active")
	}
	return out
}

func same(a, b map[string]string) bool {
	for name := range a {
		if d := lab.DiffListings(a[name], b[name]); d != "" {
			fmt.Fprintf(os.Stderr, "%s:\n%s\n", name, d)
			return false
		}
	}
	return true
}

// accounts is why the copies of the files of users and groups may have changed.
const accounts = "useradd and userdel keep a copy of the file from before their last change; the file itself is compared"

// kept lists what a destroy leaves alone, and why.
var kept = []struct{ part, reason string }{
	{" /var/lib/containerd", "the container runtime was there before and keeps its own store; what it runs is checked separately"},
	{" /run/containerd", "the container runtime was there before and keeps its own state; its mounts are checked separately"},
	{" /run/netns ", "the container runtime makes the folder for the networks of its first pod"},
	{" /etc/passwd- ", accounts},
	{" /etc/shadow- ", accounts},
	{" /etc/group- ", accounts},
	{" /etc/gshadow- ", accounts},
	{" kernel.panic", "one kernel serves all hosts here; tested with simulated hosts"},
	{" vm.overcommit_memory", "one kernel serves all hosts here; tested with simulated hosts"},
	{" /root/.kube", "kubectl's cache, of this test"},
	{" /run/kubewright-e2e-mark", "of this test"},
	{" " + operatorFolder, "the operator's folder, of this test"},
}

// wantNothingRuns checks that the container runtime of every host holds nothing of the cluster:
// no pod sandbox, container or task, and no mounts of one.
func (s *site) wantNothingRuns() {
	s.t.Helper()
	for _, h := range s.Hosts() {
		for _, look := range []struct{ what, command string }{
			{"pod sandboxes", "crictl --timeout 30s pods --quiet"},
			{"containers of pods", "crictl --timeout 30s ps --all --quiet"},
			{"containers", "ctr --namespace k8s.io containers list --quiet"},
			{"tasks", "ctr --namespace k8s.io tasks list --quiet"},
			{"snapshots of containers", "ctr --namespace k8s.io snapshots list | awk 'NR > 1 && $NF == \"Active\"'"},
			{"processes that keep containers", "pgrep -af '[c]ontainerd-shim' || true"},
			{"mounts", "awk '$5 ~ \"^/(run/containerd|run/netns|var/lib/containerd|var/lib/kubelet)/\"' /proc/self/mountinfo"},
		} {
			if left := s.sh(h.Name, look.command); left != "" {
				s.t.Errorf("%s still has %s of the cluster:\n%s", h.Name, look.what, left)
			}
		}
	}
}

// wantBefore checks that every host is in its previous condition, except for what is kept.
func (s *site) wantBefore(before map[string]string) {
	s.t.Helper()
	s.wantNothingRuns()
	for name, after := range s.listings() {
		var left []string
		for _, line := range strings.Split(lab.DiffListings(before[name], after), "\n") {
			keep := strings.TrimSpace(line) == ""
			for _, k := range kept {
				keep = keep || strings.Contains(line+" ", k.part)
			}
			if !keep {
				left = append(left, line)
			}
		}
		if len(left) > 0 {
			s.t.Errorf("%s is not as it was before:\n%s", name, strings.Join(left, "\n"))
		}
	}
	for _, k := range kept {
		s.t.Logf("not compared:%s: %s", k.part, k.reason)
	}
}
