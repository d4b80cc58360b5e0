package sim_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// changed performs operations and returns which changed something.
func (r *rig) changed(address string, ops ...planner.Operation) []bool {
	r.t.Helper()
	var out []bool
	for _, o := range r.perform(address, ops...) {
		out = append(out, o.Changed)
	}
	return out
}

func (r *rig) wantChanged(want []bool, address string, ops ...planner.Operation) {
	r.t.Helper()
	if got := r.changed(address, ops...); !slices.Equal(got, want) {
		r.t.Errorf("%s: changed %v, want %v", ops[0].Summary(), got, want)
	}
}

func TestHostOperations(t *testing.T) {
	t.Parallel()
	p := sim.DefaultProfile()
	p.Swap = true
	r := &rig{t: t, w: sim.New(1, p), token: 1}
	both := []bool{true, false}
	socket := "unix:///var/run/containerd/containerd.sock"
	for _, op := range []planner.Operation{
		write("/etc/x/y", "text", "0600"),
		planner.EnsureDirectory{Path: "/var/lib/etcd", Mode: "0700", Owner: "root:root"},
		planner.SetAccess{Path: "/etc/x/y", Mode: "0640", Owner: "nobody:nogroup"},
		planner.RemovePath{Path: "/etc/x"},
		planner.LoadImage{Image: "example.com/a:1", Socket: socket, Policy: "IfNotPresent"},
		planner.Unit{Unit: "kubelet.service", Action: "disable"},
		planner.Unit{Unit: "kubelet.service", Action: "start"},
		planner.Unit{Unit: "kubelet.service", Action: "stop"},
		planner.SetSysctl{Name: "net.ipv4.ip_forward", Value: "1"},
		planner.LoadModule{Module: "br_netfilter"},
		planner.LoadModule{Module: "br_netfilter", Unload: true},
		planner.Swap{On: false},
		planner.Swap{On: true},
		planner.Swap{Boot: planner.SwapStaysOff},
		planner.Swap{Boot: planner.SwapReturns},
		planner.Swap{Boot: planner.SwapStaysOff},
		planner.Swap{On: true, Boot: planner.SwapReturns},
	} {
		r.wantChanged(both, cp1, op, op)
		if strings.HasPrefix(op.DoneWhen(), planner.DoneNever) {
			t.Errorf("%s was found done, and says: %s", op.Summary(), op.DoneWhen())
		}
	}
	restart := planner.Unit{Unit: "kubelet.service", Action: "restart"}
	r.wantChanged([]bool{true, true}, cp1, restart, restart)
	r.wantChanged([]bool{false}, cp1, planner.LoadImage{Image: "registry.k8s.io/kube-apiserver:v1.36.3", Socket: socket, Policy: "Never"})
	r.wantChanged([]bool{false, false, false}, cp1, planner.RemovePods{Socket: socket}, planner.Unmount{Below: "/var/lib/kubelet"}, planner.RemoveNetwork{Links: []string{"cni0"}})
}

func TestHostOperationErrors(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, test := range []struct {
		op   planner.Operation
		want string
	}{
		{write("/etc/hosts/x", "", "0600"), "Not a directory"},
		{write("/etc/ssl", "", "0600"), "Is a directory"},
		{write("/etc/x", "", "rw"), `mode "rw" is not octal`},
		{planner.EnsureDirectory{Path: "/etc/hosts", Mode: "0700"}, "File exists"},
		{planner.SetAccess{Path: "/etc/ssl", Mode: "0600"}, "/etc/ssl is no file"},
		{planner.SetAccess{Path: "/etc/hosts", Mode: "rw"}, `mode "rw" is not octal`},
		{planner.RemovePath{Path: "/var/lib"}, "belongs to the whole machine"},
		{planner.Unit{Unit: "nobody.service", Action: "start"}, "Unit nobody.service not found"},
		{planner.Unit{Unit: "kubelet", Action: "jump"}, "unknown unit action"},
		{planner.SetSysctl{Name: "net.bridge.bridge-nf-call-iptables", Value: "1"}, "No such file or directory"},
		{planner.LoadImage{Image: "example.com/a:1", Policy: "Never"}, "the policy is Never"},
		{planner.LoadImage{Image: "example.com/a:1", Socket: "unix:///run/crio/crio.sock"}, "no such file or directory: unix:///run/crio/crio.sock"},
		{planner.Cordon{Node: "x"}, "no operation of a host"},
		{planner.WriteFile{Path: "/etc/x", Mode: "0600", Content: planner.Content{Ref: "config:x"}}, "nothing given for config:x"},
	} {
		_, err := r.w.Host(cp1).Perform(context.Background(), r.batch(test.op))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.op.Op(), err, test.want)
		}
	}
}

