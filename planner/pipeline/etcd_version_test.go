package pipeline_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state"
)

// TestEtcdDowngradeIsRefused checks that an etcd image of an older minor version than the cluster's is refused,
// since etcd would not start. An older patch, a tag that is no version, and a downgrade that etcd was
// prepared for are the operator's choice.
func TestEtcdDowngradeIsRefused(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 0)
	places(base.config)
	refused := []finding{{diag.Error, "Etcd would be older than its data", "main.hcl:1", "cluster.prod", []string{
		`Cluster "prod": etcd runs 3.6.8, and the configuration sets the image tag "3.5.21-0"`, "Etcd does not start in a cluster of a newer minor version.",
		"Give etcd an image_tag of 3.6 or newer", `or have the cluster step down by one minor first, with "etcdctl downgrade enable 3.5.0" on a control plane, and plan again`,
	}}}
	noArgs := []finding{{diag.Error, "Etcd version does not support its arguments", "main.hcl:1", "cluster.prod", []string{
		`Cluster "prod": the configuration gives etcd the image tag "3.5.21-0", but Kubernetes 1.36.3 passes arguments that etcd supports since 3.6`,
		"Give etcd an image_tag of 3.6 first, with the current version of Kubernetes, and apply that; or leave image_tag out.",
	}}}
	for name, c := range map[string]struct {
		tag, downgrade string
		want           []finding
	}{
		"older":              {tag: "3.5.21-0", want: refused},
		"stepping elsewhere": {tag: "3.5.21-0", downgrade: "3.4.0", want: refused},
		"stepping down":      {tag: "3.5.21-0", downgrade: "3.5.0", want: noArgs},
		"an older patch":     {tag: "3.6.1-0"},
		"newer":              {tag: "3.7.0-0"},
		"no version":         {tag: "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, ofEtcd(t, base, c.tag, func(members []state.EtcdMember) {
				for i := range members {
					members[i].DowngradeTo = c.downgrade
				}
			}), c.want...)
		})
	}
}

// TestEtcdTooOldForKubernetesIsRefused checks that a Kubernetes version that is too new for a pinned etcd is
// refused, even as an intermediate version, and that the one before it is not.
func TestEtcdTooOldForKubernetesIsRefused(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"1.35.8": false, "1.36.3": true, "1.37.1": true} {
		o := running(t, 1, 0, "1.34.9")
		o.config.Clusters[0].Etcd.ImageTag, o.config.Clusters[0].KubernetesVersion = "3.5.24-0", version
		o.kubelets(version)
		v := o.observe()
		v.ClusterReports["prod"].Members[0].Version = "3.5.24"
		_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
		if got := strings.Contains(printedFindings(diags), "but Kubernetes 1.36"); got != want {
			t.Errorf("%s is refused: %v, want %v: %s", version, got, want, printedFindings(diags))
		}
	}
}

// ofEtcd returns the findings of a plan with a tag of etcd's image, where change modifies the observed
// members.
func ofEtcd(t *testing.T, base *operator, tag string, change func([]state.EtcdMember)) diag.Diagnostics {
	t.Helper()
	o := base.copy(t)
	places(o.config)
	o.config.Clusters[0].Etcd.ImageTag = tag
	v := o.observe()
	change(v.ClusterReports["prod"].Members)
	_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
	return diags
}

// TestEtcdUpgradeSkipsNoMinorVersion checks that etcd is upgraded by one minor version at a time, whether its tag
// is set or comes with a Kubernetes version. With intermediate versions it may go further.
func TestEtcdUpgradeSkipsNoMinorVersion(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 0)
	refused := func(runs, means, next string) []finding {
		return []finding{{diag.Error, "Etcd upgrade would skip a minor version", "main.hcl:1", "cluster.prod", []string{
			`Cluster "prod": etcd runs ` + runs + ", and " + means, "Etcd is upgraded by one minor version at a time",
			"Give etcd an image_tag of " + next + " first, apply, and continue from there, one minor version in each apply.",
		}}}
	}
	for name, c := range map[string]struct {
		tag, runs, oldest string
		want              []finding
	}{
		"the next":             {tag: "3.7.0-0", runs: "3.6.8"},
		"one is left out":      {tag: "3.8.0-0", runs: "3.6.8", want: refused("3.6.8", `the configuration sets the image tag "3.8.0-0"`, "3.7")},
		"two are left out":     {tag: "3.9.1-0", runs: "3.6.8", want: refused("3.6.8", `the configuration sets the image tag "3.9.1-0"`, "3.7")},
		"another major":        {tag: "4.0.0", runs: "3.6.8", want: refused("3.6.8", `the configuration sets the image tag "4.0.0"`, "3.7")},
		"one member is behind": {tag: "3.8.0-0", runs: "3.7.0", oldest: "3.6.8", want: refused("3.6.8", `the configuration sets the image tag "3.8.0-0"`, "3.7")},
		"with Kubernetes":      {runs: "3.4.9", want: refused("3.4.9", `Kubernetes 1.36.3 uses the image tag "3.6.8-0"`, "3.5")},
		"no version":           {tag: "mine", runs: "3.4.9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, ofEtcd(t, base, c.tag, func(members []state.EtcdMember) {
				for i := range members {
					members[i].Version = c.runs
				}
				if c.oldest != "" {
					members[1].Version = c.oldest
				}
			}), c.want...)
		})
	}
}

