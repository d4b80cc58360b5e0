package hclconfig_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state"
)

// rows lists the paths of all attributes of the schema, such as cluster.network.pod_subnet.
func rows(b *hclconfig.Block, path string, into map[string]*hclconfig.Attribute) {
	for i := range b.Attributes {
		into[strings.TrimPrefix(path+"."+b.Attributes[i].Name, ".")] = &b.Attributes[i]
	}
	for _, c := range b.Blocks {
		rows(c, strings.TrimPrefix(path+"."+c.Name, "."), into)
	}
	for _, v := range b.Variants {
		rows(v, path+"."+v.Name, into)
	}
}

func allRows() map[string]*hclconfig.Attribute {
	into := map[string]*hclconfig.Attribute{}
	rows(hclconfig.Schema(), "", into)
	return into
}

// TestSchemaRowsAreDocumented checks that every row is documented, and says what a change costs.
func TestSchemaRowsAreDocumented(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for path, a := range allRows() {
		if !name.MatchString(a.Name) || a.Doc == "" || !strings.HasSuffix(a.Doc, ".") || a.Cost == "" || a.Type.Name == "" {
			t.Errorf("%s is not filled in: %+v", path, a)
		}
		if a.Required && (a.Default != nil || a.Derived != "") {
			t.Errorf("%s is required and has a default", path)
		}
	}
}

