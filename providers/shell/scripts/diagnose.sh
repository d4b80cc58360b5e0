# What does not run on the host, and why.
kw_t=

# kw_unit_log UNIT LINES: the properties of a unit, the state of its main process (T of one that SIGSTOP
# has stopped: kw_t has its unit), a blank line, and the end of its journal; of a unit
# that runs, the errors of its main process within the last 45 seconds: a kubelet repeats what it
# still suffers from. A unit that is not there says nothing.
kw_unit_log() {
	kw_o=$(systemctl show --no-pager --property LoadState,UnitFileState,ActiveState,SubState,Result,ExecMainStatus,NRestarts,MainPID "$1") || return 0
	case $kw_o in *LoadState=not-found* | *LoadState=merged*) return 0 ;; *LoadState=*) ;; *) return 0 ;; esac
	kw_say unit "$1"
	kw_p=$(printf '%s\n' "$kw_o" | sed -n 's/^MainPID=//p')
	kw_q=$(sed -n 's/^State:[^A-Z]*\([A-Z]\).*/\1/p' "/proc/$kw_p/status")
	[ "$kw_q" != T ] || kw_t="$kw_t $1"
	printf '%s\nState=%s\n\n' "$kw_o" "$kw_q"
	case $(printf '%s\n' "$kw_o" | grep -cx -e LoadState=loaded -e SubState=running) in
	2)
		journalctl "_PID=$kw_p" --no-pager --quiet --output cat --since -45s --lines 2000 2>/dev/null |
			grep -E '^[EF][0-9][0-9]|level=(error|fatal)|failed (liveness|startup) probe' | kw_once | tail -n 60
		;;
	*) journalctl --unit "$1" --no-pager --quiet --output cat --lines "$2" 2>/dev/null ;;
	esac | cut -c 1-1000
}

# kw_once: of lines that differ in numbers alone the last one.
kw_once() {
	awk '{ k = $0; gsub(/[0-9]+/, "", k); k = substr(k, 1, 180); at[k] = NR; said[k] = $0 }
		END { for (k in at) print at[k] "\t" said[k] }' | sort -n | cut -f 2-
}

# kw_disks FOLDER...: of each folder that is there its path, the free bytes and inodes of its file
# system, and whether it can be written to.
kw_disks() {
	kw_say disks
	for kw_i in "$@"; do
		[ -d "$kw_r$kw_i" ] || continue
		kw_o=rw
		[ -w "$kw_r$kw_i" ] || kw_o=ro
		printf '%s %s %s %s\n' "$kw_i" "$kw_o" "$(df -P -k "$kw_r$kw_i" | awk 'NR == 2 { print $4 }')" \
			"$(df -P -i "$kw_r$kw_i" | awk 'NR == 2 && $2 > 0 { print $4 }')"
	done
}

# kw_manifests: the names of the manifests of static pods.
kw_manifests() {
	kw_say manifests
	for kw_i in "$kw_r"/etc/kubernetes/manifests/*.yaml; do
		[ ! -e "$kw_i" ] && [ ! -L "$kw_i" ] || printf '%s\n' "${kw_i##*/}"
	done
}

# kw_containers NAMESPACE LINES: the containers of a namespace, and of those that have exited what
# the runtime knows and the end of their logs. A runtime that is stopped does not answer.
kw_containers() {
	case $kw_t in *containerd* | *crio*) return 0 ;; esac
	command -v crictl >/dev/null || return 0
	for kw_s in "$kw_r/run/containerd/containerd.sock" "$kw_r/run/crio/crio.sock" "$kw_r/run/cri-dockerd.sock"; do
		[ ! -S "$kw_s" ] || break
	done
	[ -S "$kw_s" ] || return 0
	if ! kw_o=$(kw_cri "$kw_s" ps --all --output json --label "io.kubernetes.pod.namespace=$1" 2>&1); then
		kw_say refused "$kw_s"
		journalctl --unit containerd.service --no-pager --quiet --output cat --lines 400 2>/dev/null |
			grep -E 'failed to load plugin.*cri' | kw_once | tail -n 3 | cut -c 1-1000
		printf '%s\n' "$kw_o" | tail -n 3 | cut -c 1-1000
		return 0
	fi
	kw_say containers
	printf '%s\n' "$kw_o"
	for kw_i in $(kw_cri "$kw_s" ps --all --quiet --state exited --label "io.kubernetes.pod.namespace=$1" | head -n 5); do
		kw_o=$(kw_cri "$kw_s" inspect --output json "$kw_i") || continue # removed meanwhile
		kw_say exited "$kw_i"
		printf '%s\n' "$kw_o"
		kw_say log "$kw_i"
		# The error of a program that then prints its usage is hundreds of indented lines before the end.
		kw_cri "$kw_s" logs --tail 1000 "$kw_i" 2>&1 | grep -v '^  ' | tail -n "$2" | cut -c 1-1000
	done
}
