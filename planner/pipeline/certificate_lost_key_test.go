package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
)

// leafPairs are the pairs of a control plane that a CA has signed.
var leafPairs = []string{"apiserver", "apiserver-kubelet-client", "apiserver-etcd-client", "front-proxy-client", "etcd/server", "etcd/peer", "etcd/healthcheck-client"}

// anotherKey is a private key that belongs to no certificate.
const anotherKey = `-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIFf37xNvzFFN6Va0NB2owmSe1IwdEVhBWczYqjza2DBboAoGCCqGSM49
AwEHoUQDQgAEq3T4H0WJ/1b5I+7Tpb4lY3wdIsfuDx+Yi3/CrSkVKt1ilfJYacFU
v5IMLezaJ68RG2WSs+cDHqEHubesbQut9A==
-----END EC PRIVATE KEY-----`

// TestCertificateWithoutKeyIsReissued checks that a certificate without its key is reissued with another one, before
// the component that uses it cannot start any more.
func TestCertificateWithoutKeyIsReissued(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]string{"is missing": "delete", "holds no private key": "content garbage", "belongs to another certificate": "content " + anotherKey} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 0)
			for _, pair := range leafPairs {
				o.edit("10.0.0.12", "file /etc/kubernetes/pki/"+pair+".key "+edit)
			}
			p, err := o.plan()
			o.must(err)
			o.wantReissued(p, name, leafPairs)
			o.must(o.carryOut())
			o.wantNothing()
			o.edit("10.0.0.12", "power reboot")
			o.wantNothing()
		})
	}
}

// wantReissued checks that a plan reissues pairs on one control plane, and gives the reason.
func (o *operator) wantReissued(p *planner.Plan, why string, pairs []string) {
	o.t.Helper()
	var issued []string
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			if op, ok := op.(planner.IssueCertificate); ok {
				issued = append(issued, strings.TrimPrefix(op.To, "/etc/kubernetes/pki/"))
			}
		}
	}
	slices.Sort(issued)
	if want := slices.Sorted(slices.Values(pairs)); !slices.Equal(issued, want) {
		o.t.Errorf("issues %v, want %v", issued, want)
	}
	for _, pair := range pairs {
		if want := "/etc/kubernetes/pki/" + pair + ".key " + why; !strings.Contains(describe(p), want) {
			o.t.Errorf("the plan does not show %s:\n%s", want, describe(p))
		}
	}
}

// TestStoppedComponentWithoutKeyIsRepaired checks the same where a component has stopped without its key.
func TestStoppedComponentWithoutKeyIsRepaired(t *testing.T) {
	t.Parallel()
	for _, planes := range []int{1, 3} {
		for _, pair := range []string{"apiserver", "etcd/server", "etcd/peer", "apiserver-etcd-client"} {
			t.Run(pair, func(t *testing.T) {
				t.Parallel()
				o := founded(t, planes, 0)
				o.edit("10.0.0.11", "file /etc/kubernetes/pki/"+pair+".key delete", "power reboot")
				o.must(o.apply())
				o.must(o.apply()) // for objects that could not be observed before
				o.wantNothing()
			})
		}
	}
}

// TestUnusableSharedFileIsCopied checks that an unusable shared file counts as missing, and is copied from a
// control plane that has it.
func TestUnusableSharedFileIsCopied(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"10.0.0.11", "10.0.0.12"} {
		for name, content := range map[string]string{
			"ca.crt": "garbage", "ca.key": "garbage", "etcd/ca.key": anotherKey, "front-proxy-ca.key": anotherKey, "sa.key": "garbage", "sa.pub": "garbage",
		} {
			t.Run(host+" "+name, func(t *testing.T) {
				t.Parallel()
				o := founded(t, 3, 0)
				before := o.shared(host)
				o.edit(host, "file /etc/kubernetes/pki/"+name+" content "+content)
				p, err := o.plan()
				o.must(err)
				if made := issues(p); name != "sa.pub" && len(made) > 0 || len(p.Steps) == 0 {
					t.Errorf("%v are recreated, in %d steps", made, len(p.Steps))
				}
				o.must(o.carryOut())
				o.wantNothing()
				if got := o.shared(host); !slices.Equal(got, before) {
					t.Errorf("it has\n%v\nwant\n%v", got, before)
				}
			})
		}
	}
}

// TestUnusableSharedFileIsNamed checks that the text names the file to restore where no other control plane has
// it.
func TestUnusableSharedFileIsNamed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ca.key": "no private key in /etc/kubernetes/pki/ca.key", "ca.crt": "no certificate in /etc/kubernetes/pki/ca.crt",
		"sa.key": "no private key in /etc/kubernetes/pki/sa.key", "etcd/ca.key": "in /etc/kubernetes/pki/etcd/ca.key the key of another certificate",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 1, 0)
			content := "garbage"
			if strings.Contains(want, "another") {
				content = anotherKey
			}
			o.edit("10.0.0.11", "file /etc/kubernetes/pki/"+name+" content "+content)
			if _, err := o.planShown(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
}
