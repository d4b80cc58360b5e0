package corefile_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/corefile"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// TestCorefilesThatTheNextVersionCannotReadAreRefused shows what is refused, by the version of CoreDNS
// that runs, that of the configuration, and the Corefile.
func TestCorefilesThatTheNextVersionCannotReadAreRefused(t *testing.T) {
	t.Parallel()
	const standard = ".:53 {\n errors\n forward . /etc/resolv.conf\n}\n"
	for _, c := range []struct {
		name, image, tag, corefile string
		ignored                    []string
		want                       []string // of the finding: severity, and a part of its text
	}{
		{name: "its default", image: "coredns:v1.12.1", corefile: standard},
		{name: "the version stays", image: "coredns:v1.14.2", corefile: ".:53 {\n mine\n}\n"},
		{
			name: "a plugin that no version has", image: "coredns:v1.12.1", corefile: ".:53 {\n mine\n}\n",
			want: []string{"error: CoreDNS may not read its Corefile", "CoreDNS goes from 1.12.1 to 1.14.2", "not known to be in 1.14.2: plugin mine."},
		},
		{
			name: "ignored", image: "coredns:v1.12.1", corefile: ".:53 {\n mine\n}\n", ignored: []string{"CoreDNSUnsupportedPlugins"},
			want: []string{"warning: ", "plugin mine."},
		},
		{
			name: "a plugin that was removed in between", image: "registry.example.com:5000/coredns:v1.4.0@sha256:00", corefile: ".:53 {\n proxy . /etc/resolv.conf\n}\n",
			want: []string{"error: CoreDNS cannot read its Corefile", "has what was removed: plugin proxy.", "CoreDNS 1.14.2 reads:\n\n.:53 {\n    forward . /etc/resolv.conf {\n        max_concurrent 1000\n    }\n"},
		},
		{name: "an image of one's own", image: "coredns:mine", corefile: ".:53 {\n mine\n}\n"},
		{name: "to an image of one's own", image: "coredns:v1.12.1", tag: "mine", corefile: ".:53 {\n mine\n}\n"},
		{name: "back to an older one", image: "coredns:v1.14.6", corefile: ".:53 {\n mine\n}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objects := map[state.ObjectRef]state.Value{}
			objects[state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "coredns"}] = state.FromGo(map[string]any{"data": map[string]any{"Corefile": c.corefile}})
			objects[state.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "kube-system", Name: "coredns"}] = state.FromGo(map[string]any{"spec": map[string]any{"template": map[string]any{
				"spec": map[string]any{"containers": []any{map[string]any{"name": "coredns", "image": c.image}}},
			}}})
			v := tt.Running(1, 0, tt.Cluster(func(cl *config.Cluster) { cl.DNS.ImageTag, cl.IgnorePreflightErrors = c.tag, c.ignored }),
				func(v *topology.Fleet) { v.ClusterReports[tt.Label].Objects = objects })
			diags := corefile.Check(v)
			if len(diags) != min(len(c.want), 1) {
				t.Fatalf("findings are %v", diags)
			}
			for i, d := range diags {
				text := map[diag.Severity]string{diag.Error: "error", diag.Warning: "warning"}[d.Severity] + ": " + d.Summary + "\n" + d.Detail
				for _, part := range c.want {
					if !strings.Contains(text, part) {
						t.Errorf("finding %d is %s, without %q", i, text, part)
					}
				}
			}
		})
	}
}
