//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestKubeletServing has API servers of a running cluster verify the certificates of its kubelets: logs
// and exec go on, a certificate of another CA is refused, and a renewal restarts no kubelet.
func TestKubeletServing(t *testing.T) {
	begin(t)
	s := newSite(t, "e2ekv", 1, 1)
	s.logIn()
	before := s.listings()
	s.certificates("2h", "10m")
	s.founded()
	s.wantCallable()
	s.serving("10m")
	s.must("apply", "-auto-approve", "-no-color")
	s.settled()
	s.wantNoChanges()
	wantContains(t, s.sh(s.planes[0].Name, "cat /etc/kubernetes/manifests/kube-apiserver.yaml"), "--kubelet-certificate-authority=/etc/kubernetes/pki/ca.crt")
	s.wantCallable()
	s.wantChain()

	t.Run("another CA", func(t *testing.T) { s.within(t, s.otherServingCA) })
	t.Run("renewal", func(t *testing.T) { s.within(t, s.servingRenewal) })
	if t.Failed() {
		return
	}
	s.certificates("2h", "10m")
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	s.wantCallable()
	s.wantGone(before)
}

// serving configures the certificates of kubelets, and when certificates are renewed.
func (s *site) serving(renewBefore string) {
	s.certificates("2h", renewBefore)
	s.extra = strings.Replace(s.extra, "{\n", "{\n    kubelet_serving = true\n", 1)
	s.configure()
}

const (
	servingFile  = "/etc/kubernetes/pki/kubelet-server"
	kubeletChain = `a=$(hostname -i | cut -d' ' -f1); openssl s_client -connect $a:10250 -CAfile /etc/kubernetes/pki/ca.crt -verify_ip $a </dev/null 2>&1 | grep 'Verif.* return code' | tail -n 1`
	kubeletShows = `openssl s_client -connect $(hostname -i | cut -d' ' -f1):10250 </dev/null 2>/dev/null | openssl x509 -noout -serial`
)

// proxies returns the pods of kube-proxy, one on each node.
func (s *site) proxies() []string {
	s.t.Helper()
	return strings.Fields(s.kubectl("get", "pods", "-n", "kube-system", "-l", "k8s-app=kube-proxy", "-o", "jsonpath={.items[*].metadata.name}"))
}

// call runs kubectl logs and exec in a pod of kube-proxy.
func (s *site) call(pod string) (string, error) {
	out, err := s.Kubectl(context.Background(), s.planes[0].Name, "logs", "-n", "kube-system", pod, "--tail=1")
	if err == nil {
		out, err = s.Kubectl(context.Background(), s.planes[0].Name, "exec", "-n", "kube-system", pod, "--", "/usr/local/bin/kube-proxy", "--version")
	}
	return string(out), err
}

// wantCallable checks that logs and exec reach every node.
func (s *site) wantCallable() {
	s.t.Helper()
	if n := len(s.proxies()); n != len(s.hosts()) {
		s.t.Fatalf("%d pods of kube-proxy on %d nodes", n, len(s.hosts()))
	}
	s.eventually("logs and exec reach every node", func() (string, bool) {
		for _, pod := range s.proxies() {
			if out, err := s.call(pod); err != nil || !strings.Contains(out, "Kubernetes v") {
				return fmt.Sprintf("%s: %v\n%s", pod, err, out), false
			}
		}
		return "", true
	})
}

// wantChain checks that every kubelet serves with a certificate of the cluster's CA for its address.
func (s *site) wantChain() {
	s.t.Helper()
	for _, h := range s.hosts() {
		s.eventually("the kubelet of "+h.Name+" serves with a certificate of the CA", func() (string, bool) {
			out := s.sh(h.Name, kubeletChain)
			return out, strings.Contains(out, "return code: 0 (ok)")
		})
	}
}

// otherServingCA gives a kubelet a certificate of its own: API servers do not call it any more, and the
// next apply repairs that without a restart.
func (s *site) otherServingCA() {
	w := s.workers[0].Name
	s.sh(w, "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=own -addext subjectAltName=IP:$(hostname -i | cut -d' ' -f1) -keyout "+servingFile+".key -out "+servingFile+".crt 2>/dev/null")
	s.eventually("logs of the node fail", func() (string, bool) {
		for _, pod := range s.proxies() {
			if out, err := s.call(pod); err != nil {
				return out, strings.Contains(out+err.Error(), "x509: certificate signed by unknown authority")
			}
		}
		return "they do not", false
	})
	r := s.must("apply", "-auto-approve", "-no-color")
	if strings.Contains(r.out, "restarts the kubelet") {
		s.t.Errorf("the kubelet restarts:\n%s", r.out)
	}
	s.wantCallable()
	s.wantChain()
	s.wantNoChanges()
}

// servingRenewal renews the certificates of all kubelets, which load them without a restart.
func (s *site) servingRenewal() {
	pids, serials := map[string]string{}, map[string]string{}
	for _, h := range s.hosts() {
		pids[h.Name], serials[h.Name] = s.sh(h.Name, "pgrep -x kubelet"), s.sh(h.Name, kubeletShows)
	}
	s.serving("1h59m")
	s.eventually("certificates are due", func() (string, bool) {
		r := s.run("plan", "-detailed-exitcode", "-no-color")
		return r.out, r.code == 2 && strings.Count(r.out, "pki/kubelet-server\"") == len(s.hosts())
	})
	s.must("apply", "-auto-approve", "-no-color")
	for _, h := range s.hosts() {
		if now := s.sh(h.Name, kubeletShows); now == serials[h.Name] || !strings.Contains(now, "serial=") {
			s.t.Errorf("the kubelet of %s shows %s, before %s", h.Name, now, serials[h.Name])
		}
		if now := s.sh(h.Name, "pgrep -x kubelet"); now != pids[h.Name] {
			s.t.Errorf("the kubelet of %s is process %s, before %s", h.Name, now, pids[h.Name])
		}
	}
	s.serving("10m")
	s.wantCallable()
	s.wantNoChanges()
}
