package kubeadm

import (
	"net"

	"github.com/kubewright/kubewright/state"
)

// Kubeconfig is the specification of a kubeconfig.
type Kubeconfig struct {
	Path    string
	Server  string
	Cluster string
	User    string
	Context string
	// Namespace is the namespace of the context, if it has one.
	Namespace string
	// CommonName and Organizations are the subject of the client certificate. Both are empty if a
	// token or a file replaces it.
	CommonName    string
	Organizations []string
	// ClientCertificate and ClientKey are paths, if nothing is inlined.
	ClientCertificate string
	ClientKey         string
}

// clusterAdmins is the administrators' group and also the name of its binding.
const clusterAdmins = "kubeadm:cluster-admins"

// AdminBinding is the binding that gives the administrator's kubeconfig its permissions.
var AdminBinding = state.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding", Name: clusterAdmins}

// RotatedCertificate is the file in which the kubelet keeps the client certificate that it renews
// by itself.
const RotatedCertificate = "/var/lib/kubelet/pki/kubelet-client-current.pem"

// Kubeconfigs lists the kubeconfigs that are made on a control plane: by init on the first one, by
// join on the others, whose kubelets bootstrap theirs. With an external CA no kubelet can
// bootstrap, so every control plane gets a kubelet.conf.
func Kubeconfigs(in Input, founder bool) []Kubeconfig {
	s := in.settings()
	out := []Kubeconfig{s.kubeconfig("admin", s.sharedURL(), "kubernetes-admin", clusterAdmins)}
	if founder {
		out = append(out, SuperAdminKubeconfig(in))
	}
	if founder || s.externalCA {
		out = append(out, kubelet{s}.inlinedKubeconfig())
	}
	return append(out,
		s.kubeconfig("controller-manager", s.localURL(), "system:kube-controller-manager"),
		s.kubeconfig("scheduler", s.localURL(), "system:kube-scheduler"))
}

// SuperAdminKubeconfig returns the kubeconfig of the first control plane that bypasses
// authorization. kubeadm certs renew renews it where it exists.
func SuperAdminKubeconfig(in Input) Kubeconfig {
	s := in.settings()
	return s.kubeconfig("super-admin", s.sharedURL(), "kubernetes-super-admin", "system:masters")
}

// KubeletKubeconfig returns a kubelet.conf with an inlined certificate: for the first control
// plane, and with an external CA for every node.
func KubeletKubeconfig(in Input) Kubeconfig { return kubelet{in.settings()}.inlinedKubeconfig() }

func (s *settings) kubeconfig(file, server, user string, organizations ...string) Kubeconfig {
	return Kubeconfig{
		Path: kubernetesDir + "/" + file + ".conf", Server: server, Cluster: s.Name,
		User: user, Context: user + "@" + s.Name, CommonName: user, Organizations: organizations,
	}
}

// KubeletServer returns the URL of the API for the node's kubelet: on a control plane its own API
// server, so that the kubelet never uses an older one during an upgrade.
func KubeletServer(in Input) string { return kubelet{in.settings()}.server() }

// BootstrapKubeconfig returns the kubeconfig of a joining node, with a token instead of a
// certificate. Its context has the default cluster name whatever the cluster is called: kubeadm
// writes it before it knows the name.
func BootstrapKubeconfig(in Input) Kubeconfig {
	k := kubelet{in.settings()}
	const user = "tls-bootstrap-token-user"
	return Kubeconfig{
		Path: kubernetesDir + "/bootstrap-kubelet.conf", Server: k.server(), Cluster: k.Name,
		User: user, Context: user + "@kubernetes",
	}
}

// BootstrappedKubeconfig returns the kubelet.conf that the kubelet itself writes once it has its
// certificate.
func BootstrappedKubeconfig(in Input) Kubeconfig {
	return Kubeconfig{
		Path: kubernetesDir + "/kubelet.conf", Server: KubeletServer(in), Cluster: "default-cluster",
		User: "default-auth", Context: "default-context", Namespace: "default",
		ClientCertificate: RotatedCertificate, ClientKey: RotatedCertificate,
	}
}

func hostOf(endpoint string) string {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return endpoint
	}
	return host
}
