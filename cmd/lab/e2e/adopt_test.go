//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
)

// adoption is a cluster that real kubeadm creates and kubewright adopts.
type adoption struct {
	name    string
	lab     lab.Options
	kubeadm lab.KubeadmOptions
	// before prepares hosts for kubeadm; after makes manual changes as users do.
	before, after func(*site, *lab.KubeadmOptions)
	// written are texts that the configuration has to contain.
	written []string
	// gates are feature gates that the next version no longer has.
	gates []string
}

// TestAdopt adopts a small cluster and changes it.
func TestAdopt(t *testing.T) {
	begin(t)
	s := adopted(t, adoption{
		name: "default", lab: lab.Options{ControlPlanes: 1, Workers: 1},
		kubeadm: lab.KubeadmOptions{Cluster: "apiServer: {extraArgs: [{name: audit-log-maxage, value: \"30\"}]}"},
		written: []string{"arg \"audit-log-maxage\" { value = \"30\" }"},
	})
	if t.Failed() {
		return
	}
	s.edit("audit-log-maxage\" { value = \"30\" }", "audit-log-maxage\" { value = \"31\" }")
	r := s.must("apply", "-auto-approve", "-no-color")
	wantContains(t, r.out, "mark of \"kubewright\"", "Resources: 0 added, 2 changed, 0 destroyed.")
	s.wantCluster()
	s.wantWorkload()
	s.wantNoChanges()
}

// TestAdoptAll adopts clusters that differ in what users configure, and upgrades each to the next
// minor version.
func TestAdoptAll(t *testing.T) {
	begin(t)
	adoptAll(t, "e2eaa", true)
}

// TestAdoptOthers is TestAdoptAll for clusters of other releases than the default one.
func TestAdoptOthers(t *testing.T) {
	begin(t)
	adoptAll(t, "e2eao", false)
}

// adoptAll adopts the clusters of the default release, or of the other releases.
func adoptAll(t *testing.T, name string, ofDefault bool) {
	t.Helper()
	for _, a := range adoptions() {
		if (a.lab.Kubernetes == lab.DefaultKubernetes) != ofDefault {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			a.lab.Name = name
			to := nextMinor(a.lab.Kubernetes)
			if to != "" {
				a.lab.MoreImages = []string{to}
			}
			s := adopted(t, a)
			switch {
			case t.Failed():
			case to == "":
				t.Logf("%s: adopted at %s, the newest release: not upgraded", a.name, a.lab.Kubernetes)
			default:
				s.upgradeAdopted(a, to)
			}
		})
	}
}

// nextMinor returns the release of the next minor version; "" for the newest.
func nextMinor(version string) string {
	releases := build.Releases()
	for i, r := range releases[:len(releases)-1] {
		if r.Kubernetes == version {
			return releases[i+1].Kubernetes
		}
	}
	return ""
}

// upgradeAdopted raises the version in the HCL that import wrote, and checks that every node is
// upgraded, with no changes left.
func (s *site) upgradeAdopted(a adoption, to string) {
	s.t.Helper()
	from := a.lab.Kubernetes
	s.bringKubelet(to)
	s.edit("\""+strings.TrimPrefix(from, "v")+"\"\n", "\""+strings.TrimPrefix(to, "v")+"\"\n  install { artifacts = \"./artifacts\" }\n")
	for _, gate := range a.gates {
		wantContains(s.t, words(s.run("plan", "-no-color").out), "has no feature gate "+gate+" any more", "Remove the line.")
		s.removeLine(gate)
	}
	r := s.must("apply", "-auto-approve", "-no-color")
	s.t.Logf("%s: adopted, and upgraded from %s to %s: %s", a.name, from, to, r.took.Round(100*time.Millisecond))
	wantContains(s.t, r.out, fmt.Sprintf("kubernetes_version: %s → %s", strings.TrimPrefix(from, "v"), strings.TrimPrefix(to, "v")),
		fmt.Sprintf("Resources: 0 added, %d changed, 0 destroyed.", len(s.hosts())+1))
	s.wantVersion(to)
	s.wantNoChanges()
}

