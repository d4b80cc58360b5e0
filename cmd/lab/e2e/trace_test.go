//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
	"github.com/kubewright/kubewright/cmd/lab/trace"
)

// TestTrace runs the same life as the tests on simulated hosts, and checks that its plans equal
// the recorded ones. UPDATE=1 records them.
func TestTrace(t *testing.T) {
	begin(t)
	s := newSite(t, "e2etr", 3, 2)
	s.logIn()
	life, err := trace.Lead(s.place(), operator{s})
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(filepath.Join("..", "trace", "life.txt"), []byte(life), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, line := range trace.Differences(trace.Recorded, life) {
		t.Error(line)
	}
}

// operator runs a life on the hosts of a lab.
type operator struct{ *site }

func (o operator) Do(d trace.Deed) { o.sh(d.Host, d.Shell) }

// Write also waits until the API shows everything that the previous act restarted as ready, and
// that it stays ready: a plan made in these seconds waits for it. The holder of a lease ends some
// seconds after the API server on its host.
func (o operator) Write(configuration string) {
	o.write("cluster.hcl", configuration)
	if o.sh("cp1", "test -e /etc/kubernetes/admin.conf || echo blank") != "" {
		return
	}
	var since time.Time
	o.eventually("all pods are ready, and have been for 20 s", func() (string, bool) {
		out, err := o.Kubectl(context.Background(), o.planes[0].Name, "get", "pods", "-n", "kube-system", "-o",
			`jsonpath={range .items[*]}{.metadata.name} ready={.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
		switch {
		case err != nil || strings.Count(string(out), "ready=True\n") < strings.Count(string(out), "\n"):
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		return fmt.Sprint(string(out), err), !since.IsZero() && time.Since(since) > 20*time.Second
	})
}

func (o operator) Run(args ...string) string { return o.must(args...).out }

// place returns the lab as a place in which to run a life.
func (s *site) place() trace.Place {
	endpoint, _ := s.Endpoint()
	p := trace.Place{
		Endpoint: endpoint, PodSubnet: lab.JoinPrefixes(s.PodSubnets()), Addresses: map[string]string{},
		Connection: fmt.Sprintf("connection {\n  user        = \"root\"\n  private_key = %q\n  known_hosts = [%q]\n}", s.PrivateKey(), s.KnownHosts()),
	}
	for _, h := range s.hosts() {
		p.Addresses[h.Name] = h.Address().String()
	}
	return p
}
