package pipeline_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// row returns the table's row for a check's name: its own, or the one with its prefix.
func row(name string) *preflight.PreflightCheck {
	rows := preflight.PreflightChecks()
	for _, match := range []func(row string) bool{
		func(r string) bool { return strings.EqualFold(r, name) },
		func(r string) bool { return strings.HasSuffix(r, "-") && strings.HasPrefix(name, r) },
	} {
		if i := slices.IndexFunc(rows, func(c preflight.PreflightCheck) bool { return match(c.Name) }); i >= 0 {
			return &rows[i]
		}
	}
	return nil
}

// TestPreflightCoversKubeadmChecks checks that every check of kubeadm is checked here, made true, or left
// out for a recorded reason.
func TestPreflightCoversKubeadmChecks(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("testdata", "kubeadm_checks.txt"))
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for line := range strings.Lines(string(b)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || name == "#" {
			continue
		}
		names++
		if r := row(name); r == nil || r.Note == "" || !strings.HasPrefix(r.By, "kubeadm") {
			t.Errorf("%s: the table lacks this check of kubeadm: %v", name, r)
		}
	}
	if names < 40 {
		t.Errorf("the list has %d names", names)
	}
	for _, r := range preflight.PreflightChecks() {
		if r.Note == "" || r.On == "" || r.By == "" {
			t.Errorf("%s: the row is incomplete", r.Name)
		}
	}
}

// spoilt is a host with one fault.
type spoilt struct {
	edits   string // on the first control plane's host, one per line
	config  func(*config.Config)
	check   string
	text    string
	warning bool
	// ever reports whether the finding also applies to a running node; written reports that it is an
	// error only where the plan writes to the host, and a warning elsewhere.
	ever, written bool
	// etcd is the observed external etcd.
	etcd *topology.ExternalEtcd
}

