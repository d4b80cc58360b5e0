package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim"
)

// encrypt changes how the operator's cluster encrypts objects, as an encryption block does; nil for not
// at all.
func encrypt(o *operator, at *config.AtRest) {
	c := o.config.Clusters[0]
	c.APIServer.Args = slices.DeleteFunc(c.APIServer.Args, func(a config.Arg) bool { return strings.HasPrefix(a.Name, "encryption-") })
	c.APIServer.Volumes = slices.DeleteFunc(c.APIServer.Volumes, func(v config.Volume) bool { return v.MountPath == atrest.Folder })
	if c.AtRest = at; at != nil {
		c.APIServer.Args = append(c.APIServer.Args, config.Arg{Name: "encryption-provider-config", Value: atrest.Path}, config.Arg{Name: "encryption-provider-config-automatic-reload", Value: "true"})
		c.EncryptAtRest()
	}
}

func secretbox(key string, resources ...string) *config.AtRest {
	return &config.AtRest{Provider: atrest.Secretbox, Key: key, Resources: resources}
}

// encrypted returns an operator of a running cluster that encrypts objects.
func encrypted(t *testing.T, planes int, at *config.AtRest) *operator {
	t.Helper()
	o := running(t, planes, 1, "1.36.3")
	encrypt(o, at)
	_, err := o.plan()
	o.must(err)
	o.must(o.carryOut())
	return o
}

// wantReadable checks that all API servers could read all objects all the time.
func wantReadable(o *operator) {
	o.t.Helper()
	for _, v := range o.world.Violations() {
		if strings.Contains(v, "cannot read") {
			o.t.Error(v)
		}
	}
}

// wantStored checks that etcd holds configmaps by one provider alone.
func wantStored(o *operator, id string) {
	o.t.Helper()
	if under, other := sim.Stored(o.world, "configmaps", id); under == 0 || other != 0 {
		o.t.Errorf("etcd holds %d ConfigMaps with %s, and %d others", under, id, other)
	}
}

// TestEncryptionContinuesAfterCrash stops the operator before and after effects of each change of the encryption of a
// running cluster: the same command again ends in the same place, and no API server is ever without a
// key with which an object is stored.
func TestEncryptionContinuesAfterCrash(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after *config.AtRest
		want          string
	}{
		"on":               {nil, secretbox("a", "configmaps", "secrets"), "secretbox:a"},
		"another key":      {secretbox("a", "configmaps"), secretbox("b", "configmaps"), "secretbox:b"},
		"another provider": {secretbox("a", "configmaps"), &config.AtRest{Provider: atrest.AESCBC, Key: "a", Resources: []string{"configmaps", "secrets"}}, "aescbc:a"},
		"fewer resources":  {secretbox("a", "configmaps", "secrets"), secretbox("a", "secrets"), "identity"},
		"off":              {secretbox("a", "configmaps", "secrets"), nil, "identity"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := encrypted(t, 2, c.before)
			encrypt(begin, c.after)
			_, err := begin.plan()
			begin.must(err)
			o := begin.copy(t)
			o.world.Watch = true
			first, last, ended := o.effects()
			wantReadable(o)
			wantStored(o, c.want)
			for n, done := range crashes(t, first, last, 3) {
				if done && !ended[n] {
					continue
				}
				o := begin.copy(t)
				o.world.Watch = true
				crashAt(t, o, n, done)
				wantReadable(o)
				wantStored(o, c.want)
			}
		})
	}
}

// TestEncryptionOfJoiningControlPlane checks that a control plane joins after a rotation that an
// interrupted apply has begun, with the new key alone.
func TestEncryptionOfJoiningControlPlane(t *testing.T) {
	t.Parallel()
	begin := encrypted(t, 2, secretbox("a", "configmaps"))
	encrypt(begin, secretbox("b", "configmaps"))
	_, err := begin.plan()
	begin.must(err)
	first, last, _ := begin.copy(t).effects()
	for n := first; n <= last; n += 7 {
		o := begin.copy(t)
		o.world.Watch = true
		if !crashOnce(o, n, true) && !crashOnce(o, n, false) {
			continue
		}
		o.config.Nodes = append(o.config.Nodes, cluster(3, 0).Nodes[2])
		_, err := o.plan()
		o.must(err)
		o.must(o.carryOut())
		wantReadable(o)
		wantStored(o, "secretbox:b")
		p, err := o.plan()
		o.must(err)
		if !p.Empty() {
			t.Errorf("after a crash at %d the plan is not empty:\n%s", n, describe(p))
		}
	}
}

// TestEncryptionOfNewCluster checks that a new cluster encrypts from its first object on, without
// stages.
func TestEncryptionOfNewCluster(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(2, 1))
	encrypt(o, secretbox("a", "configmaps", "secrets"))
	p, err := o.plan()
	o.must(err)
	if slices.ContainsFunc(p.Steps, func(s planner.Step) bool { return s.Phase == "encryption" && s.ID.Waypoint != "" }) {
		t.Error("a new cluster has stages")
	}
	o.world.Watch = true
	o.must(o.carryOut())
	wantReadable(o)
	wantStored(o, "secretbox:a")
	if p, err = o.plan(); err != nil || !p.Empty() {
		t.Errorf("the next plan is not empty: %v\n%s", err, describe(p))
	}
}

// TestEncryptionFileIsRepaired checks what an apply does when the file of keys was lost or changed by
// hand on some control planes, or on all.
func TestEncryptionFileIsRepaired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edits []string
		want  string
	}{
		"lost on one":     {[]string{"10.0.0.12 file " + atrest.Path + " delete"}, ""},
		"broken on one":   {[]string{"10.0.0.12 file " + atrest.Path + " content nonsense"}, ""},
		"lost on all":     {[]string{"10.0.0.11 file " + atrest.Path + " delete", "10.0.0.12 file " + atrest.Path + " delete"}, "Encryption key is lost"},
		"readable by all": {[]string{"10.0.0.12 file " + atrest.Path + " mode 0644"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := encrypted(t, 2, secretbox("a", "configmaps"))
			o.world.Watch = true
			for _, e := range c.edits {
				host, rest, _ := strings.Cut(e, " ")
				o.must(sim.Edit(o.world, host, rest))
			}
			p, err := o.plan()
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			o.must(err)
			if p.Empty() {
				t.Fatal("the plan repairs nothing")
			}
			o.must(o.carryOut())
			wantReadable(o)
			wantStored(o, "secretbox:a")
			if p, err = o.plan(); err != nil || !p.Empty() {
				t.Errorf("the next plan is not empty: %v\n%s", err, describe(p))
			}
		})
	}
}
