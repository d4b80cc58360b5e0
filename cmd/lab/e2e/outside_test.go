//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestOutside changes a label, a kubelet and an API server by hand, on a running cluster. It
// checks that the changes are shown, can be accepted with the offered HCL, and can be ignored;
// changes that concern only users are neither shown nor touched.
func TestOutside(t *testing.T) {
	begin(t)
	s := newSite(t, "e2eout", 1, 1)
	s.workerExtra = poolLabel("batch")
	s.configure()
	s.logIn()
	s.founded()
	wantContains(t, s.must("plan", "-refresh-only", "-detailed-exitcode", "-no-color").out, "Your clusters still match the state.")

	var offers string
	t.Run("shown", func(t *testing.T) { s.within(t, func() { offers = s.shownOutside() }) })
	if t.Failed() {
		return
	}
	t.Run("accepted", func(t *testing.T) { s.within(t, func() { s.acceptedOutside(offers) }) })
	if t.Failed() {
		return
	}
	t.Run("ignored", func(t *testing.T) { s.within(t, s.ignoredOutside) })
}

// poolLabel returns the HCL of a worker's label.
func poolLabel(pool string) string {
	return fmt.Sprintf("  labels = { \"node.example.com/pool\" = %q }\n", pool)
}

// byHand are values that a user sets by hand, each in a different place.
type byHand struct {
	maxPods         int
	profiling, pool string
}

// setByHand sets the values, and waits until they are in effect.
func (s *site) setByHand(v byHand) {
	s.t.Helper()
	cp, w := s.planes[0].Name, s.workers[0].Name
	s.kubectl("label", "node", w, "node.example.com/pool="+v.pool, "--overwrite")
	s.sh(w, fmt.Sprintf("sed -i -e '/^maxPods:/d' -e 's/^rotateCertificates: true/&\\nmaxPods: %d/' %s && systemctl restart kubelet", v.maxPods, kubeletFile))
	s.sh(cp, fmt.Sprintf("sed -i -e '/--profiling=/d' -e 's/- --secure-port=6443/&\\n    - --profiling=%s/' %s", v.profiling, apiServerFile))
	s.eventually("the API server runs with the setting made by hand", func() (string, bool) {
		out, err := s.Exec(context.Background(), cp, "sh", "-c",
			"pgrep -f '[k]ube-apiserver .*--profiling="+v.profiling+"' && kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /readyz")
		return fmt.Sprint(string(out), err), err == nil
	})
	s.eventually("the kubelet uses the maxPods set by hand", func() (string, bool) {
		out := s.podsOf(w)
		return out, out == fmt.Sprint(v.maxPods)
	})
	s.wantCluster()
}

// kubeletFile is the kubelet's configuration on a host; apiServerFile is the manifest of its API
// server.
const (
	kubeletFile   = "/var/lib/kubelet/config.yaml"
	apiServerFile = "/etc/kubernetes/manifests/kube-apiserver.yaml"
)

// podsOf returns the pod capacity of a node.
func (s *site) podsOf(node string) string {
	s.t.Helper()
	return s.kubectl("get", "node", node, "-o", "jsonpath={.status.capacity.pods}")
}

// standing is everything that a run could have changed on hosts and in the cluster.
type standing struct {
	hosts            map[string]string
	objects, running string
}

// versions is the start of a jsonpath that prints versions of objects. No component changes these
// on its own; for objects with a status only the version of the rest is printed.
const versions = `jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} `

func (s *site) stands() standing {
	s.t.Helper()
	objects := s.kubectl("get", "configmaps,secrets,services,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings", "--all-namespaces",
		"-o", versions+`{.metadata.resourceVersion}{"\n"}{end}`)
	objects += "\n" + s.kubectl("get", "daemonsets,deployments", "--all-namespaces", "-o", versions+`{.metadata.generation}{"\n"}{end}`)
	objects += "\n" + s.kubectl("get", "nodes", "-o", versions+`{.metadata.labels}{.metadata.annotations}{.spec.taints}{"\n"}{end}`)
	// Names of processes are truncated to 15 characters.
	return standing{s.configured(), objects, s.processesOf("kubelet|etcd|kube-apiserver|kube-controller|kube-scheduler|kube-proxy|coredns|containerd|containerd-shim|pause|workload")}
}

// wantUntouched checks that nothing was changed or restarted since, except objects and files
// whose lines contain these words.
func (s *site) wantUntouched(since standing, but ...string) {
	s.t.Helper()
	now := s.stands()
	for _, st := range []*standing{&now, &since} {
		st.objects = withoutLines(st.objects, but)
		hosts := map[string]string{}
		for host, text := range st.hosts {
			hosts[host] = withoutLines(text, but)
		}
		st.hosts = hosts
	}
	if !same(since.hosts, now.hosts) {
		s.t.Error("files on a host were changed")
	}
	if now.objects != since.objects {
		s.t.Errorf("objects were changed:\n%s\nbefore:\n%s", now.objects, since.objects)
	}
	if now.running != since.running {
		s.t.Errorf("something was restarted:\n%s\nbefore:\n%s", now.running, since.running)
	}
}

// withoutLines removes the lines that contain one of the words.
func withoutLines(text string, words []string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(line, w) })
	})
	return strings.Join(lines, "\n")
}

