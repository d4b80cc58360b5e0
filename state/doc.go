// Package state is the vocabulary that every other package speaks: addresses,
// values, items, snapshots, facts and the recorded state.
//
// Desired, observed and recorded are the same types. A desired Snapshot comes
// from the configuration, an observed one from hosts, API and etcd, a recorded
// one from the state file. Observed is the truth of a diff; recorded answers
// only what kubewright owns and what drifted since it last looked.
//
// The package holds no I/O, no clock and no Kubernetes client types, and it
// imports nothing else of this module. The state file itself is read and
// written by state/statefile.
package state
