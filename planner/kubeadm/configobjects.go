package kubeadm

import "github.com/kubewright/kubewright/state"

// configObjects returns the objects of upload-config, and the administrators' binding that init
// creates before all others.
func (s *settings) configObjects() ([]Object, error) {
	shared, err := kubelet{s}.configMap()
	if err != nil {
		return nil, err
	}
	tokens, nodes := group(DefaultTokenGroup), group(nodesGroup)
	config := mustYAML(s.clusterConfiguration())
	out := []Object{
		clusterBinding(uploadConfig, clusterAdmins, "cluster-admin", group(clusterAdmins)),
		configMap(uploadConfig, systemNamespace, "kubeadm-config", map[string]string{"ClusterConfiguration": config}, nil),
	}
	out = append(out, reader(uploadConfig, systemNamespace, "kubeadm:nodes-kubeadm-config", "configmaps", "kubeadm-config", tokens, nodes)...)
	out = append(out, shared)
	return append(out, reader(uploadConfig, systemNamespace, "kubeadm:kubelet-config", "configmaps", "kubelet-config", nodes, tokens)...), nil
}

// CAPlaceholder stands in certificate-authority-data of cluster-info's kubeconfig for the cluster's
// CA in base64, which exists only during apply.
const CAPlaceholder = "a3ViZXdyaWdodDpjbHVzdGVyLWNh" // "kubewright:cluster-ca"

// tokenObjects returns the objects that let nodes join: the permissions of their tokens, and
// cluster-info, which even anonymous clients may read.
func (s *settings) tokenObjects() []Object {
	tokens := group(DefaultTokenGroup)
	out := []Object{
		newObject(bootstrapToken, rbacVersion, "ClusterRole", "", "kubeadm:get-nodes", object{
			"rules": []object{rule("", []string{"nodes"}, []string{"get"})},
		}),
		clusterBinding(bootstrapToken, "kubeadm:get-nodes", "kubeadm:get-nodes", tokens),
		clusterBinding(bootstrapToken, "kubeadm:kubelet-bootstrap", "system:node-bootstrapper", tokens),
		clusterBinding(bootstrapToken, "kubeadm:node-autoapprove-bootstrap",
			"system:certificates.k8s.io:certificatesigningrequests:nodeclient", tokens),
		clusterBinding(bootstrapToken, "kubeadm:node-autoapprove-certificate-rotation",
			"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", group(nodesGroup)),
	}
	if s.release.plainClient {
		out = append(out, clusterBinding(bootstrapToken, "kubeadm:apiserver-kubelet-client",
			"system:kubelet-api-admin", subject("User", "kube-apiserver-kubelet-client")))
	}
	out = append(out, configMap(bootstrapToken, "kube-public", "cluster-info", map[string]string{"kubeconfig": s.clusterInfo()}, nil))
	return append(out, reader(bootstrapToken, "kube-public", "kubeadm:bootstrap-signer-clusterinfo", "configmaps", "cluster-info",
		subject("User", "system:anonymous"))...)
}

// clusterInfo returns a kubeconfig with only the cluster, whose name is empty, as client-go writes
// it.
func (s *settings) clusterInfo() string {
	return mustYAML(object{
		"apiVersion": "v1", "kind": "Config", "contexts": nil, "users": nil, "current-context": "",
		"clusters": []object{{"name": "", "cluster": object{
			"certificate-authority-data": CAPlaceholder, "server": s.sharedURL(),
		}}},
	})
}

// secretReaders returns the objects that let joining control planes read the Secret kubeadm-certs.
func (s *settings) secretReaders() []Object {
	return reader(uploadCerts, systemNamespace, "kubeadm:kubeadm-certs", "secrets", "kubeadm-certs", group(DefaultTokenGroup))
}

// Marks are the labels and taints that kubeadm sets on a control plane's Node.
type Marks struct {
	Labels map[string]string
	Taints []state.Taint
}

// NodeMarks returns the labels and taints of a control plane; a worker gets none (its taints are a
// flag of its kubelet). An empty list of taints means none, nil means kubeadm's default.
func NodeMarks(in Input) Marks {
	s := in.settings()
	if !s.controlPlane() {
		return Marks{}
	}
	taints := s.node.Taints
	if taints == nil {
		taints = []state.Taint{{Key: ControlPlaneRole, Effect: "NoSchedule"}}
	}
	return Marks{
		Labels: map[string]string{ControlPlaneRole: "", "node.kubernetes.io/exclude-from-external-load-balancers": ""},
		Taints: taints,
	}
}

// mustYAML marshals a value that cannot fail to marshal.
func mustYAML(x any) string {
	content, err := marshalYAML(x)
	if err != nil {
		panic("internal error: cannot write YAML: " + err.Error())
	}
	return string(content)
}