var spoiltHosts = []spoilt{
	{edits: "preflight root=false", check: "IsPrivilegedUser", text: "do not run as root"},
	{edits: "condition no-systemd on", check: "InitSystem", text: "PID 1 is not systemd", ever: true},
	{edits: "condition arch riscv64", check: "Architecture", text: "riscv64", ever: true},
	{edits: "condition clock-skew 10m", check: "Clock", text: "10m0s ahead of", ever: true},
	{edits: "condition clock-skew -5s", check: "Clock", text: "5s behind", warning: true, ever: true},
	{edits: "hardware cpus=1", check: "NumCPU", text: "there is 1 CPU"},
	{edits: "hardware memory=1699", check: "Mem", text: "1699 MB"},
	{edits: "preflight var_lib_free_kib=262143", check: "DiskSpace", text: "255 MiB are free", written: true},
	{edits: "preflight var_lib_free_kib=307200", check: "DiskSpace", text: "300 MiB are free below /var/lib, at least 1256 are needed, 1000 of them for the artifacts", config: func(c *config.Config) {
		c.Clusters[0].Install = config.Install{Artifacts: "artifacts", Catalog: &config.Catalog{Files: []config.Artifact{{Name: "amd64/kubelet", Arch: "amd64", Size: 500 << 20}}}}
	}},
	{edits: "preflight etc_free_kib=1023", check: "DiskSpace", text: "1023 KiB are free below /etc, at least 1024 are needed", written: true},
	{edits: "preflight etc_writable=false", check: "DirWritable--etc", text: "/etc is not writable", written: true},
	{edits: "preflight kmsg=false", check: "KernelLog", text: "/dev/kmsg"},
	{edits: "hardware kernel=5.11.0-generic", check: "SystemVerification", text: "the kernel is 5.11.0-generic", warning: true},
	{edits: "hardware kernel=5.100.0", check: "SystemVerification", text: "the kernel is 5.100.0", warning: true},
	{edits: "preflight kernel_config=unknown", check: "SystemVerification", text: "does not expose its options", warning: true},
	{edits: "preflight kernel_missing=MEMCG CGROUP_BPF CGROUP_DEVICE", check: "SystemVerification", text: "CONFIG_MEMCG, CONFIG_CGROUP_BPF."},
	{edits: "preflight cgroup_controllers=cpu io hugetlb", check: "SystemVerification", text: "limits pods: cpuset, memory, pids."},
	{edits: "preflight cgroup_controllers=cpu cpuset memory pids", check: "SystemVerification", text: "missing: hugetlb, io", warning: true},
	{edits: "condition no-module ip_vs", check: "KernelModules", text: "of kernel_modules: ip_vs", ever: true, config: func(c *config.Config) {
		c.Clusters[0].KernelModules = []string{"br_netfilter", "ip_vs"}
	}},
	{check: "Sysctls", text: "parameters of sysctls: vm.max_maps.", ever: true, config: func(c *config.Config) {
		c.Nodes[0].Sysctls = map[string]string{"vm.swappiness": "10", "vm.max_maps": "1"}
	}},
	{check: "Sysctls", text: "parameters of sysctls: net.bridge.bridge-nf-filter-vlan-tagged.", ever: true, config: func(c *config.Config) {
		c.Nodes[0].Sysctls = map[string]string{"net.bridge.bridge-nf-filter-vlan-tagged": "1"}
	}},
	{edits: "file /usr/bin/age delete", check: "Backup", text: "age is not in root's PATH, and the backup block needs it", ever: true, config: func(c *config.Config) {
		c.Clusters[0].Backup = &config.Backup{Period: time.Hour, Bucket: "https://s3.example.com/b/"}
	}},
	{check: "Units", text: "systemd has no unit none.service.", ever: true, config: func(c *config.Config) {
		c.Nodes[0].Units = []config.Unit{{Name: "none.service", Running: new(bool)}}
	}},
	{edits: "condition cgroup-v1 on", check: "SystemVerification", text: "refuses from 1.35 on"},
	{edits: "condition cgroup-v1 on", check: "SystemVerification", text: "about to drop", warning: true, config: kubelet("failCgroupV1", false)},
	{edits: "condition cgroup-v1 on\npreflight kernel_missing=CGROUP_DEVICE", check: "SystemVerification", text: "CONFIG_CGROUP_DEVICE.", config: kubelet("failCgroupV1", false)},
	{edits: "condition cgroup-v1 on", check: "SystemVerification", text: "limit the swap", config: func(c *config.Config) {
		c.Clusters[0].Kubelet.Config = state.FromGo(map[string]any{"failCgroupV1": false, "memorySwap": map[string]any{"swapBehavior": "LimitedSwap"}})
	}},
	{edits: "sysctl kernel.panic=0", check: "KernelDefaults", text: "protectKernelDefaults", config: firstNode(func(n *config.Node) {
		n.Kubelet.Config = state.FromGo(map[string]any{"protectKernelDefaults": true})
	})},
	{edits: "unit containerd stop", check: "CRI", text: "no container runtime answers", ever: true},
	{edits: "condition cri-disabled on", check: "CRI", text: "its CRI plugin is disabled, as in Docker's package"},
	{edits: "condition cri-disabled on", check: "CRI", text: "its CRI plugin is disabled, as in Docker's package", config: firstNode(func(n *config.Node) { n.CRISocket = "unix:///run/containerd/containerd.sock" })},
	{edits: "preflight cri=error", check: "CRI", text: "its CRI plugin did not start (error)"},
	{edits: "", check: "CRI", text: "no container runtime listens on cri_socket unix:///run/crio/crio.sock", ever: true, config: firstNode(func(n *config.Node) { n.CRISocket = "unix:///run/crio/crio.sock" })},
	{edits: "", check: "CRI", text: "listens on cri_socket unix:///run/mine.sock", config: firstNode(func(n *config.Node) { n.CRISocket = "unix:///run/mine.sock" })},
	{edits: "hardware os=alpine", check: "Packages", text: "neither apt nor dnf", ever: true, config: fromPackages},
	{edits: "package libc6 half-configured", check: "Packages", text: "libc6 (half-configured)", config: fromPackages},
	{edits: "condition no-package kubelet=1.36.2", check: "Packages", text: "does not have version 1.36.2 of kubelet", ever: true, config: func(c *config.Config) {
		fromPackages(c)
		c.Clusters[0].KubernetesVersion = "1.36.2"
	}},
	{edits: "file /etc/systemd/system/kubelet.service content x", check: "Packages", text: "would be used instead of the units of the packages", ever: true, config: fromPackages},
	{edits: "package libc6 half-configured\ncondition package-lock apt", check: "Packages", text: "apt is using the package manager", warning: true, config: fromPackages},
	{edits: "condition package-lock apt", check: "Packages", text: "apt is using the package manager", ever: true, warning: true, config: fromPackages},
	{edits: "condition arch arm64", check: "Artifacts", text: "has artifacts for amd64 only", ever: true, config: func(c *config.Config) {
		c.Clusters[0].Install = config.Install{Artifacts: "artifacts", Catalog: &config.Catalog{Files: []config.Artifact{{Name: "amd64/kubelet", Arch: "amd64"}}}}
	}},
	{edits: "image remove registry.k8s.io/kube-scheduler:v1.36.3", check: "ImagePull", text: "registry.k8s.io/kube-scheduler:v1.36.3", ever: true, config: func(c *config.Config) {
		c.Clusters[0].ImagePullPolicy = "Never"
	}},
	{edits: "install containerd=1.7.28", check: "ContainerRuntimeVersion", text: "containerd is 1.7.28", warning: true},
	{edits: "install kubelet=1.37.0", check: "KubeletVersion", text: "the kubelet is 1.37.0", ever: true},
	{edits: "install kubelet=1.32.9", check: "KubeletVersion", text: "the kubelet is 1.32.9", ever: true},
	{edits: "file /usr/bin/kubelet delete", check: "KubeletVersion", text: "there is no kubelet", ever: true},
	{edits: "file /usr/lib/systemd/system/kubelet.service delete", check: "Service-kubelet", text: "no kubelet.service"},
	{edits: "file /usr/bin/losetup delete", check: "FileExisting-losetup", text: "losetup is not in root's PATH"},
	{edits: "port 10250 listen", check: "Port-10250", text: "port 10250 is in use"},
	{edits: "port 10248 listen", check: "Port-10248", text: "port 10248"},
	{edits: "port 7443 listen", check: "Port-7443", text: "port 7443", config: func(c *config.Config) { c.Clusters[0].BindPort = 7443 }},
	{edits: "port 10257 listen", check: "Port-10257", text: "port 10257"},
	{edits: "port 10259 listen", check: "Port-10259", text: "port 10259"},
	{edits: "port 2379 listen", check: "Port-2379", text: "port 2379"},
	{edits: "port 2380 listen", check: "Port-2380", text: "port 2380"},
	{edits: "file /var/lib/etcd/lost+found content x", check: "DirAvailable--var-lib-etcd", text: "/var/lib/etcd is not empty"},
	{edits: "file /data/etcd/x content x", check: "DirAvailable--data-etcd", text: "/data/etcd is not empty", config: func(c *config.Config) { c.Clusters[0].Etcd.DataDir = "/data/etcd" }},
	{edits: "file /var/lib/cni/x content x\nfile /var/lib/cni move /data/cni", check: "DirLinks", text: "/var/lib/cni is a link to /data/cni, but a reset empties this folder, and does not follow a link"},
	{edits: "file /opt/cni move /data/cni", check: "DirLinks", text: "/opt/cni is a link to /data/cni", config: fromPackages},
	{edits: "file /opt/cni/bin owner UNKNOWN:UNKNOWN", check: "DirOwners", text: "/opt/cni/bin belongs to UNKNOWN:UNKNOWN, and nothing is written where users other than root could replace it", config: fromArtifacts},
	{edits: "file /usr/local/bin owner root:staff\nfile /usr/local/bin mode 2775", check: "DirOwners", text: "/usr/local/bin is writable by group staff (mode 2775)", config: fromArtifacts},
	{edits: "file /opt/cni mode 0777", check: "DirOwners", text: "/opt/cni is writable by everyone (mode 0777)", config: fromArtifacts},
	{check: "AdvertiseAddress", text: "192.0.2.9 is not an address of the host", config: firstNode(func(n *config.Node) { n.AdvertiseAddresses = []string{"192.0.2.9"} })},
	{check: "ExternalEtcdClientCertificates", text: "there is no /e/ca.crt, /e/c.crt, /e/c.key,", config: func(c *config.Config) {
		c.Clusters[0].Etcd.External = &config.ExternalEtcd{Endpoints: []string{"https://192.0.2.7:2379"}, CAFile: "/e/ca.crt", CertFile: "/e/c.crt", KeyFile: "/e/c.key"}
	}},
	{check: "HostPath--etc-audit.yaml", text: "there is no /etc/audit.yaml, but the volume audit requires one of type File", ever: true, config: volume("/etc/audit.yaml", "File")},
	{edits: "file /etc/audit.yaml content x", check: "HostPath--etc-audit.yaml", text: "/etc/audit.yaml is a file, but the volume", ever: true, config: volume("/etc/audit.yaml", "Directory")},
	{
		check: "ExternalEtcdVersion", text: "the external etcd at https://192.0.2.7:2379 is 3.5.9, but Kubernetes 1.36.3 needs at least 3.5.24", config: externalEtcd,
		etcd: &topology.ExternalEtcd{ExternalEtcdReport: state.ExternalEtcdReport{Versions: map[string]string{"https://192.0.2.7:2379": "3.5.9"}}},
	},
	{
		check: "ExternalEtcdVersion", text: "cannot reach the external etcd: refused", config: externalEtcd,
		etcd: &topology.ExternalEtcd{Err: errors.New("cannot reach the external etcd: refused")},
	},
	{
		check: "ExternalEtcdVersion", text: "the external etcd could not be queried, because this host's sshd does not forward connections", config: externalEtcd,
		etcd: &topology.ExternalEtcd{Err: errors.New("no forwarding"), Blind: true},
	},
	{
		check: "ExternalEtcdData", text: "7 keys begin with /mine/", config: externalEtcd,
		etcd: &topology.ExternalEtcd{ExternalEtcdReport: state.ExternalEtcdReport{Versions: map[string]string{"https://192.0.2.7:2379": "3.6.8"}, Keys: 7}},
	},
	{edits: "hardware hostname=my_host", check: "Hostname", text: `name "my_host" cannot be the name of a node`},
	{edits: "preflight endpoint_addresses=", check: "ControlPlaneEndpoint", text: `does not resolve "api.example.com", the name of control_plane_endpoint`, config: func(c *config.Config) {
		c.Clusters[0].ControlPlaneEndpoint = "api.example.com:6443"
	}},
	{edits: "preflight unreachable=10.0.0.21:2380", check: "PeerPorts", text: "nothing answers on 10.0.0.21:2380, not even that the port is closed", config: twoControlPlanes},
	{edits: "preflight unreachable=10.0.0.21:10250", check: "PeerPorts", text: "nothing answers on 10.0.0.21:10250, not even that the port is closed: the API server reaches kubelets there", warning: true},
	{edits: "preflight etcd_disk=1000/38400", check: "EtcdDisk", text: "a flush of the disk below /var/lib/etcd took 38ms on average", warning: true},
	{edits: "preflight path_mtu=eth0/9000", check: "PathMTU", text: "interface eth0 has an MTU of 9000, and a packet of that size does not arrive at 10.0.0.21", warning: true, config: twoControlPlanes},
	{edits: "preflight hostname_resolves=false", check: "Hostname", text: "does not resolve its own name", warning: true},
	{edits: "file /usr/lib/systemd/system/firewalld.service content x\nunit firewalld start", check: "Firewalld", text: "2379, 2380, 6443, 10248, 10250, 10257, 10259", warning: true},
	{check: "HTTPProxy", text: "at 10.0.0.11 through the proxy proxy.example.com:3128", warning: true, config: proxy("10.96.0.0/12,10.244.0.0/16")},
	{check: "HTTPProxyCIDR", text: "in 10.244.0.0/16 through the proxy", warning: true, config: proxy("10.0.0.0/24,10.96.0.0/12")},
}

