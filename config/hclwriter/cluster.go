package hclwriter

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config"
)

// cluster writes a cluster block.
func (t *text) cluster(c *config.Cluster) {
	b := t.block("cluster", c.Label)
	b.str("kubernetes_version", c.KubernetesVersion)
	b.str("control_plane_endpoint", c.ControlPlaneEndpoint)
	b.str("cluster_name", c.Name)
	b.number("bind_port", c.BindPort)
	b.str("image_repository", c.ImageRepository)
	gates := map[string]cty.Value{}
	for name, on := range c.FeatureGates {
		gates[name] = cty.BoolVal(on)
	}
	if len(gates) > 0 {
		b.set("feature_gates", cty.MapVal(gates))
	}
	b.stringMap("proxy_env", c.ProxyEnv)
	n := b.block("network", "")
	n.str("pod_subnet", c.Network.PodSubnet)
	n.str("service_subnet", c.Network.ServiceSubnet)
	n.str("dns_domain", c.Network.DNSDomain)
	api := b.block("api_server", "")
	api.strings("cert_sans", c.APIServer.CertSANs)
	api.component(c.APIServer.Component)
	b.block("controller_manager", "").component(c.ControllerManager)
	b.block("scheduler", "").component(c.Scheduler)
	b.etcd(c.Etcd)
	d := b.block("dns", "")
	d.boolean("enabled", !c.DNS.Disabled)
	d.str("image_repository", c.DNS.ImageRepository)
	d.str("image_tag", c.DNS.ImageTag)
	p := b.block("kube_proxy", "")
	p.boolean("enabled", !c.KubeProxy.Disabled)
	p.tree("config", c.KubeProxy.Config)
	b.kubelet(c.Kubelet)
	k := b.block("certificates", "")
	k.str("dir", c.Certificates.Dir)
	k.str("algorithm", c.Certificates.Algorithm)
	k.duration("validity", c.Certificates.Validity)
	k.duration("ca_validity", c.Certificates.CAValidity)
	k.boolean("kubelet_serving", c.Certificates.KubeletServing)
	k.str("supplied", c.Certificates.Supplied)
	for _, ca := range []struct {
		block string
		given config.GivenCA
	}{{"ca", c.Certificates.CA}, {"front_proxy_ca", c.Certificates.FrontProxyCA}, {"etcd_ca", c.Certificates.EtcdCA}} {
		k.block(ca.block, "").document("certificate", ca.given.Certificate)
	}
	b.block("timeouts", "").duration("control_plane_component_health_check", c.Timeouts.ControlPlaneComponentHealthCheck)
	b.patches(c.Patches)
}

func (t *text) component(c config.Component) {
	t.args(c.Args)
	for _, v := range c.Volumes {
		b := t.block("extra_volume", v.Name)
		b.str("host_path", v.HostPath)
		b.str("mount_path", v.MountPath)
		b.boolean("read_only", v.ReadOnly)
		b.str("path_type", v.PathType)
	}
	t.envs(c.Envs)
}

func (t *text) args(args []config.Arg) {
	for _, a := range args {
		t.block("arg", a.Name).set("value", cty.StringVal(a.Value))
	}
}

func (t *text) envs(envs []config.EnvVar) {
	for _, e := range envs {
		b := t.block("extra_env", e.Name)
		b.str("value", e.Value)
		b.tree("value_from", e.ValueFrom)
	}
}

func (t *text) etcd(e config.Etcd) {
	b := t.block("etcd", "")
	b.str("image_repository", e.ImageRepository)
	b.str("image_tag", e.ImageTag)
	b.str("data_dir", e.DataDir)
	b.strings("server_cert_sans", e.ServerCertSANs)
	b.strings("peer_cert_sans", e.PeerCertSANs)
	b.args(e.Args)
	b.envs(e.Envs)
	if x := e.External; x != nil {
		o := b.block("external", "")
		o.strings("endpoints", x.Endpoints)
		if !slices.Equal(x.Endpoints, x.HTTPEndpoints) {
			o.strings("http_endpoints", x.HTTPEndpoints)
		}
		o.str("ca_file", x.CAFile)
		o.str("cert_file", x.CertFile)
		o.str("key_file", x.KeyFile)
	}
}

func (t *text) kubelet(k config.Kubelet) *text {
	b := t.block("kubelet", "")
	b.tree("config", k.Config)
	b.args(k.Args)
	return b
}

func (t *text) patches(patches []config.Patch) {
	for _, p := range patches {
		b := t.block("patch", "")
		b.str("target", p.Target)
		b.str("type", p.Type)
		b.document("content", p.Content)
	}
}
