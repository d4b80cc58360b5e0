package config

import (
	"path"
	"slices"
	"strconv"

	"github.com/kubewright/kubewright/config/componentflag"
)

// anonymous checks that the probes of API servers are answered. They carry no credentials:
// neither the kubelet's nor kubewright's.
func (c checker) anonymous(p Component) {
	var last *Arg
	file := false
	for i, a := range p.Args {
		switch componentflag.FlagName("kube-apiserver", a.Name) {
		case "anonymous-auth":
			last = &p.Args[i]
		case "authentication-config":
			file = a.Value != ""
		}
	}
	if last == nil {
		return
	}
	c.here = last.Source
	switch allowed, err := strconv.ParseBool(last.Value); {
	case err != nil: // of another type, which is reported
	case !allowed:
		c.errorf("", "Probes would be refused", "%s", AnonymousProbes)
	case file:
		c.warnf("", "Conflicting arguments", "An API server does not start with anonymous-auth where the file of authentication-config has the field anonymous. Leave anonymous-auth out.")
	}
}

// AnonymousProbes is why an API server has to answer requests without credentials, and what to
// write if it must not answer all of them.
const AnonymousProbes = "The kubelet probes an API server at /livez and /readyz without credentials, and so do the waits of an apply. With anonymous-auth=false all are answered 401, and the kubelet restarts the API server again and again. " +
	"Leave anonymous-auth out. To refuse all other requests without credentials, write a file with an AuthenticationConfiguration whose field anonymous is enabled with the conditions path: /livez, path: /readyz and path: /healthz, mount it with extra_volume, and name it in arg \"authentication-config\". " +
	"Nodes that join by kubeadm's token also need the path /api/v1/namespaces/kube-public/configmaps/cluster-info."

// usualMounts returns the paths at which kubeadm mounts a folder or a file into a component on
// every host, with the volumes' names.
func usualMounts(component, certificates string) map[string]string {
	out := map[string]string{"/etc/ssl/certs": "ca-certs"}
	switch component {
	case "kube-apiserver":
		out[path.Clean(certificates)] = "k8s-certs"
	case "kube-controller-manager":
		out[path.Clean(certificates)] = "k8s-certs"
		out["/etc/kubernetes/controller-manager.conf"] = "kubeconfig"
	case "etcd":
		return map[string]string{path.Join(certificates, "etcd"): "etcd-certs"}
	case "kube-scheduler":
		return map[string]string{"/etc/kubernetes/scheduler.conf": "kubeconfig"}
	}
	return out
}

// mountPath refuses a path that is already mounted: the kubelet would refuse the whole pod.
func (c checker) mountPath(at string, v Volume, taken map[string]string) {
	mount := path.Clean(v.MountPath)
	if before, ok := taken[mount]; ok && v.MountPath != "" && before != v.Name {
		c.errorf(at+".mount_path", "Mount path used twice", "The volumes %q and %q are both mounted at %s. The kubelet refuses a pod with two volumes at one path.%s", before, v.Name, v.MountPath, ofKubeadm(before))
	}
	taken[mount] = v.Name
}

// ofKubeadm says that a volume is kubeadm's, and how to replace it.
func ofKubeadm(name string) string {
	if !slices.Contains([]string{"ca-certs", "k8s-certs", "kubeconfig"}, name) {
		return ""
	}
	return " " + name + " is a volume that kubeadm adds. Leave yours out, or call it " + strconv.Quote(name) + " to put it in that one's place."
}
