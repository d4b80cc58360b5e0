// Package access gets kubeconfigs out of a cluster: the administrator's, whose content is not
// left to a host, and kubeconfigs that it signs for users.
package access
