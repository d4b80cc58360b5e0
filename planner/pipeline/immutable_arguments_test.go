package pipeline_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestArgumentsCannotChangeImmutableSettings checks that an argument or a patch that changes an immutable
// setting is refused like the setting, at its own line.
func TestArgumentsCannotChangeImmutableSettings(t *testing.T) {
	t.Parallel()
	at := state.Source{File: "main.hcl", Line: 42}
	for name, change := range map[string]func(*config.Cluster, config.Arg){
		`etcd.arg["data-dir"] = "/var/lib/etcd", and the configuration has "/new"`: func(c *config.Cluster, a config.Arg) {
			c.Etcd.Args = append(c.Etcd.Args, a)
			c.Origins[`etcd.arg["data-dir"]`] = a.Source
		},
		`etcd.arg["wal-dir"] = "", and the configuration has "/new"`: func(c *config.Cluster, a config.Arg) {
			c.Etcd.Args = append(c.Etcd.Args, a)
			c.Origins[`etcd.arg["wal-dir"]`] = a.Source
		},
		`api_server.arg["service-cluster-ip-range"] = "10.96.0.0/12", and the configuration has "/new"`: func(c *config.Cluster, a config.Arg) {
			a.Name = "service_cluster_ip_range" // an API server accepts it as the same flag
			c.APIServer.Args = append(c.APIServer.Args, a)
			c.Origins["api_server.arg.service_cluster_ip_range"] = a.Source
		},
		`api_server.arg["etcd-prefix"] = "/registry", and the configuration has "/new"`: func(c *config.Cluster, a config.Arg) {
			c.APIServer.Args = append(c.APIServer.Args, a)
			c.Origins[`api_server.arg["etcd-prefix"]`] = a.Source
		},
		`controller_manager.arg["cluster-name"] = "kubernetes", and the configuration has "/new"`: func(c *config.Cluster, a config.Arg) {
			c.ControllerManager.Args = append(c.ControllerManager.Args, a)
			c.Origins[`controller_manager.arg["cluster-name"]`] = a.Source
		},
		`controller_manager.arg["cluster-cidr"] = "10.244.0.0/16", and the configuration has "/new"`: func(c *config.Cluster, a config.Arg) {
			c.ControllerManager.Args = append(c.ControllerManager.Args, a)
			c.Origins[`controller_manager.arg["cluster-cidr"]`] = a.Source
		},
		`controller_manager.arg["service-cluster-ip-range"] = "10.96.0.0/12", and the configuration has "/new"`: func(c *config.Cluster, a config.Arg) {
			c.Patches = append(c.Patches, config.Patch{
				Target: "kube-controller-manager", Type: "json", Source: a.Source,
				Content: `[{"op": "add", "path": "/spec/containers/0/command/-", "value": "--service-cluster-ip-range=/new"}]`,
			})
		},
	} {
		o := founded(t, 1, 0)
		if o.config.Clusters[0].Origins == nil {
			o.config.Clusters[0].Origins = config.Origins{}
		}
		change(o.config.Clusters[0], config.Arg{Name: strings.Split(name, `"`)[1], Value: "/new", Source: at})
		_, diags := o.planOf(o.observe(), planner.Options{})
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, "was created with "+name+".") || diags[0].Subject != at {
			t.Errorf("wanted one refusal at line 42 with %s, got %v", name, diags)
		}
	}
}
