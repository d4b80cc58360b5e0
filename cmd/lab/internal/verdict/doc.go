// Package verdict asks the real components of Kubernetes and etcd which flags and which
// configurations they start with, and keeps what they answer. The verdicts are the oracle of what
// config refuses, as the files of real kubeadm are the oracle of what planner/kubeadm writes.
//
// Generate mutates flags and fields by their types, from a seed. A Lab runs the component of a
// version with each mutation, in namespaces of its own and on a root that is thrown away. The
// component refused it if it ended by itself, and took it if it serves or if its log passed the
// line that follows its validation. That it still runs is no verdict.
package verdict
