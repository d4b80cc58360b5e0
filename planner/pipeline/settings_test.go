package pipeline_test

import (
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// setting sets one field of the configuration to another value than its default.
type setting struct {
	set func(c *config.Cluster, n *config.Node)
	// when is when the setting has an effect.
	when moment
}

// moment is a point in a cluster's life.
type moment int

const (
	whenFounded moment = iota
	whenChanged
	whenDestroyed
)

// of returns a setting with an effect during the bootstrap.
func of(set func(c *config.Cluster, n *config.Node)) setting { return setting{set: set} }

// onCluster and onNode set a field by its path.
func onCluster(path string, value any) setting {
	return of(func(c *config.Cluster, _ *config.Node) { setField(reflect.ValueOf(c).Elem(), path, value) })
}

func onNode(path string, value any) setting {
	return of(func(_ *config.Cluster, n *config.Node) { setField(reflect.ValueOf(n).Elem(), path, value) })
}

func setField(v reflect.Value, path string, value any) {
	for name := range strings.SplitSeq(path, ".") {
		v = v.FieldByName(name)
	}
	v.Set(reflect.ValueOf(value))
}

// settings returns the fields of a cluster and of a node that change a plan, each with a value that
// does.
func settings() map[string]setting {
	args := []config.Arg{{Name: "v", Value: "3"}}
	envs := []config.EnvVar{{Name: "A", Value: "b"}}
	volumes := []config.Volume{{Name: "own", HostPath: "/srv", MountPath: "/srv"}}
	units := []config.Unit{{Name: "chrony.service", DropIns: []config.DropIn{{Name: "own", Content: "[Service]\nNice=1\n"}}}}
	out := map[string]setting{}
	for path, value := range map[string]any{
		"Name": "other", "ControlPlaneEndpoint": "other.example.com:6443", "BindPort": 7443, "ImageRepository": "mirror.example.com",
		"FeatureGates":      map[string]bool{"RootlessControlPlane": false, "NodeLocalCRISocket": false},
		"Network.PodSubnet": "10.245.0.0/16", "Network.ServiceSubnet": "10.97.0.0/16", "Network.DNSDomain": "other.local",
		"APIServer.Args": args, "APIServer.Volumes": volumes, "APIServer.Envs": envs, "APIServer.CertSANs": []string{"other.example.com"},
		"ControllerManager.Args": args, "ControllerManager.Volumes": volumes, "ControllerManager.Envs": envs,
		"Scheduler.Args": args, "Scheduler.Volumes": volumes, "Scheduler.Envs": envs,
		"Etcd.ImageRepository": "mirror.example.com", "Etcd.ImageTag": "3.6.1-0", "Etcd.DataDir": "/srv/etcd", "Etcd.Args": []config.Arg{{Name: "log-level", Value: "warn"}},
		"Etcd.Envs": envs, "Etcd.Mounts": volumes, "Etcd.ServerCertSANs": []string{"etcd.example.com"}, "Etcd.PeerCertSANs": []string{"etcd.example.com"},
		"Etcd.External":       &config.ExternalEtcd{Endpoints: []string{"https://10.0.0.9:2379"}, CAFile: "/srv/ca.crt", CertFile: "/srv/c.crt", KeyFile: "/srv/c.key"},
		"DNS.ImageRepository": "mirror.example.com", "DNS.ImageTag": "v1.13.0", "DNS.Disabled": true,
		"KubeProxy.Disabled": true, "KubeProxy.Config": state.FromGo(map[string]any{"mode": "nftables"}),
		"Kubelet.Config": state.FromGo(map[string]any{"maxPods": 200}), "Kubelet.Args": args,
		"Certificates.Dir": "/srv/pki", "Certificates.Algorithm": "ECDSA-P256", "Certificates.Validity": 4380 * time.Hour, "Certificates.CAValidity": 43800 * time.Hour,
		"Certificates.KubeletServing":               true,
		"Timeouts.ControlPlaneComponentHealthCheck": 7 * time.Minute, "Timeouts.KubeletHealthCheck": 7 * time.Minute,
		"Timeouts.KubernetesAPICall": 7 * time.Minute, "Timeouts.EtcdAPICall": 7 * time.Minute, "Timeouts.TLSBootstrap": 7 * time.Minute,
		"Timeouts.Discovery": 7 * time.Minute,
		"UploadCerts":        true, "ProxyEnv": map[string]string{"HTTPS_PROXY": "http://proxy.example.com:3128"},
		"Files": []config.File{{Path: "/etc/example/notice", Content: "x", Mode: "0644", Owner: "root:root"}}, "Directories": []config.Directory{{Path: "/srv/cache", Mode: "0755", Owner: "root:root"}},
		"SkipPhases": []string{"mark-control-plane"}, "KernelModules": []string{"br_netfilter"}, "Sysctls": map[string]string{"vm.swappiness": "10"}, "Units": units, "ImagePullPolicy": "Always",
		"Patches":         []config.Patch{{Target: "kube-apiserver", Type: "merge", Content: "metadata:\n  labels:\n    a: b\n"}},
		"BootstrapTokens": []config.BootstrapToken{{Description: "own", Usages: []string{"signing"}}},
		"Addons": []*config.Addon{{Name: "own", Objects: documents(state.FromGo(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": "own"},
		}))}},
	} {
		out["cluster."+path] = onCluster(path, value)
	}
	for path, value := range map[string]any{
		"Name": "other", "AdvertiseAddresses": []string{"10.0.0.99"},
		"Labels": map[string]string{"a": "b"}, "Annotations": map[string]string{"a": "b"}, "Taints": []state.Taint{}, "Schedulable": new(false),
		"Kubelet.Config": state.FromGo(map[string]any{"maxPods": 200}), "Kubelet.Args": args,
		"Files": []config.File{{Path: "/etc/example/notice", Content: "x", Mode: "0644", Owner: "root:root"}}, "Directories": []config.Directory{{Path: "/srv/cache", Mode: "0755", Owner: "root:root"}},
		"CRISocket": "unix:///run/crio/crio.sock", "SkipPhases": []string{"mark-control-plane"}, "ImagePullPolicy": "Always",
		"KernelModules": []string{"br_netfilter"}, "Sysctls": map[string]string{"vm.swappiness": "10"}, "Units": units,
		"Patches": []config.Patch{{Target: "kube-apiserver", Type: "merge", Content: "metadata:\n  labels:\n    a: b\n"}},
	} {
		out["node."+path] = onNode(path, value)
	}
	for path, value := range map[string]any{"Reset.CleanupTmpDir": true, "Reset.UnmountFlags": []string{"MNT_DETACH"}, "Timeouts.UpgradeManifests": 7 * time.Minute} {
		s := onCluster(path, value)
		if s.when = whenDestroyed; strings.HasPrefix(path, "Timeouts") {
			s.when = whenChanged
		}
		out["cluster."+path] = s
	}
	return out
}

