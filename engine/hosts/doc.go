// Package hosts connects to the hosts of a run and observes them: every host concurrently, and
// the API and etcd of each cluster through its control planes. A World is where the hosts are:
// the network, or a simulation.
//
// It changes nothing on a host, prints nothing, and knows no flag.
package hosts
