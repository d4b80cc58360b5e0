package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/state/statefile"
)

// canaries generates new secrets for every path by which a secret reaches a host or the API.
func canaries() map[string]string {
	made := map[string]string{
		"proxy": "canary:" + marker(), "node": strings.ToLower(marker()), // part of a domain
		"kubeproxy": fmt.Sprintf("10.%d.%d.0/24", 100+mathrand.IntN(100), mathrand.IntN(256)),
	}
	for _, name := range []string{"argument", "environment", "kubelet", "patch", "annotation", "addon", "object", "etcd"} {
		made[name] = marker()
	}
	return made
}

// marker returns a unique text to use as a secret.
func marker() string { return "canary-" + rand.Text()[:12] }

const secretsConfig = `
variable "argument"    { sensitive = true }
variable "environment" { sensitive = true }
variable "kubelet"     { sensitive = true }
variable "proxy"       { sensitive = true }
variable "patch"       { sensitive = true }
variable "annotation"  { sensitive = true }
variable "addon"       { sensitive = true }
variable "object"      { sensitive = true }
variable "node"        { sensitive = true }
variable "etcd"        { sensitive = true }
variable "kubeproxy"   { sensitive = true }
variable "token"       { sensitive = true }
variable "certs"       { sensitive = true }
variable "sudo"        { sensitive = true }
variable "cakey"       { sensitive = true }
variable "image"       { default = "nginx:1" }

cluster "prod" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.example.com:6443"
  network { pod_subnet = "10.244.0.0/16" }
  certificates {
    front_proxy_ca {
      certificate = file("ca.crt")
      key         = var.cakey
      on_hosts    = true
    }
  }
  upload_certs    = true
  certificate_key = var.certs
  bootstrap_token {
    token = "abcdef.${var.token}"
    ttl   = "0s"
  }
  proxy_env = { HTTPS_PROXY = "http://${var.proxy}@proxy:3128" }
  api_server {
    arg "oidc-issuer-url" { value = "https://issuer.example.com" }
    arg "oidc-client-id" { value = var.argument }
    extra_env "TOKEN" { value = var.environment }
  }
  etcd {
    arg "snapshot-count" { value = "1000" }
    extra_env "ETCD_TOKEN" { value = var.etcd }
  }
  kubelet {
    config = { maxPods = 100, staticPodURLHeader = { Authorization = [var.kubelet] } }
    arg "v" { value = "2" }
  }
  kube_proxy { config = { clusterCIDR = "10.244.0.0/16", nodePortAddresses = [var.kubeproxy] } }
  patch {
    target  = "kube-scheduler"
    content = yamlencode({ metadata = { annotations = { "example.com/token" = var.patch } } })
  }
  addon "app" {
    manifest = [
      yamlencode({ apiVersion = "v1", kind = "Secret", metadata = { name = "db", namespace = "default" }, stringData = { password = var.addon, user = "app" } }),
      <<-EOT
      apiVersion: apps/v1
      kind: Deployment
      metadata: { name: web, namespace: default, labels: { app: web } }
      spec:
        replicas: 1
        selector: { matchLabels: { app: web } }
        template:
          metadata: { labels: { app: web } }
          spec:
            containers:
            - { name: web, image: "${var.image}", env: [{ name: TOKEN, value: "${var.object}" }] }
      EOT
    ]
  }
}

node "cp" {
  for_each    = { cp1 = "10.77.0.11", cp2 = "10.77.0.12", cp3 = "10.77.0.13" }
  cluster     = cluster.prod
  role        = "control-plane"
  name        = each.key
  address     = each.value
  annotations = { "example.com/secret" = var.annotation }
}

node "worker" {
  cluster = cluster.prod
  role    = "worker"
  name    = "w1"
  address = "10.77.0.21"
  kubelet {
    arg "node-ip" { value = "10.77.0.21" }
    config = { clusterDomain = "${var.node}.local" }
  }
}

connection {
  type          = "sim"
  sudo_password = var.sudo
}

output "token" {
  value     = var.argument
  sensitive = true
}
`