// TestHostRefusesEarlierRun checks that a host refuses an earlier run than the last that changed it.
func TestHostRefusesEarlierRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.token = 5
	r.perform(cp1, write("/etc/x", "later", "0600"))
	r.token = 4
	_, err := r.w.Host(cp1).Perform(context.Background(), r.batch(write("/etc/x", "earlier", "0600")))
	if !errors.Is(err, providers.ErrSuperseded) || !strings.Contains(err.Error(), "the host has seen run 5, this is run 4") {
		t.Errorf("got %v", err)
	}
}

// TestSecretRecordsAreCopiedWithoutKeys checks that a secret read from one host becomes the same record on
// another, without any key material.
func TestSecretRecordsAreCopiedWithoutKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cas(cp1)
	ctx := context.Background()
	secrets, err := r.w.Host(cp1).ReadSecrets(ctx, []string{pki + "/ca.crt", pki + "/none"})
	r.must(err)
	if len(secrets) != 1 {
		t.Fatalf("got %d secrets", len(secrets))
	}
	b := r.batch(planner.WriteFile{Path: pki + "/ca.crt", Mode: "0644", Owner: "root:root", Content: planner.Content{Ref: "host:x"}})
	b.Contents = map[string]state.Secret{"host:x": secrets[pki+"/ca.crt"]}
	_, err = r.w.Host(cp2).Perform(ctx, b)
	r.must(err)
	q := state.Query{Files: []state.FileQuery{{Path: pki + "/ca.crt", Read: state.ReadCertificate}}}
	one, two := r.observe(cp1, q).Files[pki+"/ca.crt"], r.observe(cp2, q).Files[pki+"/ca.crt"]
	if len(two.Certificates) != 1 || one.Certificates[0].KeyDigest != two.Certificates[0].KeyDigest || one.SHA256 != two.SHA256 {
		t.Errorf("got %+v, want %+v", two, one)
	}
	if one.Certificates[0].IssuerKeyDigest != one.Certificates[0].KeyDigest || !one.Certificates[0].IsCA {
		t.Errorf("CA is %+v", one.Certificates[0])
	}
	world, err := r.w.JSON()
	r.must(err)
	if bytes.Contains(world, []byte("PRIVATE")) {
		t.Error("the world holds key material")
	}
}

