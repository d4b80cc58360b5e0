package pipeline_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/artifacts"
	"github.com/kubewright/kubewright/config/artifacts/artifactstest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// kubernetesImages returns all images that a cluster of cluster() needs.
func kubernetesImages(cfg *config.Config) []string {
	return kubeadm.Images(kubeadm.Input{Cluster: cfg.Clusters[0], Node: cfg.Nodes[0], Facts: &state.Facts{}})
}

const site = "example.internal/network:1"

// airGapped returns an operator with a folder of artifacts and bare hosts that reach no registry.
func airGapped(t *testing.T, cfg *config.Config) (*operator, artifactstest.Folder) {
	t.Helper()
	o := newOperator(t, cfg)
	for _, n := range cfg.Nodes {
		for _, edit := range []string{"profile bare", "condition no-registry on"} {
			o.must(sim.Edit(o.world, n.Address, edit))
		}
	}
	f := artifactstest.New("amd64", "1.36.3", append(kubernetesImages(cfg), site)...)
	f["containerd/mirrors.toml"] = []byte("version = 3\n")
	o.bring(f)
	return o, f
}

// bring replaces the operator's folder of artifacts.
func (o *operator) bring(f artifactstest.Folder) {
	o.t.Helper()
	o.artifacts = o.t.TempDir()
	o.must(f.Write(o.artifacts))
	catalog, diags := artifacts.Read(o.artifacts, o.artifacts, state.Source{}, &artifacts.Memory{})
	for _, d := range diags {
		o.t.Error(d)
	}
	o.config.Clusters[0].Install.Artifacts, o.config.Clusters[0].Install.Catalog = o.artifacts, catalog
}

// TestInstallRestoresBareHosts checks that bare hosts become a cluster and are as before after its destruction.
func TestInstallRestoresBareHosts(t *testing.T) {
	t.Parallel()
	o, _ := airGapped(t, cluster(2, 1))
	before := o.listings()
	o.must(o.apply())
	o.wantNothing()
	r := o.fleet.Reports[o.config.Nodes[2].Target]
	if r.Facts.KubeletVersion != "1.36.3" || r.Facts.RuntimeVersion != "2.1.4" || !strings.Contains(strings.Join(r.Images, " "), site) {
		t.Errorf("kubelet %s, runtime %s, images %v", r.Facts.KubeletVersion, r.Facts.RuntimeVersion, r.Images)
	}
	for _, image := range r.Images {
		if strings.Contains(image, "kube-apiserver") {
			t.Error("a worker was sent images of control planes")
		}
	}
	o.destroy = true
	o.must(o.apply())
	if after := o.listings(); after != before {
		t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
	}
}

// TestInstallKeepsPackagedRuntime checks that a host with runtime and kubelet from packages keeps these beside
// ours, and gets back the files that ours replaced.
func TestInstallKeepsPackagedRuntime(t *testing.T) {
	t.Parallel()
	o, f := airGapped(t, cluster(1, 1))
	worker := o.config.Nodes[1].Address
	for _, edit := range []string{
		"profile prepared", "file /opt/cni/bin/bridge content the site's own", "file /etc/crictl.yaml content timeout: 3",
		"file /etc/containerd/config.toml content password = 1", "unit kubelet start",
	} {
		o.must(sim.Edit(o.world, worker, edit))
	}
	// One file matches the artifacts already: it is not ours to remove.
	f["kubelet"] = artifactstest.Program("arm64", "other machines")
	o.bring(f)
	before := o.listings()
	p, err := o.plan()
	o.must(err)
	if text := describe(p); strings.Contains(text, "password") {
		t.Errorf("the plan shows the content of a file that is not ours:\n%s", text)
	}
	o.must(o.carryOut())
	o.wantNothing()
	if got := o.fleet.Reports[o.config.Nodes[1].Target].Facts.RuntimeVersion; got != "2.1.4" {
		t.Errorf("the runtime is %s", got)
	}
	o.destroy = true
	o.must(o.apply())
	if after := o.listings(); after != before {
		t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
	}
}

// TestInstallKeepListSurvivesReset checks that parts in install.keep stay when a node is reset, even if the cluster's
// block is gone.
func TestInstallKeepListSurvivesReset(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		o, _ := airGapped(t, cluster(1, 0))
		o.config.Clusters[0].Install.Keep = []string{"runtime", "images"}
		o.must(o.apply())
		address := o.config.Nodes[0].Address
		if gone {
			o.config = nothing()
		} else {
			o.destroy = true
		}
		o.must(o.apply())
		text := o.world.Listing(address)
		for path, stays := range map[string]bool{
			"/usr/local/bin/containerd ": true, "/etc/containerd/conf.d/mirrors.toml ": true, "/usr/local/sbin/runc ": true, "/var/lib/containerd ": true,
			"unit containerd.service active enabled": true,
			"/usr/local/bin/kubelet ":                false, "/opt/cni ": false, "/etc/systemd/system/kubelet.service ": false, "/var/lib/kubewright ": false,
		} {
			if strings.Contains(text, path) != stays {
				t.Errorf("gone %v: %s is there: %v, want %v", gone, path, !stays, stays)
			}
		}
	}
}

