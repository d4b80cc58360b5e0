// Package kubeadmtest holds the configurations on which kubeadm is asked what
// it writes, once as kubewright's model and once, independently rendered, as
// kubeadm's own YAML. cmd/lab/oracle runs real kubeadm on the latter and keeps
// the results as goldens; the tests of package kubeadm compare what it renders
// from the former.
package kubeadmtest
