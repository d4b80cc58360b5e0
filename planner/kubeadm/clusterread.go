package kubeadm

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// ReadClusterConfiguration converts the content of the kubeadm-config ConfigMap back into a cluster
// with that label: everything that kubeadm stores there, and defaults for the rest. It lacks what
// only the hosts know (ports, patches, timeouts, the proxy environment). Like kubeadm, it ignores
// unknown fields: nothing depends on them.
func ReadClusterConfiguration(label, text string) (*config.Cluster, error) {
	var k clusterConfiguration
	content, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = strictjson.UnmarshalCaseSensitivePreserveInts(content, &k)
	}
	if err != nil {
		return nil, fmt.Errorf("the ClusterConfiguration in the ConfigMap kubeadm-config cannot be read: %w. "+
			"Correct it there (kubectl -n kube-system edit configmap kubeadm-config), and run the same command again", err)
	}
	if k.APIVersion != "kubeadm.k8s.io/v1beta4" || k.Kind != "ClusterConfiguration" {
		return nil, fmt.Errorf("cannot read %s of %s: only ClusterConfiguration of kubeadm.k8s.io/v1beta4 is supported, which kubeadm 1.31 and later write when they upgrade a cluster", k.Kind, k.APIVersion)
	}
	if err := CheckVersion(k.KubernetesVersion); err != nil {
		return nil, fmt.Errorf("%w. Upgrade an older cluster first with the tool that created it", err)
	}
	c := config.NewCluster(label, strings.TrimPrefix(k.KubernetesVersion, "v"))
	c.ControlPlaneEndpoint, c.FeatureGates = k.ControlPlaneEndpoint, k.FeatureGates
	for _, field := range []struct {
		into *string
		text string
	}{
		{&c.Name, k.ClusterName},
		{&c.ImageRepository, k.ImageRepository},
		{&c.Certificates.Dir, ShortestPath(k.CertificatesDir)},
		{&c.Certificates.Algorithm, k.EncryptionAlgorithm},
		{&c.Network.ServiceSubnet, k.Networking.ServiceSubnet},
		{&c.Network.PodSubnet, k.Networking.PodSubnet},
		{&c.Network.DNSDomain, k.Networking.DNSDomain},
	} {
		if field.text != "" {
			*field.into = field.text
		}
	}
	if d := k.CertificateValidity.Duration; d > 0 {
		c.Certificates.Validity = d
	}
	if d := k.CAValidity.Duration; d > 0 {
		c.Certificates.CAValidity = d
	}
	c.Certificates.RenewBefore = config.RenewBefore(c.Certificates.Validity)
	c.APIServer = config.APIServer{Component: k.APIServer.read(), CertSANs: k.APIServer.CertSANs}
	c.ControllerManager, c.Scheduler = k.ControllerManager.read(), k.Scheduler.read()
	c.DNS = config.DNS{ImageRepository: k.DNS.ImageRepository, ImageTag: k.DNS.ImageTag, Disabled: k.DNS.Disabled}
	c.KubeProxy.Disabled = k.Proxy.Disabled
	k.Etcd.read(&c.Etcd)
	return c, nil
}

// ShortestPath returns a path on hosts as a configuration has it: kubeadm also accepts a trailing
// slash, which makes no difference for files below it.
func ShortestPath(p string) string {
	if !strings.HasPrefix(p, "/") {
		return p
	}
	return path.Clean(p)
}

func (k componentConfig) read() config.Component {
	c := config.Component{Args: readArgs(k.ExtraArgs), Envs: readEnvs(k.ExtraEnvs)}
	for _, v := range k.ExtraVolumes {
		c.Volumes = append(c.Volumes, config.Volume{
			Name: v.Name, HostPath: v.HostPath, MountPath: v.MountPath, ReadOnly: v.ReadOnly, PathType: string(v.PathType),
		})
	}
	return c
}

func (k etcdConfig) read(into *config.Etcd) {
	if x := k.External; x != nil {
		into.External = &config.ExternalEtcd{
			Endpoints: x.Endpoints, HTTPEndpoints: x.HTTPEndpoints, CAFile: x.CAFile, CertFile: x.CertFile, KeyFile: x.KeyFile,
		}
		if len(x.HTTPEndpoints) == 0 {
			into.External.HTTPEndpoints = x.Endpoints
		}
	}
	if l := k.Local; l != nil {
		into.ImageRepository, into.ImageTag = l.ImageRepository, l.ImageTag
		into.DataDir = firstOf(ShortestPath(l.DataDir), into.DataDir)
		into.Args, into.Envs = readArgs(l.ExtraArgs), readEnvs(l.ExtraEnvs)
		into.ServerCertSANs, into.PeerCertSANs = l.ServerCertSANs, l.PeerCertSANs
	}
}

func readArgs(args []argConfig) []config.Arg {
	var out []config.Arg
	for _, a := range args {
		out = append(out, config.Arg{Name: a.Name, Value: a.Value})
	}
	return out
}

func readEnvs(vars []corev1.EnvVar) []config.EnvVar {
	var out []config.EnvVar
	for _, e := range vars {
		v := config.EnvVar{Name: e.Name, Value: e.Value}
		if from := e.ValueFrom; from != nil {
			if from.FieldRef != nil && from.FieldRef.APIVersion == "v1" {
				from.FieldRef.APIVersion = "" // kubeadm's default
			}
			v.ValueFrom = tree(from)
		}
		// If a variable is given twice, the last one is effective.
		if i := slices.IndexFunc(out, func(o config.EnvVar) bool { return o.Name == v.Name }); i >= 0 {
			out[i] = v
			continue
		}
		out = append(out, v)
	}
	return out
}

// ReadDocument parses one document of a ConfigMap's data, such as the KubeletConfiguration of
// kubelet-config; null if it is missing or not a map.
func ReadDocument(object state.Value, key string) state.Value {
	data, ok := object.Get("data").AsMap()[key]
	if !ok {
		return state.Null()
	}
	v, err := yamlMap([]byte(data.AsString()))
	if err != nil {
		return state.Null()
	}
	return v
}

// SharedKubeletConfig returns the kubelet configuration that kubeadm stores in the cluster, as a
// document.
func SharedKubeletConfig(in Input) (state.Value, error) {
	o, err := kubelet{in.settings()}.configMap()
	return ReadDocument(o.Object, "kubelet"), err
}

// SharedProxyConfig returns the configuration of kube-proxy as a document.
func SharedProxyConfig(in Input) (state.Value, error) {
	o, err := kubeProxy{in.settings()}.configMap()
	return ReadDocument(o.Object, "config.conf"), err
}

// AsYAML returns a tree as YAML with sorted keys.
func AsYAML(v state.Value) (string, error) {
	content, err := json.Marshal(v)
	if err == nil {
		content, err = asYAML(content)
	}
	if err != nil {
		return "", fmt.Errorf("cannot write YAML: %w", err)
	}
	return string(content), nil
}