// TestInstallChangeRestartsOneByOne checks that another artifact is installed and what runs of it restarted, one
// control plane after the other; everything else is left alone.
func TestInstallChangeRestartsOneByOne(t *testing.T) {
	t.Parallel()
	installed, folder := airGapped(t, cluster(2, 1))
	for _, n := range installed.config.Nodes {
		installed.must(sim.Edit(installed.world, n.Address, "file /etc/cni/net.d/10-site.conflist content {}"))
	}
	before := installed.listings()
	installed.must(installed.apply())
	for name, test := range map[string]struct {
		change func(artifactstest.Folder)
		impact string
		// uploads are the files that are sent to each node.
		uploads []string
	}{
		"kubelet": {func(f artifactstest.Folder) {
			f["amd64/kubelet"] = artifactstest.Program("amd64", "Kubernetes v1.36.3, built again")
		}, "restarts the kubelet here; pods keep running", []string{"/usr/local/bin/kubelet"}},
		"containerd": {func(f artifactstest.Folder) {
			delete(f, "containerd-2.1.4-linux-amd64.tar.gz")
			f["containerd-2.1.5-linux-amd64.tar.gz"] = artifactstest.Archive(map[string][]byte{
				"bin/containerd": artifactstest.Program("amd64", "containerd 2.1.5"), "bin/ctr": artifactstest.Program("amd64", "ctr 2.1.4"),
			})
		}, "restarts containerd here; pods keep running", []string{"/usr/local/bin/containerd"}},
		"plugins": {func(f artifactstest.Folder) {
			f["cni-plugins-linux-amd64-v1.7.1.tgz"] = artifactstest.Archive(map[string][]byte{"./bridge": artifactstest.Program("amd64", "new"), "./vlan": artifactstest.Program("amd64", "vlan")})
		}, "", []string{"/opt/cni/bin/bridge", "/opt/cni/bin/vlan"}},
		"configuration": {func(f artifactstest.Folder) { f["containerd/mirrors.toml"] = []byte("version = 2\n") }, "restarts containerd here; pods keep running", []string{"/etc/containerd/conf.d/mirrors.toml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, f := installed.copy(t), maps.Clone(folder)
			test.change(f)
			o.bring(f)
			p, err := o.plan()
			o.must(err)
			if add, change, destroy := p.Counts(); add != 0 || change != 3 || destroy != 0 || len(p.Steps) != 3 {
				t.Errorf("%d to add, %d to change, %d to destroy in %d steps; want one step on each node:\n%s", add, change, destroy, len(p.Steps), describe(p))
			}
			for _, s := range p.Steps {
				if got := strings.Join(uploaded(s), " "); got != strings.Join(test.uploads, " ") || s.Impact != test.impact {
					t.Errorf("%s sends %s (%s); want %v (%s)", s.ID, got, s.Impact, test.uploads, test.impact)
				}
				limits := strings.Join(s.Limits, " ")
				if one := strings.Contains(limits, "control-plane-disruption"); one != (test.impact != "" && s.Target.Name == "cp") || !strings.Contains(limits, "uploads") {
					t.Errorf("%s has limits %s", s.ID, limits)
				}
			}
			o.must(o.carryOut())
			o.wantNothing()
			o.destroy = true
			o.must(o.apply())
			if after := o.listings(); after != before {
				t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
			}
		})
	}
}

// uploaded returns the paths of the files that a step sends.
func uploaded(s planner.Step) []string {
	var out []string
	for _, op := range s.Operations {
		if u, ok := op.(planner.UploadArtifact); ok {
			for _, f := range u.Files {
				out = append(out, f.Path)
			}
		}
	}
	return out
}

// TestInstallDriftIsCorrected checks that a replaced program is corrected, that a missing image is sent again, and
// nothing else.
func TestInstallDriftIsCorrected(t *testing.T) {
	t.Parallel()
	o, _ := airGapped(t, cluster(1, 1))
	for _, n := range o.config.Nodes {
		o.must(sim.Edit(o.world, n.Address, "file /etc/cni/net.d/10-site.conflist content {}"))
	}
	o.must(o.apply())
	worker := o.config.Nodes[1].Address
	o.must(sim.Edit(o.world, worker, "file /usr/local/sbin/runc content #!/bin/sh"))
	o.must(sim.Edit(o.world, worker, "image remove "+site))
	p, err := o.plan()
	o.must(err)
	text := describe(p)
	if len(p.Steps) != 2 || !strings.Contains(text, `install/binary:/usr/local/sbin/runc (`+planner.ReasonDrift) || len(p.Changes) != 2 || !strings.Contains(text, "images/image:"+site) {
		t.Errorf("got\n%s", text)
	}
	o.must(o.carryOut())
	o.wantNothing()
}

