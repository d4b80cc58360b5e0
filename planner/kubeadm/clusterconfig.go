package kubeadm

import (
	"encoding/json"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clusterConfiguration is ClusterConfiguration of kubeadm.k8s.io/v1beta4 with kubeadm's JSON names:
// the content of the kubeadm-config ConfigMap. Empty structures are written as {}, as kubeadm's
// encoder does.
type clusterConfiguration struct {
	APIVersion           string          `json:"apiVersion"`
	Kind                 string          `json:"kind"`
	Etcd                 etcdConfig      `json:"etcd"`
	Networking           networking      `json:"networking"`
	KubernetesVersion    string          `json:"kubernetesVersion,omitempty"`
	ControlPlaneEndpoint string          `json:"controlPlaneEndpoint,omitempty"`
	APIServer            apiServerConfig `json:"apiServer"`
	ControllerManager    componentConfig `json:"controllerManager"`
	Scheduler            componentConfig `json:"scheduler"`
	DNS                  dnsConfig       `json:"dns"`
	Proxy                proxyConfig     `json:"proxy"`
	CertificatesDir      string          `json:"certificatesDir,omitempty"`
	ImageRepository      string          `json:"imageRepository,omitempty"`
	FeatureGates         map[string]bool `json:"featureGates,omitempty"`
	ClusterName          string          `json:"clusterName,omitempty"`
	EncryptionAlgorithm  string          `json:"encryptionAlgorithm,omitempty"`
	CertificateValidity  metav1.Duration `json:"certificateValidityPeriod"`
	CAValidity           metav1.Duration `json:"caCertificateValidityPeriod"`
}

type networking struct {
	ServiceSubnet string `json:"serviceSubnet,omitempty"`
	PodSubnet     string `json:"podSubnet,omitempty"`
	DNSDomain     string `json:"dnsDomain,omitempty"`
}

type imageMeta struct {
	ImageRepository string `json:"imageRepository,omitempty"`
	ImageTag        string `json:"imageTag,omitempty"`
}

type argConfig struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type volumeConfig struct {
	Name      string              `json:"name"`
	HostPath  string              `json:"hostPath"`
	MountPath string              `json:"mountPath"`
	ReadOnly  bool                `json:"readOnly,omitempty"`
	PathType  corev1.HostPathType `json:"pathType,omitempty"`
}

type componentConfig struct {
	ExtraArgs    []argConfig     `json:"extraArgs,omitempty"`
	ExtraVolumes []volumeConfig  `json:"extraVolumes,omitempty"`
	ExtraEnvs    []corev1.EnvVar `json:"extraEnvs,omitempty"`
}

type apiServerConfig struct {
	componentConfig
	CertSANs []string `json:"certSANs,omitempty"`
}

type dnsConfig struct {
	imageMeta
	Disabled bool `json:"disabled,omitempty"`
}

type proxyConfig struct {
	Disabled bool `json:"disabled,omitempty"`
}

type etcdConfig struct {
	Local    *localEtcd    `json:"local,omitempty"`
	External *externalEtcd `json:"external,omitempty"`
}

type localEtcd struct {
	imageMeta
	DataDir        string          `json:"dataDir"`
	ExtraArgs      []argConfig     `json:"extraArgs,omitempty"`
	ExtraEnvs      []corev1.EnvVar `json:"extraEnvs,omitempty"`
	ServerCertSANs []string        `json:"serverCertSANs,omitempty"`
	PeerCertSANs   []string        `json:"peerCertSANs,omitempty"`
}

type externalEtcd struct {
	Endpoints     []string `json:"endpoints"`
	HTTPEndpoints []string `json:"httpEndpoints,omitempty"`
	CAFile        string   `json:"caFile"`
	CertFile      string   `json:"certFile"`
	KeyFile       string   `json:"keyFile"`
}

// clusterConfiguration returns what kubeadm of this version stores.
func (s *settings) clusterConfiguration() clusterConfiguration {
	return clusterConfiguration{
		APIVersion: "kubeadm.k8s.io/v1beta4", Kind: "ClusterConfiguration",
		Etcd:                 s.etcdConfig(),
		Networking:           networking{s.Network.ServiceSubnet, s.Network.PodSubnet, s.Network.DNSDomain},
		KubernetesVersion:    "v" + s.KubernetesVersion,
		ControlPlaneEndpoint: s.ControlPlaneEndpoint,
		APIServer:            apiServerConfig{componentOf(s.APIServer.Component), s.APIServer.CertSANs},
		ControllerManager:    componentOf(s.ControllerManager),
		Scheduler:            componentOf(s.Scheduler),
		DNS:                  dnsConfig{imageMeta{s.DNS.ImageRepository, s.DNS.ImageTag}, s.DNS.Disabled},
		Proxy:                proxyConfig{s.KubeProxy.Disabled},
		CertificatesDir:      s.Certificates.Dir,
		ImageRepository:      s.ImageRepository,
		FeatureGates:         s.FeatureGates,
		ClusterName:          s.Name,
		EncryptionAlgorithm:  s.Certificates.Algorithm,
		CertificateValidity:  metav1.Duration{Duration: s.Certificates.Validity},
		CAValidity:           metav1.Duration{Duration: s.Certificates.CAValidity},
	}
}

func (s *settings) etcdConfig() etcdConfig {
	if e := s.Etcd.External; e != nil {
		out := &externalEtcd{Endpoints: e.Endpoints, CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile}
		if s.release.httpEndpoints {
			out.HTTPEndpoints = e.HTTPEndpoints
			if len(out.HTTPEndpoints) == 0 {
				out.HTTPEndpoints = e.Endpoints
			}
		}
		return etcdConfig{External: out}
	}
	e := s.Etcd
	return etcdConfig{Local: &localEtcd{
		imageMeta: imageMeta{e.ImageRepository, e.ImageTag}, DataDir: e.DataDir,
		ExtraArgs: argsOf(e.Args), ExtraEnvs: envVars(e.Envs),
		ServerCertSANs: e.ServerCertSANs, PeerCertSANs: e.PeerCertSANs,
	}}
}

func componentOf(c config.Component) componentConfig {
	out := componentConfig{ExtraArgs: argsOf(c.Args), ExtraEnvs: envVars(c.Envs)}
	for _, e := range c.Volumes {
		out.ExtraVolumes = append(out.ExtraVolumes, volumeConfig{e.Name, e.HostPath, e.MountPath, e.ReadOnly, corev1.HostPathType(e.PathType)})
	}
	return out
}

func argsOf(args []config.Arg) []argConfig {
	var out []argConfig
	for _, a := range args {
		out = append(out, argConfig{a.Name, a.Value})
	}
	return out
}

// tree converts anything with JSON tags into a value.
func tree(x any) state.Value {
	content, err := json.Marshal(x)
	if err != nil {
		panic("internal error: cannot convert to JSON: " + err.Error())
	}
	var v state.Value
	if err := v.UnmarshalJSON(content); err != nil {
		panic("internal error: cannot convert from JSON: " + err.Error())
	}
	return v
}
