//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// site is a lab with a folder of an operator for it.
type site struct {
	*lab.Lab
	t   reporter
	dir string
	// planes and workers are the hosts in the configuration.
	planes, workers []lab.Host
	// extra is HCL inside the cluster block; workerExtra and planeExtra inside that of each node.
	extra, workerExtra, planeExtra string
	// kubelet is HCL inside the configuration of kubelets.
	kubelet string
	// proxy is HCL inside the configuration of kube-proxy.
	proxy string
	// top is HCL at the top level.
	top string
	// endpoint is the name of the cluster's endpoint; empty is the lab's.
	endpoint string
	// user is the login user; empty is root.
	user string
	// on is the host on which kubewright runs; empty is this machine.
	on string
	// env is added to kubewright's environment.
	env []string
	// names are the node names of hosts whose nodes have another name.
	names map[string]string
	// givenCA reports whether the cluster's CA is the operator's, whose certificate may be
	// renewed with the same key.
	givenCA bool
	// externalEtcd reports whether no control plane has an etcd member.
	externalEtcd bool
	// unsigned reports whether nothing in the cluster can sign the kubelets' CSRs.
	unsigned bool
	// domain is the DNS domain of Services; empty is cluster.local.
	domain string
	// algorithm is the algorithm of new keys; empty is the default.
	algorithm string
	// unseen reports whether the operator has no host keys: the first key that a host shows is
	// accepted, and stored in the state.
	unseen bool
	// version is the Kubernetes version in the configuration; empty is the lab's.
	version string
}

// newSite starts a lab of prepared hosts, which is removed at the end of the test.
func newSite(t *testing.T, name string, planes, workers int) *site {
	t.Helper()
	return newSiteOf(t, lab.Options{Name: name, ControlPlanes: planes, Workers: workers})
}

// newSiteOf is newSite for a lab of any kind.
func newSiteOf(t *testing.T, o lab.Options) *site {
	t.Helper()
	o.Log = os.Stderr
	l, err := lab.Up(context.Background(), o)
	if err != nil {
		t.Fatalf("cannot start the lab: %v", err)
	}
	downWith(t, l)
	s := &site{Lab: l, t: reporter{t}, dir: t.TempDir()}
	for _, h := range l.Hosts() {
		if strings.HasPrefix(h.Name, "cp") {
			s.planes = append(s.planes, h)
		} else {
			s.workers = append(s.workers, h)
		}
	}
	s.configure()
	return s
}