// vault is a folder with a configuration full of secrets, and the whole output so far.
type vault struct {
	*testing.T
	dir    string
	values map[string]string
	// secrets are all secrets so far, including replaced ones.
	secrets hosttest.Secrets
	ids     int
	// env is the environment besides the variables, typed is the answer to a prompt on the
	// terminal, and inputs are the user's own files, which are not searched.
	env    map[string]string
	typed  string
	inputs []string
	// logged and journaled are the sizes of all logs and of the journal so far.
	logged, journaled int
}

// anyCode accepts any exit code.
const anyCode = -1

func newVault(t *testing.T) *vault {
	t.Helper()
	v := &vault{T: t, dir: t.TempDir(), values: map[string]string{}}
	v.renew()
	v.set("sudo", `"<&>`+marker())
	v.write("main.hcl", secretsConfig)
	ca := pkitest.NewCA(t, "canary", "ECDSA", time.Date(2026, time.March, 2, 8, 0, 0, 0, time.UTC))
	v.write("ca.crt", string(ca.Certificate))
	v.set("cakey", string(ca.Key))
	if err := v.secrets.HideKey("the key of the CA", ca.Key); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *vault) write(name, text string) {
	v.Helper()
	if err := os.WriteFile(filepath.Join(v.dir, name), []byte(text), 0o600); err != nil {
		v.Fatal(err)
	}
}

// renew gives another value to every secret that can be changed in a cluster.
func (v *vault) renew() {
	for name, value := range canaries() {
		v.set(name, value)
	}
	v.set("token", strings.ToLower(rand.Text()[:16]))
	v.set("certs", fmt.Sprintf("%x", sha256.Sum256([]byte(rand.Text()))))
}

// set sets a variable.
func (v *vault) set(name, value string) {
	v.values[name] = value
	v.secrets.Hide("variable "+name, value)
}

// hide adds a text to search for, in every form in which it may leak.
func (v *vault) hide(value string) { v.secrets.Hide("a secret", value) }

// run runs the command and searches its output and its files for secrets.
func (v *vault) run(code int, args ...string) string {
	v.Helper()
	var stdout, stderr bytes.Buffer
	env := &console.Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: &watched{Writer: &stdout}, Stderr: &watched{Writer: &stderr},
		Getenv: v.getenv, Dir: v.dir, Size: func() (int, int) { return 0, 0 },
		Now:   func() time.Time { return time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC) },
		NewID: func() string { v.ids++; return fmt.Sprintf("%032x", v.ids) }, Who: "ada@laptop", Interrupts: make(chan os.Signal),
		Files: searchedFS{statefile.OS(), v},
	}
	for name, value := range v.values {
		env.Environ = append(env.Environ, "KUBEWRIGHT_VAR_"+name+"="+value)
	}
	if v.typed != "" {
		env.Secret = func(context.Context, string) ([]byte, error) { return []byte(v.typed), nil }
	}
	got := cli.Main(env)
	text := stdout.String() + stderr.String()
	if got != code && code != anyCode {
		v.Fatalf("%v: exit code %d, want %d:\n%s", args, got, code, text)
	}
	v.search(strings.Join(args, " "), text)
	v.searchFiles(strings.Join(args, " "))
	v.searchLog()
	return text
}

// searchedFS searches everything that is written to state and journal, including what is
// removed before the command ends.
type searchedFS struct {
	statefile.FS
	v *vault
}

func (f searchedFS) Create(name string) (statefile.File, error) {
	file, err := f.FS.Create(name)
	return searchedFile{file, filepath.Base(name), f.v}, err
}

func (f searchedFS) Open(name string) (statefile.File, error) {
	file, err := f.FS.Open(name)
	return searchedFile{file, filepath.Base(name), f.v}, err
}

type searchedFile struct {
	statefile.File
	name string
	v    *vault
}

func (f searchedFile) WriteAt(b []byte, off int64) (int, error) {
	f.v.search("what was written into "+f.name, string(b))
	if f.name == "kubewright.journal" {
		f.v.journaled += len(b)
	}
	return f.File.WriteAt(b, off)
}

// everything is the log of one command at the most verbose level.
const everything = "everything.log"

func (v *vault) getenv(name string) string {
	switch name {
	case "KUBEWRIGHT_LOG":
		return "trace"
	case "KUBEWRIGHT_LOG_PATH":
		return everything
	}
	return v.env[name]
}

