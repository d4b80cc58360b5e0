package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// member returns the member on a host.
func (r *rig) member(via, address string) *state.EtcdMember {
	r.t.Helper()
	members, _, err := r.etcd(via, cp1, cp2, cp3).Members(context.Background())
	r.must(err)
	for i := range members {
		if members[i].PeerURLs[0] == "https://"+address+":2380" {
			return &members[i]
		}
	}
	return nil
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestEtcdLearnerJoins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	ctx, etcd := context.Background(), r.etcd(cp1)
	peer := "https://" + cp2 + ":2380"
	r.must(etcd.AddLearner(ctx, peer))
	r.must(etcd.AddLearner(ctx, peer)) // once more
	wantError(t, etcd.AddLearner(ctx, "https://"+cp3+":2380"), "too many learner members")
	learner := r.member(cp1, cp2)
	if !learner.Learner || learner.Name != "" || learner.Healthy {
		t.Errorf("learner is %+v", learner)
	}
	wantError(t, etcd.Promote(ctx, learner.ID), "in sync with leader")
	wantError(t, etcd.Promote(ctx, "abc"), "member not found")
	r.must(etcd.Remove(ctx, learner.ID))
	if r.member(cp1, cp2) != nil {
		t.Error("the learner is still a member")
	}
	wantError(t, etcd.Remove(ctx, r.member(cp1, cp1).ID), "not enough started members")
}

func TestEtcdQuorum(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	r.joinControlPlane(cp2, cp1)
	r.joinControlPlane(cp3, cp1)
	ctx := context.Background()

	r.w.PowerOff(cp3)
	if !r.ready(cp1) || r.member(cp1, cp3).Healthy {
		t.Error("two of three are not enough, or the third counts as healthy")
	}
	wantError(t, r.etcd(cp1).AddLearner(ctx, "https://10.77.0.14:2380"), "unhealthy cluster")
	wantError(t, r.etcd(cp1).Remove(ctx, r.member(cp1, cp2).ID), "unhealthy cluster")

	r.w.PowerOff(cp2)
	if err := r.api(cp1).Ready(ctx); !errors.Is(err, providers.ErrUnavailable) {
		t.Errorf("got %v without quorum", err)
	}
	if _, _, err := r.etcd(cp1).Members(ctx); !errors.Is(err, providers.ErrUnavailable) {
		t.Errorf("got %v without quorum", err)
	}
	r.w.PowerOn(cp2)
	r.eventually("quorum", func() bool { return r.ready(cp1) })

	r.must(r.etcd(cp1).Remove(ctx, r.member(cp1, cp3).ID)) // it is down, so its removal is safe
	r.w.PowerOn(cp3)
	r.w.Advance(time.Minute)
	if r.ready(cp3) {
		t.Error("the API answers on a host whose member was removed")
	}
}

func TestEtcdLeadershipMoves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	r.joinControlPlane(cp2, cp1)
	r.joinControlPlane(cp3, cp1)
	if !r.member(cp1, cp1).Leader {
		t.Fatal("the first member does not lead")
	}
	r.must(r.etcd(cp1).MoveLeader(context.Background(), r.member(cp1, cp2).ID))
	if !r.member(cp1, cp2).Leader {
		t.Error("leadership did not move")
	}
	r.w.PowerOff(cp2)
	if m := r.member(cp1, cp1); !m.Leader {
		t.Errorf("no member took over: %+v", m)
	}
}

func TestAPIServerNeedsItsFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	r.w.Host(cp2)
	ctx := context.Background()
	ca := pki + "/ca.crt"
	status := func(url, ca string) (int, error) { return r.w.Host(cp1).HTTPStatus(ctx, url, ca) }
	for _, url := range []string{
		"https://" + cp1 + ":6443/readyz", "https://127.0.0.1:10257/healthz", "https://127.0.0.1:10259/livez",
		"http://127.0.0.1:2381/readyz", "http://127.0.0.1:10248/healthz", "https://api.example.com:6443/livez",
		"https://0.0.0.0:10257/healthz", "https://[::]:10259/livez",
	} {
		trusted := ca
		if strings.Contains(url, "1025") {
			trusted = ""
		}
		if code, err := status(url, trusted); err != nil || code != 200 {
			t.Errorf("%s: %d, %v", url, code, err)
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]"} {
		if code, err := status("https://"+host+":10270/healthz", ""); !errors.Is(err, providers.ErrRefused) {
			t.Errorf("got %d, %v at a port of %s without a listener", code, err, host)
		}
	}
	r.must(sim.Edit(r.w, cp1, "file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg anonymous-auth=false"))
	r.w.Advance(time.Minute)
	if code, err := status("https://"+cp1+":6443/livez", ca); err != nil || code != 401 {
		t.Errorf("a probe without credentials: %d, %v", code, err)
	}
	r.must(sim.Edit(r.w, cp1, "file /etc/kubernetes/manifests/kube-apiserver.yaml unset-arg anonymous-auth"))
	r.w.Advance(time.Minute)
	if _, err := status("https://127.0.0.1:10257/healthz", ca); err == nil {
		t.Error("a self-signed certificate was accepted")
	}
	if _, err := status("https://"+cp2+":6443/readyz", ""); !errors.Is(err, providers.ErrUnreachable) || !errors.Is(err, providers.ErrRefused) {
		t.Errorf("got %v from a host without an API", err)
	}
	r.w.Fault(sim.Fault{Host: cp2, Op: "http", Kind: sim.FaultUnreachable})
	if _, err := r.w.Host(cp2).HTTPStatus(ctx, "https://"+cp2+":6443/readyz", ""); !errors.Is(err, providers.ErrUnreachable) || errors.Is(err, providers.ErrRefused) {
		t.Errorf("got %v of a host that does not answer", err)
	}
	r.must(sim.Edit(r.w, cp1, "file "+pki+"/apiserver.key delete"))
	if code, err := status("https://"+cp1+":6443/readyz", ca); err != nil || code != 200 {
		t.Errorf("an API server whose key was removed: %d, %v", code, err)
	}
	r.must(sim.Edit(r.w, cp1, "power reboot"))
	r.w.Advance(time.Minute)
	if _, err := status("https://"+cp1+":6443/readyz", ca); err == nil {
		t.Error("an API server without its key answers")
	}
	if _, err := r.w.Host(cp1).DialContext(ctx, "tcp", "127.0.0.1:6443"); !errors.Is(err, providers.ErrNoForwarding) {
		t.Errorf("got %v", err)
	}
}

