// Package shell observes and changes a host with nothing but a POSIX shell and a pipe: it
// is the common part of providers/ssh and providers/local. It knows no network and no keys;
// a Transport runs one command line for it.
//
// # The conversation
//
// The command line is a constant, so that process lists, audit logs and sudo's log show
// nothing of the task:
//
//	sh -c '…read a script of so many bytes, evaluate it…'
//
// Everything else goes through standard input, which is a sequence of blocks, each with a
// header line that states its length in bytes:
//
//	kubewright-script N     the entry script: find the user, become root
//	[the sudo password on a line, if sudo has asked for it on this host]
//	kubewright-script N     the main script, evaluated as root
//	kubewright-frame N      data for it: contents of files, archives …
//	…
//
// The shell reads the header lines, since it reads pipes byte by byte, and dd reads the
// blocks, since it reads exactly as many bytes as requested. (Not sh -s with data after the
// script: dash reads 8 KiB ahead and would run the data. Not head -c: that of busybox reads
// ahead. Not here-documents: bash writes large ones to /tmp.) Commands of the script have
// /dev/null as their input, except those that take a frame.
//
// Standard output carries the answer, as sections between marker lines:
//
//	…output of the login shell's start files…
//	kubewright NONCE entered 1000
//	kubewright NONCE begin
//	kubewright NONCE WORD…     a section; its bytes go up to the next marker
//	…
//	kubewright NONCE end
//
// The nonce is random and new each time, so that output of a login shell or the content of
// a file is never taken for a marker. Standard error is used for error messages only.
//
// The login shell may be any that understands sh -c '…': sh, bash (restricted, too), dash,
// zsh, fish, ksh, csh.
//
// While a slow command runs, lines with its latest output arrive in between, at most once a
// second: for operations of [planner.Tells], and only if there is a listener. They are no
// part of the answer.
//
//	kubewright NONCE heard 2 Unpacking kubelet (1.36.3-1.1) ...
//
// # Becoming root
//
// Within the same round trip the entry script continues as root: because the login is root,
// or with sudo -n, or with doas -n. The first attempt never includes a password. If sudo -n
// reports that it needs one, and the login is not root, the command is repeated with the
// password, as are the later commands of this run on this host. The password comes from the
// configuration, or from the operator, who is asked for it at that point.
//
// A command sends the password once. It is checked with an input of its own, so that a
// wrong one does not make sudo ask again and read our blocks as passwords; then it precedes
// the input of the sudo that runs the script. If sudo remembers it and leaves the line
// alone, the shell skips it. A password that sudo has refused is not sent again in this
// run. The script runs with an empty environment, a fixed PATH and LC_ALL=C.
//
// # Observing and changing
//
// An observation runs read-only commands and leaves nothing on the host, not even a
// temporary file. It gives up a host that sends nothing for a minute, or whose answer does
// not end in time. A change is one batch: the host refuses it unless the run's token is the
// highest it has seen (/var/lib/kubewright/token, with the lineage that it belongs to; a
// token that the run knows not to count is replaced), and performs one batch at a time (a
// lock next to the token). A Host sends one batch at a time: the batches of a run wait here
// without a limit, and on the host, for the batch of another run, two minutes. Each
// operation is answered separately, so that after a failure it is known how far the batch
// got. The host itself omits the private keys of certificates and kubeconfigs from its
// answers; of key files it sends the public part.
//
// # Limits for a host
//
// A host may be compromised. Its output is limited as it arrives: each section by the
// query, and all unparsed answers of a run by one [budget.Budget]. It may name only files
// that were requested, or that match a pattern. Time is limited as well: for an observation
// in all, for a change per operation, for an upload by the rate at which the host reads it.
// Exceeding a limit is an error of that host alone.
//
// # Lost connections
//
// When the connection is lost, the operation under way runs to its end and the batch ends
// after it; the next batch waits for that, and finds it done. A batch that waits for data
// ends when none has arrived for a minute or so, because sshd may not notice for hours that
// a connection is dead.
//
// # Requirements for a host
//
// A POSIX shell as /bin/sh, /usr/bin/env, coreutils of GNU or, as in Ubuntu from 25.10 on,
// uutils (dd, stat, sha256sum, base64, sync, mv, rm, chmod, chown, mkdir, head, tail, tr,
// timeout), grep, awk and find; depending on the operations, flock, mountpoint, ip,
// systemctl, tar and gzip, ctr or crictl.
package shell
