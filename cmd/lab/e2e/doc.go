// Package e2e holds the proof that what kubewright makes is a Kubernetes
// cluster: tests on real hosts of this machine, against real Kubernetes. They
// need root on Linux and the build tag e2e; make e2e runs them.
package e2e