// TestEtcdUpgradePassesIntermediateVersion checks that an etcd two minor versions older than that of the desired version
// goes through the one of the intermediate version.
func TestEtcdUpgradePassesIntermediateVersion(t *testing.T) {
	t.Parallel()
	o := running(t, 3, 0, "1.35.8")
	for _, version := range []string{"1.37.1", "1.36.3"} {
		o.config.Clusters[0].KubernetesVersion = version
		o.kubelets(version)
		v := o.observe()
		for i := range v.ClusterReports["prod"].Members {
			v.ClusterReports["prod"].Members[i].Version = "3.5.21"
		}
		if _, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{}); diags.HasErrors() {
			t.Errorf("%s: %s", version, printedFindings(diags))
		}
	}
}

// TestEtcdUpgradeWaitsForSnapshot checks that another version of etcd waits for a snapshot, even without
// a Kubernetes upgrade, as long as any member still has to get it. The same version from another
// registry, or an argument, needs none.
func TestEtcdUpgradeWaitsForSnapshot(t *testing.T) {
	t.Parallel()
	snapshot := state.Address{Target: state.ClusterTarget("prod"), Phase: "etcd-snapshot"}
	for name, c := range map[string]struct {
		change func(*config.Etcd)
		want   bool
	}{
		"a minor":                        {func(e *config.Etcd) { e.ImageTag = "3.7.0-0" }, true},
		"a patch":                        {func(e *config.Etcd) { e.ImageTag = "3.6.9-0" }, true},
		"an older patch":                 {func(e *config.Etcd) { e.ImageTag = "3.6.1-0" }, true},
		"no version":                     {func(e *config.Etcd) { e.ImageTag = "mine" }, true},
		"another registry":               {func(e *config.Etcd) { e.ImageRepository = "registry.example.com" }, false},
		"another registry and a version": {func(e *config.Etcd) { e.ImageRepository, e.ImageTag = "registry.example.com", "3.7.0-0" }, true},
		"an argument":                    {func(e *config.Etcd) { e.Args = append(e.Args, config.Arg{Name: "snapshot-count", Value: "9000"}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 0)
			c.change(&o.config.Clusters[0].Etcd)
			p, err := o.plan()
			o.must(err)
			wantSnapshot(t, p, c.want)
		})
	}
	t.Run("the last one was stopped for it", func(t *testing.T) {
		t.Parallel()
		o := founded(t, 3, 0)
		o.config.Clusters[0].Etcd.ImageTag = "3.7.0-0"
		last := o.config.Nodes[2].Target
		cut := errors.New("the operator's machine is off")
		o.around = func(s *planner.Step) error {
			if s.Target == last && s.Phase == "etcd" {
				return cut
			}
			return nil
		}
		if err := o.apply(); !errors.Is(err, cut) {
			t.Fatal(err)
		}
		o.around = nil
		o.edit(o.config.Nodes[2].Address, "file /etc/kubernetes/manifests/etcd.yaml delete")
		p, err := o.plan()
		o.must(err)
		wantSnapshot(t, p, true)
		o.must(o.carryOut())
		p, err = o.plan()
		o.must(err)
		if p.Step(snapshot) != nil {
			t.Error("a snapshot is fetched when all have the version")
		}
	})
}

// wantSnapshot checks that every step that changes an etcd waits for a snapshot, or that there is none.
func wantSnapshot(t *testing.T, p *planner.Plan, want bool) {
	t.Helper()
	snapshot := state.Address{Target: state.ClusterTarget("prod"), Phase: "etcd-snapshot"}
	etcds := 0
	for _, s := range p.Steps {
		if s.Phase != "etcd" {
			continue
		}
		etcds++
		if slices.Contains(s.Needs, snapshot) != want {
			t.Errorf("%s needs %v, want the snapshot: %v", s.ID, s.Needs, want)
		}
	}
	if found := p.Step(snapshot) != nil; found != want || etcds == 0 {
		t.Errorf("a snapshot: %v, want %v, of %d etcds\n%s", found, want, etcds, describe(p))
	}
}