func TestHostConditions(t *testing.T) {
	t.Parallel()
	w := sim.New(1, sim.DefaultProfile())
	h := w.Host(cp1)
	for _, test := range []struct {
		c    sim.Conditions
		want error
	}{
		{sim.Conditions{Unreachable: true}, providers.ErrUnreachable},
		{sim.Conditions{ChangedHostKey: true}, providers.ErrHostKeyChanged},
		{sim.Conditions{RefusesKey: true}, providers.ErrAuth},
		{sim.Conditions{NoSudo: true}, providers.ErrSudo},
	} {
		w.SetConditions(cp1, test.c)
		if _, err := h.Observe(context.Background(), state.Query{}); !errors.Is(err, test.want) {
			t.Errorf("got %v, want %v", err, test.want)
		}
	}
	w.SetConditions(cp1, sim.Conditions{DiskFull: true})
	var command *providers.CommandError
	if _, err := h.Perform(context.Background(), providers.Batch{Operations: []planner.Operation{write("/etc/x", "y", "0600")}}); !errors.As(err, &command) {
		t.Errorf("got %v, want a CommandError", err)
	}
	w.SetConditions(cp1, sim.Conditions{ForeignCluster: true})
	r, err := h.Observe(context.Background(), state.Query{Files: []state.FileQuery{{Path: "/etc/kubernetes/kubelet.conf"}}})
	if err != nil || !r.Files["/etc/kubernetes/kubelet.conf"].Exists {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestInjectedFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind    sim.FaultKind
		want    error
		happens bool
	}{
		{sim.FaultUnreachable, providers.ErrUnreachable, false},
		{sim.FaultDropBefore, providers.ErrDisconnected, false},
		{sim.FaultDropAfter, providers.ErrDisconnected, true},
		{sim.FaultHang, providers.ErrTimeout, false},
		{sim.FaultPartial, providers.ErrDisconnected, false},
		{sim.FaultFail, nil, false},
	} {
		r := newRig(t)
		r.w.Fault(sim.Fault{Host: cp1, Op: "write_file", Detail: "/etc/b*", Skip: 1, Kind: test.kind})
		out, err := r.w.Host(cp1).Perform(context.Background(), r.batch(
			write("/etc/a", "", "0600"), write("/etc/b1", "", "0600"), write("/etc/b2", "", "0600"), write("/etc/c", "", "0600")))
		if err == nil || test.want != nil && !errors.Is(err, test.want) || len(out) != 3 {
			t.Errorf("%s: got %d outcomes, %v", test.kind, len(out), err)
		}
		files := r.observe(cp1, state.Query{Globs: []string{"/etc/[abc]*"}}).Files
		if !files["/etc/b1"].Exists || files["/etc/b2"].Exists != test.happens || files["/etc/c"].Exists {
			t.Errorf("%s: left %v", test.kind, files)
		}
		r.perform(cp1, write("/etc/b2", "", "0600")) // only once
	}
}

func TestEffectsAreObservable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var seen []string
	stop := errors.New("stop")
	r.w.OnEffect = func(e sim.Effect) error {
		seen = append(seen, e.String())
		if e.N == 2 && e.Done {
			return stop
		}
		return nil
	}
	_, err := r.w.Host(cp1).Perform(context.Background(), r.batch(write("/etc/a", "", "0600"), write("/etc/b", "", "0600"), write("/etc/c", "", "0600")))
	if !errors.Is(err, stop) {
		t.Fatalf("got %v", err)
	}
	want := []string{
		"1 before write_file /etc/a on " + cp1, "1 after write_file /etc/a on " + cp1,
		"2 before write_file /etc/b on " + cp1, "2 after write_file /etc/b on " + cp1,
	}
	if !slices.Equal(seen, want) {
		t.Errorf("got %v, want %v", seen, want)
	}
}

func TestRebootKeepsFileSettings(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	r.perform(cp1, write("/etc/sysctl.d/k8s.conf", "net.ipv4.ip_forward = 1\n", "0644"), write("/etc/modules-load.d/k8s.conf", "br_netfilter\n", "0644"),
		planner.SetSysctl{Name: "vm.swappiness", Value: "1"})
	r.w.Reboot(cp1)
	r.eventually("API", func() bool { return r.ready(cp1) })
	q := r.observe(cp1, state.Query{Sysctls: []string{"net.ipv4.ip_forward", "vm.swappiness"}, Modules: []string{"br_netfilter"}})
	if q.Sysctls["net.ipv4.ip_forward"] != "1" || q.Sysctls["vm.swappiness"] != "60" || !q.Modules["br_netfilter"] {
		t.Errorf("got %+v", q)
	}
}
