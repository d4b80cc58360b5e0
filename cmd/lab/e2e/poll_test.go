//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// meanwhile calls a function every 200 ms until end is called, which returns after the last call
// is done. The context that it gets is cancelled by end.
func meanwhile(do func(ctx context.Context)) (end func()) { return each(200*time.Millisecond, do) }

// each is meanwhile with another interval.
func each(interval time.Duration, do func(ctx context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				do(ctx)
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// requests are a client's requests in a period: how many there were, how many failed, and of the
// others, how many were lost between two leaders of etcd and how many stalled; how many retries
// there were, how long the longest took, and details of each request that failed, was retried or
// took over a second.
type requests struct {
	total, failed, lost, stalled, repeated int

	longest           time.Duration
	unusual, failures []string
}

// stall is how long an answer may take: kube-controller-manager and kube-scheduler give up a
// request after half of the ten seconds within which they have to renew their leases (client-go,
// resourcelock.NewFromKubeconfig). The number of slower answers is logged and is not a failure:
// on a machine that is three times slower, an API server that is starting delays single requests
// for ten seconds.
const stall = 5 * time.Second

// patience is the time after which a request without an answer counts as failed.
const patience = time.Minute

// add counts a request: when it began, how long it took, the reason for each retry, its error,
// and whether it was lost between two leaders of etcd.
func (r *requests) add(began time.Time, took time.Duration, repeats []string, err error, lost bool) {
	took = took.Round(time.Millisecond)
	r.total++
	r.repeated += len(repeats)
	r.longest = max(r.longest, took)
	line := fmt.Sprintf("%s, %s: %v, repeated after %q", began.UTC().Format(time.TimeOnly), took, err, repeats)
	if err != nil || len(repeats) > 0 || took > time.Second {
		r.unusual = append(r.unusual, line)
	}
	switch {
	case lost:
		r.lost++
	case err != nil:
		r.failed++
		r.failures = append(r.failures, line)
	case took > stall:
		r.stalled++
	}
}

// wantServed logs how requests went, and checks that none of them failed.
func (s *site) wantServed(what string, r requests) {
	s.t.Helper()
	s.t.Logf("%s, every 200 ms: %d, %d failed, %d lost between two leaders of etcd, %d retried as client-go does, %d took longer than %s, the longest %s\n%s",
		what, r.total, r.failed, r.lost, r.repeated, r.stalled, stall, r.longest, strings.Join(r.unusual, "\n"))
	if r.failed > 0 || r.total == 0 {
		s.t.Errorf("%d of %d %s failed, the first ones:\n%s", r.failed, r.total, what, strings.Join(r.failures[:min(len(r.failures), 10)], "\n"))
	}
}

// watchReads reads from the API through the load balancer every 200 ms, each time on a new
// connection, until the result is called, and checks that no read fails.
func (s *site) watchReads() func() {
	_, address := s.Endpoint()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		// Other tests check the certificate; here only the answer counts.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	var r requests
	end := meanwhile(func(context.Context) {
		began := time.Now()
		repeats, err := ask(client, fmt.Sprintf("https://%s/version", address))
		r.add(began, time.Since(began), repeats, err, false)
	})
	return func() {
		s.t.Helper()
		end()
		s.wantServed("reads through the load balancer", r)
	}
}

// lostByLeaders are etcd's answers to a write that was on its way to the leader when another
// member became leader, for example when the leader's member restarts, which hands over the
// leadership first: a leader drops requests during the hand-over. Neither etcd nor its client
// retries.
var lostByLeaders = []string{"etcdserver: leader changed", "etcdserver: request timed out, possibly due to previous leader failure"}

// perhapsByLeaders are answers to such a write as well, from the member that gave up the
// leadership and from the other followers, but also to other requests.
var perhapsByLeaders = []string{"raft proposal dropped", "etcdserver: request timed out"}

// lostByLeaders reports whether a write was lost between two leaders: it got such an answer and,
// if other requests can get the same answer, a member also got another leader in that time.
func (s *site) lostByLeaders(err error, began time.Time, took time.Duration) bool {
	said := func(text string) bool { return strings.Contains(err.Error(), text) }
	return slices.ContainsFunc(lostByLeaders, said) || slices.ContainsFunc(perhapsByLeaders, said) && s.handedOver(began, began.Add(took))
}

// handedOver reports whether one of etcd's members got another leader in a period, according to
// the members' logs.
func (s *site) handedOver(from, to time.Time) bool {
	return slices.ContainsFunc(s.etcdLog(from, to), func(line string) bool {
		return strings.Contains(line, " elected leader ") || strings.Contains(line, " changed leader ")
	})
}

// etcdLog returns what the members of etcd logged in a period, extended by a second on both
// sides. It does not include logs that the kubelet has removed with a pod.
func (s *site) etcdLog(from, to time.Time) (lines []string) {
	from, to = from.Add(-time.Second), to.Add(time.Second)
	for _, h := range s.planes {
		log, err := s.Exec(context.Background(), h.Name, "sh", "-c", "cat /var/log/pods/kube-system_etcd-*/etcd/*.log")
		if err != nil {
			continue // its member is being restarted; the others' logs are enough
		}
		for line := range strings.Lines(string(log)) {
			when, _, _ := strings.Cut(line, " ")
			if t, err := time.Parse(time.RFC3339Nano, when); err == nil && t.After(from) && t.Before(to) {
				lines = append(lines, h.Name+": "+line)
			}
		}
	}
	return lines
}

// api returns a client of the API through the load balancer, with the current admin.conf.
func (s *site) api(ctx context.Context) (kubernetes.Interface, error) {
	content, err := s.Exec(ctx, s.planes[0].Name, "cat", "/etc/kubernetes/admin.conf")
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		return nil, err
	}
	name, address := s.Endpoint()
	config.Host, config.ServerName, config.Timeout, config.QPS = "https://"+address.String(), name, patience, -1
	return kubernetes.NewForConfig(config)
}

// writer returns a client for the ConfigMaps that the test writes.
func (s *site) writer(ctx context.Context) (typed.ConfigMapInterface, error) {
	api, err := s.api(ctx)
	if err != nil {
		return nil, err
	}
	return api.CoreV1().ConfigMaps("default"), nil
}

// distrusts reports whether server and client do not trust each other, for example because a CA
// was replaced after the client read its kubeconfig.
func distrusts(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError)) || apierrors.IsUnauthorized(err)
}