// searchLog checks that there is a log; searchFiles has searched it.
func (v *vault) searchLog() {
	v.Helper()
	path := filepath.Join(v.dir, everything)
	log, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(log, []byte("command begins")) || !bytes.Contains(log, []byte("command ended")) {
		v.Errorf("there is no log: %v\n%s", err, log)
	}
	v.logged += len(log)
	if err := os.Remove(path); err != nil {
		v.Error(err)
	}
}

func (v *vault) search(where, text string) {
	v.Helper()
	for _, leak := range v.secrets.Find(text) {
		v.Errorf("%s: %s", where, leak)
	}
}

// searchFiles searches all files except the configuration and the hosts.
func (v *vault) searchFiles(after string) {
	v.Helper()
	err := filepath.WalkDir(v.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "main.hcl" || d.Name() == "kubewright.sim.json" || slices.Contains(v.inputs, d.Name()) {
			return err
		}
		b, err := os.ReadFile(path)
		v.search(d.Name()+" after "+after, string(b))
		return err
	})
	if err != nil {
		v.Fatal(err)
	}
}

// TestSecretsAreNeverPrintedOrStored runs the life cycle of a cluster with secrets everywhere: no command prints
// or stores one.
func TestSecretsAreNeverPrintedOrStored(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.run(0, "validate")
	plan := v.run(0, "plan")
	if strings.Count(plan, "(sensitive value)") < 1 {
		t.Errorf("the plan does not say that something is sensitive:\n%s", plan)
	}
	for _, args := range [][]string{{"plan", "-json"}, {"graph", "-format=json"}, {"plan", "-out=plan.kwplan"}} {
		v.run(0, args...)
	}
	v.readers("plan.kwplan")
	v.explains("plan.kwplan")
	before := v.logged
	v.run(0, "apply", "-auto-approve", "-json-into=events.json")
	if v.logged-before < 100_000 {
		t.Errorf("the log of an apply has %d bytes: too few to be complete", v.logged-before)
	}
	if v.journaled < 10_000 {
		t.Errorf("the journal of an apply had %d bytes: too few to be complete", v.journaled)
	}
	world, err := os.ReadFile(filepath.Join(v.dir, "kubewright.sim.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range canaries() {
		secret := v.values[name]
		if !bytes.Contains(world, []byte(secret)) && !bytes.Contains(world, []byte(base64.StdEncoding.EncodeToString([]byte(secret)))) {
			t.Errorf("secret %s did not reach any host", name)
		}
	}
	v.noChanges()
	for _, args := range [][]string{
		{"show"},
		{"show", "-json"},
		{"output"},
		{"output", "-json"},
		{"graph"},
		{"state", "list"},
		{"state", "show", `node.cp["cp1"]/control-plane`},
		{"state", "show", "cluster.prod"},
		{"state", "show", `cluster.prod.addon["app"]/addon`},
	} {
		v.run(0, args...)
	}
	v.run(1, "output", "-raw", "token")

	// Every secret changes: the plan reports each change, and nothing else.
	v.renew()
	plan = v.run(0, "plan")
	for _, want := range []string{"bootstrap-token-abcdef", "kubeadm-certs", "oidc-client-id", "TOKEN", "ETCD_TOKEN", "HTTPS_PROXY", "staticPodURLHeader", "clusterDomain", "example.com/token", "example.com/secret", "password"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan does not mention %s:\n%s", want, plan)
		}
	}
	if strings.Contains(plan, "user") || strings.Contains(plan, "maxPods") {
		t.Errorf("the plan mentions unchanged values:\n%s", plan)
	}
	v.run(0, "plan", `-explain=node.cp["cp1"]/control-plane`, "-out=change.kwplan")
	v.readers("change.kwplan")
	v.explains("change.kwplan")
	v.run(0, "graph", "-html")
	v.run(0, "graph", "-format=mermaid")
	// A digest without a key would let a reader verify guesses of a short secret.
	asJSON := v.run(0, "plan", "-json")
	if strings.Contains(asJSON, `kube-apiserver.yaml":"sha256:`) || strings.Contains(asJSON, `Secret/default/db":"sha256:`) {
		t.Errorf("the plan contains digests of secrets:\n%s", asJSON)
	}
	v.run(0, "apply", "-auto-approve")
	v.noChanges()
}

