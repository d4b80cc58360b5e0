//go:build e2e

package e2e

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCertificates renews certificates that are due, that were renewed by hand without a restart,
// that should have keys of another algorithm, and that have expired on all control planes, so
// that no component answers any more. Real kubeadm agrees with the result.
func TestCertificates(t *testing.T) {
	begin(t)
	s := newSite(t, "e2ec", 3, 1)
	s.logIn()
	before := s.listings()
	s.certificates("2h", "10m")
	s.founded()

	t.Run("renewal", func(t *testing.T) { s.within(t, s.renewal) })
	t.Run("renewed by hand", func(t *testing.T) { s.within(t, s.renewedByHand) })
	t.Run("another algorithm", func(t *testing.T) { s.within(t, s.otherAlgorithm) })
	t.Run("kubeconfig of a user", func(t *testing.T) { s.within(t, s.userKubeconfig) })
	t.Run("kubeconfigs in files", func(t *testing.T) { s.within(t, s.kubeconfigFiles) })
	t.Run("kubelet has ended", func(t *testing.T) { s.within(t, s.kubeletEnded) })
	t.Run("ended", func(t *testing.T) { s.within(t, s.ended) })
	if !t.Failed() {
		s.wantGone(before)
	}
}

// certificates configures the validity of certificates, and when they are renewed.
func (s *site) certificates(validity, renewBefore string) {
	s.extra = fmt.Sprintf("  certificates {\n    validity     = %q\n    renew_before = %q\n    algorithm    = %q\n  }\n",
		validity, renewBefore, cmp.Or(s.algorithm, "RSA-2048"))
	s.configure()
}

// onPlanes runs a command on every control plane.
func (s *site) onPlanes(script string) map[string]string {
	out := map[string]string{}
	for _, h := range s.planes {
		out[h.Name] = s.sh(h.Name, script)
	}
	return out
}

const (
	pidOf = "pgrep -x "
	// served prints the serial of the certificate that an API server presents.
	served = `openssl s_client -connect $(hostname -i | cut -d' ' -f1):6443 </dev/null 2>/dev/null | openssl x509 -noout -serial`
)

// renewal renews everything that is due, with the API available throughout.
func (s *site) renewal() {
	s.certificates("2h", "1h59m")
	s.eventually("certificates are due", func() (string, bool) {
		r := s.run("plan", "-detailed-exitcode", "-no-color")
		// Ten on each, and super-admin.conf on the first.
		return r.out, r.code == 2 && strings.Count(r.out, "expires 2") == 11+10 && strings.Contains(r.out, "(the same for cp3)")
	})
	server, controller, etcd := s.onPlanes(pidOf+"kube-apiserver"), s.onPlanes(pidOf+"kube-controller"), s.onPlanes(pidOf+"etcd")
	old := s.onPlanes(served)
	answered := s.watchReads()
	r := s.must("apply", "-auto-approve", "-no-color")
	answered()
	s.t.Logf("renewal of 31 certificates on 3 control planes: %s", r.took.Round(100*time.Millisecond))
	now := s.onPlanes(served)
	for _, h := range s.planes {
		if now[h.Name] == old[h.Name] || !strings.Contains(now[h.Name], "serial=") {
			s.t.Errorf("the API server of %s shows %s, before %s", h.Name, now[h.Name], old[h.Name])
		}
	}
	for name, want := range map[string]bool{"kube-apiserver": false, "etcd": false, "kube-controller": true} {
		is, was := s.onPlanes(pidOf+name), map[string]map[string]string{"kube-apiserver": server, "etcd": etcd, "kube-controller": controller}[name]
		for _, h := range s.planes {
			if (is[h.Name] != was[h.Name]) != want {
				s.t.Errorf("%s on %s: process %s before, %s now; restarted has to be %v", name, h.Name, was[h.Name], is[h.Name], want)
			}
		}
	}
	s.certificates("2h", "10m")
	s.wantNoChanges()
	s.wantKubeadmAgrees()
}