// pollWrites changes a ConfigMap through the load balancer every 200 ms, as a controller does
// with client-go, until the result is called. Unlike some reads, which an API server answers
// alone, each write has to pass through etcd. A client that is no longer trusted reads its
// kubeconfig again, once.
func (s *site) pollWrites() func() requests {
	s.t.Helper()
	ctx := context.Background() // not meanwhile's context: cancelling the last write would look like a failure
	maps, err := s.writer(ctx)
	if err == nil {
		_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "written"}}, metav1.CreateOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	write := func(n int) error {
		_, err := maps.Patch(ctx, "written", types.MergePatchType, fmt.Appendf(nil, `{"data": {"n": "%d"}}`, n), metav1.PatchOptions{})
		return err
	}
	var w requests
	end := meanwhile(func(context.Context) {
		began := time.Now()
		err := write(w.total)
		if distrusts(err) {
			if again, readErr := s.writer(ctx); readErr == nil {
				maps = again
				err = write(w.total)
			}
		}
		took := time.Since(began)
		lost := err != nil && s.lostByLeaders(err, began, took)
		w.add(began, took, nil, err, lost)
		if err != nil && !lost {
			s.t.Logf("a write failed: %v; etcd's logs of that time:\n%s", err, strings.Join(s.etcdLog(began, began.Add(took)), ""))
		}
	})
	return func() requests {
		s.t.Helper()
		end()
		s.kubectl("delete", "configmap", "written")
		return w
	}
}

