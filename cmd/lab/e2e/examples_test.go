//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// labHosts is what every configuration needs for lab hosts: they share one kernel with cgroup v1
// and read-only sysctls, and one disk, which may be full to any degree.
const labHosts = `
  ignore_preflight_errors = ["SystemVerification"]

  patch {
    target = "kubeletconfiguration"
    content = yamlencode({
      failCgroupV1                = false
      evictionHard                = { "imagefs.available" = "0%", "nodefs.available" = "0%", "nodefs.inodesFree" = "0%" }
      imageGCHighThresholdPercent = 100
    })
  }
`

const labProxy = `conntrack = { maxPerCore = 0, min = 0, tcpEstablishedTimeout = "0s", tcpCloseWaitTimeout = "0s" }`

// An edit is a change that an example needs to run in the lab.
type edit struct{ from, to string }

// newExample returns a site whose configuration is an example, with the lab's addresses in place
// of its own. The operator has the lab's key and known hosts in the home folder, in the default
// places of OpenSSH.
func newExample(t *testing.T, name string, o lab.Options, edits ...edit) *site {
	t.Helper()
	s := newSiteOf(t, o)
	text, err := os.ReadFile(filepath.Join("../../../examples", name, "main.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	for _, e := range edits {
		if !strings.Contains(config, e.from) {
			t.Fatalf("example %s no longer contains %q", name, e.from)
		}
		config = strings.ReplaceAll(config, e.from, e.to)
	}
	four, six := s.subnets()
	config = strings.NewReplacer("10.77.0.", four, "fd00:10:77::", six).Replace(config)
	inside := labHosts
	if !strings.Contains(config, "kube_proxy") {
		inside += "  kube_proxy { config = { " + labProxy + " } }\n"
	}
	config = clusterBlock.ReplaceAllString(config, "$0"+inside)
	if err := os.WriteFile(filepath.Join(s.dir, "cluster.hcl"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.atHome()
	return s
}

var clusterBlock = regexp.MustCompile(`(?m)^cluster "\w+" {$`)

// subnets returns the prefixes of the lab's addresses of both families.
func (s *site) subnets() (four, six string) {
	_, address := s.Endpoint()
	b := address.Addr().As4()
	return fmt.Sprintf("%d.%d.%d.", b[0], b[1], b[2]), fmt.Sprintf("fd00:10:77:%x::", b[2])
}

// atHome gives the operator a home folder with key and known hosts, and tells the examples to use
// real hosts.
func (s *site) atHome() {
	s.t.Helper()
	home := s.t.TempDir()
	folder := filepath.Join(home, ".ssh")
	if err := os.Mkdir(folder, 0o700); err != nil {
		s.t.Fatal(err)
	}
	for from, to := range map[string]string{s.PrivateKey(): "id_ed25519", s.KnownHosts(): "known_hosts"} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, to), text, 0o600)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	s.env = []string{"HOME=" + home, "SSH_AUTH_SOCK=", "KUBEWRIGHT_VAR_simulate=false"}
}

// alias adds a name of the API endpoint to /etc/hosts of all hosts, in place of a name server.
func (s *site) alias(name string) {
	s.t.Helper()
	_, address := s.Endpoint()
	for _, h := range s.Hosts() {
		s.sh(h.Name, fmt.Sprintf("echo %s %s >>/etc/hosts", address.Addr(), name))
	}
}

// examples are the folders of examples, with how each is applied or why it is not.
var examples = []struct {
	name  string
	apply func(*testing.T)
	why   string
}{
	{name: "dual-stack", apply: exampleDualStack},
	{name: "ha-stacked", apply: exampleStacked},
	{name: "external-etcd", apply: exampleExternalEtcd},
	{name: "single-node", apply: exampleSingleNode},
	{name: "external-ca", apply: exampleExternalCA},
	{name: "external-ca-keyless", apply: exampleKeyless},
	{name: "air-gapped", apply: exampleAirGapped},
	{name: "many-workers", apply: exampleManyWorkers},
	{name: "quickstart", why: "its hosts are simulated ones; make demo applies it"},
}

// TestExamplesAreListed checks that each example is applied here or has a reason why not.
func TestExamplesAreListed(t *testing.T) {
	begin(t)
	folders, err := os.ReadDir("../../../examples")
	if err != nil {
		t.Fatal(err)
	}
	var have, listed []string
	for _, f := range folders {
		if f.IsDir() {
			have = append(have, f.Name())
		}
	}
	for _, e := range examples {
		listed = append(listed, e.name)
		switch {
		case (e.apply == nil) == (e.why == ""):
			t.Errorf("example %s must have either a test or a reason why it has none", e.name)
		case e.why != "":
			t.Logf("not applied: %s: %s", e.name, e.why)
		}
	}
	slices.Sort(listed)
	if !slices.Equal(listed, have) {
		t.Errorf("the folder of examples has %v, listed are %v", have, listed)
	}
}

// TestExamples applies the examples to real hosts, unchanged except for addresses and settings
// that the lab's kernel lacks.
func TestExamples(t *testing.T) {
	begin(t)
	for _, e := range examples {
		if e.apply != nil {
			t.Run(e.name, e.apply)
		}
	}
}

func exampleDualStack(t *testing.T) {
	s := newExample(t, "dual-stack", lab.Options{Name: "e2exd", Families: lab.DualStack, ControlPlanes: 3, Workers: 2})
	s.alias("api.dual.example.com")
	s.life(s.drift)
}

// exampleStacked reaches its hosts through a bastion, here one of the hosts.
func exampleStacked(t *testing.T) {
	s := newExample(t, "ha-stacked", lab.Options{Name: "e2exh", ControlPlanes: 3, Workers: 4},
		edit{"10.77.0.31", "10.77.0.23"}, edit{"10.77.0.32", "10.77.0.24"},
		edit{"    #   ", "    "}, // the audit log
		edit{"jump.example.com", "10.77.0.21"}, edit{`user = "jump"`, `user = "ubuntu"`},
		edit{`config = { mode = "nftables" }`, `config = { mode = "nftables", ` + labProxy + ` }`})
	s.names = map[string]string{"w3": "b1", "w4": "b2"}
	s.alias("api.prod.example.com")
	const policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"
	for _, h := range s.planes {
		if _, err := s.ExecInput(context.Background(), h.Name, policy, "sh", "-c", "mkdir -p /etc/kubernetes && cat >/etc/kubernetes/audit-policy.yaml"); err != nil {
			t.Fatal(err)
		}
	}
	s.life(s.drift, func() {
		if s.sh(s.planes[0].Name, "grep -c '\"kind\":\"Event\"' /var/log/kubernetes/audit.log") == "0" {
			t.Error("the API server writes no audit log")
		}
		if got := s.kubectl("get", "node", "b1", "-o", "jsonpath={.spec.taints[*].key}"); got != "dedicated" {
			t.Errorf("node b1 has the taints %q", got)
		}
	})
}

// exampleExternalEtcd uses an etcd of three members outside the cluster's hosts, with client
// files from the operator.
func exampleExternalEtcd(t *testing.T) {
	o := lab.Options{Name: "e2exe", ControlPlanes: 2, Workers: 2}
	s := newExample(t, "external-etcd", o,
		edit{`"10.77.1.11", "10.77.1.12", "10.77.1.13"`, `"10.77.0.31", "10.77.0.32", "10.77.0.33"`})
	s.alias("api.prod.example.com")
	s.externalEtcd = true
	etcd, err := s.StartEtcd(context.Background(), 3)
	if err != nil {
		t.Fatal(err)
	}
	brought := filepath.Join(s.dir, "etcd")
	if err := os.Mkdir(brought, 0o700); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{etcd.CA: "ca.crt", etcd.Cert: "client.crt"} {
		if err := os.WriteFile(filepath.Join(brought, to), []byte(contents(t, from)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.env = append(s.env, "KUBEWRIGHT_VAR_etcd_client_key="+contents(t, etcd.Key))
	s.life(s.drift, func() {
		if out := s.sh(s.planes[0].Name, "ls /etc/kubernetes/manifests"); strings.Contains(out, "etcd") {
			t.Errorf("the control plane runs an etcd member: %s", out)
		}
	})
	// The data still exists, and no new cluster may start with it.
	r := s.run("plan", "-no-color")
	if r.code != 1 {
		t.Errorf("plan on an etcd that holds a cluster: exit code %d, want 1", r.code)
	}
	wantContains(t, strings.Join(strings.Fields(r.out), " "), "the external etcd already holds a cluster", "etcdctl del --prefix /registry/", "ExternalEtcdData")
}

func contents(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// exampleSingleNode runs kubewright on the host itself, as root.
func exampleSingleNode(t *testing.T) {
	s := newExample(t, "single-node", lab.Options{Name: "e2exs", ControlPlanes: 1})
	s.names = map[string]string{"cp1": "solo"}
	s.on = s.planes[0].Name
	ctx := context.Background()
	for from, to := range map[string]string{binary(t): operatorFolder + "/kubewright", filepath.Join(s.dir, "cluster.hcl"): operatorFolder + "/cluster.hcl"} {
		if err := s.PutFile(ctx, s.on, from, to, "755"); err != nil {
			t.Fatal(err)
		}
	}
	s.env = []string{"KUBEWRIGHT_VAR_simulate=false", "KUBEWRIGHT_VAR_address=" + s.planes[0].Address().String()}
	s.life()
}
