// Package safefile opens files on the operator's machine so that a name prepared by another user
// can neither redirect nor block the caller.
//
// Own files are the files that kubewright writes: state, lock, journal, saved plans, logs,
// snapshots. A symbolic link in their place is refused, since a repository can contain links; so
// is everything else that is not a regular file, and a folder in which every user of the machine
// can replace files. Folders that a group can write are accepted: with umask 002 all of a user's
// folders are such.
//
// Linked files are only read, and lie where the operator or the system keeps them: keys,
// known_hosts, ssh_config. Links are followed, such as to a mounted secret, and must lead to a
// regular file, or to /dev/null, which is empty.
//
// Given files are named by the operator on the command line. They may also be a descriptor that
// the shell has opened, as in -var-file=<(command): streams are only accepted under the names of
// descriptors (/dev/fd/N, /dev/stdin, /proc/self/fd/N).
//
// The type of a file is checked through its open descriptor, and before that by its name, because
// opening a device can already have an effect. No open waits for the other end of a pipe. A file
// is only truncated after it has proved to be regular.
package safefile
