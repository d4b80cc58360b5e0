// Package artifacts reads a folder of artifacts: the files that an operator
// brings for hosts which cannot fetch them, under the names that their
// projects release them by.
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
// ARCH is amd64, arm64, ppc64le or s390x. None of the files has to be there;
// what is not must be on the hosts. Other files are left alone.
//
// Every file is read once: its sum is compared, programs must be for the
// architecture that they are filed under and Kubernetes' programs say their
// version, and image archives are asked for the
// names of their images.
package artifacts