func customised() adoption {
	return adoption{
		name: "arguments and volumes", lab: lab.Options{Kubernetes: "v1.34.9", ControlPlanes: 3, Workers: 1},
		before: func(s *site, _ *lab.KubeadmOptions) {
			for _, h := range s.planes {
				s.sh(h.Name, "mkdir -p /etc/kubernetes/audit && printf 'apiVersion: audit.k8s.io/v1\\nkind: Policy\\nrules: [{level: Metadata}]\\n' >/etc/kubernetes/audit/policy.yaml")
			}
		},
		kubeadm: lab.KubeadmOptions{Cluster: `apiServer:
  certSANs: [api.example.test, 203.0.113.7]
  extraArgs:
  - {name: audit-policy-file, value: /etc/kubernetes/audit/policy.yaml}
  - {name: audit-log-path, value: "-"}
  extraVolumes:
  - {name: audit, hostPath: /etc/kubernetes/audit, mountPath: /etc/kubernetes/audit, readOnly: true, pathType: DirectoryOrCreate}
  extraEnvs: [{name: GOGC, value: "90"}]
controllerManager: {extraArgs: [{name: node-cidr-mask-size, value: "26"}, {name: terminated-pod-gc-threshold, value: "100"}]}
scheduler: {extraArgs: [{name: v, value: "2"}]}
etcd: {local: {dataDir: /var/lib/etcd, extraArgs: [{name: quota-backend-bytes, value: "4294967296"}], serverCertSANs: [etcd.example.test]}}`},
		written: []string{"extra_volume \"audit\"", "arg \"node-cidr-mask-size\" { value = \"26\" }", "cert_sans", "for_each"},
	}
}

// kubeOne is a cluster as KubeOne 1.14 configures kubeadm for it: arguments of its own for each
// component, an audit log, a name, node addresses as flags of the kubelets, and kubelets whose
// serving certificates the cluster signs.
func kubeOne() adoption {
	return adoption{
		name: "KubeOne", lab: lab.Options{Kubernetes: "v1.36.3", ControlPlanes: 3, Workers: 1},
		before: func(s *site, o *lab.KubeadmOptions) {
			o.Registration = map[string]string{}
			for _, h := range s.hosts() {
				s.sh(h.Name, "mkdir -p /etc/kubernetes/audit && printf 'apiVersion: audit.k8s.io/v1\\nkind: Policy\\nrules: [{level: Metadata}]\\n' >/etc/kubernetes/audit/policy.yaml")
				o.Registration[h.Name] = fmt.Sprintf("kubeletExtraArgs: [{name: node-ip, value: %q}, {name: volume-plugin-dir, value: /var/lib/kubelet/volumeplugins}, {name: pod-max-pids, value: \"-1\"}]", h.Address())
			}
		},
		kubeadm: lab.KubeadmOptions{
			Cluster: `clusterName: k1
apiServer:
  certSANs: [api.example.test]
  extraArgs:
  - {name: audit-log-maxage, value: "30"}
  - {name: audit-log-path, value: /var/log/kubernetes/audit.log}
  - {name: audit-policy-file, value: /etc/kubernetes/audit/policy.yaml}
  - {name: enable-admission-plugins, value: "NodeRestriction"}
  - {name: endpoint-reconciler-type, value: lease}
  - {name: kubelet-certificate-authority, value: /etc/kubernetes/pki/ca.crt}
  - {name: profiling, value: "false"}
  - {name: request-timeout, value: 1m}
  - {name: service-node-port-range, value: 30000-32767}
  - {name: tls-cipher-suites, value: "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}
  extraVolumes:
  - {name: audit-conf, hostPath: /etc/kubernetes/audit, mountPath: /etc/kubernetes/audit, readOnly: true, pathType: DirectoryOrCreate}
  - {name: log, hostPath: /var/log/kubernetes, mountPath: /var/log/kubernetes, pathType: DirectoryOrCreate}
controllerManager: {extraArgs: [{name: flex-volume-plugin-dir, value: /var/lib/kubelet/volumeplugins}, {name: profiling, value: "false"}, {name: terminated-pod-gc-threshold, value: "1000"}]}
scheduler: {extraArgs: [{name: profiling, value: "false"}]}
etcd: {local: {extraArgs: [{name: feature-gates, value: CompactHashCheck=true}, {name: corrupt-check-time, value: 240m}]}}
`,
			Kubelet: "serverTLSBootstrap: true\nrotateCertificates: true\nreadOnlyPort: 0\ncontainerLogMaxSize: 100Mi\ncontainerLogMaxFiles: 5\n",
		},
		// KubeOne runs a controller that approves them.
		after: func(s *site, _ *lab.KubeadmOptions) {
			s.eventually("serving certificates are approved", func() (string, bool) {
				if names := s.kubectl("get", "csr", "-o", "name"); names != "" {
					s.kubectl(append([]string{"certificate", "approve"}, strings.Fields(names)...)...)
				}
				// A kubelet may have asked twice.
				out := s.kubectl("get", "csr", "-o", "jsonpath={range .items[?(@.spec.signerName==\"kubernetes.io/kubelet-serving\")]}{.spec.username}: {.status.conditions[*].type}{\"\\n\"}{end}")
				approved := slices.DeleteFunc(slices.Compact(slices.Sorted(strings.Lines(out+"\n"))), func(line string) bool { return !strings.Contains(line, "Approved") })
				return out, len(approved) == len(s.hosts())
			})
		},
		written: []string{
			"cluster \"k1\"", "extra_volume \"audit-conf\"", "arg \"kubelet-certificate-authority\" { value = \"/etc/kubernetes/pki/ca.crt\" }",
			"arg \"corrupt-check-time\" { value = \"240m\" }", "arg \"node-ip\" { value = each.value }", "serverTLSBootstrap",
		},
	}
}

