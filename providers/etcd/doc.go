// Package etcd reaches the stacked etcd of a cluster through one of its control planes, as
// kubeadm does: with the client certificate for health checks, and never through a member
// that is being removed.
//
// It reads the membership before every change, and again after every error, since the
// change may have happened (see kubeadm's etcd-join and remove-etcd-member; etcd's
// strict-reconfig-check).
package etcd
