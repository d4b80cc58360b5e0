// Package etcd reaches the stacked etcd of a cluster through one of its
// control planes, as kubeadm does: with the client certificate made for health
// checks, and never through a member that is on its way out.
//
// Membership is changed only after it was read, and read again after every
// error: what was under way may have happened (facts: kubeadm's etcd-join and
// remove-etcd-member; etcd's strict-reconfig-check).
package etcd
