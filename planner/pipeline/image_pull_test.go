package pipeline_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/providers/sim"
)

// TestImagePullPolicyAlwaysPullsPresentImages checks that with image_pull_policy Always a node pulls all its images before it joins
// or is upgraded, including present ones, and that nothing is left to do afterwards.
func TestImagePullPolicyAlwaysPullsPresentImages(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 1))
	o.config.Nodes[1].ImagePullPolicy = "Always"
	pulls := func() map[string]int {
		p, err := o.plan()
		o.must(err)
		out := map[string]int{}
		for _, s := range p.Steps {
			for _, op := range s.Operations {
				if load, ok := op.(planner.LoadImage); ok && load.Policy == "Always" && s.Phase == "images" {
					out[s.Target.String()]++
				}
			}
		}
		return out
	}
	if got := pulls(); len(got) != 1 || got[`node.worker["w1"]`] != 3 {
		t.Errorf("pulled before the join: %v", got)
	}
	o.must(o.carryOut())
	o.wantNothing()
	o.must(sim.Edit(o.world, "10.0.0.21", "image remove registry.k8s.io/pause:3.10.2"))
	if got := pulls(); got[`node.worker["w1"]`] != 1 {
		t.Errorf("pulled later: %v", got)
	}
}

// TestImagePullInParallel checks that with image_pull_serial = false a node pulls all its images at once, the
// missing ones and, with Always, the present ones; a node's own setting overrides the cluster's.
func TestImagePullInParallel(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 2))
	bare := sim.DefaultProfile()
	bare.Images = false
	o.world = sim.New(1, bare)
	o.world.PodHash = kubeadm.StaticPodHash
	o.must(sim.Edit(o.world, "10.0.0.22", "image add registry.k8s.io/kube-proxy:v1.36.3"))
	o.config.Clusters[0].ImagePullSerial = false
	o.config.Nodes[1].ImagePullSerial = new(true)
	o.config.Nodes[2].ImagePullPolicy = "Always"
	want := map[string]string{
		`node.cp["cp1"]`:    "pull image registry.k8s.io/coredns/coredns:v1.14.2 and 6 more",
		`node.worker["w1"]`: "pull image registry.k8s.io/coredns/coredns:v1.14.2; pull image registry.k8s.io/kube-proxy:v1.36.3; pull image registry.k8s.io/pause:3.10.2",
		`node.worker["w2"]`: "pull image registry.k8s.io/coredns/coredns:v1.14.2 and 2 more",
	}
	p, err := o.plan()
	o.must(err)
	for _, s := range p.Steps {
		if s.Phase != "images" {
			continue
		}
		var ops []string
		for _, op := range s.Operations {
			ops = append(ops, op.Summary())
		}
		if got := strings.Join(ops, "; "); got != want[s.Target.String()] {
			t.Errorf("%s: %s\nwant %s", s.Target, got, want[s.Target.String()])
		}
		delete(want, s.Target.String())
	}
	if len(want) > 0 {
		t.Errorf("no step pulls: %v", want)
	}
	o.must(o.apply())
	o.wantNothing()
}

// TestResetRemovesTmpFolderOnlyIfConfigured checks that a reset removes kubeadm's folder for temporary files only if the
// configuration says so.
func TestResetRemovesTmpFolderOnlyIfConfigured(t *testing.T) {
	t.Parallel()
	const theirs = "/etc/kubernetes/tmp/theirs"
	for _, cleanup := range []bool{false, true} {
		o := newOperator(t, cluster(1, 1))
		o.config.Clusters[0].Reset = config.Reset{CleanupTmpDir: cleanup, UnmountFlags: []string{"MNT_DETACH"}}
		for _, n := range o.config.Nodes {
			o.put(n.Address, theirs, "x")
		}
		o.must(o.apply())
		o.wantNothing()
		o.destroy = true
		o.must(o.apply())
		for _, n := range o.config.Nodes {
			if stays := strings.Contains(o.world.Listing(n.Address), theirs); stays == cleanup {
				t.Errorf("cleanup_tmp_dir = %v: it stays: %v", cleanup, stays)
			}
		}
	}
}