// adoptions returns the clusters of the long matrix.
func adoptions() []adoption {
	small := func(kubernetes string) lab.Options {
		return lab.Options{Kubernetes: kubernetes, ControlPlanes: 1, Workers: 1}
	}
	return []adoption{
		customised(),
		kubeOne(),
		{
			name: "patches", lab: small("v1.35.8"), before: patchFolder,
			kubeadm: lab.KubeadmOptions{Node: "patches: {directory: /root/patches}"},
			written: []string{"target  = \"kube-apiserver\"", "memory: 300Mi", "target  = \"kube-scheduler\"", "maxPods = 77"},
		},
		{
			name: "kubelet and proxy settings", lab: small("v1.37.1"),
			kubeadm: lab.KubeadmOptions{
				ProxyMode: "nftables", Kubelet: "maxPods: 150\nserializeImagePulls: false\nevictionHard: {memory.available: 5%}\ncontainerLogMaxSize: 5Mi\n",
				Proxy: "metricsBindAddress: 0.0.0.0:10249\n", Cluster: "encryptionAlgorithm: ECDSA-P256\ncertificateValidityPeriod: 4000h0m0s\n",
			},
			written: []string{"maxPods", "\"nftables\"", "algorithm = \"ECDSA-P256\"", "validity  = \"4000h\""},
		},
		{
			name: "external etcd", lab: small("v1.36.3"), before: externalEtcd,
			written: []string{"external {", "ca_file"},
		},
		{
			name: "external CA", lab: small("v1.36.3"), before: externalCA,
			written: []string{"supplied = \"supplied\"", "certificate = <<EOT"},
		},
		{
			name: "dual stack", lab: lab.Options{Kubernetes: "v1.36.3", ControlPlanes: 1, Workers: 1, Families: lab.DualStack}, before: bothFamilies,
			written: []string{"advertise_addresses = each.value", "fd00:"},
		},
		{
			name: "folders and names", lab: small("v1.35.8"),
			kubeadm: lab.KubeadmOptions{
				ServiceSubnet: "10.211.0.0/20", Networking: "dnsDomain: corp.example", Cluster: "certificatesDir: /etc/kubernetes/certs\nclusterName: prod-eu\n",
				// Otherwise a worker's CA goes to the default folder, where its kubelet does not read it.
				Join: "caCertPath: /etc/kubernetes/certs/ca.crt",
			},
			written: []string{"cluster \"prod-eu\"", "dir = \"/etc/kubernetes/certs\"", "dns_domain     = \"corp.example\"", "service_subnet = \"10.211.0.0/20\""},
		},
		{
			name: "labels and taints", lab: lab.Options{Kubernetes: "v1.34.9", ControlPlanes: 1, Workers: 2},
			kubeadm: lab.KubeadmOptions{Registration: map[string]string{
				"cp1": "taints: []", "w1": "taints: [{key: dedicated, value: batch, effect: NoSchedule}]",
			}},
			after: func(s *site, _ *lab.KubeadmOptions) {
				s.kubectl("label", "node", "w1", "node.example.com/pool=batch", "node-role.kubernetes.io/batch=")
				s.kubectl("label", "node", "w2", "topology.kubernetes.io/zone=a")
			},
			written: []string{"taints  = []", "taint \"dedicated\"", "\"node.example.com/pool\"       = \"batch\"", "\"topology.kubernetes.io/zone\" = \"a\""},
		},
		{
			name: "image repository", lab: small("v1.36.3"), before: mirrored,
			kubeadm: lab.KubeadmOptions{Cluster: "imageRepository: mirror.example.test/k8s\n"},
			written: []string{"image_repository       = \"mirror.example.test/k8s\""},
		},
		{
			name: "kubelet flags and node names", lab: small("v1.35.8"),
			kubeadm: lab.KubeadmOptions{Registration: map[string]string{
				"cp1": "name: plane-1.example.test, kubeletExtraArgs: [{name: v, value: \"3\"}]",
				"w1":  "name: worker-1.example.test, kubeletExtraArgs: [{name: v, value: \"3\"}, {name: node-labels, value: node.example.com/disk=ssd}]",
			}},
			written: []string{"arg \"v\" { value = \"3\" }", "node-labels", "name    = each.key"},
		},
		{
			name: "keys and gates", lab: small("v1.36.3"),
			kubeadm: lab.KubeadmOptions{Cluster: "encryptionAlgorithm: RSA-3072\nfeatureGates: {PublicKeysECDSA: false}\ncaCertificateValidityPeriod: 50000h0m0s\n"},
			written: []string{"algorithm   = \"RSA-3072\"", "PublicKeysECDSA"},
			gates:   []string{"PublicKeysECDSA"},
		},
		{
			name: "edited by hand", lab: small("v1.36.3"),
			after: func(s *site, _ *lab.KubeadmOptions) {
				s.sh("cp1", "sed -i 's/- --leader-elect=true/- --leader-elect=true\\n    - --v=3/' /etc/kubernetes/manifests/kube-scheduler.yaml")
				s.sh("w1", "echo 'maxPods: 42' >>/var/lib/kubelet/config.yaml && systemctl restart kubelet")
				s.eventually("the scheduler runs as edited", func() (string, bool) {
					out := s.kubectl("get", "pods", "-n", "kube-system", "-l", "component=kube-scheduler", "-o", "jsonpath={.items[*].spec.containers[0].command} {.items[*].status.containerStatuses[0].ready}")
					return out, strings.Contains(out, "--v=3") && strings.HasSuffix(out, "true")
				})
			},
			written: []string{"--v=3", "maxPods = 42"},
		},
	}
}