// shownOutside checks that exactly the manual changes are shown, and written only to the state.
// It returns the output.
func (s *site) shownOutside() string {
	w := s.workers[0].Name
	s.kubectl("label", "node", w, "team.example.com/owner=ada")
	s.kubectl("annotate", "node", w, "team.example.com/ticket=17")
	s.kubectl("create", "configmap", "theirs", "-n", "kube-system")
	s.setByHand(byHand{maxPods: 50, profiling: "false", pool: "other"})
	before := s.stands()

	shown := s.run("plan", "-refresh-only", "-detailed-exitcode", "-no-color")
	if shown.code != 3 { // only drift
		s.t.Errorf("plan -refresh-only: exit code %d, want 3", shown.code)
	}
	wantContains(s.t, shown.out,
		fmt.Sprintf("# node.cp[%q]/control-plane has changed", s.planes[0].Name), "+ profiling = \"false\"",
		fmt.Sprintf("# node.worker[%q]/kubelet-start has changed", w), "+ maxPods = 50",
		fmt.Sprintf("# node.worker[%q]/mark-worker has changed", w), `~ "node.example.com/pool" = "batch" -> "other"`)
	if n := strings.Count(shown.out, " has changed\n"); n != 3 || strings.Contains(shown.out, "team.example.com") || strings.Contains(shown.out, "theirs") {
		s.t.Errorf("%d changes are shown, or changes of others; want only the three", n)
	}
	if r := s.run("plan", "-detailed-exitcode", "-no-color"); r.code != 3 {
		s.t.Errorf("plan: exit code %d, want 3", r.code)
	}
	r := s.must("apply", "-refresh-only", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "Apply complete! Resources: 0 added, 0 changed, 0 destroyed.")
	s.must("plan", "-refresh-only", "-detailed-exitcode", "-no-color")
	s.wantUntouched(before)
	return shown.out
}

// offered returns the HCL that the output offers for a block to keep changes made outside. In the
// output, more text may follow the block's name.
func offered(printed, block string) string {
	var b strings.Builder
	for _, part := range strings.Split(printed, "To keep it, write into ")[1:] {
		if where, offer, ok := strings.Cut(part, ":\n"); ok && strings.HasPrefix(where, block) {
			offer, _, _ = strings.Cut(offer, "\n\n")
			b.WriteString(offer + "\n")
		}
	}
	return b.String()
}

// acceptedOutside writes the offered HCL into its blocks and checks that it matches the cluster.
// Only kubeadm-config lacks the API server argument that was set by hand, and gets it.
func (s *site) acceptedOutside(offers string) {
	before := s.stands()
	s.extra = offered(offers, "the block of its cluster, for all control planes")
	s.workerExtra = offered(offers, fmt.Sprintf("the block of node.worker[%q]", s.workers[0].Name))
	s.t.Logf("accepted:\n%s%s", s.extra, s.workerExtra)
	s.configure()
	r := s.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "kubeadm-config", "Resources: 0 added, 1 changed, 0 destroyed.")
	if strings.Contains(r.out, "# node.") {
		s.t.Error("a node is changed although it already matches")
	}
	s.wantNoChanges()
	s.wantUntouched(before, "ConfigMap kube-system/kubeadm-config ", " /var/lib/kubewright/token ")
}

// ignoredOutside ignores changes to the three values: a change to them leads to no plan, and is
// kept when the same files are written for another reason.
func (s *site) ignoredOutside() {
	cp, w := s.planes[0].Name, s.workers[0].Name
	s.extra += "  lifecycle {\n    ignore_changes = [api_server.arg[\"profiling\"]]\n  }\n"
	s.workerExtra += "  lifecycle {\n    ignore_changes = [labels[\"node.example.com/pool\"], kubelet.config.maxPods]\n  }\n"
	s.configure()
	s.wantNoChanges()
	s.setByHand(byHand{maxPods: 60, profiling: "true", pool: "third"})
	if r := s.wantNoChanges(); strings.Contains(r.out, "outside of kubewright") {
		s.t.Error("an ignored value is shown as changed outside")
	}
	if r := s.run("plan", "-refresh-only", "-detailed-exitcode", "-no-color"); r.code != 0 {
		s.t.Errorf("plan -refresh-only of ignored values: exit code %d, want 0", r.code)
	}

	s.kubelet = "\n      serializeImagePulls = false"
	s.extra = strings.Replace(s.extra, "api_server {\n", "api_server {\n        arg \"audit-log-maxage\" { value = \"30\" }\n", 1)
	s.workerExtra = strings.Replace(s.workerExtra, `"other"`, `"fourth"`, 1)
	s.configure()
	r := s.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "audit-log-maxage", "serializeImagePulls")
	for _, value := range []string{"profiling", "maxPods", "third", "fourth"} {
		if strings.Contains(r.out, value) {
			s.t.Errorf("the plan mentions %s, which is ignored", value)
		}
	}
	s.wantCluster()
	s.wantNoChanges()
	s.sh(cp, "pgrep -f '[k]ube-apiserver .*--profiling=true'")
	if pods := s.podsOf(w); pods != "60" {
		s.t.Errorf("the kubelet takes %s pods, want 60 as set by hand", pods)
	}
	if pool := s.kubectl("get", "node", w, "-o", `jsonpath={.metadata.labels.node\.example\.com/pool}`); pool != "third" {
		s.t.Errorf("the label is %q, want third as set by hand", pool)
	}
}
