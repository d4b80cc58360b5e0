// Package safefile opens the files of the operator's machine, so that a name which
// another user has prepared leads nowhere else and waits for nothing.
//
// Own files are those that kubewright writes: state, lock, journal, saved plans, logs,
// snapshots. A symbolic link in the place of one is refused, since a repository can bring
// links; so is everything else that is not a regular file, and a folder in which every
// user of the machine can replace files. Folders that a group can write are accepted:
// with umask 002 all of a user's folders are.
//
// Linked files are those that are only read, and that lie where the operator or the
// system keeps them: keys, known_hosts, ssh_config. Links are followed, as to a mounted
// secret, and must lead to a regular file, or to /dev/null, which is empty.
//
// Given files are named by the operator on the command line. They may also be a
// descriptor that the shell has opened, as in -var-file=<(command): a stream is
// accepted under the names of descriptors (/dev/fd/N, /dev/stdin, /proc/self/fd/N) only.
//
// What a file is gets checked through its open descriptor, and before that by its name:
// to open a device can already do something. Nothing is opened so that it waits for the
// other end of a pipe. Files are truncated once they have proved to be regular.
package safefile