// otherwise lists the fields without an effect on a bootstrap or a destruction, with the reason.
var otherwise = map[string]string{
	"cluster.Backup": "stands for files and units; see backup.txtar", "cluster.Restored": "no setting; see backup_restored_on_blank_hosts.txtar",
	"cluster.Label": "the address", "cluster.Lifecycle": "forbids; see lifecycle.txtar", "node.Lifecycle": "forbids; see lifecycle.txtar",
	"cluster.AtRest":    "a file of keys and stages; see encryption_test.go",
	"cluster.Hardening": "what it stands for is in other fields; the modes of files are in the scripts hardening_of_…",
	"cluster.Origins":   "no setting", "cluster.Sensitive": "no setting", "cluster.Source": "no setting",
	"node.Origins": "no setting", "node.Sensitive": "no setting", "node.Source": "no setting", "node.Target": "the address", "node.Cluster": "the cluster",
	"node.Role": "what a node is", "node.Address": "where it is", "node.Connection": "how hosts are reached; see providers/ssh",
	"cluster.KubernetesVersion":        "see TestUpgradeConverges",
	"cluster.Upgrade":                  "how workers take turns; see upgrade_order_test.go and drain_test.go",
	"cluster.Install":                  "see install_test.go",
	"cluster.Certificates.RenewBefore": "what is due is observed; see certificates.txtar",
	"cluster.Certificates.CA":          "see operator_ca_test.go", "cluster.Certificates.FrontProxyCA": "see operator_ca_test.go", "cluster.Certificates.EtcdCA": "see operator_ca_test.go",
	"cluster.Certificates.Supplied": "see supplied_certificates_test.go", "cluster.Certificates.SuppliedFiles": "see supplied_certificates_test.go",
	"cluster.CertificateKey":        "the key of what upload_certs makes, a secret; see bootstrap_tokens_test.go",
	"cluster.IgnorePreflightErrors": "makes errors warnings; see preflight_test.go", "node.IgnorePreflightErrors": "makes errors warnings; see preflight_test.go",
	"cluster.OnUnreachable":   "what an apply does about hosts that do not answer; see withheld_test.go",
	"cluster.ImagePullSerial": "see image_pull_test.go", "node.ImagePullSerial": "see image_pull_test.go",
}