// watchWrites writes to the API until the result is called, and checks that no write fails.
func (s *site) watchWrites() func() {
	s.t.Helper()
	written := s.pollWrites()
	return func() {
		s.t.Helper()
		w := written()
		s.wantServed("writes through the load balancer", w)
		if most := 2 * len(s.planes); w.lost > most { // only one write is on its way at a time, and few meet a change of leader
			s.t.Errorf("%d writes were lost between two leaders of etcd, want %d at most", w.lost, most)
		}
	}
}

// watchUsers reads from and writes to the API through the load balancer, calls the Service from
// every node, and checks etcd's quorum, until the result is called: it logs the numbers, and
// checks that no user was disturbed.
func (s *site) watchUsers(service string) func() {
	s.t.Helper()
	pods, read, quorum, written := s.pollService(service), s.watchReads(), s.watchQuorum(), s.watchWrites()
	return func() {
		s.t.Helper()
		written()
		read()
		if lost := quorum(); lost != "" {
			s.t.Errorf("etcd: %s", lost)
		}
		s.wantServed("requests to a Service of two replicas from a pod on every node", pods())
	}
}

// ask gets the URL with the retries of every Kubernetes client (client-go, rest/with_retry.go):
// an API server that starts or stops may ask the client to retry, with Retry-After; one that
// stops may also close an accepted connection without an answer. It returns the reason of each
// retry. Unlike the clients it does not wait a second before a retry.
func ask(client *http.Client, url string) (repeats []string, err error) {
	for range 10 {
		resp, err := client.Get(url)
		if utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err) {
			repeats = append(repeats, err.Error())
			continue
		}
		if err != nil {
			return repeats, err
		}
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return repeats, nil
		}
		if resp.Header.Get("Retry-After") == "" {
			return repeats, fmt.Errorf("status %s: %s", resp.Status, body)
		}
		repeats = append(repeats, resp.Status)
	}
	return repeats, fmt.Errorf("%s gave no answer ten times", url)
}

const poller = `
apiVersion: v1
kind: Pod
metadata: {name: poller, namespace: default}
spec:
  nodeName: %q
  terminationGracePeriodSeconds: 0
  containers:
  - {name: poller, image: %q, imagePullPolicy: Never, args: [poll, "https://kubernetes.default/version", 200ms]}
`

// pollFromPod calls the API every 200 ms from a pod on a worker, as pods do: through the Service
// kubernetes.default, without retries. It returns after the API has answered once; its result
// returns how many calls there were since, how many failed, and the last failure.
func (s *site) pollFromPod() func() (total, failed int, last string) {
	s.t.Helper()
	pod := fmt.Sprintf(poller, s.nodeName(s.workers[0]), lab.WorkloadImage)
	if _, err := s.KubectlInput(context.Background(), s.planes[0].Name, pod, "apply", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
	lines := func() []string {
		out, err := s.Kubectl(context.Background(), s.planes[0].Name, "logs", "poller")
		if err != nil {
			return []string{err.Error()}
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	before := 0
	s.eventually("kubernetes.default answers a pod", func() (string, bool) {
		all := lines()
		before = len(all)
		last := all[before-1]
		return last, strings.HasSuffix(last, "{") // the start of an answer
	})
	return func() (total, failed int, last string) {
		s.t.Helper()
		all := strings.Split(strings.TrimSpace(s.viaKubelet("logs", "poller")), "\n")
		for _, line := range all[min(before, len(all)):] {
			total++
			if _, why, ok := strings.Cut(line, "failed: "); ok {
				failed++
				last = "(the last: " + why + ")"
			}
		}
		s.kubectl("delete", "pod", "poller", "--now")
		return total, failed, last
	}
}
