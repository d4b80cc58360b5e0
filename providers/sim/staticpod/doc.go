// Package staticpod parses the manifests of static pods and the settings of kubeadm's
// components in them: flags, ports, mounted folders. It works on the text alone, and runs
// nothing.
package staticpod