// downWith removes a lab at the end of the test: otherwise the next one of its name could not
// start.
func downWith(t *testing.T, l *lab.Lab) {
	t.Helper()
	t.Cleanup(func() {
		if os.Getenv("KEEP_LAB") != "" {
			return
		}
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// configure writes the configuration for the hosts of the site.
func (s *site) configure() {
	s.t.Helper()
	endpoint, _ := s.Endpoint()
	endpoint = cmp.Or(s.endpoint, endpoint)
	knownHosts, accept := s.KnownHosts(), ""
	if s.unseen {
		knownHosts, accept = filepath.Join(s.dir, "known_hosts"), "  accept_new_host_keys = true\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `cluster "prod" {
  kubernetes_version     = "%s"
  control_plane_endpoint = "%s:6443"
  network {
    pod_subnet     = "%s"
    service_subnet = "%s"
  }
  kubelet {
    config = {
      failCgroupV1 = false%s
      # All hosts share one disk, which may be as full as it likes.
      evictionHard                = { "imagefs.available" = "0%%", "nodefs.available" = "0%%", "nodefs.inodesFree" = "0%%" }
      imageGCHighThresholdPercent = 100
    }
  }
  kube_proxy {
    config = { conntrack = { maxPerCore = 0, min = 0, tcpEstablishedTimeout = "0s", tcpCloseWaitTimeout = "0s" }%s }
  }
%s}

connection {
  user        = "%s"
  private_key = "%s"
  known_hosts = ["%s"]
%s}
`, strings.TrimPrefix(cmp.Or(s.version, s.Release().Kubernetes), "v"), endpoint, lab.JoinPrefixes(s.PodSubnets()), lab.JoinPrefixes(s.Families().ServiceSubnets()), s.kubeletExtra(), s.proxy, s.extra, cmp.Or(s.user, "root"), s.PrivateKey(), knownHosts, accept)
	s.node(&b, "cp", "control-plane", s.planes, s.planeExtra)
	s.node(&b, "worker", "worker", s.workers, s.workerExtra)
	b.WriteString(s.top)
	if err := os.WriteFile(filepath.Join(s.dir, "cluster.hcl"), []byte(b.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// kubeletExtra returns further kubelet settings, if the test has any.
func (s *site) kubeletExtra() string {
	if strings.Contains(s.extra, "# maxPods") {
		return "\n      maxPods = 120"
	}
	return s.kubelet
}

func (s *site) node(b *strings.Builder, block, role string, hosts []lab.Host, extra string) {
	if len(hosts) == 0 {
		return
	}
	fmt.Fprintf(b, "\nnode %q {\n  for_each = {\n", block)
	for _, h := range hosts {
		fmt.Fprintf(b, "    %s = [%s]\n", h.Name, quoted(h))
	}
	fmt.Fprintf(b, "  }\n  cluster = cluster.prod\n  role    = %q\n  address = each.value[0]\n  advertise_addresses = each.value\n%s}\n", role, extra)
}

// quoted formats a host's addresses for an HCL list.
func quoted(h lab.Host) string {
	var words []string
	for _, a := range h.Addresses {
		words = append(words, strconv.Quote(a.String()))
	}
	return strings.Join(words, ", ")
}

// result is a command's output, exit code and duration.
type result struct {
	out  string
	code int
	took time.Duration
}

// run runs kubewright in the operator's folder.
func (s *site) run(args ...string) result {
	s.t.Helper()
	var out bytes.Buffer
	cmd := s.command(args...)
	w := io.MultiWriter(&out, os.Stderr)
	cmd.Stdout, cmd.Stderr = w, w
	start := time.Now()
	err := cmd.Run()
	r := result{out: out.String(), took: time.Since(start)}
	if cmd.ProcessState != nil {
		r.code = cmd.ProcessState.ExitCode()
	} else if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// operatorFolder is the folder of the program and its files on the host on which kubewright runs.
const operatorFolder = "/root/kubewright-e2e"

// command returns a kubewright command in the operator's folder, here or on a host.
func (s *site) command(args ...string) *exec.Cmd {
	program, env := covered(s.t)
	if s.on == "" {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = s.dir, append(append(os.Environ(), env...), s.env...)
		return cmd
	}
	argv := append([]string{"env", "-C", operatorFolder}, s.env...)
	cmd, err := s.Command(context.Background(), s.on, append(append(argv, operatorFolder+"/kubewright"), args...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	return cmd
}

// nodeName returns the node name of a host.
func (s *site) nodeName(h lab.Host) string {
	if name, ok := s.names[h.Name]; ok {
		return name
	}
	return h.Name
}

// must runs kubewright and checks that it succeeds.
func (s *site) must(args ...string) result {
	s.t.Helper()
	fmt.Fprintf(os.Stderr, "\n$ kubewright %s\n", strings.Join(args, " "))
	r := s.run(args...)
	if r.code != 0 {
		s.t.Fatalf("kubewright %s: exit code %d", strings.Join(args, " "), r.code)
	}
	return r
}

// wantNoChanges runs plan and checks that it has no changes.
func (s *site) wantNoChanges() result {
	s.t.Helper()
	r := s.must("plan", "-detailed-exitcode", "-no-color")
	if !strings.Contains(r.out, "No changes.") {
		s.t.Fatal("the plan has changes")
	}
	return r
}

// toolPath is the program, and coveredPath is the one that writes its coverage.
const toolPath, coveredPath = "../../../bin/kubewright", "../../../bin/covered/kubewright"

// binary returns the built tool.
func binary(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs(toolPath)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("build the tool first (make build): %v", err)
	}
	return path
}

// sh runs a shell command on a host.
func (s *site) sh(host, script string) string {
	s.t.Helper()
	out, err := s.Exec(context.Background(), host, "sh", "-c", script)
	if err != nil {
		s.t.Fatalf("on %s: %s: %v", host, script, err)
	}
	return strings.TrimSpace(string(out))
}

// kubectl runs kubectl with administrator permissions.
func (s *site) kubectl(args ...string) string {
	s.t.Helper()
	out, err := s.Kubectl(context.Background(), s.planes[0].Name, args...)
	if err != nil {
		s.t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// conditionTimeout is how long a test waits for any condition. It is long, so that a slow machine
// does not cause a failure; a condition that is not met by then never will be.
const conditionTimeout = 15 * time.Minute

// eventually waits for a condition and, on a timeout, prints what it saw last.
func (s *site) eventually(what string, check func() (string, bool)) {
	s.t.Helper()
	deadline := time.NewTimer(conditionTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		seen, ok := check()
		if ok {
			return
		}
		select {
		case <-deadline.C:
			s.t.Fatalf("%s: not within %s; last seen:\n%s", what, conditionTimeout, seen)
		case <-tick.C:
		}
	}
}
