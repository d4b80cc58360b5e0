// Package staticpod reads the manifests of static pods and what kubeadm's components say in
// theirs: flags, ports, mounted folders. It is computed from the text alone, and runs nothing.
package staticpod
