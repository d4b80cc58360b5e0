//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestChangesOfNodes takes a cluster of three control planes and two workers through changes of
// nodes over the years: a host is reinstalled, a worker becomes a control plane and a worker
// again, the endpoint moves, a host is gone for good. After each of them the plan has no changes.
// The operator has no host keys: keys are pinned at first contact.
func TestChangesOfNodes(t *testing.T) {
	begin(t)
	s := newSiteOf(t, lab.Options{Name: "e2en", ControlPlanes: 3, Workers: 2})
	s.logIn()
	s.unseen = true
	s.configure()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	for _, part := range []struct {
		name string
		do   func()
	}{
		{"host reinstalled", s.reinstalled},
		{"worker becomes control plane", s.promoted},
		{"and a worker again", s.demoted},
		{"endpoint moves", s.endpointMoved},
		{"host gone for good", s.goneForGood},
	} {
		if !t.Run(part.name, func(t *testing.T) { s.within(t, part.do) }) {
			return
		}
	}
	s.must("destroy", "-auto-approve", "-no-color")
}

// applied runs apply and checks that the cluster is healthy and the plan is empty.
func (s *site) applied(args ...string) result {
	s.t.Helper()
	r := s.must(append([]string{"apply", "-auto-approve", "-no-color"}, args...)...)
	s.t.Logf("applied within %s", r.took.Round(100*time.Millisecond))
	s.wantCluster()
	s.wantMembers(len(s.planes))
	// A node's DaemonSet pods survive a change of its role: the taint of a control plane only
	// keeps new ones out.
	s.kubectl("delete", "daemonset", "web", "--ignore-not-found", "--cascade=foreground")
	s.wantWorkload()
	s.settled()
	s.wantNoChanges()
	return r
}

// reinstalled checks that a reinstalled host is refused until the operator accepts it, and then
// takes its place again. It is refused because of its new key or, where known_hosts has that key,
// because it is another machine.
func (s *site) reinstalled() {
	h := s.planes[1]
	node := fmt.Sprintf("node.cp[%q]", h.Name)
	before := s.hostKey(node)
	if err := s.Reinstall(context.Background(), h.Name); err != nil {
		s.t.Fatal(err)
	}
	s.logIn()
	refused := func(says string, args ...string) {
		r := s.run(append([]string{"plan", "-no-color"}, args...)...)
		if r.code != 1 {
			s.t.Errorf("plan %v with a reinstalled host: exit code %d, want 1", args, r.code)
		}
		wantContains(s.t, words(r.out), says, fmt.Sprintf("-replace='%[1]s' -accept-new-host='%[1]s'", node))
	}
	replace := "-replace=" + node
	for _, args := range [][]string{nil, {replace}} {
		refused("pinned is "+fingerprint(s.t, before), args...)
	}
	s.unseen = false // the lab's known hosts have the new keys
	s.configure()
	for _, args := range [][]string{nil, {replace}} {
		refused("Host is another machine", args...)
	}
	s.unseen = true
	s.configure()

	r := s.applied(replace, "-accept-new-host="+node)
	wantContains(s.t, r.out, "its old host is not changed", h.Name+" leaves: 2, quorum 2", "1 added", "1 destroyed")
	after := s.hostKey(node)
	if known := contents(s.t, s.KnownHosts()); after == before || !strings.Contains(known, after) {
		s.t.Errorf("the state has for %s the host key %s, before %s; the host has\n%s", node, after, before, known)
	}
}

// hostKey returns the host key that the state has for a node.
func (s *site) hostKey(node string) string {
	s.t.Helper()
	out, err := s.command("state", "pull").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	var pulled struct {
		Nodes map[string]struct {
			HostKey string `json:"host_key"`
		}
	}
	if err := json.Unmarshal(out, &pulled); err != nil {
		s.t.Fatal(err)
	}
	key := pulled.Nodes[node].HostKey
	if key == "" {
		s.t.Fatalf("the state has no host key for %s", node)
	}
	return key
}

