package pipeline_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/diff"
	"github.com/kubewright/kubewright/state"
)

// keysOf are the keys under which a configuration records where a setting of settings() is written,
// besides the setting's own name.
var keysOf = map[string][]string{
	"cluster.Name":                   {"cluster_name"},
	"cluster.FeatureGates":           {"feature_gates.RootlessControlPlane", "feature_gates.NodeLocalCRISocket"},
	"cluster.APIServer.Args":         {`api_server.arg["v"]`},
	"cluster.APIServer.Envs":         {`api_server.extra_env["A"]`, `api_server.extra_env["A"].value`},
	"cluster.APIServer.Volumes":      {`api_server.extra_volume["own"].host_path`, `api_server.extra_volume["own"].mount_path`},
	"cluster.ControllerManager.Args": {`controller_manager.arg["v"]`},
	"cluster.ControllerManager.Envs": {`controller_manager.extra_env["A"].value`},
	"cluster.ControllerManager.Volumes": {
		`controller_manager.extra_volume["own"].host_path`, `controller_manager.extra_volume["own"].mount_path`,
	},
	"cluster.Scheduler.Args":     {`scheduler.arg["v"]`},
	"cluster.Scheduler.Envs":     {`scheduler.extra_env["A"].value_from`},
	"cluster.Etcd.Mounts":        {`etcd.extra_volume["own"].host_path`, `etcd.extra_volume["own"].mount_path`},
	"cluster.Scheduler.Volumes":  {`scheduler.extra_volume["own"].host_path`, `scheduler.extra_volume["own"].mount_path`},
	"cluster.Etcd.Args":          {`etcd.arg["log-level"]`},
	"cluster.Etcd.Envs":          {`etcd.extra_env["A"].value`},
	"cluster.Etcd.External":      {"etcd.external.endpoints", "etcd.external.ca_file", "etcd.external.cert_file", "etcd.external.key_file"},
	"cluster.DNS.Disabled":       {"dns.enabled"},
	"cluster.KubeProxy.Disabled": {"kube_proxy.enabled"},
	"cluster.KubeProxy.Config":   {"kube_proxy.config.mode"},
	"cluster.Kubelet.Config":     {"kubelet.config.maxPods"},
	"cluster.Kubelet.Args":       {`kubelet.arg["v"]`},
	"cluster.ProxyEnv":           {"proxy_env.HTTPS_PROXY"},
	"node.Labels":                {"labels.a"},
	"node.Annotations":           {"annotations.a"},
	"node.Kubelet.Config":        {"kubelet.config.maxPods"},
	"node.Kubelet.Args":          {`kubelet.arg["v"]`},
}

// unplaced are the values that change with a setting but come from another line, or that have its line
// but do not change, by the key of their path, with the reason.
var unplaced = map[string]string{
	`metadata.annotations["kubeadm.kubernetes.io/component-config.hash"]`:            "is made of all that kubeadm has generated",
	`annotations["kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"]`: "has the line of the address; the port never changes",
	"server":                   "has the line of the host; the port never changes",
	"renewal_due":              "depends on the day",
	"args.allocate-node-cidrs": "is there for any subnet of pods",
}

// TestEverySettingIsOriginOfItsValues checks that the values in files and objects that a setting changes have the
// line of that setting, and no others have it.
func TestEverySettingIsOriginOfItsValues(t *testing.T) {
	t.Parallel()
	without := wantedWith(t, setting{}, "")
	table := settings()
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if table[name].when != whenFounded {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := wantedWith(t, table[name], name)
			changed := map[string]bool{}
			for _, c := range diff.Changes(with, without, &state.Snapshot{}) {
				for _, a := range c.Attributes {
					changed[c.Address.String()+" "+a.Path] = true
					if c.Action == planner.Update && !a.After.IsNull() && a.Origin.Line != settingLine && unplaced[a.Path] == "" {
						t.Errorf("%s: %s has the origin %s: place the setting there in planner/provenance/tables.go", c.Address, a.Path, a.Origin)
					}
				}
			}
			for i := range with.Items {
				it := &with.Items[i]
				if it.CreateOnly || without.Find(it.Address) == nil {
					continue
				}
				for path, s := range it.Origin {
					if s.Line == settingLine && unplaced[path] == "" && !slices.Contains(it.Initial, path) && !it.Attributes.Get(path).IsNull() && !below(changed, it.Address.String()+" "+path) {
						t.Errorf("%s: %s has the origin of the setting, and is the same without it: the row in planner/provenance/tables.go places the setting too widely", it.Address, path)
					}
				}
			}
		})
	}
}

// below reports whether a path in the set contains the given one or is inside it.
func below(set map[string]bool, path string) bool {
	for p := range set {
		if strings.HasPrefix(p, path) || strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// settingLine is the line of the setting under test; the others have line 1.
const settingLine = 7

// wantedWith returns the desired items of a cluster before its bootstrap, with a setting.
func wantedWith(t *testing.T, s setting, name string) *state.Snapshot {
	t.Helper()
	o := newOperator(t, cluster(2, 1))
	c, n := o.config.Clusters[0], o.config.Nodes[0]
	c.IgnorePreflightErrors = []string{"all"}
	at := func(line int) state.Source { return state.Source{File: "main.hcl", Line: line} }
	c.Origins = config.Origins{"kubernetes_version": at(1), "control_plane_endpoint": at(1), "network": at(1), "network.pod_subnet": at(1)}
	for _, each := range o.config.Nodes {
		each.Origins, each.Source = config.Origins{"address": at(1)}, at(1)
	}
	if s.set != nil {
		s.set(c, n)
	}
	block, path, _ := strings.Cut(name, ".")
	origins := map[string]config.Origins{"cluster": c.Origins, "node": n.Origins}[block]
	for _, key := range append(keysOf[name], snake(path)) {
		if origins != nil {
			origins[key] = at(settingLine)
		}
	}
	for _, patches := range [][]config.Patch{c.Patches, n.Patches} {
		for i := range patches {
			patches[i].Source = at(settingLine)
		}
	}
	_, err := o.plan()
	o.must(err)
	return o.result.Desired
}

var (
	wordEnd    = regexp.MustCompile("([a-z0-9])([A-Z])")
	initialEnd = regexp.MustCompile("([A-Z]+)([A-Z][a-z])")
)

// snake returns the field's name in the configuration language.
func snake(field string) string {
	field = strings.ReplaceAll(field, "SANs", "Sans")
	return strings.ToLower(initialEnd.ReplaceAllString(wordEnd.ReplaceAllString(field, "${1}_${2}"), "${1}_${2}"))
}