// TestCompleteConfigurationSetsEveryAttribute checks that the complete configuration sets every attribute, so that its golden
// file shows where each of them goes.
func TestCompleteConfigurationSetsEveryAttribute(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("testdata", "valid", "complete", "main.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	f, diags := hclsyntax.ParseConfig(b, "main.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	set := map[string]bool{}
	var walk func(*hclsyntax.Body, string)
	walk = func(body *hclsyntax.Body, path string) {
		for name := range body.Attributes {
			set[lastTwo(path+"."+name)] = true
		}
		for _, c := range body.Blocks {
			walk(c.Body, strings.TrimPrefix(path+"."+c.Type, "."))
		}
	}
	walk(f.Body.(*hclsyntax.Body), "")
	for path := range allRows() {
		if strings.HasPrefix(path, "kubewright.backend.") || path == "cluster.server" || path == "cluster.ca_certificate" {
			continue // a configuration has one backend (TestBackendBlockIsFound), and sets nothing that is computed
		}
		if !set[lastTwo(path)] {
			t.Errorf("testdata/valid/complete/main.hcl does not set %s: set it there, and run UPDATE=1 go test ./config/hclconfig", path)
		}
	}
}

// lastTwo returns the name of an attribute with its block: many blocks share rows.
func lastTwo(path string) string {
	parts := strings.Split(path, ".")
	return strings.Join(parts[max(0, len(parts)-2):], ".")
}

// TestEmptyBlockHasDefaults checks that an empty block gives the defaults of NewCluster and NewNode.
func TestEmptyBlockHasDefaults(t *testing.T) {
	t.Parallel()
	c, diags := load("main.hcl", `
		cluster "c" {
		  kubernetes_version = "1.36.3"
		}
		node "n" {
		  cluster = cluster.c
		  role    = "control-plane"
		  address = "192.0.2.1"
		}`)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	cluster, node := *c.Clusters[0], *c.Nodes[0]
	cluster.Origins, node.Origins = config.Origins{}, config.Origins{}
	cluster.Sensitive, node.Sensitive = nil, nil
	cluster.Source, node.Source = state.Source{}, state.Source{}
	if want := config.NewCluster("c", "1.36.3"); !reflect.DeepEqual(&cluster, want) {
		t.Errorf("got cluster\n%+v\nwant\n%+v", cluster, *want)
	}
	if want := config.NewNode(state.NodeTarget("n"), "c", config.ControlPlane, "192.0.2.1"); !reflect.DeepEqual(&node, want) {
		t.Errorf("got node\n%+v\nwant\n%+v", node, *want)
	}
}

// kubeadmFields maps every field of kubeadm's v1beta4 configuration to its path in the
// language, or to the reason why it has none.
var kubeadmFields = map[string]string{
	"ClusterConfiguration.kubernetesVersion":                              "cluster.kubernetes_version",
	"ClusterConfiguration.controlPlaneEndpoint":                           "cluster.control_plane_endpoint",
	"ClusterConfiguration.clusterName":                                    "cluster.cluster_name",
	"ClusterConfiguration.certificatesDir":                                "cluster.certificates.dir",
	"ClusterConfiguration.imageRepository":                                "cluster.image_repository",
	"ClusterConfiguration.featureGates":                                   "cluster.feature_gates",
	"ClusterConfiguration.encryptionAlgorithm":                            "cluster.certificates.algorithm",
	"ClusterConfiguration.certificateValidityPeriod":                      "cluster.certificates.validity",
	"ClusterConfiguration.caCertificateValidityPeriod":                    "cluster.certificates.ca_validity",
	"ClusterConfiguration.networking.serviceSubnet":                       "cluster.network.service_subnet",
	"ClusterConfiguration.networking.podSubnet":                           "cluster.network.pod_subnet",
	"ClusterConfiguration.networking.dnsDomain":                           "cluster.network.dns_domain",
	"ClusterConfiguration.etcd.local.imageRepository":                     "cluster.etcd.image_repository",
	"ClusterConfiguration.etcd.local.imageTag":                            "cluster.etcd.image_tag",
	"ClusterConfiguration.etcd.local.dataDir":                             "cluster.etcd.data_dir",
	"ClusterConfiguration.etcd.local.extraArgs[].name":                    "cluster.etcd.arg",
	"ClusterConfiguration.etcd.local.extraArgs[].value":                   "cluster.etcd.arg.value",
	"ClusterConfiguration.etcd.local.extraEnvs[]":                         "cluster.etcd.extra_env",
	"ClusterConfiguration.etcd.local.serverCertSANs":                      "cluster.etcd.server_cert_sans",
	"ClusterConfiguration.etcd.local.peerCertSANs":                        "cluster.etcd.peer_cert_sans",
	"ClusterConfiguration.etcd.external.endpoints":                        "cluster.etcd.external.endpoints",
	"ClusterConfiguration.etcd.external.httpEndpoints":                    "cluster.etcd.external.http_endpoints",
	"ClusterConfiguration.etcd.external.caFile":                           "cluster.etcd.external.ca_file",
	"ClusterConfiguration.etcd.external.certFile":                         "cluster.etcd.external.cert_file",
	"ClusterConfiguration.etcd.external.keyFile":                          "cluster.etcd.external.key_file",
	"ClusterConfiguration.apiServer.certSANs":                             "cluster.api_server.cert_sans",
	"ClusterConfiguration.apiServer.extraArgs[]":                          "cluster.api_server.arg",
	"ClusterConfiguration.apiServer.extraVolumes[].name":                  "cluster.api_server.extra_volume",
	"ClusterConfiguration.apiServer.extraVolumes[].hostPath":              "cluster.api_server.extra_volume.host_path",
	"ClusterConfiguration.apiServer.extraVolumes[].mountPath":             "cluster.api_server.extra_volume.mount_path",
	"ClusterConfiguration.apiServer.extraVolumes[].readOnly":              "cluster.api_server.extra_volume.read_only",
	"ClusterConfiguration.apiServer.extraVolumes[].pathType":              "cluster.api_server.extra_volume.path_type",
	"ClusterConfiguration.apiServer.extraEnvs[].name":                     "cluster.api_server.extra_env",
	"ClusterConfiguration.apiServer.extraEnvs[].value":                    "cluster.api_server.extra_env.value",
	"ClusterConfiguration.apiServer.extraEnvs[].valueFrom":                "cluster.api_server.extra_env.value_from",
	"ClusterConfiguration.controllerManager.extraArgs[]":                  "cluster.controller_manager.arg",
	"ClusterConfiguration.controllerManager.extraVolumes[]":               "cluster.controller_manager.extra_volume",
	"ClusterConfiguration.controllerManager.extraEnvs[]":                  "cluster.controller_manager.extra_env",
	"ClusterConfiguration.scheduler.extraArgs[]":                          "cluster.scheduler.arg",
	"ClusterConfiguration.scheduler.extraVolumes[]":                       "cluster.scheduler.extra_volume",
	"ClusterConfiguration.scheduler.extraEnvs[]":                          "cluster.scheduler.extra_env",
	"ClusterConfiguration.dns.imageRepository":                            "cluster.dns.image_repository",
	"ClusterConfiguration.dns.imageTag":                                   "cluster.dns.image_tag",
	"ClusterConfiguration.dns.disabled":                                   "cluster.dns.enabled",
	"ClusterConfiguration.proxy.disabled":                                 "cluster.kube_proxy.enabled",
	"KubeletConfiguration":                                                "cluster.kubelet.config",
	"KubeProxyConfiguration":                                              "cluster.kube_proxy.config",
	"InitConfiguration.bootstrapTokens[].token":                           "cluster.bootstrap_token.token",
	"InitConfiguration.bootstrapTokens[].description":                     "cluster.bootstrap_token.description",
	"InitConfiguration.bootstrapTokens[].ttl":                             "cluster.bootstrap_token.ttl",
	"InitConfiguration.bootstrapTokens[].expires":                         "cluster.bootstrap_token.expires",
	"InitConfiguration.bootstrapTokens[].usages":                          "cluster.bootstrap_token.usages",
	"InitConfiguration.bootstrapTokens[].groups":                          "cluster.bootstrap_token.groups",
	"InitConfiguration.dryRun":                                            "- a plan is the dry run",
	"InitConfiguration.localAPIEndpoint.advertiseAddress":                 "node.advertise_addresses",
	"InitConfiguration.localAPIEndpoint.bindPort":                         "cluster.bind_port",
	"InitConfiguration.certificateKey":                                    "- certificates travel over the connection; for kubeadm-certs a key is made with the Secret",
	"InitConfiguration.skipPhases":                                        "cluster.skip_phases",
	"InitConfiguration.patches.directory":                                 "cluster.patch",
	"InitConfiguration.timeouts.controlPlaneComponentHealthCheck":         "cluster.timeouts.control_plane_component_health_check",
	"InitConfiguration.timeouts.kubeletHealthCheck":                       "cluster.timeouts.kubelet_health_check",
	"InitConfiguration.timeouts.kubernetesAPICall":                        "cluster.timeouts.kubernetes_api_call",
	"InitConfiguration.timeouts.etcdAPICall":                              "cluster.timeouts.etcd_api_call",
	"InitConfiguration.timeouts.tlsBootstrap":                             "cluster.timeouts.tls_bootstrap",
	"InitConfiguration.timeouts.discovery":                                "cluster.timeouts.discovery",
	"InitConfiguration.timeouts.upgradeManifests":                         "cluster.timeouts.upgrade_manifests",
	"InitConfiguration.nodeRegistration.name":                             "node.name",
	"InitConfiguration.nodeRegistration.criSocket":                        "node.cri_socket",
	"InitConfiguration.nodeRegistration.taints[].key":                     "node.taint",
	"InitConfiguration.nodeRegistration.taints[].value":                   "node.taint.value",
	"InitConfiguration.nodeRegistration.taints[].effect":                  "node.taint.effect",
	"InitConfiguration.nodeRegistration.taints[].timeAdded":               "- controllers set it, for NoExecute",
	"InitConfiguration.nodeRegistration.taints (null or empty)":           "node.taints",
	"InitConfiguration.nodeRegistration.kubeletExtraArgs[]":               "node.kubelet.arg",
	"InitConfiguration.nodeRegistration.ignorePreflightErrors":            "node.ignore_preflight_errors",
	"InitConfiguration.nodeRegistration.imagePullPolicy":                  "node.image_pull_policy",
	"InitConfiguration.nodeRegistration.imagePullSerial":                  "node.image_pull_serial",
	"JoinConfiguration.dryRun":                                            "- a plan is the dry run",
	"JoinConfiguration.nodeRegistration":                                  "node",
	"JoinConfiguration.caCertPath":                                        "- it follows from certificates.dir, as kubeadm writes it everywhere else",
	"JoinConfiguration.discovery.bootstrapToken.token":                    "- made just in time for a join, and deleted after it",
	"JoinConfiguration.discovery.bootstrapToken.apiServerEndpoint":        "cluster.control_plane_endpoint",
	"JoinConfiguration.discovery.bootstrapToken.caCertHashes":             "- the CA is known: nothing has to be discovered",
	"JoinConfiguration.discovery.bootstrapToken.unsafeSkipCAVerification": "- the CA is always verified",
	"JoinConfiguration.discovery.file.kubeConfigPath":                     "- the CA is known: nothing has to be discovered",
	"JoinConfiguration.discovery.tlsBootstrapToken":                       "- made just in time for a join, and deleted after it",
	"JoinConfiguration.controlPlane":                                      "node.role",
	"JoinConfiguration.controlPlane.localAPIEndpoint.advertiseAddress":    "node.advertise_addresses",
	"JoinConfiguration.controlPlane.localAPIEndpoint.bindPort":            "cluster.bind_port",
	"JoinConfiguration.controlPlane.certificateKey":                       "- certificates travel over the connection",
	"JoinConfiguration.skipPhases":                                        "node.skip_phases",
	"JoinConfiguration.patches.directory":                                 "node.patch",
	"JoinConfiguration.timeouts":                                          "cluster.timeouts",
	"ResetConfiguration.cleanupTmpDir":                                    "cluster.reset.cleanup_tmp_dir",
	"ResetConfiguration.certificatesDir":                                  "cluster.certificates.dir",
	"ResetConfiguration.criSocket":                                        "node.cri_socket",
	"ResetConfiguration.dryRun":                                           "- a plan is the dry run",
	"ResetConfiguration.force":                                            "- the plan is confirmed, or -auto-approve given",
	"ResetConfiguration.ignorePreflightErrors":                            "node.ignore_preflight_errors",
	"ResetConfiguration.skipPhases":                                       "node.skip_phases",
	"ResetConfiguration.unmountFlags":                                     "cluster.reset.unmount_flags",
	"ResetConfiguration.timeouts":                                         "cluster.timeouts",
	"UpgradeConfiguration.apply.kubernetesVersion":                        "cluster.kubernetes_version",
	"UpgradeConfiguration.apply.allowExperimentalUpgrades":                "- only releases can be written",
	"UpgradeConfiguration.apply.allowRCUpgrades":                          "- only releases can be written",
	"UpgradeConfiguration.apply.certificateRenewal":                       "cluster.certificates.renew_before",
	"UpgradeConfiguration.apply.dryRun":                                   "- a plan is the dry run",
	"UpgradeConfiguration.apply.etcdUpgrade":                              "cluster.etcd.image_tag",
	"UpgradeConfiguration.apply.forceUpgrade":                             "- a version that cannot be reached is an error",
	"UpgradeConfiguration.apply.ignorePreflightErrors":                    "cluster.ignore_preflight_errors",
	"UpgradeConfiguration.apply.patches":                                  "cluster.patch",
	"UpgradeConfiguration.apply.printConfig":                              "- the plan shows every value with its place",
	"UpgradeConfiguration.apply.skipPhases":                               "cluster.skip_phases",
	"UpgradeConfiguration.apply.imagePullPolicy":                          "cluster.image_pull_policy",
	"UpgradeConfiguration.apply.imagePullSerial":                          "cluster.image_pull_serial",
	"UpgradeConfiguration.node":                                           "- the same places as apply: an upgrade is one plan",
	"UpgradeConfiguration.plan":                                           "- a plan is a plan",
	"UpgradeConfiguration.diff.contextLines":                              "- a plan shows fields, not lines",
	"UpgradeConfiguration.timeouts":                                       "cluster.timeouts",
}

// TestKubeadmFieldPathsExist checks that the paths of kubeadm's fields exist.
func TestKubeadmFieldPathsExist(t *testing.T) {
	t.Parallel()
	places := map[string]bool{}
	for path := range allRows() {
		for path != "" {
			places[path] = true
			path = path[:max(0, strings.LastIndex(path, "."))]
		}
	}
	for field, place := range kubeadmFields {
		reason, none := strings.CutPrefix(place, "- ")
		if none && reason == "" || !none && !places[place] {
			t.Errorf("%s has its place in %q, which does not exist", field, place)
		}
	}
}

// TestSchemaJSON checks that the schema for other programs has every row.
func TestSchemaJSON(t *testing.T) {
	t.Parallel()
	b, err := hclconfig.SchemaJSON()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(string(b), `"cost":`), len(allRows()); got != want {
		t.Errorf("got %d attributes, want %d", got, want)
	}
}

// TestSchemaTree checks that block names are unique and documented.
func TestSchemaTree(t *testing.T) {
	t.Parallel()
	var walk func(*hclconfig.Block)
	walk = func(b *hclconfig.Block) {
		var names []string
		for _, c := range b.Blocks {
			names = append(names, c.Name)
			if c.Doc == "" || !strings.HasSuffix(c.Doc, ".") {
				t.Errorf("block %s is not documented", c.Name)
			}
			walk(c)
		}
		for _, v := range b.Variants {
			names = append(names, v.Name)
			walk(v)
		}
		for i := range b.Attributes {
			names = append(names, b.Attributes[i].Name)
		}
		slices.Sort(names)
		if len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("block %s has a name twice: %v", b.Name, names)
		}
	}
	walk(hclconfig.Schema())
}
