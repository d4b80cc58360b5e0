// Package artifacts reads a folder of artifacts: files that an operator provides for hosts that
// cannot fetch them, under the names of their projects' releases.
//
//	SHA256SUMS                             the sums of all of them, as sha256sum writes it
//	kubelet                                of Kubernetes; kubeadm and kubectl too, if they are there
//	kubernetes-node-linux-ARCH.tar.gz      instead: Kubernetes' own archive of them
//	containerd-VERSION-linux-ARCH.tar.gz
//	runc.ARCH
//	cni-plugins-linux-ARCH-vVERSION.tgz
//	crictl-vVERSION-linux-ARCH.tar.gz
//	containerd/*.toml                      what containerd's configuration imports
//	images/*.tar                           archives of docker save, ctr images export, skopeo (also .tar.gz, .tgz)
//	ARCH/…                                 the same again, for the hosts of one architecture
//
// ARCH is amd64, arm64, ppc64le or s390x. Every file is optional; missing ones must be on the
// hosts. Other files are ignored.
//
// Every file is read once: its checksum is compared, programs must be for the architecture that
// they are filed under, Kubernetes programs must contain their version, and the names of images
// are read from image archives.
package artifacts