func kubelet(name string, value any) func(*config.Config) {
	return func(c *config.Config) { c.Clusters[0].Kubelet.Config = state.FromGo(map[string]any{name: value}) }
}

// twoControlPlanes makes the worker a control plane.
func twoControlPlanes(c *config.Config) { c.Nodes[1].Role = config.ControlPlane }

// externalEtcd configures an external etcd whose client files are on the control planes.
func externalEtcd(c *config.Config) {
	c.Clusters[0].APIServer.Args = []config.Arg{{Name: "etcd-prefix", Value: "/mine"}}
	c.Clusters[0].Etcd.External = &config.ExternalEtcd{Endpoints: []string{"https://192.0.2.7:2379"}, CAContent: "x", CertContent: "x", KeyContent: state.NewSecret([]byte("x"))}
}

func volume(path, kind string) func(*config.Config) {
	return func(c *config.Config) {
		c.Clusters[0].APIServer.Volumes = []config.Volume{{Name: "audit", HostPath: path, MountPath: "/audit", PathType: kind}}
	}
}

func firstNode(f func(*config.Node)) func(*config.Config) {
	return func(c *config.Config) { f(c.Nodes[0]) }
}

func proxy(except string) func(*config.Config) {
	return func(c *config.Config) {
		c.Clusters[0].ProxyEnv = map[string]string{"https_proxy": "http://proxy.example.com:3128", "NO_PROXY": except}
	}
}

