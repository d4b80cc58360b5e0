package pipeline_test

import (
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestReplaceKeepsUserFiles checks that a user's files beside those of Kubernetes, which were
// added after the bootstrap or before the adoption, configure the rejoining node as well. Nothing of
// the old node stays beside them, and a destroy removes everything.
func TestReplaceKeepsUserFiles(t *testing.T) {
	t.Parallel()
	const host, file = "10.0.0.12", "/etc/kubernetes/enc/enc.yaml"
	again := func(o *operator) { o.replace = []state.Target{o.config.Nodes[1].Target} }
	for name, c := range map[string]struct {
		adopted bool
		then    func(*operator)
	}{
		"it is replaced":      {false, again},
		"it was adopted":      {true, again},
		"it becomes a worker": {false, func(o *operator) { o.become(1, config.Worker) }},
		"and one again":       {false, func(o *operator) { o.become(1, config.Worker); o.must(o.apply()); o.become(1, config.ControlPlane) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := founded
			if c.adopted {
				of = adopted
			}
			o := of(t, 3, 0)
			theirs := []string{file, "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/x/x", "/etc/systemd/logind.conf.d/10-mine.conf"}
			for _, n := range o.config.Nodes {
				for _, p := range theirs {
					o.edit(n.Address, "file "+p+" content mine")
				}
				o.edit(n.Address, `file `+file+` content {"apiVersion":"apiserver.config.k8s.io/v1","kind":"EncryptionConfiguration","resources":[{"resources":["secrets"],"providers":[{"identity":{}}]}]}`)
			}
			if !c.adopted {
				server := &o.config.Clusters[0].APIServer
				server.Args = []config.Arg{{Name: "encryption-provider-config", Value: file}}
				server.Volumes = []config.Volume{{Name: "enc", HostPath: file, MountPath: file, PathType: "File"}}
				o.must(o.apply())
			}
			o.edit(host, "file /etc/kubernetes/pki/of-the-old-node content x", "file /etc/kubernetes/manifests/of-the-old-node content x")
			c.then(o)
			o.must(o.apply())
			o.replace = nil
			o.wantNothing()
			listing := o.world.Listing(host)
			for _, p := range theirs {
				if !strings.Contains(listing, "file "+p+" ") {
					t.Errorf("%s is gone", p)
				}
			}
			if strings.Contains(listing, "of-the-old-node") {
				t.Error("the old node has left files")
			}
			// Two folders, the CA and the kubelet's kubeconfig, besides the user's files.
			if n := strings.Count(listing, "file /etc/kubernetes/"); o.config.Nodes[1].Role == config.Worker && n != 6 {
				t.Errorf("a worker has %d files below /etc/kubernetes:\n%s", n, listing)
			}
			o.destroy = true
			o.must(o.apply())
			if strings.Contains(o.listings(), "/etc/kubernetes") {
				t.Errorf("the destroy leaves files:\n%s", o.world.Listing(host))
			}
		})
	}
}

// TestDestroyRestoresHostOfPromotedWorker checks that folders on a worker's host that only a control plane needs,
// such as the mount point of etcd's disk, are as before after the worker became one and the cluster was
// destroyed.
func TestDestroyRestoresHostOfPromotedWorker(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]bool{"it stays a control plane": false, "it becomes a worker again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, cluster(2, 1))
			cl := o.config.Clusters[0]
			cl.Etcd.DataDir, cl.Certificates.Dir = "/data/disk/etcd", "/data/disk/pki"
			for _, n := range o.config.Nodes {
				for _, dir := range []string{"/data/disk/etcd", "/data/disk/pki/etcd"} {
					o.edit(n.Address, "file "+dir+"/x content x", "file "+dir+"/x delete", "file "+dir+" mode 0750", "file "+dir+" owner daemon:disk")
				}
			}
			before := o.listings()
			o.must(o.apply())
			o.become(2, config.ControlPlane)
			o.must(o.apply())
			o.wantNothing()
			if back {
				o.become(2, config.Worker)
				o.must(o.apply())
			}
			o.destroy = true
			o.must(o.apply())
			if after := o.listings(); after != before {
				t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
			}
		})
	}
}

// become changes the role of a node.
func (o *operator) become(i int, role config.Role) {
	n := *o.config.Nodes[i]
	n.Role = role
	o.config.Nodes[i] = &n
}

// TestReplaceRefusesRemovalOfRequiredFile checks that the plan refuses a replacement whose reset removes a file
// that a volume requires: the API server of the rejoined node would not start.
func TestReplaceRefusesRemovalOfRequiredFile(t *testing.T) {
	t.Parallel()
	const file = pkiDir + "enc.yaml"
	o := founded(t, 2, 0)
	places(o.config)
	for _, n := range o.config.Nodes {
		o.edit(n.Address, "file "+file+" content mine")
	}
	volume(file, "File")(o.config)
	o.must(o.apply())
	o.wantNothing()
	o.replace = []state.Target{o.config.Nodes[1].Target}
	_, diags := o.planOf(o.observe(), planner.Options{})
	wantFindings(t, diags, finding{diag.Error, "Host is not ready for Kubernetes", "main.hcl:12", `node.cp["cp2"]`, []string{
		"/etc/kubernetes/pki/enc.yaml is deleted when the node is replaced, like everything in folders of Kubernetes' own, but the volume audit requires one of type File", "To do: keep it in another folder on every control plane, such as /etc/kubernetes/extra, and set that as host_path; or remove path_type if it may be missing",
	}})
}
