# Processes, for observations and changes.

# kw_running NAMES ARGUMENTS: the files cmdline below /proc of processes that have one of
# the names, as the kernel truncates them, and one of the arguments. Both are lists, a line
# each.
kw_running() {
	# shellcheck disable=SC2046 # paths below /proc, which have no blanks
	set -- "$2" $(grep -slxF -e "$1" /proc/[0-9]*/comm)
	kw_a=$1
	shift
	for kw_f do
		shift
		set -- "$@" "${kw_f%/comm}/cmdline"
	done
	[ $# = 0 ] || grep -aslF -e "$kw_a" -- "$@"
}

# kw_processes NAMES ARGUMENTS: when such processes were started. The kernel counts that in
# ticks, 100 a second everywhere (USER_HZ), from a moment that a container may not know; so
# the ticks of a process started now come first, and the current time last. On a busy host
# that makes processes appear younger, by the time in between.
kw_processes() {
	kw_say processes
	# shellcheck disable=SC2046
	set -- $(kw_running "$1" "$2")
	[ $# != 0 ] || return 0
	for kw_f do
		shift
		set -- "$@" "${kw_f%/cmdline}/stat"
	done
	awk '{ print $2, $22 }' /proc/self/stat "$@"
	date +%s.%N
}

# kw_ends CMDLINE TRIES: waits until a process of kw_k and kw_b, which was sent a signal,
# has ended. After so many tries, five a second, it is killed.
kw_ends() {
	kw_t=0 kw_pid=${1#/proc/} kw_pid=${kw_pid%/cmdline}
	while [ $kw_t -lt $(($2 + 50)) ] && kw_running "$kw_k" "$kw_b" | grep -qxF -e "$1"; do
		[ $kw_t != "$2" ] || kill -KILL "$kw_pid"
		kw_t=$((kw_t + 1))
		sleep 0.2
	done
}

# kw_restart NAME ARGUMENT FILE...: ends processes that were started before one of the files
# was written, by at least a tick, the precision of the kernel. They get 30 s, as the
# kubelet gives a container; an API server, which keeps its watches open for as long (see
# kw_follow_script), 10 s. A time in
# whole seconds, as stat may print it if it is not GNU's, may be up to a second too early:
# it is better to end a process needlessly than to leave it with an outdated file.
kw_restart() {
	kw_k=$1
	kw_b=$2
	shift 2
	kw_v=$(stat -L -c %.9Y -- "$@") || kw_fail
	kw_made=same
	case $kw_k in
	kube-apiserver) kw_most=50 ;;
	*) kw_most=150 ;;
	esac
	for kw_f in $(kw_running "$kw_k" "$kw_b"); do
		kw_p=${kw_f%/cmdline}
		kw_o=$(awk 'NR == 1 { now = $22; next } { print (now - $22 - 1) / 100 }' /proc/self/stat "$kw_p/stat")
		if printf '%s\n' "$kw_v" | awk -v now="$(date +%s.%N)" -v age="$kw_o" '$1 + (index($1, ".") == 0) > now - age { old = 1 } END { exit !old }'; then
			kill -TERM "${kw_p#/proc/}" && kw_made=changed && kw_ends "$kw_f" "$kw_most"
		fi
	done
	kw_done "$kw_made"
}

# kw_shims SOCKET: waits until the containerd shims of the removed containers have ended.
# One that containerd has lost track of never ends by itself; it is killed after 10 s. Only
# the own client of containerd shows that no container is left.
kw_shims() {
	kw_uses_ctr "$1" || return 0
	kw_o=$(kw_ctr "$1" containers list --quiet) || return 0
	[ -z "$kw_o" ] || return 0
	kw_k=containerd-shim # the kernel truncates the name here
	kw_b=$(readlink -f -- "$1") # the given path may begin with /var/run
	for kw_f in $(kw_running "$kw_k" "$kw_b"); do
		if grep -aqsF k8s.io -- "$kw_f"; then kw_ends "$kw_f" 50 && kw_made=changed; fi
	done
}