// wantKubeadmAgrees checks that kubeadm finds all certificates, with time left.
func (s *site) wantKubeadmAgrees() {
	out := s.sh(s.planes[0].Name, "kubeadm certs check-expiration 2>&1")
	s.t.Logf("kubeadm certs check-expiration:\n%s", out)
	if strings.Contains(out, "MISSING") || strings.Contains(out, "<invalid>") || len(regexp.MustCompile(` 11[0-9]m `).FindAllString(out, -1)) < 10 {
		s.t.Error("kubeadm does not see ten new certificates")
	}
}

// renewedByHand renews a file with kubeadm that the scheduler reads only when it starts.
func (s *site) renewedByHand() {
	cp := s.planes[1].Name
	s.sh(cp, "kubeadm certs renew scheduler.conf 2>&1")
	r := s.run("plan", "-detailed-exitcode", "-no-color")
	if r.code != 3 { // only drift
		s.t.Fatalf("plan: exit code %d, want 3", r.code)
	}
	wantContains(s.t, r.out, `stale_files = ["/etc/kubernetes/scheduler.conf"]`, "restarts kube-scheduler here; the API stays up", "Plan: 0 to add, 1 to change, 0 to destroy.")
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
}

// keysOf prints the key algorithm of each certificate, in files and kubeconfigs.
const keysOf = `cd /etc/kubernetes
kind() { openssl x509 -noout -text 2>/dev/null | sed -n 's/.*Public Key Algorithm: *//p'; }
for f in pki/*.crt pki/etcd/*.crt; do echo "$f $(kind <$f)"; done
for f in *.conf; do echo "$f $(sed -n 's/.*client-certificate-data: *//p' $f | base64 -d | kind)"; done`

// otherAlgorithm reissues everything but the CAs with keys of another algorithm, with the API
// available throughout.
func (s *site) otherAlgorithm() {
	old := s.onPlanes(served)
	s.algorithm = "ECDSA-P256"
	s.certificates("2h", "10m")
	answered := s.watchReads()
	r := s.must("apply", "-auto-approve", "-no-color")
	answered()
	s.t.Logf("keys of another algorithm on 3 control planes: %s", r.took.Round(100*time.Millisecond))
	now := s.onPlanes(served)
	for _, h := range s.planes {
		if now[h.Name] == old[h.Name] || !strings.Contains(now[h.Name], "serial=") {
			s.t.Errorf("the API server of %s shows %s, before %s", h.Name, now[h.Name], old[h.Name])
		}
	}
	s.wantOtherKeys()
	wantContains(s.t, s.kubectl("get", "cm", "-n", "kube-system", "kubeadm-config", "-o", "yaml"), "encryptionAlgorithm: ECDSA-P256")
	s.wantNoChanges()
	s.wantKubeadmAgrees()
	s.wantCluster()
}

// oldKeys are the files that keep their keys: the CAs', which only a rotation replaces, and the
// founder's, which is replaced when it is due.
var oldKeys = []string{"pki/ca.crt", "pki/front-proxy-ca.crt", "pki/etcd/ca.crt", "super-admin.conf"}

// wantOtherKeys checks that all other certificates of control planes have elliptic curve keys.
func (s *site) wantOtherKeys() {
	s.t.Helper()
	for host, text := range s.onPlanes(keysOf) {
		seen := 0
		for line := range strings.Lines(text) {
			file, is, _ := strings.Cut(strings.TrimSpace(line), " ")
			want := "id-ecPublicKey"
			if slices.Contains(oldKeys, file) {
				want = "rsaEncryption"
			}
			if file == "kubelet.conf" { // it names the file that the kubelet itself renews
				continue
			}
			if seen++; is != want {
				s.t.Errorf("%s on %s has a key of %s, want %s", file, host, is, want)
			}
		}
		if seen < 6+4+3 {
			s.t.Errorf("%s has only %d certificates:\n%s", host, seen, text)
		}
	}
}