// spoil returns an operator whose host is spoilt before the first plan.
func (s spoilt) spoil(t *testing.T) *operator {
	o := newOperator(t, cluster(1, 1))
	if s.config != nil {
		s.config(o.config)
	}
	s.edit(o)
	return o
}

func (s spoilt) edit(o *operator) {
	for line := range strings.Lines(s.edits) {
		o.must(sim.Edit(o.world, "10.0.0.11", strings.TrimSpace(line)))
	}
}

// findings returns the diagnostics of the preflight.
func (o *operator) findings(etcd *topology.ExternalEtcd) diag.Diagnostics {
	v := o.observe()
	if etcd != nil {
		v.ExternalEtcds = map[string]*topology.ExternalEtcd{"prod": etcd}
	}
	_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
	return diags
}

// find returns the finding with the text.
func (s spoilt) find(diags diag.Diagnostics) *diag.Diagnostic {
	for _, d := range diags {
		if strings.Contains(d.Detail, s.text) && (d.Severity == diag.Error && strings.Contains(d.Detail, fmt.Sprintf("ignore_preflight_errors = [%q]", s.check)) ||
			d.Severity == diag.Warning && d.Summary == "Preflight check "+s.check) {
			return d
		}
	}
	return nil
}

// TestPreflightOffersInstallOnBareHosts checks that a host that has nothing gets one finding, which says how
// to have everything installed and does not offer to ignore the check; ignored all the same, the check of
// the kubelet still stops the plan.
func TestPreflightOffersInstallOnBareHosts(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 0))
	o.must(sim.Edit(o.world, "10.0.0.11", "profile bare"))
	diags := o.findings(nil)
	show(t, diags...)
	if len(diags) != 1 || diags[0].Severity != diag.Error {
		t.Fatalf("a bare host has %d findings: %v", len(diags), diags)
	}
	detail := diags[0].Detail
	if !strings.Contains(detail, "neither a container runtime nor a kubelet") || !strings.Contains(detail, "\n  install {\n    packages {") || strings.Contains(detail, "ignore_preflight_errors") {
		t.Errorf("the finding is:\n%s", detail)
	}
	for _, ignored := range []string{"CRI", "KubeletVersion"} {
		o.config.Clusters[0].IgnorePreflightErrors = []string{ignored}
		diags := o.findings(nil)
		show(t, diags...)
		if !diags.HasErrors() {
			t.Errorf("with %s ignored a bare host is accepted: %v", ignored, diags)
		}
	}
	o.config.Clusters[0].IgnorePreflightErrors = nil
	o.must(sim.Edit(o.world, "10.0.0.11", "file /usr/bin/kubelet content x"))
	fromPackages(o.config)
	if diags := o.findings(nil); diags.HasErrors() {
		t.Errorf("with an install block: %v", diags)
	}
}

