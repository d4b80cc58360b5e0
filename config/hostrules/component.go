package hostrules

import (
	"fmt"
	"strings"
)

// components are the units of the kubelet and of container runtimes, of which a configuration may have
// drop-ins: what restarts for them, as in the restarts of a file.
var components = map[string]string{"kubelet.service": "kubelet", "containerd.service": "containerd", "crio.service": "crio"}

// ComponentOf returns what restarts for the drop-ins of a unit, in turns like for other files that it reads
// at its start; "" for a unit that is no component of Kubernetes or the runtime.
func ComponentOf(unit string) string { return components[unit] }

// kubeadmDropIn is the drop-in of the kubelet that kubeadm's package or kubewright writes, without .conf.
const kubeadmDropIn = "10-kubeadm"

// kubeletArgs are the variables from which kubeadm's drop-in makes the kubelet's command line.
var kubeletArgs = []string{"KUBELET_KUBECONFIG_ARGS", "KUBELET_CONFIG_ARGS", "KUBELET_KUBEADM_ARGS", "KUBELET_EXTRA_ARGS"}

// RefusedDropIn says why a component cannot have a drop-in, as a sentence after its name; "" if it can.
func RefusedDropIn(unit, name, content string) string {
	if unit == "kubelet.service" && name == kubeadmDropIn {
		return "is kubeadm's, which kubewright or a package writes. Choose another name, such as \"20-memory\"; what sorts after 10-kubeadm is read after it."
	}
	started, cleared := false, false
	for _, a := range assignments(content) {
		if a.section != "Service" {
			continue
		}
		switch {
		case a.key == "ExecStart" && unit == "kubelet.service":
			return "sets ExecStart, and kubewright starts the kubelet itself: with another command line plans would not show what it runs with. Write arguments into kubelet { arg \"NAME\" { value = \"…\" } }."
		case a.key == "ExecStart" && a.value == "":
			cleared = true
		case a.key == "ExecStart":
			started = true
		case a.key == "Environment" && unit == "kubelet.service":
			for _, variable := range kubeletArgs {
				if strings.Contains(a.value, variable+"=") {
					return fmt.Sprintf("sets %s, which is the kubelet's command line: plans would not show what it runs with. Write arguments into kubelet { arg \"NAME\" { value = \"…\" } }.", variable)
				}
			}
		}
	}
	if started && !cleared {
		return "adds a second ExecStart, with which systemd does not start the unit. Clear the first one with a line ExecStart= before it."
	}
	return ""
}
