package adopt

import (
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
)

// images reads where static pods have their images from. Which image one of them has is
// no patch, as it is none of the addons': a patch would keep it through every upgrade.
// One that is not of the cluster's version is a change to come, as where an upgrade was
// cut short.
func (r *reader) images() {
	r.etcdTag()
	r.repository()
}

// version is that of the newest API server where kubeadm-config says an older one: an
// upgrade was cut short before it was written down. Nothing goes back to an older
// version, so that the next plan finishes it.
func (r *reader) version() {
	r.stored = r.cluster.KubernetesVersion
	for _, p := range r.planes() {
		if newer := release(p.host.image("kube-apiserver")); kubeadm.NewerTag(newer, r.cluster.KubernetesVersion) {
			r.cluster.KubernetesVersion = newer
		}
	}
}

// release returns the version of Kubernetes that an image is of; empty where its tag says none.
func release(image string) string {
	version := strings.TrimPrefix(image[strings.LastIndexByte(image, ':')+1:], "v")
	if config.MinorOf(version) == 0 {
		return ""
	}
	return version
}

// written returns an input as kubeadm of a version had it that wrote what is there. While an
// upgrade is under way not all is of the cluster's version, and what another version
// writes otherwise is nobody's wish.
func written(in kubeadm.Input, version string) kubeadm.Input {
	if version == "" {
		return in
	}
	c := *in.Cluster
	c.KubernetesVersion, in.Cluster = version, &c
	return in
}

// etcdTag keeps an etcd that is newer than the one which is known to come with this
// version of Kubernetes: a later patch release has brought it, or a newer kubeadm. An
// etcd does not go back to an older minor version, nor does kubeadm take one back.
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

// repository is another one where kubeadm-config has none and all static pods have the
// images that they are to have from there: a mirror that was written into the manifests.
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

// image returns the one that the manifest of a component has; empty when there is none.
func (h *Host) image(component string) string {
	pod, _ := h.pod(component)
	return pod.Get("image").AsString()
}
