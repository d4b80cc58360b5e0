package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// sharedFiles are the files that all control planes share.
var sharedFiles = []string{"ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "etcd/ca.crt", "etcd/ca.key", "sa.key"}

// lose deletes certificate files on a host.
func (o *operator) lose(address string, names ...string) {
	o.t.Helper()
	for _, name := range names {
		o.must(sim.Edit(o.world, address, "file /etc/kubernetes/pki/"+name+" delete"))
	}
}

// issues lists the CAs and key pairs that a plan creates.
func issues(p *planner.Plan) []string {
	var out []string
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			switch op := op.(type) {
			case planner.IssueCA:
				out = append(out, op.To)
			case planner.IssueKeyPair:
				out = append(out, op.To)
			}
		}
	}
	return out
}

// shared returns the identities of the files that a control plane shares with the others.
func (o *operator) shared(address string) []string {
	o.t.Helper()
	var q state.Query
	for _, name := range sharedFiles {
		q.Files = append(q.Files, state.FileQuery{Path: "/etc/kubernetes/pki/" + name, Read: state.ReadDigest})
	}
	r, err := o.world.Host(address).Observe(o.t.Context(), q)
	o.must(err)
	var out []string
	for _, f := range q.Files {
		out = append(out, f.Path+" "+r.Files[f.Path].SHA256)
	}
	return out
}

// TestLostCAIsCopiedFromControlPlane checks that a shared file that a control plane has lost is copied from one that
// has it, unchanged.
func TestLostCAIsCopiedFromControlPlane(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"10.0.0.11", "10.0.0.12"} {
		for _, name := range sharedFiles {
			t.Run(host+" "+name, func(t *testing.T) {
				t.Parallel()
				o := founded(t, 3, 1)
				before := o.shared("10.0.0.13")
				o.lose(host, name)
				p, err := o.plan()
				o.must(err)
				if made := issues(p); len(made) > 0 || len(p.Steps) == 0 {
					t.Fatalf("%v are recreated, in %d steps", made, len(p.Steps))
				}
				o.must(o.carryOut())
				o.wantNothing()
				for _, address := range []string{"10.0.0.11", "10.0.0.12", "10.0.0.13"} {
					if got := o.shared(address); !slices.Equal(got, before) {
						t.Errorf("%s has\n%v\nwant\n%v", address, got, before)
					}
				}
			})
		}
	}
}

// TestLostCAIsNotRecreated checks that a CA that no control plane has any more is not recreated, and neither
// are the keys of service accounts: the text says what to do.
func TestLostCAIsNotRecreated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		planes int
		lost   []string
		want   []string
	}{
		{1, []string{"ca.crt"}, []string{`node.cp["cp1"] (10.0.0.11) has no /etc/kubernetes/pki/ca.crt.`, "Restore it", "kube-root-ca.crt", "certificate-authority-data"}},
		{1, []string{"ca.crt", "ca.key"}, []string{"/etc/kubernetes/pki/ca.crt", "from a backup of /etc/kubernetes/pki."}},
		{1, []string{"ca.key"}, []string{"no /etc/kubernetes/pki/ca.key", "restore it"}},
		{1, []string{"front-proxy-ca.crt"}, []string{"front-proxy-ca.crt", "extension-apiserver-authentication"}},
		{1, []string{"etcd/ca.crt"}, []string{"etcd/ca.crt"}},
		{1, []string{"sa.key"}, []string{"sa.key", "tokens"}},
		{1, []string{"sa.key", "sa.pub"}, []string{"sa.key", "tokens"}},
		{2, []string{"ca.crt"}, []string{"/etc/kubernetes/pki/ca.crt, and no other control plane"}},
	} {
		t.Run(strings.Join(tt.lost, " "), func(t *testing.T) {
			t.Parallel()
			o := founded(t, tt.planes, 1)
			for _, n := range o.config.Nodes[:tt.planes] {
				o.lose(n.Address, tt.lost...)
			}
			_, err := o.planShown()
			if err == nil {
				t.Fatal("the plan is not refused")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %s", err, want)
				}
			}
		})
	}
}

// TestServiceAccountPublicKeyIsDerived checks that the public key of service accounts is derived from the private
// one.
func TestServiceAccountPublicKeyIsDerived(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 0)
	o.lose("10.0.0.11", "sa.pub")
	o.must(o.apply())
	o.wantNothing()
}

// TestPlanNamesMissingCAKey checks that the plan names a CA's missing key instead of calling all of the CA
// new.
func TestPlanNamesMissingCAKey(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	o.lose("10.0.0.12", "ca.key")
	p, err := o.plan()
	o.must(err)
	if want := `/etc/kubernetes/pki/ca.key is missing`; !strings.Contains(describe(p), want) {
		t.Errorf("the plan does not show %s:\n%s", want, describe(p))
	}
}
