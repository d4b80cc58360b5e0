package pipeline_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestEtcdPatchOfDataFolderIsRefused checks that a patch that puts etcd's data into another folder of the host, or
// sets a version that does not fit its data, is refused like the setting.
func TestEtcdPatchOfDataFolderIsRefused(t *testing.T) {
	t.Parallel()
	at := state.Source{File: "main.hcl", Line: 42}
	for name, tt := range map[string]struct{ kind, content, want string }{
		"volume, strategic": {"strategic", "spec:\n  volumes:\n  - name: etcd-data\n    hostPath: {path: /data/etcd}\n", `to "/data/etcd"`},
		"volume, json":      {"json", `[{"op": "replace", "path": "/spec/volumes/1/hostPath/path", "value": "/data/etcd"}, {"op": "replace", "path": "/spec/volumes/0/hostPath/path", "value": "/data/etcd"}]`, `to "/data/etcd"`},
		"volume, merge":     {"merge", "spec:\n  volumes:\n  - name: etcd-data\n    hostPath: {path: /data/etcd}\n  - name: etcd-certs\n    hostPath: {path: /etc/kubernetes/pki/etcd}\n", `to "/data/etcd"`},
		"no folder":         {"strategic", "spec:\n  volumes:\n  - name: etcd-data\n    hostPath: null\n    emptyDir: {}\n", "to no folder of the host"},
		"sub path":          {"strategic", "spec:\n  containers:\n  - name: etcd\n    volumeMounts:\n    - mountPath: /var/lib/etcd\n      name: etcd-data\n      subPath: new\n", `to "/var/lib/etcd/new"`},
		"mount":             {"strategic", "spec:\n  volumes:\n  - name: other\n    hostPath: {path: /data/etcd}\n  containers:\n  - name: etcd\n    volumeMounts:\n    - mountPath: /var/lib/etcd\n      name: other\n    - mountPath: /mnt\n      name: etcd-data\n", `to "/data/etcd"`},
		"older":             {"strategic", "spec:\n  containers:\n  - name: etcd\n    image: registry.k8s.io/etcd:3.5.21-0\n", `a patch sets the image tag "3.5.21-0"`},
		"older, digest":     {"json", `[{"op": "replace", "path": "/spec/containers/0/image", "value": "localhost:5000/etcd:3.5.21-0@sha256:0123"}]`, `a patch sets the image tag "3.5.21-0"`},
		"much newer":        {"merge", "", `a patch sets the image tag "3.9.0-0"`},
	} {
		if name == "much newer" {
			tt.kind, tt.content = "json", `[{"op": "replace", "path": "/spec/containers/0/image", "value": "registry.k8s.io/etcd:3.9.0-0"}]`
		}
		for _, planes := range []int{1, 3} {
			o := founded(t, planes, 0)
			patch := config.Patch{Target: "etcd", Type: tt.kind, Source: at, Content: tt.content}
			if planes == 1 {
				o.config.Clusters[0].Patches = append(o.config.Clusters[0].Patches, patch)
			} else {
				o.config.Nodes[1].Patches = append(o.config.Nodes[1].Patches, patch)
			}
			_, diags := o.planOf(o.observe(), planner.Options{})
			if len(diags) == 0 || !strings.Contains(diags[0].Detail, tt.want) || diags[0].Subject != at {
				t.Errorf("%s, %d control planes: wanted a refusal at line 42 with %s, got %v", name, planes, tt.want, diags)
			}
		}
	}
}

// movesEtcd mounts another folder for etcd's data on the first control plane, and returns the previous
// manifest.
func (o *operator) movesEtcd(state string) string {
	o.t.Helper()
	own := slices.IndexFunc(o.config.Nodes, func(n *config.Node) bool { return n.Address == "10.0.0.11" })
	was := string(o.observe().Reports[o.config.Nodes[own].Target].Files[etcdManifestPath].Content)
	moved := strings.Replace(was, "path: /var/lib/etcd\n", "path: /data/etcd\n", 1)
	moved = strings.Replace(moved, "    - --key-file=", "    - --initial-cluster-state="+state+"\n    - --key-file=", 1)
	if len(moved) == len(was) {
		o.t.Fatal("the manifest is not as expected")
	}
	o.edit("10.0.0.11", "file "+etcdManifestPath+" content "+moved)
	o.world.Advance(10 * time.Minute)
	return was
}

const etcdManifestPath = "/etc/kubernetes/manifests/etcd.yaml"

// TestEtcdDataFolderDriftIsCorrected checks that a member whose pod was given another folder gets its own
// again: the etcd that runs there is no member of the cluster that could be lost.
func TestEtcdDataFolderDriftIsCorrected(t *testing.T) {
	t.Parallel()
	for _, planes := range []int{1, 2, 3} {
		o := founded(t, planes, 0)
		o.config.Clusters[0].Upgrade.AllowDowntime = true
		o.movesEtcd("existing")
		_ = o.apply() // the API was down, so that not everything was observed
		o.must(o.apply())
		o.wantNothing()
		o.wantVoters(planes)
	}
}

// TestEtcdDataInOldFolderIsReported checks that an etcd that was bootstrapped in another folder is distinguished from
// the cluster's, and that the way back works.
func TestEtcdDataInOldFolderIsReported(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 0)
	was := o.movesEtcd("new")
	_, diags := o.planOf(o.observe(), planner.Options{})
	if len(diags) != 1 || diags[0].Summary != "Etcd data was left behind" || !strings.Contains(diags[0].Detail, `its data in "/data/etcd"`) {
		t.Errorf("got %v", diags)
	}
	o.edit("10.0.0.11", "file "+etcdManifestPath+" content "+was)
	o.world.Advance(10 * time.Minute)
	o.must(o.apply())
	o.wantNothing()
	o.wantVoters(1)
}
