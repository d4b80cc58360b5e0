// Package e2e proves that kubewright creates working Kubernetes clusters: tests on real hosts of
// this machine, against real Kubernetes. They need root on Linux and the build tag e2e; make e2e
// runs them.
package e2e
