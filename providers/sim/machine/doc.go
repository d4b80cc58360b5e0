// Package machine is the simulated machines and what is on them: files, units, the kernel,
// packages, images, certificates, and the processes of kubelet and static pods. A Fleet is all
// machines of a world and what they share. It starts no process by itself, and knows neither
// etcd nor the API.
package machine
