// Package kubeadmtest holds the configurations for which the tests know what kubeadm writes, once
// as kubewright's model and once, rendered independently, as kubeadm's own YAML. cmd/lab/oracle
// runs real kubeadm on the latter and keeps the results as goldens; the tests of package kubeadm
// compare them with what it renders from the former.
package kubeadmtest