// fields lists the fields of a struct of the configuration. Fields of nested structs are listed by
// their paths, unless a row refers to the struct as a whole.
func fields(prefix string, t reflect.Type) []string {
	var out []string
	for f := range fieldsOf(t) {
		path := prefix + "." + f.Name
		if f.Anonymous {
			path = prefix
		}
		_, whole := otherwise[path]
		if f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == t.PkgPath() && !whole {
			out = append(out, fields(path, f.Type)...)
			continue
		}
		out = append(out, path)
	}
	return out
}

func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

// TestEverySettingHasAnEffect checks that no field of the configuration is read without an effect. Each
// field with another value than its default changes the plan or files, or is in a table with the reason
// why it does not here.
func TestEverySettingHasAnEffect(t *testing.T) {
	t.Parallel()
	table := settings()
	all := append(fields("cluster", reflect.TypeFor[config.Cluster]()), fields("node", reflect.TypeFor[config.Node]())...)
	for _, f := range all {
		_, has := table[f]
		if _, reason := otherwise[f]; has == reason {
			t.Errorf("%s: give it a value in settings, or a reason in otherwise, and not both", f)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(table)) {
		if !slices.Contains(all, f) {
			t.Errorf("%s is no field", f)
		}
	}
	without := map[moment][]string{}
	for _, when := range []moment{whenFounded, whenChanged, whenDestroyed} {
		without[when] = slices.Collect(planned(t, setting{when: when}))
	}
	for f, s := range table {
		t.Run(f, func(t *testing.T) {
			t.Parallel()
			rest := without[s.when]
			for part := range planned(t, s) {
				if len(rest) == 0 || part != rest[0] {
					return
				}
				rest = rest[1:]
			}
			if len(rest) == 0 {
				t.Error("the plan is what it is without: nothing renders the setting")
			}
		})
	}
}

// planned returns the items that a cluster wants on hosts at a moment, with a setting, and its plan.
// Most settings change an early item, and the rest is then not written.
func planned(t *testing.T, s setting) iter.Seq[string] {
	t.Helper()
	o := newOperator(t, cluster(2, 1))
	o.config.Clusters[0].IgnorePreflightErrors = []string{"all"} // hosts lack what some settings name
	if s.when != whenFounded {
		for _, n := range o.config.Nodes {
			o.put(n.Address, "/etc/kubernetes/tmp/theirs", "x")
		}
		o.must(o.apply())
		o.destroy = s.when == whenDestroyed
		o.config.Clusters[0].Scheduler.Args = []config.Arg{{Name: "v", Value: "4"}}
	}
	if s.set != nil {
		s.set(o.config.Clusters[0], o.config.Nodes[0])
	}
	p, err := o.plan()
	o.must(err)
	rest := *o.result.Desired
	items := rest.Items
	rest.Items = nil
	written := func(part any) string {
		text, err := json.Marshal(part)
		o.must(err)
		return string(text)
	}
	return func(yield func(string) bool) {
		for i := range items {
			if !yield(written(&items[i])) {
				return
			}
		}
		_ = yield(written(p)) && yield(written(&rest))
	}
}
