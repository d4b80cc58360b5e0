package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
)

// ageing returns a cluster whose CAs expire within 300 hours, and the certificates that they signed
// later.
func ageing(t *testing.T) *operator {
	t.Helper()
	o := newOperator(t, cluster(3, 1))
	places(o.config)
	c := &o.config.Clusters[0].Certificates
	c.CAValidity, c.Validity, c.RenewBefore = 2000*time.Hour, 900*time.Hour, 100*time.Hour
	o.must(o.apply())
	for range 2 {
		o.world.Advance(850 * time.Hour)
		o.must(o.apply()) // for everything that can be reached
		o.must(o.apply())
	}
	return o
}

// whileEnding returns a copy whose rotation was interrupted before a step, some hours later, and the
// requested rotations.
func (o *operator) whileEnding(t *testing.T, cas, step string, hours time.Duration) (*operator, []topology.Rotation) {
	t.Helper()
	out := o.copy(t)
	for name := range strings.FieldsSeq(cas) {
		out.rotate = append(out.rotate, rotationOf(t, name))
	}
	asked := out.rotate
	out.around = func(s *planner.Step) error {
		if s.ID.String() == step {
			return errCrash
		}
		return nil
	}
	if out.apply() == nil {
		t.Fatalf("there is no %s", step)
	}
	out.around, out.rotate = nil, nil
	out.world.Advance(hours * time.Hour)
	return out, asked
}

// saidOfEnded returns the diagnostics of the last plan about expired CAs, with their severity.
func (o *operator) saidOfEnded() []string {
	var out []string
	for _, d := range o.said {
		if d.Summary == "Expired CA is replaced" || d.Summary == "CA certificate has expired" {
			out = append(out, map[diag.Severity]string{diag.Error: "error", diag.Warning: "warning"}[d.Severity]+": "+d.Detail)
		}
	}
	return out
}

// TestOldCAExpiresWhileRotating checks that the old CA may expire once most control planes serve
// certificates of the new one. The rotation continues with an ordinary apply, and with the command that
// requested it, which replaces nothing at once. A CA that is not rotated is another matter.
func TestOldCAExpiresWhileRotating(t *testing.T) {
	t.Parallel()
	base := ageing(t)
	const all = "ca etcd-ca front-proxy-ca"
	for name, c := range map[string]struct {
		cas, step string
		again     bool
		says      []string
	}{
		"a control plane is left":        {all, `node.cp["cp3"]/certs@reissue`, false, nil},
		"a control plane is left, asked": {all, `node.cp["cp3"]/certs@reissue`, true, nil},
		"kubelets are left":              {all, `node.cp["cp1"]/kubelet-start@reissue`, false, nil},
		"kubelets are left, asked":       {all, `node.cp["cp1"]/kubelet-start@reissue`, true, nil},
		"all is of the new ones":         {all, `node.cp["cp1"]/certs@drop-old`, false, nil},
		"all is of the new ones, asked":  {all, `node.cp["cp1"]/certs@drop-old`, true, nil},
		"the front proxy's has ended": {"ca etcd-ca", `node.cp["cp1"]/certs@drop-old`, true, []string{
			`warning: The CA "front-proxy-ca" (/etc/kubernetes/pki/front-proxy-ca.crt) expired on`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, asked := base.whileEnding(t, c.cas, c.step, 400)
			if c.again {
				o.rotate = asked
			}
			p, err := o.planShown()
			o.must(err)
			said := o.saidOfEnded()
			if len(said) != len(c.says) {
				t.Errorf("got %q, want %q", said, c.says)
			}
			for i := range c.says {
				if !strings.HasPrefix(said[i], c.says[i]) {
					t.Errorf("got %q, want %q", said[i], c.says[i])
				}
			}
			for _, e := range p.FirstEnds() {
				if strings.HasSuffix(e.Path, "/ca.crt") {
					t.Errorf("%s of %s is listed as the first to expire, on %s", e.Path, e.Host, e.NotAfter)
				}
			}
			o.must(o.carryOut())
			for _, d := range o.world.Distrust() {
				t.Error(d)
			}
			o.wantNothing()
		})
	}
}

// TestExpiredCAsAreReplacedWhileRotating checks that CAs are replaced at once, as if no rotation had begun, if most
// control planes serve certificates of an expired old CA: no component answers then. Nothing of the
// rotation is left, and an interrupted replacement continues.
func TestExpiredCAsAreReplacedWhileRotating(t *testing.T) {
	t.Parallel()
	base := ageing(t)
	for _, at := range []string{`node.cp["cp2"]/certs@trust-both`, `node.cp["cp1"]/certs@reissue`, `node.cp["cp2"]/certs@reissue`} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			begin, asked := base.whileEnding(t, "ca etcd-ca front-proxy-ca", at, 400)
			wantRefused(t, begin, "CA certificate has expired", "⟨apply +rotate=cluster.prod/ca +rotate=cluster.prod/front-proxy-ca +rotate=cluster.prod/etcd-ca⟩")
			begin.rotate = asked
			_, err := begin.plan()
			begin.must(err)
			first, last, _ := begin.copy(t).effects()
			for n := range crashes(t, first, last, 41) {
				o := begin.copy(t)
				crashOnce(o, n, false)
				o.rotate = asked
				o.world.Advance(time.Minute)
				o.comesToRest()
			}
			begin.must(begin.carryOut())
			begin.comesToRest()
			for _, d := range begin.world.Distrust() {
				t.Error(d)
			}
		})
	}
}