// TestPreflightReportsUnfitHosts spoils a host in every way that there is a check for. The finding names
// host and remedy, stops the plan unless it is a warning, and is a warning where node or cluster ignore
// it, by a name that the configuration accepts.
func TestPreflightReportsUnfitHosts(t *testing.T) {
	t.Parallel()
	for _, s := range spoiltHosts {
		t.Run(s.check+" "+s.text, func(t *testing.T) {
			t.Parallel()
			o := s.spoil(t)
			diags := o.findings(s.etcd)
			d := s.find(diags)
			if d == nil {
				t.Fatalf("not found in %v", diags)
			}
			show(t, d)
			if (d.Severity == diag.Warning) != s.warning || diags.HasErrors() == s.warning {
				t.Errorf("it is a %s, among %v", d.Severity, diags)
			}
			for _, want := range []string{`node.cp["cp1"] (10.0.0.11): `, "To do: "} {
				if !strings.Contains(d.Detail, want) {
					t.Errorf("%q is not in %q", want, d.Detail)
				}
			}
			if !s.warning {
				s.ignored(t, o)
			}
		})
	}
}

// ignored checks that node, cluster and "all" silence the check, and another name does not. Nothing
// else stops the plan. That is shown once; for the other ways a second block for the same host stops
// the plan before it is made.
func (s spoilt) ignored(t *testing.T, o *operator) {
	n, c := o.config.Nodes[0], o.config.Clusters[0]
	swapped := *o.config.Nodes[1]
	swapped.Target.Key = "twin"
	for _, way := range []struct {
		node, cluster  []string
		stops, swapped bool
	}{
		{node: []string{s.check}},
		{cluster: []string{strings.ToUpper(s.check)}, swapped: true},
		{cluster: []string{"all"}, swapped: true},
		{node: []string{"Swap"}, stops: true, swapped: true},
	} {
		n.IgnorePreflightErrors, c.IgnorePreflightErrors = way.node, way.cluster
		if way.swapped {
			o.config.Nodes = append(o.config.Nodes[:2:2], &swapped)
		}
		diags := o.findings(s.etcd)
		d := s.find(diags)
		if d == nil || (d.Severity == diag.Error) != way.stops || diags.HasErrors() != (way.stops || way.swapped) || !way.stops && !strings.Contains(d.Detail, "ignores this check") {
			t.Errorf("node %v, cluster %v: got %v", way.node, way.cluster, diags)
		}
		for _, d := range o.config.Validate() {
			if d.Summary == "Unknown preflight check" {
				t.Errorf("the configuration does not accept the name: %s", d.Detail)
			}
		}
	}
}

