package pipeline_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// withEtcdUser has a control decide who owns etcd's data.
func (o *operator) withEtcdUser(on bool) {
	o.config.Clusters[0].Hardening = nil
	if on {
		o.config.Clusters[0].Hardening = &config.Hardening{Enforced: []string{"1.1.12"}}
	}
}

// wantEtcdOwner checks the owner of etcd's data on each control plane, and whether its user is there.
func (o *operator) wantEtcdOwner(owner string, user bool) {
	o.t.Helper()
	for _, n := range o.config.Nodes {
		listing := o.world.Listing(n.Address)
		plane := n.Role == config.ControlPlane
		if there := strings.Contains(listing, "file /var/lib/etcd directory 0700 "+owner+"\n"); there != plane {
			o.t.Errorf("%s has data that belongs to %s: %t", n.Address, owner, there)
		}
		if there := strings.Contains(listing, "\nuser etcd\n"); there != (plane && user) {
			o.t.Errorf("%s has the user: %t", n.Address, there)
		}
	}
}

// TestEtcdUserContinuesAfterCrash stops the operator at effects of an apply that makes the user of etcd's
// data, and at all of one that removes it: the same command again ends in the same place, and the host
// is given back as it was.
func TestEtcdUserContinuesAfterCrash(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(2, 1))
	before := o.listings()
	o.withEtcdUser(true)
	crashAnywhere(t, o, 41, func(o *operator) { o.wantEtcdOwner("etcd:etcd", true) })

	o.must(o.apply())
	kept := o.copy(t)
	o.withEtcdUser(false)
	_, err := o.plan()
	o.must(err)
	begin := o.copy(t)
	first, last, ended := o.effects()
	o.wantNothing()
	o.wantEtcdOwner("root:root", false)
	for n := first; n <= last; n++ {
		for _, done := range []bool{false, true} {
			if done && !ended[n] {
				continue
			}
			c := begin.copy(t)
			crashAt(t, c, n, done)
			c.wantEtcdOwner("root:root", false)
		}
	}

	kept.destroy = true
	kept.must(kept.apply())
	if after := kept.listings(); after != before {
		t.Errorf("hosts differ from before:\n%s", after)
	}
}

// TestEtcdUserWithoutPreparation checks that a host that is not to be prepared keeps root as the owner of
// etcd's data, and that an external etcd is not concerned.
func TestEtcdUserWithoutPreparation(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*operator){
		"skipped": func(o *operator) { o.config.Clusters[0].SkipPhases = []string{"prepare"} },
		"external": func(o *operator) {
			o.config.Clusters[0].Etcd.External = &config.ExternalEtcd{Endpoints: []string{"https://etcd.example.com:2379"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, cluster(1, 0))
			edit(o)
			o.must(o.apply())
			o.withEtcdUser(true)
			p, err := o.plan()
			o.must(err)
			for _, c := range p.Changes {
				t.Errorf("%s %s", c.Action, c.Address)
			}
			if listing := o.world.Listing("10.0.0.11"); strings.Contains(listing, "etcd:etcd") {
				t.Error(listing)
			}
		})
	}
}

// TestPartOfEtcdUserStays checks that a user or a group that was there before is not removed.
func TestPartOfEtcdUserStays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		there state.UserReport
		keep  string
		made  bool
	}{
		"the user":  {state.UserReport{User: true}, planner.KeepUser, true},
		"the group": {state.UserReport{Group: true}, planner.KeepGroup, true},
		"neither":   {state.UserReport{}, "", true},
		"both":      {state.UserReport{User: true, Group: true}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 1, 0)
			o.withEtcdUser(true)
			v := o.observe()
			v.Reports[o.config.Nodes[0].Target].Users = map[string]state.UserReport{"etcd": tt.there}
			r, diags := o.planOf(v, planner.Options{})
			if len(diags) > 0 || len(r.Plan.Steps) != 1 {
				t.Fatalf("%v, %d steps", diags, len(r.Plan.Steps))
			}
			var created bool
			for _, op := range r.Plan.Steps[0].Operations {
				switch op := op.(type) {
				case planner.Mark:
					keep, made := op.Marks.Settings["user:etcd"]
					if made != tt.made || keep != tt.keep {
						t.Errorf("the marker has %q, %t", keep, made)
					}
				case planner.SystemUser:
					created = true
				}
			}
			if created != tt.made {
				t.Errorf("it is created: %t", created)
			}
		})
	}
}
