// Package kubeconfig reads kubeconfigs that the operator has not written: a host's
// admin.conf, or one that a configuration names. It takes credentials that stand in
// the file itself and nothing else: it opens no file that the kubeconfig names, runs
// no program, and lists every field that is not on its list.
//
// client-go's loader does the opposite by design. It belongs to the operator's own
// kubeconfig alone.
package kubeconfig
