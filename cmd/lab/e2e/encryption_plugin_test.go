//go:build e2e

package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// pluginProgram is the lab's KMS plugin on control planes.
const pluginProgram = "/usr/local/bin/kmsplugin"

// TestEncryptionByPlugin founds a cluster whose Secrets a KMS plugin encrypts, which the definition
// starts on the control planes; the plugin rotates its key by itself; then a key of kubewright's own
// takes its place, and another plugin that of the key, which at first does not answer on one host.
func TestEncryptionByPlugin(t *testing.T) {
	begin(t)
	s := newSite(t, "e2ekm", 3, 1)
	s.logIn()
	before := s.listings()
	s.installPlugin()
	plugin := func(name string) string {
		return fmt.Sprintf(`  encryption {
    type      = "kms"
    resources = ["secrets", "configmaps"]
    kms {
      name     = %q
      endpoint = "unix:///run/kms-%s/socket"
    }
  }
`, name, name)
	}
	with := func(block string) {
		s.extra = block
		s.configure()
	}
	for _, h := range s.planes {
		s.sh(h.Name, "mkdir -p -m 700 /etc/kms-two")
	}
	s.addKey("one", "1", s.planes...)
	s.planeExtra = unitOfPlugin("one") + unitOfPlugin("two")
	with(plugin("one"))
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	s.wantCluster()
	s.settled()
	s.kubectl("create", "secret", "generic", "before", "--from-literal=k=v")
	for _, resource := range []string{"secrets", "configmaps"} {
		s.wantStored(resource, "k8s:enc:kms:v2:one:")
	}
	s.addKey("one", "2", s.planes...)
	s.kubectl("create", "secret", "generic", "after", "--from-literal=k=v")
	s.wantNoChanges()

	with("  encryption {\n    key       = \"2026-11\"\n    resources = [\"secrets\", \"configmaps\"]\n  }\n")
	s.encrypts("a key instead of a plugin", "k8s:enc:secretbox:v1:2026-11:")

	with(plugin("two"))
	s.addKey("two", "1", s.planes[0], s.planes[2])
	r := s.run("apply", "-auto-approve", "-no-color")
	if r.code == 0 {
		t.Fatal("apply succeeded although a plugin does not answer")
	}
	wantContains(t, r.out, `node.cp["`+s.planes[1].Name+`"]`, "a KMS plugin does not answer: two at unix:///run/kms-two/socket")
	s.copyKey("two", "1", s.planes[0], s.planes[1])
	s.encrypts("another plugin", "k8s:enc:kms:v2:two:")

	with("")
	s.encrypts("encryption off", "k8s\\x00")
	for _, name := range []string{"before", "after"} {
		if got := s.kubectl("get", "secret", name, "-o", "jsonpath={.data.k}"); got != "dg==" {
			t.Errorf("the Secret %s has %q", name, got)
		}
	}
	s.wantCluster()
	for _, h := range s.planes {
		s.sh(h.Name, "rm -r /etc/kms-one /etc/kms-two "+pluginProgram)
	}
	if !t.Failed() {
		s.wantGone(before)
	}
}

// installPlugin builds the plugin and copies it to all control planes.
func (s *site) installPlugin() {
	s.t.Helper()
	program := filepath.Join(s.t.TempDir(), "kmsplugin")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "../kmsplugin")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("cannot build the KMS plugin: %v\n%s", err, out)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range s.planes {
		s.put(h.Name, "/root/kmsplugin", content, "install -m 0755 /root/kmsplugin "+pluginProgram)
	}
}

// unitOfPlugin returns the block that runs a plugin on control planes.
func unitOfPlugin(name string) string {
	return fmt.Sprintf(`  unit "kms-%[1]s.service" {
    content = "[Service]\nExecStart=%[2]s /run/kms-%[1]s/socket /etc/kms-%[1]s\nRestart=always\n[Install]\nWantedBy=multi-user.target\n"
    enabled = true
    running = true
  }
`, name, pluginProgram)
}

// addKey makes a key for a plugin on hosts, the same on all of them.
func (s *site) addKey(plugin, id string, hosts ...lab.Host) {
	s.t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	for _, h := range hosts {
		s.writeKey(h, plugin, id, base64.StdEncoding.EncodeToString(key))
	}
}

// copyKey copies the key of a plugin from one host to another.
func (s *site) copyKey(plugin, id string, from, to lab.Host) {
	s.t.Helper()
	s.writeKey(to, plugin, id, s.sh(from.Name, "base64 -w0 /etc/kms-"+plugin+"/"+id))
}

// writeKey writes a key, given in base64, into the folder of a plugin.
func (s *site) writeKey(h lab.Host, plugin, id, key string) {
	s.t.Helper()
	s.sh(h.Name, fmt.Sprintf("umask 077; mkdir -p /etc/kms-%[1]s && echo %[2]s | base64 -d >/etc/kms-%[1]s/%[3]s", plugin, key, id))
}