// TestInstallRemovedBlockKeepsSoftware checks that installed software stays until the node is reset if its block or its
// artifact is removed.
func TestInstallRemovedBlockKeepsSoftware(t *testing.T) {
	t.Parallel()
	o, _ := airGapped(t, cluster(1, 1))
	before := o.listings()
	o.must(o.apply())
	made := o.listings()
	o.config.Clusters[0].Install = config.Install{}
	p, err := o.plan()
	o.must(err)
	if len(p.Steps) != 0 {
		t.Errorf("the plan is not empty:\n%s", describe(p))
	}
	o.must(o.carryOut())
	o.wantNothing()
	if after := o.listings(); after != made {
		t.Errorf("hosts have changed:\n%s", udiff.Unified("before", "after", made, after))
	}
	o.destroy = true
	o.must(o.apply())
	if after := o.listings(); after != before {
		t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
	}
}

// TestInstallContinuesAfterCrash checks that the next apply continues one that was interrupted before or after any
// effect, and that a destroy leaves the hosts as they were.
func TestInstallContinuesAfterCrash(t *testing.T) {
	t.Parallel()
	begin, _ := airGapped(t, cluster(1, 1))
	for _, edit := range []string{"profile prepared", "file /etc/containerd/config.toml content site", "file /opt/cni/bin/bridge content site"} {
		begin.must(sim.Edit(begin.world, begin.config.Nodes[1].Address, edit))
	}
	before := begin.listings()
	tried := 0
	crashAnywhere(t, begin, 23, func(o *operator) {
		// Tries alternate before and after each of the first 40 effects, in strides: a few tries are
		// spread over all, and 80 cover each.
		at := tried * 23 % 80
		tried++
		n, done := at/2+1, at%2 == 1
		crashOnceIn(o, n, done)
		o.must(o.apply())
		if after := o.listings(); after != before {
			t.Fatalf("after a crash at effect %d of the destroy (done %v) hosts differ from before:\n%s", n, done, udiff.Unified("before", "after", before, after))
		}
	})
}

// crashOnceIn lets a destroy crash some effects after its beginning.
func crashOnceIn(o *operator, n int, done bool) {
	o.destroy = true
	count, crashed := 0, false
	o.world.OnEffect = func(e sim.Effect) error {
		if !e.Done {
			count++
		}
		if crashed || count == n && e.Done == done {
			crashed = true
			return errCrash
		}
		return nil
	}
	_ = o.apply()
	o.world.OnEffect = nil
}

// TestInstallReportsEverythingMissing checks that everything that artifacts and hosts lack is reported before anything
// is changed.
func TestInstallReportsEverythingMissing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(artifactstest.Folder)
		edit   string
		policy string
		want   []string
	}{
		"architecture": {edit: "condition arch arm64", want: []string{"the machine is arm64, but ", " has artifacts for amd64 only", `ignore_preflight_errors = ["Artifacts"]`}},
		"runtime": {change: func(f artifactstest.Folder) { delete(f, "containerd-2.1.4-linux-amd64.tar.gz") }, want: []string{
			"no container runtime answers, and the artifacts have no containerd", "or put containerd-VERSION-linux-amd64.tar.gz into ",
		}},
		"runc":    {change: func(f artifactstest.Folder) { delete(f, "runc.amd64") }, want: []string{"runc is missing, both on the host and among the artifacts"}},
		"kubelet": {change: func(f artifactstest.Folder) { delete(f, "amd64/kubelet") }, want: []string{"there is no kubelet, and the artifacts have no kubelet"}},
		"tar":     {edit: "file /usr/bin/tar delete", want: []string{"tar is not in the PATH, and is needed to unpack the artifacts"}},
		"images": {
			change: func(f artifactstest.Folder) {
				for name := range f {
					if strings.Contains(filepath.Base(name), "pause") {
						delete(f, name)
					}
				}
				f["amd64/images/mirror.tar"] = artifactstest.Image("amd64", "mirror.internal/pause:3.10.2")
			}, policy: "Never",
			want: []string{"image_pull_policy is Never: registry.k8s.io/pause:3.10.2", "under another name: mirror.internal/pause:3.10.2 in amd64/images/mirror.tar"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, f := airGapped(t, cluster(1, 0))
			if test.change != nil {
				test.change(f)
			}
			o.bring(f)
			if test.edit != "" {
				o.must(sim.Edit(o.world, o.config.Nodes[0].Address, test.edit))
			}
			o.config.Clusters[0].ImagePullPolicy = test.policy
			_, diags := pipeline.Plan(o.observe(), planner.Plan{}, planner.Options{})
			var text strings.Builder
			show(t, diags...)
			for _, d := range diags {
				text.WriteString(d.Detail + "\n")
			}
			for _, want := range test.want {
				if !diags.HasErrors() || !strings.Contains(text.String(), want) {
					t.Errorf("%q is not reported:\n%s", want, text.String())
				}
			}
		})
	}
}