// readers prints a saved plan in each format.
func (v *vault) readers(plan string) {
	v.Helper()
	v.run(0, "show", "-full", plan)
	for _, form := range []string{"markdown", "html", "junit", "github", "json"} {
		v.run(0, "show", "-format="+form, plan)
	}
}

// explains explains every part of a saved plan that has a secret.
func (v *vault) explains(plan string) {
	v.Helper()
	said := ""
	for _, address := range []string{
		"cluster.prod", `cluster.prod.addon["app"]`, `node.cp["cp1"]`, `node.cp["cp2"]`, "node.worker",
		`node.cp["cp1"]/control-plane/file:/etc/kubernetes/manifests/kube-apiserver.yaml`, "node.worker/kubelet-start/file:/var/lib/kubelet/config.yaml",
	} {
		said += v.run(0, "show", "-explain="+address, plan)
	}
	if !strings.Contains(said, "(sensitive value)") || !strings.Contains(said, "oidc-client-id") {
		v.Errorf("the explanations mention no secret:\n%s", said)
	}
}

func (v *vault) noChanges() {
	v.Helper()
	if text := v.run(0, "plan"); !strings.Contains(text, "No changes.") {
		v.Fatalf("there is something left to do:\n%s", text)
	}
}

// TestSecretsHiddenInDrift checks that drift next to a secret is shown without the secret, and is
// corrected.
func TestSecretsHiddenInDrift(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.run(0, "apply", "-auto-approve")
	for _, edit := range []string{
		// Another value, the secret in another place, a value that cannot be parsed, and a lost value.
		"10.77.0.11 file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg oidc-client-id=else",
		"10.77.0.12 file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg oidc-username-claim=" + v.values["argument"],
		"10.77.0.21 yaml /var/lib/kubelet/config.yaml set clusterDomain=else",
		"10.77.0.11 yaml /var/lib/kubelet/config.yaml set staticPodURL=x" + v.values["kubelet"],
		"10.77.0.11 object Secret default/db set data.password=ZWxzZQ==",
	} {
		v.run(0, append([]string{"sim", "edit"}, strings.Fields(edit)...)...)
	}
	text := v.run(0, "plan")
	for _, want := range []string{"oidc-client-id", "oidc-username-claim", "clusterDomain", "staticPodURL", "password", "(sensitive value)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan does not mention %s:\n%s", want, text)
		}
	}
	v.run(0, "plan", "-json")
	v.run(0, "plan", "-full", "-out=mend.kwplan")
	v.readers("mend.kwplan")
	for _, address := range []string{`node.cp["cp1"]`, `node.cp["cp2"]`, "node.worker", `cluster.prod.addon["app"]`} {
		v.run(0, "show", "-explain="+address, "mend.kwplan")
	}
	v.run(0, "plan", "-refresh-only", "-json")
	// The configuration that would accept the drift is offered without the secret.
	text = v.run(0, "plan", "-refresh-only", "-out=drift.kwplan")
	for _, want := range []string{"oidc-username-claim", "clusterDomain", "staticPodURL"} {
		if !strings.Contains(text, want) {
			t.Errorf("the drift does not mention %s:\n%s", want, text)
		}
	}
	v.readers("drift.kwplan")
	v.run(0, "show", `-explain=node.cp["cp2"]`, "drift.kwplan")
	v.run(0, "show", "-explain=node.worker", "drift.kwplan")
	v.run(0, "apply", "-refresh-only", "-auto-approve")
	if text := v.run(0, "plan", "-refresh-only"); !strings.Contains(text, "No changes.") {
		t.Errorf("accepted drift is reported again:\n%s", text)
	}
	v.run(0, "plan")
	v.run(0, "apply", "-auto-approve")
	v.noChanges()
	v.run(0, "sim", "edit", "10.77.0.21", "condition", "no-sudo", "on")
	v.run(anyCode, "plan")
	v.run(anyCode, "plan", "-json")
}
