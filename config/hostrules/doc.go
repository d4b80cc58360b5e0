// Package hostrules says which settings of hosts a configuration may have: which names the kernel
// and systemd accept, and which belong to Kubernetes, to kubewright or to the machine itself. It
// knows names and values, not blocks, and asks no host.
package hostrules
