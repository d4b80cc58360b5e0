package kubeadmtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// fields is a YAML map under construction; set omits empty values.
type fields map[string]any

func (f fields) set(path string, value any) {
	if isZero(value) {
		return
	}
	keys := strings.Split(path, ".")
	m := f
	for _, k := range keys[:len(keys)-1] {
		next, ok := m[k].(fields)
		if !ok {
			next = fields{}
			m[k] = next
		}
		m = next
	}
	m[keys[len(keys)-1]] = value
}

func isZero(value any) bool {
	switch v := value.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case int:
		return v == 0
	case []string:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case map[string]bool:
		return len(v) == 0
	case state.Value:
		return v.IsNull()
	}
	return value == nil
}

// InitYAML returns the input of kubeadm init: InitConfiguration, ClusterConfiguration and the
// configurations of kubelet and kube-proxy.
func (c Case) InitYAML(skipPhases ...string) []byte {
	cluster := c.Cluster
	init := fields{"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "InitConfiguration"}
	init.set("localAPIEndpoint.advertiseAddress", c.Founder.Node.AdvertiseAddress())
	init.set("localAPIEndpoint.bindPort", cluster.BindPort)
	init.set("nodeRegistration", nodeRegistration(cluster, c.Founder))
	init.set("timeouts", timeouts(cluster.Timeouts))
	if len(c.patches(c.Founder)) > 0 {
		init.set("patches.directory", "/patches")
	}
	init.set("skipPhases", append(append([]string{}, cluster.SkipPhases...), skipPhases...))
	init.set("bootstrapTokens", tokens(cluster.BootstrapTokens))
	init.merge(c.Init)
	docs := []any{init, c.clusterYAML()}
	if !cluster.Kubelet.Config.IsNull() {
		docs = append(docs, component(cluster.Kubelet.Config, "kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"))
	}
	if !cluster.KubeProxy.Config.IsNull() {
		docs = append(docs, component(cluster.KubeProxy.Config, "kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration"))
	}
	return join(docs)
}

// JoinYAML returns the input of kubeadm join on the joining host.
func (c Case) JoinYAML(endpoint string) []byte {
	j := fields{"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "JoinConfiguration"}
	j.set("discovery.bootstrapToken.token", Token)
	j.set("discovery.bootstrapToken.apiServerEndpoint", endpoint)
	j.set("discovery.bootstrapToken.unsafeSkipCAVerification", true)
	j.set("nodeRegistration", nodeRegistration(c.Cluster, *c.Joiner))
	j.set("caCertPath", c.Cluster.Certificates.Dir+"/ca.crt")
	j.set("timeouts", timeouts(c.Cluster.Timeouts))
	if c.Joiner.Node.Role == config.ControlPlane {
		j.set("controlPlane.localAPIEndpoint.advertiseAddress", c.Joiner.Node.AdvertiseAddress())
		j.set("controlPlane.localAPIEndpoint.bindPort", c.Cluster.BindPort)
	}
	if len(c.patches(*c.Joiner)) > 0 {
		j.set("patches.directory", "/patches")
	}
	j.merge(c.Join)
	return join([]any{j})
}

// Patches returns the files of kubeadm's patches folder on a host, by name. The names keep the
// order of the configuration.
func (c Case) Patches(h Host) map[string]string {
	files := map[string]string{}
	for i, p := range c.patches(h) {
		kind := p.Type
		if kind != "" {
			kind = "+" + kind
		}
		files[fmt.Sprintf("%s%03d%s.yaml", p.Target, i, kind)] = p.Content
	}
	return files
}

// patches returns a host's own kubelet configuration, the cluster's patches and the node's.
func (c Case) patches(h Host) []config.Patch {
	var out []config.Patch
	if !h.Node.Kubelet.Config.IsNull() {
		out = append(out, config.Patch{Target: "kubeletconfiguration", Content: string(must(json.Marshal(h.Node.Kubelet.Config)))})
	}
	out = append(out, c.Cluster.Patches...)
	return append(out, h.Node.Patches...)
}

func (c Case) clusterYAML() fields {
	m := c.Cluster
	f := fields{"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration"}
	f.set("kubernetesVersion", "v"+m.KubernetesVersion)
	f.set("controlPlaneEndpoint", m.ControlPlaneEndpoint)
	f.set("clusterName", m.Name)
	f.set("certificatesDir", m.Certificates.Dir)
	f.set("imageRepository", m.ImageRepository)
	f.set("featureGates", m.FeatureGates)
	f.set("encryptionAlgorithm", m.Certificates.Algorithm)
	f.set("certificateValidityPeriod", m.Certificates.Validity.String())
	f.set("caCertificateValidityPeriod", m.Certificates.CAValidity.String())
	f.set("networking.serviceSubnet", m.Network.ServiceSubnet)
	f.set("networking.podSubnet", m.Network.PodSubnet)
	f.set("networking.dnsDomain", m.Network.DNSDomain)
	f.set("apiServer.certSANs", m.APIServer.CertSANs)
	f.component("apiServer", m.APIServer.Component)
	f.component("controllerManager", m.ControllerManager)
	f.component("scheduler", m.Scheduler)
	f.set("dns.imageRepository", m.DNS.ImageRepository)
	f.set("dns.imageTag", m.DNS.ImageTag)
	f.set("dns.disabled", m.DNS.Disabled)
	f.set("proxy.disabled", m.KubeProxy.Disabled)
	f.etcd(m.Etcd)
	return f
}

func (f fields) component(path string, c config.Component) {
	f.set(path+".extraArgs", argList(c.Args))
	f.set(path+".extraEnvs", envList(c.Envs))
	var volumes []any
	for _, v := range c.Volumes {
		one := fields{"name": v.Name, "hostPath": v.HostPath, "mountPath": v.MountPath}
		one.set("readOnly", v.ReadOnly)
		one.set("pathType", v.PathType)
		volumes = append(volumes, one)
	}
	f.set(path+".extraVolumes", volumes)
}

func (f fields) etcd(e config.Etcd) {
	if x := e.External; x != nil {
		f.set("etcd.external.endpoints", x.Endpoints)
		f.set("etcd.external.httpEndpoints", x.HTTPEndpoints)
		f.set("etcd.external.caFile", x.CAFile)
		f.set("etcd.external.certFile", x.CertFile)
		f.set("etcd.external.keyFile", x.KeyFile)
		return
	}
	f.set("etcd.local.imageRepository", e.ImageRepository)
	f.set("etcd.local.imageTag", e.ImageTag)
	f.set("etcd.local.dataDir", e.DataDir)
	f.set("etcd.local.extraArgs", argList(e.Args))
	f.set("etcd.local.extraEnvs", envList(e.Envs))
	f.set("etcd.local.serverCertSANs", e.ServerCertSANs)
	f.set("etcd.local.peerCertSANs", e.PeerCertSANs)
}

// nodeIP returns the argument that kubeadm's users set for a dual-stack node.
func nodeIP(n *config.Node) []config.Arg {
	if len(n.AdvertiseAddresses) < 2 {
		return nil
	}
	return args("node-ip", strings.Join(n.AdvertiseAddresses, ","))
}

func nodeRegistration(c *config.Cluster, h Host) fields {
	f := fields{}
	f.set("name", h.Node.Name)
	f.set("criSocket", h.Node.CRISocket)
	if h.Node.CRISocket == "" {
		f.set("criSocket", h.Facts.CRISocket)
	}
	f.set("kubeletExtraArgs", argList(slices.Concat(nodeIP(h.Node), c.Kubelet.Args, h.Node.Kubelet.Args)))
	f.set("ignorePreflightErrors", h.Node.IgnorePreflightErrors)
	f.set("imagePullPolicy", h.Node.ImagePullPolicy)
	f["imagePullSerial"] = c.ImagePullSerial
	if h.Node.Taints != nil {
		taints := []any{}
		for _, t := range h.Node.Taints {
			one := fields{"key": t.Key, "effect": t.Effect}
			one.set("value", t.Value)
			taints = append(taints, one)
		}
		f["taints"] = taints
	}
	return f
}

func timeouts(t config.Timeouts) fields {
	f := fields{}
	for name, d := range map[string]time.Duration{
		"controlPlaneComponentHealthCheck": t.ControlPlaneComponentHealthCheck, "kubeletHealthCheck": t.KubeletHealthCheck,
		"kubernetesAPICall": t.KubernetesAPICall, "etcdAPICall": t.EtcdAPICall, "tlsBootstrap": t.TLSBootstrap,
		"discovery": t.Discovery, "upgradeManifests": t.UpgradeManifests,
	} {
		f.set(name, d.String())
	}
	return f
}

// tokens always includes the token that a joining host uses.
func tokens(list []config.BootstrapToken) []any {
	out := []any{fields{"token": Token}}
	for _, t := range list {
		one := fields{}
		one.set("token", string(t.Token.Reveal()))
		one.set("description", t.Description)
		one.set("ttl", t.TTL.String())
		one.set("usages", t.Usages)
		one.set("groups", t.Groups)
		out = append(out, one)
	}
	return out
}

func argList(args []config.Arg) []any {
	var out []any
	for _, a := range args {
		out = append(out, fields{"name": a.Name, "value": a.Value})
	}
	return out
}

func envList(vars []config.EnvVar) []any {
	var out []any
	for _, e := range vars {
		one := fields{"name": e.Name}
		one.set("value", e.Value)
		one.set("valueFrom", e.ValueFrom)
		out = append(out, one)
	}
	return out
}

func component(tree state.Value, apiVersion, kind string) fields {
	f := fields{"apiVersion": apiVersion, "kind": kind}
	for k, v := range tree.AsMap() {
		f[k] = v
	}
	return f
}

// merge sets fields given as YAML.
func (f fields) merge(text string) {
	var more map[string]any
	if err := yaml.Unmarshal([]byte(text), &more); err != nil {
		panic(err)
	}
	for k, v := range more {
		f[k] = v
	}
}

func join(docs []any) []byte {
	parts := make([]string, len(docs))
	for i, d := range docs {
		parts[i] = string(must(yaml.Marshal(d)))
	}
	return []byte(strings.Join(parts, "---\n"))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
