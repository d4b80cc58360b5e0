package kubeadm

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubewright/kubewright/config"
)

// extraCADirs are folders that /etc/ssl/certs may point into, depending on the distribution. Those
// that exist on the host are mounted too.
var extraCADirs = []string{
	"/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/ca-certificates",
	"/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
}

const sslCerts = "/etc/ssl/certs"

// mounts are the hostPath volumes of a pod and their mounts.
type mounts struct {
	volumes []corev1.Volume
	mounts  []corev1.VolumeMount
}

// add mounts a host path, replacing a mount of the same name.
func (m *mounts) add(name, hostPath, mountPath string, readOnly bool, kind corev1.HostPathType) {
	volume := corev1.Volume{Name: name}
	volume.HostPath = &corev1.HostPathVolumeSource{Path: hostPath, Type: &kind}
	mount := corev1.VolumeMount{Name: name, MountPath: mountPath, ReadOnly: readOnly}
	for i := range m.volumes {
		if m.volumes[i].Name == name {
			m.volumes[i], m.mounts[i] = volume, mount
			return
		}
	}
	m.volumes, m.mounts = append(m.volumes, volume), append(m.mounts, mount)
}

// folder and file mount a path at the same path.
func (m *mounts) folder(name, path string) {
	m.add(name, path, path, true, corev1.HostPathDirectoryOrCreate)
}

func (m *mounts) file(name, path string) { m.add(name, path, path, true, corev1.HostPathFileOrCreate) }

// extra adds the user's volumes.
func (m *mounts) extra(volumes []config.Volume) {
	for _, e := range volumes {
		m.add(e.Name, e.HostPath, e.MountPath, e.ReadOnly, corev1.HostPathType(e.PathType))
	}
}

// sort sorts volumes and mounts by name, each list separately.
func (m *mounts) sort() {
	slices.SortFunc(m.volumes, func(a, b corev1.Volume) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(m.mounts, func(a, b corev1.VolumeMount) int { return strings.Compare(a.Name, b.Name) })
}

// certificateMounts returns the mounts that the API server and the controller manager share.
func (s *settings) certificateMounts() mounts {
	var m mounts
	m.folder("k8s-certs", s.Certificates.Dir)
	m.folder("ca-certs", sslCerts)
	for _, dir := range extraCADirs {
		if slices.Contains(s.facts.CADirs, dir) {
			m.folder(strings.ReplaceAll(dir[1:], "/", "-"), dir)
		}
	}
	return m
}
