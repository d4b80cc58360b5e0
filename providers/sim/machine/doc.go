// Package machine is the simulated machines with their files, units, kernel, packages,
// images, certificates, and the processes of kubelet and static pods. A Fleet is all
// machines of a world with their shared data. The package starts no process by itself, and
// knows neither etcd nor the API.
package machine