// ended lets everything expire on all control planes and renews it over SSH.
func (s *site) ended() {
	s.certificates("5m", "1m") // all of them are valid from the beginning of the apply
	s.must("apply", "-auto-approve", "-no-color")
	s.eventually("no API server answers any more", func() (string, bool) {
		out := s.sh(s.planes[0].Name, "kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /readyz 2>&1 || true")
		return out, strings.Contains(out, "expired") || strings.Contains(out, "refused")
	})
	s.certificates("2h", "10m")
	r := s.must("plan", "-no-color")
	wantContains(s.t, r.out, "renewal_due = true -> false", "the API did not answer", "Plan: 0 to add, 3 to change, 0 to destroy.")
	r = s.must("apply", "-auto-approve", "-no-color")
	s.t.Logf("renewal of everything while no API server answers: %s", r.took.Round(100*time.Millisecond))
	s.must("apply", "-auto-approve", "-no-color") // changes that needed the API
	s.wantNoChanges()
	list := s.must("certificates", "-no-color")
	if strings.Contains(list.out, "expired") || strings.Contains(list.out, " due") {
		s.t.Error("a certificate is still due for renewal")
	}
	s.wantKubeadmAgrees()
	s.wantCluster()
}

// kubeconfig gets a kubeconfig without printing it.
func (s *site) kubeconfig(args ...string) []byte {
	s.t.Helper()
	fmt.Fprintf(os.Stderr, "\n$ kubewright kubeconfig %s\n", strings.Join(args, " "))
	out, err := s.command(append([]string{"kubeconfig"}, args...)...).Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// userKubeconfig checks that a user may do what a binding for her group allows, and no more.
func (s *site) userKubeconfig() {
	server := "https://" + s.planes[1].Address().String() + ":6443"
	conf := s.kubeconfig("-user=jane", "-group=viewers", "-validity=10m", "-server="+server)
	s.kubectl("create", "clusterrolebinding", "viewers", "--clusterrole=view", "--group=viewers")
	defer s.kubectl("delete", "clusterrolebinding", "viewers")
	kubectl := func(command string) string {
		return s.sh(s.planes[0].Name, "umask 077; f=$(mktemp); echo "+base64.StdEncoding.EncodeToString(conf)+" | base64 -d >$f; kubectl --kubeconfig $f "+command+" 2>&1; rm $f")
	}
	wantContains(s.t, kubectl("auth whoami"), "jane", "viewers")
	s.eventually("the API server knows of the binding", func() (string, bool) {
		out := kubectl("auth can-i list pods -A")
		return out, strings.Contains(out, "yes")
	})
	wantContains(s.t, kubectl("auth can-i delete pods -A || true"), "no")
	wantContains(s.t, string(s.kubeconfig()), "current-context: kubernetes-admin@prod")
	for _, file := range []string{"kubewright.state.json", "kubewright.journal"} {
		if b, err := os.ReadFile(filepath.Join(s.dir, file)); err == nil && strings.Contains(string(b), "jane") {
			s.t.Errorf("%s mentions the user", file)
		}
	}
}

// kubeletEnded revives a kubelet that was down until its own certificate had expired.
func (s *site) kubeletEnded() {
	w := s.workers[0].Name
	conf := s.kubeconfig("-user=system:node:"+w, "-group=system:nodes", "-validity=1m")
	var pem []string
	for _, field := range []string{"client-certificate-data", "client-key-data"} {
		found := regexp.MustCompile(field + ": (\\S+)").FindSubmatch(conf)
		if found == nil {
			s.t.Fatalf("the kubeconfig has no %s", field)
		}
		pem = append(pem, "echo "+string(found[1])+" | base64 -d")
	}
	const pki = "/var/lib/kubelet/pki/"
	s.sh(w, "systemctl stop kubelet; umask 077; { "+strings.Join(pem, "; ")+"; } >"+pki+"kubelet-client-old.pem; ln -sf "+pki+"kubelet-client-old.pem "+pki+"kubelet-client-current.pem")
	s.eventually("the kubelet's certificate has expired", func() (string, bool) {
		out := s.sh(w, "openssl x509 -noout -enddate -checkend 0 -in "+pki+"kubelet-client-current.pem || true")
		return out, strings.Contains(out, "will expire")
	})
	s.sh(w, "systemctl start kubelet || true")
	r := s.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "kubelet-client-current.pem", "expired 2", "issues the kubelet a certificate, because its own has expired")
	s.wantNoChanges()
	s.wantCluster()
	s.eventually("the kubelet has a certificate of its own again", func() (string, bool) {
		out := s.sh(w, "openssl x509 -noout -enddate -checkend 86400 -in "+pki+"kubelet-client-current.pem || true; readlink "+pki+"kubelet-client-current.pem")
		return out, strings.Contains(out, "will not expire")
	})
}
