// Package sshconfig reads OpenSSH client configurations (ssh_config(5)) as OpenSSH does: what a line
// means, which blocks apply to a host, and which value counts.
//
// It carries out nothing that a configuration names, and opens no connection. Where the outcome
// depends on what it does not evaluate, such as Match exec, the host that it is about is refused; a
// setting is never guessed.
package sshconfig
