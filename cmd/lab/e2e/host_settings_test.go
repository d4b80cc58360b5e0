//go:build e2e

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
)

// policyPath is the audit policy on control planes, and auditLog is the log written by it.
const policyPath, auditLog = "/etc/kubernetes/audit/policy.yaml", "/var/log/kubernetes/audit/audit.log"

// dropInPath is a drop-in of the kubelet's unit, and tokenKeyPath the key that etcd reads.
const dropInPath, tokenKeyPath = "/etc/systemd/system/kubelet.service.d/50-noted.conf", "/etc/kubernetes/etcd/tokens.pub"

// hostSettings is the configuration of files, settings and units; LEVEL is that of the audit
// policy, and NOTE is what the unit and the kubelet's drop-in say.
const hostSettings = `
  api_server {
    arg "audit-policy-file" { value = "/etc/kubernetes/audit/policy.yaml" }
    arg "audit-log-path" { value = "/var/log/kubernetes/audit/audit.log" }
  }
  directory "/var/log/kubernetes/audit" {
    mode  = "0700"
    roles = ["control-plane"]
  }
  file "/etc/kubernetes/audit/policy.yaml" {
    content = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: LEVEL}]\n"
    roles   = ["control-plane"]
  }
  etcd {
    arg "auth-token" { value = "jwt,pub-key=/etc/kubernetes/etcd/tokens.pub,sign-method=ES256" }
  }
  file "/etc/kubernetes/etcd/tokens.pub" {
    source = "tokens.pub"
    owner  = "65532:0"
    roles  = ["control-plane"]
  }
  unit "kubelet.service" {
    drop_in "50-noted" {
      content = "[Service]\nEnvironment=NOTICE=NOTE\n"
    }
  }
  file "/etc/motd" { content = "managed\n" }
  file "/etc/noted.conf" { content = "noted\n" }
  sysctls = { "net.core.somaxconn" = "8192" }
  unit "noted.service" {
    content = "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'grep -q noted /etc/noted.conf && echo NOTE >>/var/log/noted'\nRemainAfterExit=yes\n[Install]\nWantedBy=multi-user.target\n"
    enabled = true
    running = true
  }
`

func (s *site) hostSettings(level, note string) {
	s.extra = strings.NewReplacer("LEVEL", level, "NOTE", note).Replace(hostSettings)
	s.configure()
}

// TestHostSettings brings files, sysctls and units to real hosts: the API servers log by the audit
// policy that is mounted for them and restart when it changes, the unit runs, drift is corrected,
// and a destroy brings back what was there before.
func TestHostSettings(t *testing.T) {
	begin(t)
	s := newSite(t, "e2ehs", 3, 1)
	s.logIn()
	for _, h := range s.Hosts() {
		s.sh(h.Name, "echo before >/etc/motd; touch /var/log/noted; sysctl -w net.core.somaxconn=1000")
	}
	before := s.listings()
	s.write("tokens.pub", publicKey(t))
	s.hostSettings("Metadata", "one")
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()

	t.Run("in effect", func(t *testing.T) { s.within(t, s.hostSettingsInEffect) })
	t.Run("changed", func(t *testing.T) { s.within(t, s.hostSettingsChanged) })
	t.Run("drift", func(t *testing.T) { s.within(t, s.hostSettingsDrift) })
	if t.Failed() {
		return
	}
	for _, h := range s.Hosts() {
		s.sh(h.Name, ": >/var/log/noted") // the unit wrote it, not kubewright
	}
	s.wantGone(before)
	for _, h := range s.Hosts() {
		if got := s.sh(h.Name, "cat /etc/motd; sysctl -n net.core.somaxconn"); got != "before\n1000" {
			t.Errorf("%s is not as it was before: %q", h.Name, got)
		}
	}
}

// publicKey returns a public key in PEM.
func publicKey(t testing.TB) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// wantNoted checks what the kubelets' drop-in gives them.
func (s *site) wantNoted(note string) {
	for _, h := range s.Hosts() {
		if got := s.sh(h.Name, "tr '\\0' '\\n' </proc/$("+pidOf+"kubelet)/environ | grep NOTICE=; cat "+dropInPath); got != "NOTICE="+note+"\n[Service]\nEnvironment=NOTICE="+note {
			s.t.Errorf("the kubelet on %s: %q", h.Name, got)
		}
	}
}

func (s *site) hostSettingsInEffect() {
	s.wantNoted("one")
	for _, h := range s.planes {
		if got := s.sh(h.Name, "stat -c '%u:%g' "+tokenKeyPath+"; tr '\\0' '\\n' </proc/$("+pidOf+"etcd)/cmdline | grep auth-token"); got != "65532:0\n--auth-token=jwt,pub-key="+tokenKeyPath+",sign-method=ES256" {
			s.t.Errorf("etcd on %s: %q", h.Name, got)
		}
		if got := s.sh(h.Name, "stat -c '%a %U' "+policyPath+" /var/log/kubernetes/audit; grep -c audit.k8s.io/v1 "+auditLog); !strings.HasPrefix(got, "644 root\n700 root\n") || strings.HasSuffix(got, "\n0") {
			s.t.Errorf("audit on %s: %q", h.Name, got)
		}
	}
	for _, h := range s.Hosts() {
		if got := s.sh(h.Name, "cat /etc/motd; sysctl -n net.core.somaxconn; cat /var/log/noted; systemctl is-enabled noted"); got != "managed\n8192\none\nenabled" {
			s.t.Errorf("%s: %q", h.Name, got)
		}
	}
}

// hostSettingsChanged changes the policy and the unit: one API server after another restarts.
func (s *site) hostSettingsChanged() {
	started := s.onPlanes(pidOf + "kube-apiserver")
	s.hostSettings("RequestResponse", "two")
	r := s.must("plan", "-no-color")
	wantContains(s.t, r.out, "+ rules: [{level: RequestResponse}]", "restarts kube-apiserver here; the API stays up on")
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	s.wantNoted("two")
	for name, pid := range s.onPlanes(pidOf + "kube-apiserver") {
		if pid == started[name] {
			s.t.Errorf("the API server on %s has not restarted", name)
		}
	}
	for _, h := range s.planes {
		s.eventually("an API server logs by the new policy", func() (string, bool) {
			got := s.sh(h.Name, "grep -c '\"level\":\"RequestResponse\"' "+auditLog+" || true")
			return got, got != "0"
		})
	}
	for _, h := range s.Hosts() {
		if got := s.sh(h.Name, "cat /var/log/noted"); got != "one\ntwo" {
			s.t.Errorf("the unit on %s wrote %q", h.Name, got)
		}
	}
}

func (s *site) hostSettingsDrift() {
	worker := s.workers[0].Name
	s.sh(worker, "echo by hand >/etc/motd; sysctl -w net.core.somaxconn=99; systemctl disable --now noted")
	r := s.run("plan", "-detailed-exitcode", "-no-color")
	wantContains(s.t, r.out, `"by hand\n" -> "managed\n"`, `"99" -> "8192"`, `unit "noted.service"`)
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	if got := s.sh(worker, "cat /etc/motd; sysctl -n net.core.somaxconn; systemctl is-active noted"); got != "managed\n8192\nactive" {
		s.t.Errorf("%s: %q", worker, got)
	}
}
