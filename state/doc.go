// Package state defines the vocabulary of all other packages: addresses, values, items,
// snapshots, facts and the recorded state.
//
// Desired, observed and recorded share the same types. A desired Snapshot comes from the
// configuration, an observed one from hosts, API and etcd, a recorded one from the state file. A
// diff compares with the observed one; the recorded one only answers what kubewright owns and
// what has drifted since its last run.
//
// The package holds no I/O, no clock and no Kubernetes client types, and it
// imports nothing else of this module. The state file itself is read and
// written by state/statefile.
package state
