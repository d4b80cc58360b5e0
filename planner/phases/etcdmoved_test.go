package phases_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestPatchMovesNoEtcd wants a patch that puts etcd's data into another folder of the
// host, or gives it a version that its data has not, to be refused like the setting.
func TestPatchMovesNoEtcd(t *testing.T) {
	t.Parallel()
	at := state.Source{File: "main.hcl", Line: 42}
	for name, tt := range map[string]struct{ kind, content, want string }{
		"volume, strategic": {"strategic", "spec:\n  volumes:\n  - name: etcd-data\n    hostPath: {path: /data/etcd}\n", `in "/data/etcd"`},
		"volume, json":      {"json", `[{"op": "replace", "path": "/spec/volumes/1/hostPath/path", "value": "/data/etcd"}, {"op": "replace", "path": "/spec/volumes/0/hostPath/path", "value": "/data/etcd"}]`, `in "/data/etcd"`},
		"volume, merge":     {"merge", "spec:\n  volumes:\n  - name: etcd-data\n    hostPath: {path: /data/etcd}\n  - name: etcd-certs\n    hostPath: {path: /etc/kubernetes/pki/etcd}\n", `in "/data/etcd"`},
		"no folder":         {"strategic", "spec:\n  volumes:\n  - name: etcd-data\n    hostPath: null\n    emptyDir: {}\n", "in no folder of it"},
		"sub path":          {"strategic", "spec:\n  containers:\n  - name: etcd\n    volumeMounts:\n    - mountPath: /var/lib/etcd\n      name: etcd-data\n      subPath: new\n", `in "/var/lib/etcd/new"`},
		"mount":             {"strategic", "spec:\n  volumes:\n  - name: other\n    hostPath: {path: /data/etcd}\n  containers:\n  - name: etcd\n    volumeMounts:\n    - mountPath: /var/lib/etcd\n      name: other\n    - mountPath: /mnt\n      name: etcd-data\n", `in "/data/etcd"`},
		"older":             {"strategic", "spec:\n  containers:\n  - name: etcd\n    image: registry.k8s.io/etcd:3.5.21-0\n", `a patch gives it the image tag "3.5.21-0"`},
		"older, digest":     {"json", `[{"op": "replace", "path": "/spec/containers/0/image", "value": "localhost:5000/etcd:3.5.21-0@sha256:0123"}]`, `a patch gives it the image tag "3.5.21-0"`},
		"much newer":        {"merge", "", `a patch gives it the image tag "3.9.0-0"`},
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
