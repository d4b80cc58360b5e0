// Package apiserver is the simulated API servers, and the components that live on them: health,
// TLS and authentication, nodes, server-side apply, and tokens. It starts no pods: those of
// workloads are package workload's, those of machines package kubelet's.
package apiserver
