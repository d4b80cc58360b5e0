package pipeline_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestStaticPodThatCannotRunIsRefused checks that a static pod is refused if volumes, patches and the host's
// folders turn it into one that the kubelet would reject, or whose probes would fail.
func TestStaticPodThatCannotRunIsRefused(t *testing.T) {
	t.Parallel()
	at := state.Source{File: "main.hcl", Line: 42}
	patched := func(target, kind, content string) func(*config.Cluster) {
		return func(c *config.Cluster) {
			c.Patches = append(c.Patches, config.Patch{Target: target, Type: kind, Source: at, Content: content})
		}
	}
	for name, tt := range map[string]struct {
		change func(*config.Cluster)
		want   string
	}{
		"folder of the host": {func(c *config.Cluster) {
			c.APIServer.Volumes = append(c.APIServer.Volumes, config.Volume{Name: "mine", HostPath: "/srv/ca", MountPath: "/usr/share/ca-certificates", Source: at})
		}, `"mine" and "usr-share-ca-certificates" at the path /usr/share/ca-certificates`},
		"patch of mounts": {
			patched("kube-scheduler", "json", `[{"op": "add", "path": "/spec/containers/0/volumeMounts/-", "value": {"name": "kubeconfig", "mountPath": "/etc/kubernetes/scheduler.conf"}}]`),
			`at the path /etc/kubernetes/scheduler.conf`,
		},
		"patch of volumes": {
			patched("kube-apiserver", "json", `[{"op": "add", "path": "/spec/volumes/-", "value": {"name": "k8s-certs", "emptyDir": {}}}]`),
			`two volumes with the name "k8s-certs"`,
		},
		"strategic": {
			patched("kube-apiserver", "strategic", "spec:\n  containers:\n  - name: kube-apiserver\n    command: [kube-apiserver, --anonymous-auth=false]\n"),
			"With anonymous-auth=false",
		},
		"json": {
			patched("kube-apiserver", "json", `[{"op": "add", "path": "/spec/containers/0/command/-", "value": "--anonymous_auth=F"}]`),
			"With anonymous-auth=false",
		},
	} {
		o := founded(t, 1, 0)
		tt.change(o.config.Clusters[0])
		_, diags := o.planOf(o.observe(), planner.Options{})
		if len(diags) == 0 || !strings.Contains(diags[0].Detail, tt.want) || diags[0].Subject != at {
			t.Errorf("%s: wanted a refusal at line 42 with %s, got %v", name, tt.want, diags)
		}
	}
}
