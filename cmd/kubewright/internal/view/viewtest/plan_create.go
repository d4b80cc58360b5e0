package viewtest

import (
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// CreatePlan bootstraps the cluster of three control planes and two workers.
func CreatePlan() *planner.Plan {
	var m Maker
	m.Limits = map[string]int{"cluster.prod/etcd-membership": 1}
	m.Resources = append(m.Resources, ResourceChange(Prod, planner.Create, 0))
	for _, t := range append(append([]state.Target{}, Planes...), Workers...) {
		m.Resources = append(m.Resources, ResourceChange(t, planner.Create, 0))
	}
	prepared := map[state.Target]state.Address{}
	for _, t := range append(append([]state.Target{}, Planes...), Workers...) {
		prepared[t] = prepare(&m, t)
	}
	founded := found(&m, prepared[Cp1])
	clusterObjects(&m)
	m.AddStep(Prod, "upload-config", planner.Create, "", founded, planner.ApplyObject{})
	token := m.AddStep(Prod, "bootstrap-token", planner.Create, "", founded, planner.CreateToken{})
	m.AddStep(Prod, "addon", planner.Create, "", founded, planner.ApplyObject{})
	var joined []state.Address
	for _, t := range Planes[1:] {
		joined = append(joined, joinPlane(&m, t, prepared[t], token))
	}
	for _, t := range Workers {
		joined = append(joined, join(&m, t, []state.Address{prepared[t]}, token))
	}
	m.AddStep(Prod, "bootstrap-token@joined", planner.Delete, "", joined, planner.DeleteToken{})
	m.Quorum = []string{"1 member bootstrapped, then 2 added one at a time as learners; 3 members, quorum 2."}
	m.Outputs = map[string]state.Value{"endpoint": state.String("api.example.com:6443"), "ca": state.PendingValue("x", "ca")}
	return &m.Plan
}

func prepare(m *Maker, t state.Target) state.Address {
	m.AddChange(t, "prepare", "module:br_netfilter", state.KindModule, planner.Create, Created("loaded", true))
	m.AddChange(t, "prepare", "sysctl:net.ipv4.ip_forward", state.KindSysctl, planner.Create, Created("value", "1"))
	m.AddChange(t, "prepare", "file:/etc/sysctl.d/99-kubewright.conf", state.KindFile, planner.Create,
		Created("content", "net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\n", "mode", "0644", "owner", "root:root"))
	p := m.AddStep(t, "prepare", planner.Create, "", nil, planner.Mark{Marks: state.Marks{Cluster: "prod", Node: t}}, planner.WriteFile{Path: "/etc/sysctl.d/99-kubewright.conf"})
	images := []string{"kube-proxy:v1.36.3", "pause:3.10.1"}
	if Machines[t].Role == "control-plane" {
		images = append(images, "coredns/coredns:v1.14.3", "etcd:3.7.0-0", "kube-apiserver:v1.36.3", "kube-controller-manager:v1.36.3", "kube-scheduler:v1.36.3")
	}
	for i := range images {
		images[i] = "registry.k8s.io/" + images[i]
		m.AddChange(t, "images", "image:"+images[i], state.KindImage, planner.Create, Created("present", true))
	}
	pull := []planner.Operation{planner.LoadImage{Image: images[0], Others: images[1:]}}
	if t == W21 {
		pull = []planner.Operation{planner.LoadImage{Image: images[0]}, planner.LoadImage{Image: images[1]}}
	}
	return m.AddStep(t, "images", planner.Create, "", []state.Address{p}, pull...)
}

// found makes everything of the first control plane and returns its last steps.
func found(m *Maker, ready state.Address) []state.Address {
	planeItems(m, Cp1)
	a := m.AddStep(Cp1, "certs", planner.Create, "", []state.Address{ready}, certificateOps(Cp1)...)
	b := m.AddStep(Cp1, "kubeconfig", planner.Create, "", []state.Address{a}, planner.WriteKubeconfig{Path: "/etc/kubernetes/admin.conf"})
	c := m.AddStep(Cp1, "etcd", planner.Create, "", []state.Address{a}, planner.WriteFile{Path: "/etc/kubernetes/manifests/etcd.yaml"})
	d := m.AddStep(Cp1, "control-plane", planner.Create, "", []state.Address{b, c}, planner.WriteFile{Path: "/etc/kubernetes/manifests/kube-apiserver.yaml"})
	e := m.AddStep(Cp1, "kubelet-start", planner.Create, "", []state.Address{d}, planner.Unit{Unit: "kubelet.service", Action: "restart"})
	f := m.AddStep(Cp1, "wait-control-plane", planner.Create, "", []state.Address{e}, planner.Wait{For: planner.WaitAPI})
	g := m.AddStep(Cp1, "mark-control-plane", planner.Create, "", []state.Address{f}, marksNode("cp1"))
	m.AddChange(Cp1, "kubelet-finalize", "file:/etc/kubernetes/kubelet.conf", state.KindKubeconfig, planner.Create, Created("client_certificate", "/var/lib/kubelet/pki/kubelet-client-current.pem"))
	m.AddStep(Cp1, "kubelet-finalize", planner.Create, "", []state.Address{g}, planner.SetKubeconfig{Path: "/etc/kubernetes/kubelet.conf"})
	return []state.Address{f}
}

func joinPlane(m *Maker, t state.Target, ready, token state.Address) state.Address {
	planeItems(m, t)
	files := []planner.SecretFile{}
	for _, f := range []string{"ca.crt", "ca.key", "etcd/ca.crt", "etcd/ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.key", "sa.pub"} {
		files = append(files, planner.SecretFile{Path: pkiDir + f, Mode: "0600", Owner: "root:root"})
	}
	ops := append([]planner.Operation{planner.CopySecrets{From: Cp1, Files: files}}, certificateOps(t)[3:]...)
	a := m.AddStep(t, "certs", planner.Create, "", []state.Address{ready, {Target: Cp1, Phase: "certs"}}, ops...)
	b := m.AddStep(t, "kubeconfig", planner.Create, "", []state.Address{a}, planner.WriteKubeconfig{Path: "/etc/kubernetes/admin.conf"})
	c := m.AddStep(t, "kubelet-start", planner.Create, "", []state.Address{b, token}, planner.Unit{Unit: "kubelet.service", Action: "restart"})
	d := m.AddStep(t, "etcd", planner.Create, "adds an etcd member as a learner, which does not count for quorum until it is promoted", []state.Address{c},
		planner.AddEtcdMember{Name: t.Key, PeerURL: "https://" + Machines[t].Address + ":2380"})
	m.Steps[len(m.Steps)-1].Limits = []string{"cluster.prod/etcd-membership"}
	e := m.AddStep(t, "control-plane", planner.Create, "", []state.Address{d}, planner.WriteFile{Path: "/etc/kubernetes/manifests/kube-apiserver.yaml"})
	f := m.AddStep(t, "kubelet-wait-bootstrap", planner.Create, "", []state.Address{e}, planner.Wait{For: planner.WaitNodeRegistered, Name: t.Key})
	m.AddStep(t, "wait-control-plane", planner.Create, "", []state.Address{e}, planner.Wait{For: planner.WaitHTTP})
	m.AddStep(t, "mark-control-plane", planner.Create, "", []state.Address{f}, marksNode(t.Key))
	m.AddChange(t, "kubelet-wait-bootstrap", "file:/etc/kubernetes/kubelet.conf", state.KindKubeconfig, planner.Create, Created("server", "https://api.example.com:6443"))
	return f
}

func join(m *Maker, t state.Target, needs []state.Address, token state.Address) state.Address {
	if !token.Target.IsZero() {
		needs = append(needs, token)
	}
	kubeletItems(m, t)
	m.AddChange(t, "mark-worker", "node:"+Machines[t].Name, state.KindNodeObject, planner.Create,
		Created(`labels["node.example.com/pool"]`, "batch", `taints["dedicated:NoSchedule"]`, "batch"))
	m.AddChange(t, "kubelet-wait-bootstrap", "file:/etc/kubernetes/kubelet.conf", state.KindKubeconfig, planner.Create, Created("server", "https://api.example.com:6443"))
	a := m.AddStep(t, "kubelet-start", planner.Create, "", needs, planner.Unit{Unit: "kubelet.service", Action: "restart"})
	b := m.AddStep(t, "kubelet-wait-bootstrap", planner.Create, "", []state.Address{a}, planner.Wait{For: planner.WaitNodeRegistered, Name: Machines[t].Name})
	m.AddStep(t, "mark-worker", planner.Create, "", []state.Address{b}, marksNode(Machines[t].Name))
	return b
}

var leaves = []struct{ base, cn, org string }{
	{"apiserver", "kube-apiserver", ""},
	{"apiserver-etcd-client", "kube-apiserver-etcd-client", ""},
	{"apiserver-kubelet-client", "kube-apiserver-kubelet-client", "system:masters"},
	{"etcd/healthcheck-client", "kube-etcd-healthcheck-client", ""},
	{"etcd/peer", "NAME", ""},
	{"etcd/server", "NAME", ""},
	{"front-proxy-client", "front-proxy-client", ""},
}

const pkiDir = "/etc/kubernetes/pki/"

func certificateOps(t state.Target) []planner.Operation {
	var ops []planner.Operation
	for _, ca := range []string{"ca", "etcd/ca", "front-proxy-ca"} {
		ops = append(ops, planner.IssueCA{CommonName: ca, Validity: 87600 * time.Hour, To: pkiDir + ca})
	}
	for _, l := range leaves {
		ops = append(ops, planner.IssueCertificate{CommonName: strings.ReplaceAll(l.cn, "NAME", Machines[t].Name), Validity: 8760 * time.Hour, To: pkiDir + l.base})
	}
	return ops
}

func planeItems(m *Maker, t state.Target) {
	n := Machines[t]
	pending := state.PendingValue("node.cp[\"cp1\"]/certs", pkiDir+"ca")
	for _, ca := range []struct{ base, cn string }{{"ca", "kubernetes"}, {"etcd/ca", "etcd-ca"}, {"front-proxy-ca", "front-proxy-ca"}} {
		m.AddChange(t, "certs", "certificate:"+pkiDir+ca.base, state.KindCertificate, planner.Create,
			Created("algorithm", "ECDSA-P256", "common_name", ca.cn, "renewal_due", false, "signed_by", pending, "usages", []string{"cert sign", "digital signature", "key encipherment"}))
	}
	for _, l := range leaves {
		list := Created("algorithm", "ECDSA-P256", "common_name", strings.ReplaceAll(l.cn, "NAME", n.Name), "renewal_due", false, "signed_by", pending)
		if l.org != "" {
			list = append(list, Created("organizations", []string{l.org})...)
		}
		if l.base == "apiserver" {
			list = append(list, Created("dns_names", []string{"api.example.com", n.Name, "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}, "ip_addresses", []string{"10.96.0.1", n.Address})...)
		}
		if l.cn == "NAME" {
			list = append(list, Created("dns_names", []string{n.Name, "localhost"}, "ip_addresses", []string{n.Address, "127.0.0.1", "::1"})...)
		}
		m.AddChange(t, "certs", "certificate:"+pkiDir+l.base, state.KindCertificate, planner.Create, list)
	}
	for _, s := range []string{".key", ".pub"} {
		m.AddChange(t, "certs", "file:"+pkiDir+"sa"+s, state.KindKey, planner.Create, Created("mode", "0600", "owner", "root:root"))
	}
	for _, k := range []struct{ file, cn string }{{"admin", "kubernetes-admin"}, {"controller-manager", "system:kube-controller-manager"}, {"scheduler", "system:kube-scheduler"}} {
		m.AddChange(t, "kubeconfig", "file:/etc/kubernetes/"+k.file+".conf", state.KindKubeconfig, planner.Create,
			Created("common_name", k.cn, "mode", "0600", "server", "https://api.example.com:6443", "ca", pending))
	}
	for _, c := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"} {
		phase, image, args := "control-plane", "registry.k8s.io/"+c+":v1.36.3", []state.Arg{{Name: "bind-address", Value: "127.0.0.1"}}
		if c == "etcd" {
			phase, image = "etcd", "registry.k8s.io/etcd:3.7.0-0"
		}
		for len(args) < 20 {
			args = append(args, state.Arg{Name: "flag", Value: n.Address})
		}
		m.AddChange(t, phase, Manifests+c+".yaml", state.KindStaticPod, planner.Create,
			[]planner.AttributeChange{{Path: "args", After: state.Args(args)}, {Path: "image", After: state.String(image)}, {Path: "mode", After: state.String("0600")}})
	}
	kubeletItems(m, t)
	m.AddChange(t, "mark-control-plane", "node:"+n.Name, state.KindNodeObject, planner.Create,
		Created(`labels["node-role.kubernetes.io/control-plane"]`, "", `labels["node.kubernetes.io/exclude-from-external-load-balancers"]`, "", `taints["node-role.kubernetes.io/control-plane:NoSchedule"]`, ""))
}

func kubeletItems(m *Maker, t state.Target) {
	m.AddChange(t, "kubelet-start", "file:/var/lib/kubelet/config.yaml", state.KindYAMLFile, planner.Create, Created("content.kind", "KubeletConfiguration", "content.maxPods", 200, "mode", "0644"))
	m.AddChange(t, "kubelet-start", "file:/var/lib/kubelet/instance-config.yaml", state.KindYAMLFile, planner.Create, Created("content.kind", "KubeletConfiguration", "content.containerRuntimeEndpoint", "unix:///run/containerd/containerd.sock"))
	m.AddChange(t, "kubelet-start", "file:/var/lib/kubelet/kubeadm-flags.env", state.KindEnvFile, planner.Create,
		[]planner.AttributeChange{{Path: "args", After: state.Args([]state.Arg{{Name: "hostname-override", Value: Machines[t].Name}})}})
	m.AddChange(t, "kubelet-start", "unit:kubelet.service", state.KindUnit, planner.Create, Created("active", "active", "enabled", "enabled"))
}

func clusterObjects(m *Maker) {
	objects := map[string][]string{
		"upload-config": {"v1/ConfigMap/kube-system/kubeadm-config", "v1/ConfigMap/kube-system/kubelet-config", "rbac.authorization.k8s.io/v1/Role/kube-system/kubeadm:kubelet-config"},
		"bootstrap-token": {
			"v1/ConfigMap/kube-public/cluster-info", "rbac.authorization.k8s.io/v1/ClusterRoleBinding/kubeadm:kubelet-bootstrap",
			"rbac.authorization.k8s.io/v1/ClusterRoleBinding/kubeadm:node-autoapprove-bootstrap",
		},
		"addon": {"apps/v1/DaemonSet/kube-system/kube-proxy", "apps/v1/Deployment/kube-system/coredns", "v1/ConfigMap/kube-system/coredns", "v1/ConfigMap/kube-system/kube-proxy"},
	}
	for _, phase := range []string{"upload-config", "bootstrap-token", "addon"} {
		for _, o := range objects[phase] {
			list := Created("metadata.labels", map[string]any{})
			if strings.Contains(o, "Deployment") {
				list = Created("spec.replicas", 2)
			}
			if strings.Contains(o, "ConfigMap") {
				list = Created("data.x", "y")
			}
			m.AddChange(Prod, phase, "object:"+o, state.KindObject, planner.Create, list)
		}
	}
}

// marksNode returns the operation that labels and taints a Node.
func marksNode(name string) planner.Operation {
	return planner.PatchNode{Node: name, Labels: map[string]string{"node.example.com/pool": "batch"}, Taints: []state.Taint{{Key: "dedicated", Value: "batch", Effect: "NoSchedule"}}}
}