func fromPackages(c *config.Config) {
	c.Clusters[0].Install.Packages = &config.Packages{Repository: config.DefaultRepository, Key: "key", Runtime: config.DefaultRuntimePackage}
}

// fromArtifacts installs programs into two folders.
func fromArtifacts(c *config.Config) {
	digest := strings.Repeat("a", 64)
	c.Clusters[0].Install = config.Install{Artifacts: "artifacts", Catalog: &config.Catalog{Files: []config.Artifact{
		{Kind: config.ArtifactCNI, Name: "cni-plugins-linux-amd64-v1.7.1.tgz", Arch: "amd64", SHA256: digest, Programs: []config.Program{{Name: "bridge", SHA256: digest}}},
		{Kind: config.ArtifactCrictl, Name: "crictl-v1.36.0-linux-amd64.tar.gz", Arch: "amd64", SHA256: digest, Programs: []config.Program{{Name: "crictl", SHA256: digest}}},
	}}}
}

// TestPreflightEveryCheckHasATest checks that for every row of the table with a check there is a host above on
// which it finds something.
func TestPreflightEveryCheckHasATest(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, s := range spoiltHosts {
		tried[row(s.check).Name] = true
	}
	for _, r := range preflight.PreflightChecks() {
		if r.Treatment == "checked" != tried[r.Name] {
			t.Errorf("%s is %q, tried: %v", r.Name, r.Treatment, tried[r.Name])
		}
	}
}

