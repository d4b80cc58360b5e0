package phases_test

import (
	"testing"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases"
)

// TestOlderEtcd: an image of etcd of an older minor than the cluster's is refused, since
// etcd would not start. An older patch, a tag that is no version, and a step down that
// etcd was told of are the operator's to choose.
func TestOlderEtcd(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 0)
	places(base.config)
	refused := []finding{{diag.Error, "Etcd would be older than its data", "main.hcl:1", "cluster.prod", []string{
		`Cluster "prod": its etcd runs 3.6.8, and the configuration gives it the image tag "3.5.21-0"`, "An etcd does not start in a cluster of a newer minor. Nothing is changed on any host.",
		"Give etcd an image_tag of 3.6 or newer", `or have the cluster step down by one minor first, with "etcdctl downgrade enable 3.5.0" on a control plane, and plan again`,
	}}}
	for name, c := range map[string]struct {
		tag, downgrade string
		want           []finding
	}{
		"older":              {tag: "3.5.21-0", want: refused},
		"stepping elsewhere": {tag: "3.5.21-0", downgrade: "3.4.0", want: refused},
		"stepping down":      {tag: "3.5.21-0", downgrade: "3.5.0"},
		"an older patch":     {tag: "3.6.1-0"},
		"newer":              {tag: "3.7.0-0"},
		"no version":         {tag: "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			places(o.config)
			o.config.Clusters[0].Etcd.ImageTag = c.tag
			v := o.observe()
			members := v.Clusters["prod"].Members
			for i := range members {
				members[i].DowngradeTo = c.downgrade
			}
			o.view = v
			_, diags := phases.Plan(v, planner.Plan{}, planner.Options{})
			wantFindings(t, diags, c.want...)
		})
	}
}