// fingerprint returns the fingerprint of a key in the format of ssh-keygen -l.
func fingerprint(t testing.TB, key string) string {
	t.Helper()
	public, _, _, _, err := ssh.ParseAuthorizedKey([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return public.Type() + " " + ssh.FingerprintSHA256(public)
}

// promoted makes a worker a control plane, with another address in the configuration.
func (s *site) promoted() {
	w := s.workers[0]
	s.top = fmt.Sprintf("moved {\n  from = node.worker[%[1]q]\n  to   = node.cp[%[1]q]\n}\n", w.Name)
	s.planes, s.workers = append(slices.Clone(s.planes), w), s.workers[1:]
	s.configure()
	r := s.applied()
	wantContains(s.t, r.out, "role worker -> control-plane", w.Name+" joins: 4, quorum 3")
}

// demoted makes that control plane a worker again.
func (s *site) demoted() {
	last := len(s.planes) - 1
	w := s.planes[last]
	s.top = fmt.Sprintf("moved {\n  from = node.cp[%[1]q]\n  to   = node.worker[%[1]q]\n}\n", w.Name)
	s.planes, s.workers = s.planes[:last], append([]lab.Host{w}, s.workers...)
	s.configure()
	r := s.applied()
	wantContains(s.t, r.out, "role control-plane -> worker", w.Name+" leaves: 3, quorum 2")
	s.top = ""
	s.configure()
	s.wantNoChanges()
}

// endpointMoved gives the load balancer another name, while requests reach the API by its
// address.
func (s *site) endpointMoved() {
	name, address := s.Endpoint()
	s.endpoint = "moved-" + name
	for _, h := range s.hosts() {
		s.sh(h.Name, fmt.Sprintf("echo %s %s >>/etc/hosts", address.Addr(), s.endpoint))
	}
	s.configure()
	answered := s.watchReads()
	s.applied()
	answered()
	for _, h := range s.hosts() {
		if left := s.sh(h.Name, "grep -rl '[/:]"+name+"' /etc/kubernetes /var/lib/kubelet/*.yaml || true"); left != "" {
			s.t.Errorf("%s still has the old endpoint in:\n%s", h.Name, left)
		}
	}
}

// goneForGood removes a powered-off control plane after it was declared gone.
func (s *site) goneForGood() {
	last := len(s.planes) - 1
	gone := s.planes[last]
	if err := s.Kill(context.Background(), gone.Name); err != nil {
		s.t.Fatal(err)
	}
	s.planes = s.planes[:last]
	s.configure()
	if r := s.run("plan", "-no-color"); r.code != 1 || !strings.Contains(r.out, "-forget-unreachable") {
		s.t.Errorf("plan without the host: exit code %d, want 1 and a hint at -forget-unreachable", r.code)
	}
	s.wantUnheard(gone)
	r := s.applied(fmt.Sprintf("-forget-unreachable=node.cp[%q]", gone.Name))
	wantContains(s.t, r.out, gone.Name+" leaves: 2, quorum 2", "1 destroyed")
	if out := s.kubectl("get", "nodes", "-o", "name"); strings.Contains(out, gone.Name) {
		s.t.Errorf("node %s is still there:\n%s", gone.Name, out)
	}
}

// TestHops upgrades three control planes and two workers over two minor versions in one plan,
// without disturbing users.
func TestHops(t *testing.T) {
	begin(t)
	const from, through, to = "v1.34.9", "v1.35.8", "v1.36.3"
	s := newSiteOf(t, lab.Options{Name: "e2eho", Kubernetes: from, MoreImages: []string{through, to}, ControlPlanes: 3, Workers: 2})
	s.logIn()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	service := s.deploy()
	s.version = to
	s.extra = "  install { artifacts = \"./artifacts\" }\n"
	s.bringKubelet(to)
	s.configure()
	undisturbed := s.watchUsers(service)
	r := s.must("apply", "-auto-approve", "-no-color")
	undisturbed()
	t.Logf("upgrade of 3 control planes and 2 workers from %s to %s: %s", from, to, r.took.Round(100*time.Millisecond))
	wantContains(t, r.out, "kubernetes_version: 1.34.9 → 1.35.8 → 1.36.3", "control-plane@1.35.8")
	s.wantVersion(to)
	s.wantWorkload()
	s.settled()
	s.wantNoChanges()
}
