// Package hostfile has the rules for files of the user on hosts: where they may be, with which mode and
// owner, and which of them a component would refuse to read. It knows paths and contents, not blocks,
// and reads no file itself.
package hostfile
