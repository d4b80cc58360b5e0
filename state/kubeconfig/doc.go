// Package kubeconfig reads kubeconfigs that the operator did not write: a host's admin.conf, or
// one that a configuration names. It uses only credentials inside the file: it opens no file that
// the kubeconfig names, runs no program, and reports every field that is not on its list.
//
// client-go's loader does the opposite by design. It is used only for the operator's own
// kubeconfig.
package kubeconfig
