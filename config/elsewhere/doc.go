// Package elsewhere knows the names that users bring along from other tools, such as Terraform,
// kubeadm, kubectl or kubespray, and says for each what to write here instead, or that there is
// nothing like it.
//
// It is the one table of such names: package hclconfig asks it about blocks, arguments and
// references that the language does not have, package cli about commands and flags. A name that
// exists here under another block is not in the table, since the schema finds it.
package elsewhere