func TestCertificatesExpire(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	r.w.Advance(2 * year)
	if r.ready(cp1) {
		t.Error("the API answers with expired certificates")
	}
}

func TestKubeletsRotate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	r.joinWorker(worker, cp1)
	expiry := func() time.Time {
		const path = "/var/lib/kubelet/pki/kubelet-client-current.pem"
		f := r.observe(worker, state.Query{Files: []state.FileQuery{{Path: path, Read: state.ReadCertificate}}}).Files[path]
		if len(f.Certificates) != 1 {
			t.Fatalf("got %+v", f)
		}
		return f.Certificates[0].NotAfter
	}
	first := expiry()
	r.w.Advance(100 * 24 * time.Hour)
	if expiry() != first {
		t.Error("rotated too early")
	}
	r.w.Advance(200 * 24 * time.Hour)
	if !expiry().After(first) {
		t.Error("did not rotate")
	}
}

func TestTokensExpire(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	token := r.newToken(cp1)
	r.w.Advance(11 * time.Minute)
	r.bootstrapConf(worker, cp1, "https://api.example.com:6443", token)
	_, err := sim.Issuer{}.CopySecrets(context.Background(), r.w.Host(cp1), r.w.Host(worker), planner.CopySecrets{
		Files: []planner.SecretFile{{Path: pki + "/ca.crt", Mode: "0644", Owner: "root:root"}},
	}, r.batch())
	r.must(err)
	r.kubelet(worker, "")
	r.w.Advance(time.Minute)
	if r.node(cp1, nodeName(worker)) != nil {
		t.Error("a node registered with an expired token")
	}
}

func TestKubeletWaitsForItsFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	unit := func() string {
		return r.observe(cp1, state.Query{Units: []string{"kubelet.service"}}).Units["kubelet.service"].Active
	}
	r.perform(cp1, planner.Unit{Unit: "kubelet.service", Action: "start"})
	if got := unit(); got != "activating" {
		t.Errorf("without configuration the kubelet is %s", got)
	}
	r.cas(cp1)
	r.kubeconfigs(cp1, true)
	r.perform(cp1, write("/var/lib/kubelet/config.yaml", kubeletConfiguration, "0644"))
	if got := unit(); got != "active" {
		t.Errorf("with configuration the kubelet is %s", got)
	}
	if q := r.observe(cp1, state.Query{Ports: []int{10250, 6443}}); !q.Ports[10250] || q.Ports[6443] {
		t.Errorf("listening: %v", q.Ports)
	}
}

// TestEtcdCompactionAndDefragmentation checks that deleted data counts as in use until API servers compact etcd,
// which they cannot do while it has no space, and stays on disk until a member is
// defragmented.
func TestEtcdCompactionAndDefragmentation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	ctx, etcd := context.Background(), r.etcd(cp1)
	sizes := func() (onDisk, inUse int64) { m := r.member(cp1, cp1); return m.DBSize, m.DBInUse }
	_, base := sizes()
	step := func(what string, do func() error, onDisk, inUse int64) {
		t.Helper()
		r.must(do())
		if d, u := sizes(); d != base+onDisk || u != base+inUse {
			t.Errorf("%s: %d on the disk, %d in use; want %d and %d more than %d", what, d, u, onDisk, inUse, base)
		}
	}
	edit := func(expr string) func() error { return func() error { return sim.Edit(r.w, cp1, expr) } }
	defragment := func() error { return etcd.Defragment(ctx, r.member(cp1, cp1).ID) }
	step("deleted", edit("etcd history 4096"), 4096, 4096)
	step("defragmented too early", defragment, 4096, 4096)
	step("later", edit("time 10m"), 4096, 0)
	step("defragmented", defragment, 0, 0)
	step("no space", edit("etcd alarm NOSPACE"), 0, 0)
	step("deleted then", edit("etcd history 4096"), 4096, 4096)
	step("later then", edit("time 10m"), 4096, 4096)
	step("compacted", func() error { return etcd.Compact(ctx) }, 4096, 0)
	step("defragmented then", defragment, 0, 0)
}
