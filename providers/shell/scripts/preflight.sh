# The inputs of the preflight checks of kubeadm, beyond the facts.

# Kernel options that Kubernetes needs, for cgroup v1 or v2 (k8s.io/system-validators).
kw_options='NAMESPACES NET_NS PID_NS IPC_NS UTS_NS CPUSETS MEMCG INET EXT4_FS PROC_FS NETFILTER_XT_TARGET_REDIRECT
	NETFILTER_XT_MATCH_COMMENT FAIR_GROUP_SCHED CGROUPS CGROUP_PIDS CGROUP_SCHED CGROUP_CPUACCT CGROUP_DEVICE CGROUP_FREEZER CGROUP_BPF'

# kw_preflight ETCD-FOLDER: the folder is empty where no etcd will run.
kw_preflight() {
	kw_say preflight
	if [ "$(id -u)" = 0 ]; then echo 'root true'; else echo 'root false'; fi
	if [ -c /dev/kmsg ]; then echo 'kmsg true'; else echo 'kmsg false'; fi
	if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
		kw_line cgroup_controllers /sys/fs/cgroup/cgroup.controllers
	else
		awk '!/^#/ && $4 != 0 { c = c " " $1 } END { print "cgroup_controllers" c }' /proc/cgroups
	fi
	printf 'etcd_disk'
	[ -z "$1" ] || kw_disk "$1"
	echo
	kw_kernel
}

# kw_disk FOLDER: how often the disk below a folder, which may not be there yet, was flushed since
# the host started, and how many milliseconds that took. Partitions and mapped devices have no such
# counts of their own (Documentation/block/stat.rst).
kw_disk() {
	kw_f=$1
	until [ -d "$kw_r$kw_f/" ]; do kw_f=${kw_f%/*}; done
	kw_f=$(findmnt -n -o MAJ:MIN -T "$kw_r$kw_f/") || return 0
	kw_f=$kw_r/sys/dev/block/${kw_f##* }
	for kw_v in 1 2 3 4; do
		if [ -f "$kw_f/partition" ]; then
			kw_f=$kw_f/..
			continue
		fi
		for kw_d in "$kw_f"/slaves/*; do
			[ ! -d "$kw_d" ] || kw_f=$kw_d
		done
	done
	[ ! -f "$kw_f/stat" ] || awk 'NF >= 17 && $16 > 0 { printf " %d/%d", $16, $17 }' "$kw_f/stat"
}

# kw_kernel: which options are off, or that it is unknown. It keeps only the lines of those
# options: a shell is slow with a whole configuration.
kw_kernel() {
	IFS= read -r kw_v </proc/sys/kernel/osrelease
	set -- IP_NF_TARGET_REDIRECT $kw_options
	IFS='|'
	kw_p="^CONFIG_($*)=[ym]"
	unset IFS
	kw_o=
	for kw_f in /proc/config.gz "/boot/config-$kw_v" "/usr/src/linux-$kw_v/.config" /usr/src/linux/.config \
		"/usr/lib/modules/$kw_v/config" "/usr/lib/ostree-boot/config-$kw_v" "/usr/lib/kernel/config-$kw_v" \
		"/usr/src/linux-headers-$kw_v/.config" "/lib/modules/$kw_v/config" "/lib/modules/$kw_v/build/.config"; do
		[ -f "$kw_f" ] || continue
		case $kw_f in
		*.gz) kw_o=$(gzip -dc "$kw_f" | grep -E "$kw_p") ;;
		*) kw_o=$(grep -E "$kw_p" "$kw_f") ;;
		esac
		[ -z "$kw_o" ] || break
	done
	if [ -z "$kw_o" ]; then echo 'kernel_config unknown'; return; fi
	echo 'kernel_config known'
	printf 'kernel_missing'
	for kw_f in $kw_options; do
		case $kw_o in
		*"CONFIG_$kw_f="*) ;;
		*)
			case $kw_f$kw_o in
			NETFILTER_XT_TARGET_REDIRECT*CONFIG_IP_NF_TARGET_REDIRECT=*) ;;
			*) printf ' %s' "$kw_f" ;;
			esac ;;
		esac
	done
	echo
}

# kw_cri_served: whether containerd serves the CRI: the state of its CRI plugin, or disabled
# if it has none. It prints nothing if that is unknown, and for other runtimes, which serve
# nothing else.
kw_cri_served() {
	kw_say cri
	kw_f=$kw_r/run/containerd/containerd.sock
	[ -S "$kw_f" ] || return 0
	if command -v ctr >/dev/null; then
		kw_o=$(ctr --address "$kw_f" --timeout 10s plugins list) || return 0
		printf '%s\n' "$kw_o" | awk '$1 == "io.containerd.grpc.v1" && $2 == "cri" { s = $4 } END { print s == "" ? "disabled" : s }'
	elif command -v crictl >/dev/null; then
		case $(crictl --runtime-endpoint "unix://$kw_f" --timeout 10s version 2>&1) in
		*'unknown service runtime.'*) echo disabled ;;
		esac
	fi
}

# kw_resolves ENDPOINT: whether the own name of the host resolves, and the addresses of the endpoint's;
# a dead name server must not delay everything.
kw_resolves() {
	kw_say resolves
	IFS= read -r kw_v </proc/sys/kernel/hostname
	if timeout 3 getent hosts "$kw_v" >/dev/null; then echo true; else echo false; fi
	[ -z "$1" ] || timeout 3 getent ahosts "$1" | awk '!a[$1]++ { print $1 }'
}

# kw_between PATH-TO PEERS: which peers, written ADDRESS:PORT, do not answer at all, and the interface and
# its MTU if a packet of that size does not arrive at PATH-TO and a small one does. A port on which
# nothing listens answers. All are tried at once. Without bash or ping nothing is known.
kw_between() {
	kw_say between
	if command -v bash >/dev/null; then
		for kw_f in $2; do kw_reaches "$kw_f" & done
	fi
	[ -z "$1" ] || kw_path "$1" &
	wait
}

# kw_reaches ADDRESS:PORT: a firewall drops what it does not let through, or says that there is no route.
kw_reaches() {
	kw_h=${1%:*}
	kw_h=${kw_h#[}
	# shellcheck disable=SC2016 # bash expands them
	kw_o=$(timeout 2 bash -c 'exec 3<>"/dev/tcp/$1/$2"' bash "${kw_h%]}" "${1##*:}" 2>&1)
	case $?,$kw_o in
	124,* | *'No route to host'* | *'Network is unreachable'*) echo "port $1" ;;
	esac
}

# kw_path ADDRESS: only the ping of iputils can forbid fragments.
kw_path() {
	case $(ping -V 2>&1) in
	*iputils*) ;;
	*) return 0 ;;
	esac
	kw_h=28 # of IP and ICMP
	case $1 in
	*:*) kw_h=48 ;;
	esac
	kw_o=$(ip -o route get "$1") || return 0
	kw_o=${kw_o#* dev }
	kw_o=${kw_o%% *}
	IFS= read -r kw_v <"$kw_r/sys/class/net/$kw_o/mtu" || return 0
	! ping -n -q -c 1 -W 1 -M do -s "$((kw_v - kw_h))" "$1" >/dev/null 2>&1 || return 0
	! ping -n -q -c 1 -W 1 "$1" >/dev/null 2>&1 || echo "mtu $kw_o/$kw_v"
}
