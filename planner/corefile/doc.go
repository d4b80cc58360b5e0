// Package corefile refuses plans that replace CoreDNS by a version that cannot read its Corefile, which
// users may have changed. What versions read is known to the library by which kubeadm migrates.
//
// It reads what was observed and changes nothing: the Corefile is the user's.
package corefile
