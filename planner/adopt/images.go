package adopt

import (
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
)

// images reads the registries of static pod images. The image of a single static pod does not
// become a patch, just like those of the addons: a patch would pin it through every upgrade. An
// image of another version than the cluster's is a pending change, as after an interrupted upgrade.
func (r *reader) images() {
	r.etcdTag()
	r.repository()
}

// version uses the version of the newest API server when kubeadm-config has an older one: an
// upgrade was interrupted before it was recorded. Kubernetes does not support a downgrade, so the
// next plan finishes the upgrade.
func (r *reader) version() {
	r.stored = r.cluster.KubernetesVersion
	for _, p := range r.planes() {
		if newer := release(p.host.image("kube-apiserver")); kubeadm.NewerTag(newer, r.cluster.KubernetesVersion) {
			r.cluster.KubernetesVersion = newer
		}
	}
}

// release returns the Kubernetes version in the tag of an image; empty when the tag has none.
func release(image string) string {
	version := strings.TrimPrefix(image[strings.LastIndexByte(image, ':')+1:], "v")
	if config.MinorOf(version) == 0 {
		return ""
	}
	return version
}

// written returns the input for the kubeadm version that wrote the observed files. During an
// upgrade not everything has the cluster's version, and differences between kubeadm versions are
// not configured by the user.
func written(in kubeadm.Input, version string) kubeadm.Input {
	if version == "" {
		return in
	}
	c := *in.Cluster
	c.KubernetesVersion, in.Cluster = version, &c
	return in
}

// etcdTag keeps an etcd that is newer than the known default of this Kubernetes version: a later
// patch release or a newer kubeadm has installed it. etcd does not support a downgrade to an older
// minor version, and kubeadm does not downgrade it either.
func (r *reader) etcdTag() {
	if r.cluster.Etcd.External != nil || r.cluster.Etcd.ImageTag != "" {
		return
	}
	for _, p := range r.planes() {
		image := p.host.image("etcd")
		tag := image[strings.LastIndexByte(image, ':')+1:]
		if kubeadm.NewerTag(tag, kubeadm.EtcdTag(r.input(p.node, p.host))) {
			r.cluster.Etcd.ImageTag = tag
		}
	}
}

// repository sets another image repository if kubeadm-config has none and all static pods have
// their expected images from it: a mirror that was written into the manifests.
func (r *reader) repository() {
	if r.cluster.ImageRepository != config.DefaultImageRepository || r.cluster.Etcd.ImageRepository != "" {
		return
	}
	found := ""
	for _, p := range r.planes() {
		for _, image := range kubeadm.Images(r.input(p.node, p.host)) {
			name := strings.TrimPrefix(image, r.cluster.ImageRepository)
			component, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), ":")
			seen := p.host.image(component)
			if seen == "" {
				continue // no static pod
			}
			from, wanted := strings.CutSuffix(seen, name)
			if !wanted || found != "" && from != found {
				return
			}
			found = from
		}
	}
	if found != "" {
		r.cluster.ImageRepository = found
	}
}

// image returns the image in the manifest of a component; empty when there is no manifest.
func (h *Host) image(component string) string {
	pod, _ := h.pod(component)
	return pod.Get("image").AsString()
}
