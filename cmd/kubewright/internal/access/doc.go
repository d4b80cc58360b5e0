// Package access gets kubeconfigs out of a cluster: the administrator's, whose content a
// host does not decide, and those that it signs for users.
package access