// TestPreflightOfRunningNodes checks that only findings that apply at any time, and those about writing
// to the host, are reported for a running node.
func TestPreflightOfRunningNodes(t *testing.T) {
	t.Parallel()
	for _, s := range spoiltHosts {
		if s.edits == "" || s.config != nil {
			continue
		}
		t.Run(s.check+" "+s.text, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 1, 1)
			s.edit(o)
			d := s.find(o.findings(nil))
			if (d != nil) != (s.ever || s.written) || s.written && d.Severity != diag.Warning {
				t.Errorf("got %v", d)
			}
			if !s.written {
				return
			}
			o.config.Nodes[1].Labels = map[string]string{"a": "b"}
			if diags := o.findings(nil); diags.HasErrors() {
				t.Errorf("another host is written to: %v", diags)
			}
			o.config.Clusters[0].APIServer.Args = []config.Arg{{Name: "audit-log-maxage", Value: "30"}}
			if d := s.find(o.findings(nil)); d == nil || d.Severity != diag.Error {
				t.Errorf("the host is written to: got %v", d)
			}
			o.config.Nodes[0].IgnorePreflightErrors = []string{s.check}
			if d := s.find(o.findings(nil)); d == nil || d.Severity != diag.Warning || !strings.Contains(d.Detail, "ignores this check") {
				t.Errorf("with the check ignored: got %v", d)
			}
			o.config.Clusters[0].APIServer.Args = nil
			if d := s.find(o.findings(nil)); d != nil {
				t.Errorf("with the check ignored, and nothing to write: got %v", d)
			}
		})
	}
}

// noPlane turns a host into one that can be a worker but no control plane.
var noPlane = []string{"hardware cpus=1", "hardware memory=900", "port 6443 listen", "port 2379 listen", "file /var/lib/etcd/x content x"}

// TestPreflightDependsOnRole checks that a worker needs neither the ports nor the size of a control
// plane until it becomes one, and that hosts with the same finding are reported together.
func TestPreflightDependsOnRole(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(2, 1))
	for _, edit := range noPlane {
		o.must(sim.Edit(o.world, "10.0.0.21", edit))
	}
	if diags := o.findings(nil); diags.HasErrors() {
		t.Errorf("a worker is refused: %v", diags)
	}
	joined := o.copy(t)
	joined.must(joined.apply())
	joined.wantNothing()
	joined.config.Nodes[2].Role = config.ControlPlane
	joined.wantChecks("node.worker[\"w1\"] (10.0.0.21): ", "NumCPU", "Mem", "Port-2379", "Port-6443", "DirAvailable--var-lib-etcd")
	for _, address := range []string{"10.0.0.11", "10.0.0.12", "10.0.0.21"} {
		o.must(sim.Edit(o.world, address, "port 10250 listen"))
	}
	diags := o.findings(nil)
	if len(diags.Errors()) != 1 || !strings.Contains(diags.Errors()[0].Detail, `node.cp["cp1"] (10.0.0.11), node.cp["cp2"] (10.0.0.12), node.worker["w1"] (10.0.0.21): port 10250`) {
		t.Errorf("got %v", diags)
	}
}

// wantChecks checks that the errors are exactly those of these checks about the host, in this order.
func (o *operator) wantChecks(host string, checks ...string) {
	o.t.Helper()
	errs := o.findings(nil).Errors()
	if len(errs) != len(checks) {
		o.t.Errorf("%d errors, want %v: %v", len(errs), checks, errs)
		return
	}
	for i, check := range checks {
		if d := errs[i].Detail; !strings.HasPrefix(d, host) || !strings.Contains(d, fmt.Sprintf("ignore_preflight_errors = [%q]", check)) {
			o.t.Errorf("want %s of %s, got %s", check, host, d)
		}
	}
}

