# What does not run on the host, and why.

# kw_unit_log UNIT LINES: the properties of a unit, a blank line, and the end of its journal. A
# unit that is not there says nothing.
kw_unit_log() {
	kw_o=$(systemctl show --no-pager --property LoadState,ActiveState,SubState,Result,ExecMainStatus,NRestarts "$1") || return 0
	case $kw_o in *LoadState=loaded*) ;; *) return 0 ;; esac
	kw_say unit "$1"
	printf '%s\n\n' "$kw_o"
	case $kw_o in
	*SubState=running*) ;;
	*) journalctl --unit "$1" --no-pager --quiet --output cat --lines "$2" 2>/dev/null | cut -c 1-1000 ;;
	esac
}

# kw_containers NAMESPACE LINES: the containers of a namespace, and of those that have exited what
# the runtime knows and the end of their logs.
kw_containers() {
	command -v crictl >/dev/null || return 0
	for kw_s in "$kw_r/run/containerd/containerd.sock" "$kw_r/run/crio/crio.sock" "$kw_r/run/cri-dockerd.sock"; do
		[ ! -S "$kw_s" ] || break
	done
	[ -S "$kw_s" ] || return 0
	kw_say containers
	kw_cri "$kw_s" ps --all --output json --label "io.kubernetes.pod.namespace=$1" || return 0
	for kw_i in $(kw_cri "$kw_s" ps --all --quiet --state exited --label "io.kubernetes.pod.namespace=$1" | head -n 5); do
		kw_o=$(kw_cri "$kw_s" inspect --output json "$kw_i") || continue # removed meanwhile
		kw_say exited "$kw_i"
		printf '%s\n' "$kw_o"
		kw_say log "$kw_i"
		kw_cri "$kw_s" logs --tail "$2" "$kw_i" 2>&1 | cut -c 1-1000
	done
}