// comesToRest applies until nothing is left to do, a few times at most, and checks that no file of a
// rotation is left.
func (o *operator) comesToRest() {
	o.t.Helper()
	for range 4 {
		p, err := o.plan()
		o.must(err)
		if p.Empty() {
			break
		}
		o.must(o.carryOut())
	}
	o.wantNothing()
	for _, n := range o.config.Nodes {
		for _, left := range []string{"-next.crt", "-next.key", "-old.crt", "-ended.crt"} {
			for _, f := range o.files(n.Address, left) {
				o.t.Errorf("%s has %s", n.Address, f)
			}
		}
	}
}

// TestCertificatesExpireWhileRotating checks that certificates that expire during an unfinished rotation are first
// issued over SSH, and that all components run afterwards, or as soon as the rotation continues if that
// was interrupted as well. With KUBEWRIGHT_LONG set both are tried at every moment, otherwise one of
// them.
func TestCertificatesExpireWhileRotating(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 1)
	for cas, moments := range map[string][]string{
		"ca etcd-ca": {"cp2/certs@trust-both", "cp2/control-plane@trust-both", "cp1/certs@reissue", "cp2/control-plane@reissue", "cp1/certs@drop-old", "cp2/etcd@drop-old"},
		"ca":         {"cp2/kubeconfig@trust-both", "cp1/certs@drop-old"},
		"etcd-ca":    {"cp2/etcd@trust-both", "cp2/certs@drop-old"},
	} {
		for i, at := range moments {
			for _, cut := range []bool{false, true} {
				if cut != (i%2 == 1) && !long() {
					continue
				}
				t.Run(fmt.Sprint(cas, "/", at, "/", cut), func(t *testing.T) {
					t.Parallel()
					key, step, _ := strings.Cut(at, "/")
					o, _ := base.whileEnding(t, cas, `node.cp["`+key+`"]/`+step, 9000)
					if cut {
						o.around = func(s *planner.Step) error {
							if s.Phase == "control-plane" {
								return errCrash
							}
							return nil
						}
						if o.apply() == nil {
							t.Fatal("no control plane is touched")
						}
						o.around = nil
					}
					o.must(o.apply())
					for pod, r := range o.observe().ClusterReports["prod"].StaticPods {
						if !cut && !r.Ready {
							t.Errorf("%s does not run before the rotation continues", pod)
						}
					}
					o.must(o.apply())
					o.wantNothing()
				})
			}
		}
	}
}

// TestInterruptedCAReplacementContinues checks that a replacement at once that was interrupted at any moment continues
// both with the command that requested it, for the requested CAs only, and without its flags.
func TestInterruptedCAReplacementContinues(t *testing.T) {
	t.Parallel()
	base := ageing(t)
	for _, fresh := range [][]string{{"ca", "front-proxy-ca"}, {"etcd-ca", "front-proxy-ca"}, nil} {
		begin := base.copy(t)
		for _, name := range fresh { // these expire later than the others
			begin.rotate = append(begin.rotate, rotationOf(t, name))
		}
		begin.must(begin.apply())
		begin.rotate = nil
		begin.world.Advance(400 * time.Hour)
		var names []string
		for _, name := range []string{"ca", "etcd-ca", "front-proxy-ca"} {
			if !slices.Contains(fresh, name) {
				begin.rotate, names = append(begin.rotate, rotationOf(t, name)), append(names, name)
			}
		}
		asked := begin.rotate
		t.Run(strings.Join(names, " "), func(t *testing.T) {
			t.Parallel()
			_, err := begin.plan()
			begin.must(err)
			first, last, _ := begin.copy(t).effects()
			for n, done := range crashes(t, first, last, 41) {
				for _, again := range [][]topology.Rotation{asked, nil} {
					if done && n == last && again != nil {
						continue // it is complete, and the flags would request another one
					}
					o := begin.copy(t)
					crashOnce(o, n, done)
					o.rotate = again
					o.world.Advance(time.Minute)
					if _, err := o.plan(); again == nil && err != nil && strings.Contains(err.Error(), "⟨apply +rotate=cluster.prod/") {
						o.rotate = asked // the plan names the flags for CAs that were not reached
					}
					_, err := o.plan()
					o.must(err)
					if err := o.carryOut(); err != nil {
						t.Fatalf("after a crash at effect %d (done %v), asked %v: %v", n, done, o.rotate, err)
					}
					o.comesToRest()
				}
			}
		})
	}
}
