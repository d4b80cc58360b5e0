// Package shell observes and changes a host through nothing but a POSIX shell
// and a pipe: it is what providers/ssh and providers/local have in common. It
// knows no network and no keys; a Transport runs one command line for it.
//
// # The conversation
//
// The command line is one constant, so that nothing about what is done shows
// in process lists, audit logs or sudo's log:
//
//	sh -c '…read a script of so many bytes, evaluate it…'
//
// Everything else goes through standard input, which is a sequence of blocks,
// each with a header line that tells its length in bytes:
//
//	kubewright-script N     the entry script: who are we, how to become root
//	[the sudo password on a line, if sudo has asked for it on this host]
//	kubewright-script N     the script proper, evaluated as root
//	kubewright-frame N      data for it: contents of files, archives …
//	…
//
// Header lines are read by the shell, which reads pipes byte by byte, and the
// blocks by dd, which reads no byte more than it is told. (Not sh -s with data
// behind the script: dash reads 8 KiB ahead and would run the data. Not head
// -c: that of busybox reads ahead. Not here-documents: bash writes large ones to
// /tmp.) Commands of the script have /dev/null as their input, except those
// that take a frame.
//
// Standard output carries the answer, as sections between marker lines:
//
//	…whatever the login shell prints before…
//	kubewright NONCE entered 1000
//	kubewright NONCE begin
//	kubewright NONCE WORD…     a section; its bytes go up to the next marker
//	…
//	kubewright NONCE end
//
// The nonce is random and new each time, so that what a login shell or a file
// contains is never taken for a marker. What goes to standard error is kept for
// error messages only.
//
// The login shell may be any that understands sh -c '…': sh, bash (restricted,
// too), dash, zsh, fish, ksh, csh.
//
// While a command runs that takes long, lines come in between that say what it has
// printed last, once a second at most: of those operations that [planner.Tells], and
// where somebody hears them. They are no part of the answer.
//
//	kubewright NONCE heard 2 Unpacking kubelet (1.36.3-1.1) ...
//
// # Becoming root
//
// Within the same round trip the entry script goes on as root: the login already is,
// or sudo -n lets it, or doas -n lets it. A password is never part of the first attempt. If
// sudo -n says that it needs one, and the login is not root, the command is repeated
// with the password, and so are the later commands of this run on this host. The password comes
// from the configuration, or from the operator, who is then asked for it.
//
// The password is sent once in a command. It is checked with an input of its own, so that a
// wrong one does not make sudo ask again and read our blocks as passwords; then it leads the
// input of the sudo that runs the script. A sudo that remembers it leaves the line alone, and
// the shell skips it. A password that sudo has refused is not sent again in this run. The
// script runs with an empty environment, a fixed PATH and LC_ALL=C.
//
// # Observing and changing
//
// Observing runs read-only commands and leaves nothing behind, not even a
// temporary file. A host from which nothing comes for a minute meanwhile is given
// up, and so is one whose answer does not end in time. Changing is one batch: the host refuses it unless the run's
// token is the highest it has seen (/var/lib/kubewright/token, with the lineage
// it belongs to; one that the run knows not to count gives way), and does one batch after the other (a lock beside it). A Host
// sends one batch at a time: those of a run wait here for as long as it takes, and
// on the host, for those of somebody else, two minutes. Each operation is answered
// by itself, so that after a failure it is known how far the batch got. Private keys of certificates and kubeconfigs are left out on
// the host already; of those in files their public part is told.
//
// # What a host may cost
//
// A host may be compromised. What it sends is bounded as it arrives: each section by what
// was asked for, all unparsed answers of a run by one [budget.Budget]. It may name only
// files that were asked for, or that match a pattern. Time is bounded as well: of an
// observation in all, of a change for each operation, of an upload by the rate at which
// the host takes it. What ends a conversation is an error of that host alone.
//
// # Lost connections
//
// When the connection is lost, the operation under way goes on to its end and
// the batch ends behind it; the next batch waits for that, and finds it done. A
// batch that waits for data ends when none has come for a minute or so, for sshd
// may not learn for hours that a connection is dead.
//
// # What a host needs
//
// A POSIX shell as /bin/sh, /usr/bin/env, coreutils of GNU or, as in Ubuntu from 25.10 on,
// uutils (dd, stat, sha256sum, base64, sync, mv, rm, chmod, chown, mkdir, head, tail, tr,
// timeout), grep, awk and find; where it is used, flock, mountpoint, ip, systemctl, tar and
// gzip, ctr or crictl.
package shell