// patchFolder copies kubeadm's patches to the hosts.
func patchFolder(s *site, _ *lab.KubeadmOptions) {
	for name, patch := range map[string]string{
		"kube-apiserver+strategic.yaml":       "spec: {containers: [{name: kube-apiserver, resources: {requests: {memory: 300Mi}}}]}",
		"kube-scheduler0+json.yaml":           "[{op: add, path: /spec/containers/0/command/-, value: --profiling=false}]",
		"etcd+merge.yaml":                     "metadata: {annotations: {example.test/owner: storage}}",
		"kubeletconfiguration+strategic.yaml": "maxPods: 77",
	} {
		for _, h := range s.hosts() {
			s.sh(h.Name, fmt.Sprintf("mkdir -p /root/patches && printf '%%s\\n' '%s' >/root/patches/%s", patch, name))
		}
	}
}

// bothFamilies prepares the hosts by hand as kubeadm's guide to dual-stack requires.
func bothFamilies(s *site, o *lab.KubeadmOptions) {
	o.Registration = map[string]string{}
	for _, h := range s.hosts() {
		s.sh(h.Name, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.default.forwarding=1 net.ipv6.conf.all.forwarding=1")
		o.Registration[h.Name] = fmt.Sprintf("kubeletExtraArgs: [{name: node-ip, value: %q}]", h.Addresses[0].String()+","+h.Addresses[1].String())
	}
}

// externalEtcd starts an etcd of the operator and copies its files to the hosts.
func externalEtcd(s *site, o *lab.KubeadmOptions) {
	etcd, err := s.StartEtcd(context.Background(), 1)
	if err != nil {
		s.t.Fatal(err)
	}
	s.externalEtcd = true
	for _, h := range s.planes {
		for name, file := range map[string]string{"ca.crt": etcd.CA, "client.crt": etcd.Cert, "client.key": etcd.Key} {
			content, err := os.ReadFile(file)
			if err != nil {
				s.t.Fatal(err)
			}
			if _, err := s.ExecInput(context.Background(), h.Name, string(content), "sh", "-c", "mkdir -p /etc/etcd-client && cat >/etc/etcd-client/"+name); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	o.Cluster += fmt.Sprintf("etcd: {external: {endpoints: [%q], caFile: /etc/etcd-client/ca.crt, certFile: /etc/etcd-client/client.crt, keyFile: /etc/etcd-client/client.key}}\n", etcd.Endpoints[0])
}

// externalCA prepares the hosts by hand as kubeadm's guide to external CAs requires: everything
// that the CA signs is on the hosts before kubeadm runs, without its key. With such a CA kubeadm
// does not create service account keys either (v1.36.3 prints "Using existing sa keys" even if
// there are none, and then waits for an API server that cannot start).
func externalCA(s *site, o *lab.KubeadmOptions) {
	ca := pkitest.NewCA(s.t, "Lab CA", "ECDSA", time.Now().Add(-time.Hour))
	s.write("ca.crt", string(ca.Certificate))
	s.extra = "  certificates {\n    supplied = \"supplied\"\n    ca {\n      certificate = file(\"ca.crt\")\n    }\n  }\n"
	s.configure()
	put := func(host, path string, content []byte) {
		script := fmt.Sprintf("umask 077 && mkdir -p -m 0755 /etc/kubernetes/%s && cat >/etc/kubernetes/%s", filepath.Dir(path), path)
		if _, err := s.ExecInput(context.Background(), host, string(content), "sh", "-c", script); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, want := range s.supplies() {
		for name, content := range ca.Supply(s.t, want, time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0), nil) {
			host, path, _ := strings.Cut(name, "/")
			put(host, path, content)
		}
	}
	private, public := serviceAccountKeys(s.t)
	for _, h := range s.planes {
		put(h.Name, "pki/ca.crt", ca.Certificate)
		put(h.Name, "pki/sa.key", private)
		put(h.Name, "pki/sa.pub", public)
	}
	o.Registration = map[string]string{}
	for _, h := range s.workers {
		o.Registration[h.Name] = "ignorePreflightErrors: [FileAvailable--etc-kubernetes-kubelet.conf]"
	}
	for _, name := range []string{"cluster.hcl", "ca.crt"} {
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// serviceAccountKeys returns the files sa.key and sa.pub in the form of openssl genrsa.
func serviceAccountKeys(t testing.TB) (private, public []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pkitest.EncodeKey(t, key), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// mirrored tags the images on the hosts with their names in a mirror.
func mirrored(s *site, _ *lab.KubeadmOptions) {
	for _, h := range s.hosts() {
		s.sh(h.Name, `ctr -n k8s.io images list -q | grep '^registry.k8s.io/' | while read -r image; do
			ctr -n k8s.io images tag "$image" "mirror.example.test/k8s/${image##*/}" >/dev/null
		done`)
	}
}

// adopted creates the cluster with kubeadm, imports it, and expects no changes.
func adopted(t *testing.T, a adoption) *site {
	t.Helper()
	a.lab.Name = cmp.Or(a.lab.Name, "e2ead")
	s := newSiteOf(t, a.lab)
	if err := os.Remove(filepath.Join(s.dir, "cluster.hcl")); err != nil {
		t.Fatal(err)
	}
	o := a.kubeadm
	o.Log = os.Stderr
	if a.before != nil {
		a.before(s, &o)
	}
	if _, err := lab.KubeadmCluster(context.Background(), s.Lab, o); err != nil {
		t.Fatal(err)
	}
	s.wantCluster()
	if a.after != nil {
		a.after(s, &o)
	}
	before := s.configured()
	r := s.must("import", "-no-color", "-private-key="+s.PrivateKey(), "-known-hosts="+s.KnownHosts(), "ssh://root@"+s.planes[0].Address().String())
	written, err := os.ReadFile(filepath.Join(s.dir, "cluster.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s:\n%s", a.name, written)
	// The alignment of attributes does not matter.
	plain := strings.Join(strings.Fields(string(written)), " ")
	for _, text := range a.written {
		wantContains(t, plain, strings.Join(strings.Fields(text), " "))
	}
	wantContains(t, r.out, "The next plan has no changes.")
	s.wantNoChanges()
	s.wantImportedByBlock(string(written))
	if after := s.configured(); !same(before, after) {
		t.Error("import or plan wrote to a host")
	}
	return s
}

// wantImportedByBlock applies the written configuration again without the state, with a block
// that imports the cluster, and checks that everything is imported without further changes.
func (s *site) wantImportedByBlock(written string) {
	s.t.Helper()
	label := regexp.MustCompile(`(?m)^cluster "([^"]+)"`).FindStringSubmatch(written)
	if label == nil {
		s.t.Fatal("no cluster was written")
	}
	block := fmt.Sprintf("\nimport {\n  to = cluster.%s\n  id = \"ssh://root@%s\"\n}\n", label[1], s.planes[0].Address())
	at := func(name string) string { return filepath.Join(s.dir, name) }
	if err := errors.Join(os.Rename(at("kubewright.state.json"), at("state.aside")), os.WriteFile(at("import.hcl"), []byte(block), 0o600)); err != nil {
		s.t.Fatal(err)
	}
	all := 1 + len(s.hosts())
	wantContains(s.t, words(s.must("plan").out), fmt.Sprintf("Plan: %d to import, 0 to add, 0 to change, 0 to destroy.", all))
	wantContains(s.t, words(s.must("apply", "-auto-approve").out), fmt.Sprintf("Resources: %d imported, 0 added, 0 changed, 0 destroyed.", all))
	if err := errors.Join(os.Remove(at("import.hcl")), os.Remove(at("state.aside"))); err != nil {
		s.t.Fatal(err)
	}
	s.wantNoChanges()
}

// configured returns the listings of all hosts without what a running cluster changes all the
// time, and without the settings of the shared kernel: a parallel test restores them when it
// destroys its cluster.
func (s *site) configured() map[string]string {
	s.t.Helper()
	out := s.listings()
	busy := []string{" /var/lib/etcd", " /var/lib/containerd", " /var/log", " /run", " /var/lib/kubelet/pods", " /var/lib/kubelet/plugins", " /var/lib/cni", " /root/.kube", " /tmp", " /proc", "systemd", " kernel.panic", " vm.overcommit_memory"}
	for host, text := range out {
		lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
			return slices.ContainsFunc(busy, func(part string) bool { return strings.Contains(line, part) })
		})
		out[host] = strings.Join(lines, "\n")
	}
	return out
}

// edit replaces a text in the configuration.
func (s *site) edit(from, to string) {
	s.t.Helper()
	path := filepath.Join(s.dir, "cluster.hcl")
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		s.t.Fatalf("the configuration does not contain %q", from)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), from, to)), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// removeLine removes the line with a text from the configuration.
func (s *site) removeLine(text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, "cluster.hcl")
	lines := strings.SplitAfter(contents(s.t, path), "\n")
	left := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.Contains(line, text) })
	if len(left) != len(lines)-1 {
		s.t.Fatalf("%d lines of the configuration contain %q, want one", len(lines)-len(left), text)
	}
	if err := os.WriteFile(path, []byte(strings.Join(left, "")), 0o600); err != nil {
		s.t.Fatal(err)
	}
}