// TestPreflightIgnoresOwnPortsOnRoleChange checks that a node that changes its role is not refused for its own ports,
// neither before nor after an interruption, and that one that is only replaced is not refused for what
// it joined with.
func TestPreflightIgnoresOwnPortsOnRoleChange(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 2)
	for _, edit := range noPlane {
		o.must(sim.Edit(o.world, "10.0.0.21", edit))
	}
	o.replace = []state.Target{o.config.Nodes[3].Target}
	o.wantChecks("")
	o.replace, o.config.Nodes[4].Role = nil, config.ControlPlane
	crashAnywhere(t, o, 23, func(o *operator) {
		if rec := o.recorded.Nodes[o.config.Nodes[4].Target]; rec == nil || rec.Role != string(config.ControlPlane) {
			t.Errorf("the node is recorded as %v", rec)
		}
	})
	o.config.Nodes[4].Role = config.Worker
	o.config.Nodes[2].Role = config.Worker
	crashAnywhere(t, o, 43)
}

// TestPreflightCanBeSkipped checks the preflight's skipping by the command line, for a cluster and for a
// node.
func TestPreflightCanBeSkipped(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 1))
	o.must(sim.Edit(o.world, "10.0.0.11", "hardware cpus=1"))
	errs := func(options planner.Options) int {
		_, diags := pipeline.Plan(o.observe(), planner.Plan{}, options)
		return len(diags.Errors())
	}
	skip := []string{"preflight"}
	if without, with := errs(planner.Options{}), errs(planner.Options{SkipPhases: skip}); without != 1 || with != 0 {
		t.Errorf("%d errors, with -skip-phase=preflight %d", without, with)
	}
	o.config.Nodes[1].SkipPhases = skip
	if n := errs(planner.Options{}); n != 1 {
		t.Errorf("another node skips it: %d errors", n)
	}
	o.config.Nodes[0].SkipPhases = skip
	if n := errs(planner.Options{}); n != 0 {
		t.Errorf("the node skips it: %d errors", n)
	}
	o.config.Nodes[0].SkipPhases, o.config.Clusters[0].SkipPhases = nil, skip
	if n := errs(planner.Options{}); n != 0 {
		t.Errorf("the cluster skips it: %d errors", n)
	}
}

// TestPreflightDocsAreUpToDate checks that docs/reference/preflight.md is generated from the table. UPDATE=1 writes it.
func TestPreflightDocsAreUpToDate(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Preflight checks\n\n" +
		"Before it changes any host, kubewright checks the requirements of kubeadm and the kubelet on all hosts, and prints one\n" +
		"report. An error stops the plan; a warning does not. `ignore_preflight_errors` of a node or a cluster turns errors of the\n" +
		"named checks into warnings; the names are kubeadm's where kubeadm has the check. A name that ends with a hyphen continues\n" +
		"with a port or a path, as in `Port-6443` and `DirAvailable--var-lib-etcd`. `all` names every check that preflight\n" +
		"performs; refusals by other parts of the plan stay errors, and `FileAvailable-` cannot be given as a name.\n\n" +
		"On running nodes kubewright reports only the checks that the table lists for them: *always*, or only *where written to*,\n" +
		"that is, where the plan has steps that write to the host. On a host that stays unchanged, or is reset, a full disk stops\n" +
		"nothing: it is a warning as long as the node stays, for the next change, and not even that where it is ignored. A worker\n" +
		"that becomes a control plane is checked as one before it is drained.\n\n" +
		"| check | hosts | running nodes | owner | treatment | |\n|---|---|---|---|---|---|\n")
	for _, c := range preflight.PreflightChecks() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", c.Name, c.On, c.Running, c.By, c.Treatment, c.Note)
	}
	path := filepath.Join("..", "..", "docs", "reference", "preflight.md")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != b.String() {
		t.Errorf("docs/reference/preflight.md is not what the table says (%v): UPDATE=1 go test ./planner/pipeline -run PreflightDocs", err)
	}
}
