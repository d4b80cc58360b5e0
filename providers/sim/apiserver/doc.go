// Package apiserver is the simulated API servers, and the components that depend on them:
// health, TLS and authentication, nodes, server-side apply, and tokens. It starts no pods:
// package workload starts those of workloads, package kubelet those of machines.
package apiserver
