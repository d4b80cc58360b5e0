# Operations on running things: units, images, kernel, containers, network. They need
# runtime.sh and perform.sh and follow the latter's rules; every command has /dev/null as
# its input, and slow ones go through kw_long.

# kw_unit UNIT ACTION RELOAD VERIFY
kw_unit() {
	kw_u=$1
	kw_verify=$4
	if [ "$2" = daemon-reload ]; then
		systemctl daemon-reload </dev/null || kw_fail
		kw_done changed
		return
	fi
	if [ "$3" = yes ]; then systemctl daemon-reload </dev/null || kw_fail; fi
	case $2 in
	start)
		case $(systemctl show --property ActiveState,SubState --value -- "$1" </dev/null) in
		active*) kw_done same; return ;;
		*auto-restart*) set -- "$1" restart ;; # start would wait for systemd's own retry
		esac ;;
	stop)
		case $(systemctl show --property ActiveState --value -- "$1" </dev/null) in
		inactive | failed) kw_done same; return ;;
		esac ;;
	enable)
		if systemctl is-enabled --quiet -- "$1" </dev/null 2>/dev/null; then kw_done same; return; fi ;;
	disable)
		case $(systemctl is-enabled -- "$1" </dev/null 2>/dev/null) in
		enabled*) ;;
		*) kw_done same; return ;;
		esac ;;
	esac
	kw_long systemctl --quiet "$2" -- "$1" || kw_why
	[ "$kw_verify" != yes ] || kw_stays || kw_why
	kw_done changed
}

# kw_stays: whether the unit is still active after two seconds: the start of a service does
# not wait for its program, which may end at once.
kw_stays() {
	for kw_i in 1 2; do
		sleep 1
		case $(systemctl show --property ActiveState,SubState --value -- "$kw_u" </dev/null) in
		*auto-restart* | failed* | inactive*) return 1 ;;
		esac
	done
}

# kw_why: fails with the unit's own messages.
kw_why() {
	kw_x=$?
	systemctl status --no-pager --full --lines 10 -- "$kw_u" </dev/null >&2
	(exit "$kw_x")
	kw_fail
}

# kw_has_image IMAGE SOCKET
kw_has_image() {
	if kw_uses_ctr "$2"; then
		[ -n "$(kw_ctr "$2" images list --quiet "name==$1")" ]
	else
		kw_cri "$2" inspecti --quiet "$1" >/dev/null 2>&1
	fi
}

# kw_has_images SOCKET IMAGE...: whether all exist; sets kw_i to one that does not.
kw_has_images() {
	kw_s=$1
	shift
	for kw_i do
		kw_has_image "$kw_i" "$kw_s" || return
	done
}

# kw_image_load SOCKET SHA256 IMAGE..., and a frame: an archive that holds the images.
kw_image_load() {
	kw_head
	kw_v=$1
	kw_sum=$2
	shift 2
	if kw_has_images "$kw_v" "$@"; then
		kw_take || kw_fail
		kw_done same
		return
	fi
	kw_uses_ctr "$kw_v" || kw_fail 'only containerd with its ctr can load an image from an archive'
	kw_keep "$kw_d/part-$kw_n" "$kw_sum" "the archive of $1"
	kw_long kw_ctr "$kw_v" images import "$kw_d/part-$kw_n" || kw_drop "$kw_d/part-$kw_n"
	rm -f -- "$kw_d/part-$kw_n"
	kw_has_images "$kw_v" "$@" || kw_fail "the archive does not hold $kw_i"
	kw_done changed
}

# kw_image_pull SOCKET POLICY WHY IMAGE...: pulls several at the same time, and waits for
# all. WHY is printed if the runtime fails.
kw_image_pull() {
	kw_s=$1
	kw_v=$2
	kw_w=$3
	shift 3
	for kw_i do
		shift
		if [ "$kw_v" = Always ] || ! kw_has_image "$kw_i" "$kw_s"; then set -- "$@" "$kw_i"; fi
	done
	if [ $# = 0 ]; then kw_done same; return; fi
	[ "$kw_v" != Never ] || kw_fail "$1 is not present, and the pull policy is Never"
	command -v crictl >/dev/null || kw_uses_ctr "$kw_s" || kw_fail 'there is neither crictl nor ctr to pull with'
	kw_o=
	kw_job=0
	for kw_i do
		kw_job=$((kw_job + 1))
		kw_pulls "$kw_i" "$kw_s" &
		kw_o="$kw_o $kw_job:$!"
	done
	kw_job=
	kw_a=0
	for kw_i in $kw_o; do
		wait "${kw_i#*:}" && continue
		kw_a=$?
		cat "$kw_d/part-why${kw_i%:*}" >&2
	done
	if [ "$kw_a" = 0 ]; then kw_done changed; return; fi
	(exit "$kw_a")
	kw_fail "$kw_w"
}

# kw_pulls IMAGE SOCKET: tries as often as kubeadm, and keeps the output of the last try.
kw_pulls() {
	for kw_i in 1 2 3 4 5; do
		kw_pull "$1" "$2" 2>"$kw_d/part-why$kw_job" && return
		kw_x=$?
	done
	return "$kw_x"
}

# kw_pull IMAGE SOCKET
kw_pull() {
	if command -v crictl >/dev/null; then
		kw_long kw_cri "$2" pull "$1"
	else
		kw_long kw_ctr "$2" images pull --hosts-dir /etc/containerd/certs.d "$1"
	fi
}

# kw_sysctl NAME FILE VALUE RESTORE: with RESTORE yes, a sysctl that the kernel no longer
# has need not be restored.
kw_sysctl() {
	if ! [ -f "$2" ]; then
		[ "$4" = yes ] || kw_fail "the kernel has no $1"
		kw_done same
		return
	fi
	if [ "$(kw_flat "$2")" = "$3" ]; then kw_done same; return; fi
	printf '%s\n' "$3" >"$2" || kw_fail "the kernel does not accept $3 as $1"
	kw_v=$(kw_flat "$2")
	[ "$kw_v" = "$3" ] || [ "$4" = yes ] || kw_fail "the kernel shows $1 as \"$kw_v\" after it was set to \"$3\": write the value as the kernel shows it"
	kw_done changed
}

# kw_flat FILE: a kernel parameter with one space between its numbers, where the kernel has
# tabs. Not with read, which would get the first digit of a number only.
kw_flat() {
	set -f
	# shellcheck disable=SC2046 # numbers are words
	set -- $(cat -- "$1")
	printf '%s' "$*"
}

# kw_module MODULE: loads it.
kw_module() {
	if [ -d "/sys/module/$1" ]; then kw_done same; return; fi
	modprobe -- "$1" </dev/null || kw_fail
	kw_done changed
}

# kw_module_off MODULE: unloads it, unless something uses it.
kw_module_off() {
	if ! [ -d "/sys/module/$1" ]; then kw_done same; return; fi
	kw_f="/sys/module/$1/refcnt"
	if [ -f "$kw_f" ] && read -r kw_v <"$kw_f" && [ "$kw_v" != 0 ]; then kw_done same; return; fi
	modprobe -r -- "$1" </dev/null || kw_fail
	kw_done changed
}

# kw_user NAME: makes a system user without login and the group of the same name. Their
# tools are those of shadow, or of BusyBox.
kw_user() {
	kw_made=same
	if [ -z "$(kw_group "$1")" ]; then
		if command -v groupadd >/dev/null; then groupadd -r "$1"; else addgroup -S "$1"; fi </dev/null || kw_fail
		kw_made=changed
	fi
	if ! id -u "$1" >/dev/null 2>&1; then
		for kw_f in /usr/sbin/nologin /sbin/nologin /bin/false; do
			if [ -x "$kw_f" ]; then break; fi
		done
		if command -v useradd >/dev/null; then
			useradd -r -M -g "$1" -d /nonexistent -s "$kw_f" "$1"
		else
			adduser -S -D -H -G "$1" -h /nonexistent -s "$kw_f" "$1"
		fi </dev/null || kw_fail
		kw_made=changed
	fi
	kw_done "$kw_made"
}

# kw_user_gone NAME KEEP: removes a user and its group, unless a process runs as the user or
# the group has other members. KEEP is user or group, for the one that was there before.
kw_user_gone() {
	kw_made=same
	if [ "$2" != user ] && id -u "$1" >/dev/null 2>&1; then
		if [ -n "$(find /proc -maxdepth 1 -name '[0-9]*' -user "$1" 2>/dev/null)" ]; then kw_done same; return; fi
		if command -v userdel >/dev/null; then userdel "$1"; else deluser "$1"; fi </dev/null || kw_fail
		kw_made=changed
	fi
	kw_o=$(kw_group "$1")
	if [ "$2" != group ] && [ -n "$kw_o" ] && [ -z "${kw_o##*:}" ]; then
		if command -v groupdel >/dev/null; then groupdel "$1"; else delgroup "$1"; fi </dev/null || kw_fail
		kw_made=changed
	fi
	kw_done "$kw_made"
}

# kw_swap on|off BOOT: sets the current state of swap. BOOT is off to keep it off after a
# boot, by a mask on the unit that pulls in all swap of fstab and generators, on to remove
# the mask, or empty.
kw_swap() {
	kw_made=same
	if [ "$2" = off ] && ! kw_swap_masked; then
		systemctl --quiet mask swap.target </dev/null || kw_fail
		kw_made=changed
	elif [ "$2" = on ] && kw_swap_masked; then
		systemctl --quiet unmask swap.target </dev/null || kw_fail
		kw_made=changed
	fi
	if [ "$1" = off ] && kw_swap_used; then
		swapoff -a </dev/null || kw_fail
		kw_made=changed
	elif [ "$1" = on ] && ! kw_swap_used; then
		swapon -a </dev/null || kw_fail
		# Units of generators are not in fstab.
		systemctl --quiet --no-block start swap.target </dev/null || kw_fail
		kw_made=changed
	fi
	kw_done "$kw_made"
}

kw_swap_masked() { [ "$kw_r/etc/systemd/system/swap.target" -ef /dev/null ]; }

kw_swap_used() {
	[ -f "$kw_r/proc/swaps" ] && { read -r kw_v && read -r kw_v; } <"$kw_r/proc/swaps"
}

# kw_pods SOCKET: stops and removes every pod, of Kubernetes or not, as kubeadm does, and
# then the remains: shims and control groups. Without a runtime there are no pods, unless a
# runtime that was killed has left them running.
kw_pods() {
	kw_made=same
	if kw_listens "$1"; then
		if command -v crictl >/dev/null; then
			kw_pods_cri "$1"
		elif kw_uses_ctr "$1"; then
			kw_pods_ctr "$1"
		else
			kw_fail 'there is neither crictl nor ctr to remove containers with'
		fi
		kw_shims "$1"
	else
		kw_left "$1"
	fi
	kw_slices
	kw_done "$kw_made"
}

# kw_left SOCKET: fails if containers of pods run on without the runtime that listened
# there: their shims (conmon for CRI-O) have its folder among their arguments.
kw_left() {
	kw_b=$(readlink -f -- "$1") || kw_b=$1
	kw_o=
	for kw_f in $(kw_running "containerd-shim
conmon" "${kw_b%/*}/"); do
		if grep -aqsF -e k8s.io -e k8s_ -e moby -- "$kw_f"; then kw_f=${kw_f%/cmdline} kw_o="$kw_o ${kw_f#/proc/}"; fi
	done
	[ -z "$kw_o" ] || kw_fail "no process listens on $1, and containers run on without their runtime, below the processes$kw_o. Start it again, so that it removes them, or end them, and apply again"
}

# kw_slices: removes the control groups that the kubelet made for pods. Those of cgroup v1
# controllers that systemd does not manage are removed one by one.
kw_slices() {
	if [ "$(systemctl show --property ActiveState --value kubepods.slice </dev/null 2>/dev/null)" = active ]; then
		systemctl --quiet stop kubepods.slice </dev/null || kw_fail
		kw_made=changed
	fi
	find /sys/fs/cgroup -depth -type d -path '*/kubepods*' -exec rmdir {} + 2>/dev/null
}

kw_pods_cri() {
	kw_o=$(kw_cri "$1" pods --quiet) || kw_fail
	if [ -z "$kw_o" ]; then return; fi
	for kw_i in 1 2 3 4 5; do
		# shellcheck disable=SC2086 # IDs are words
		kw_long kw_cri "$1" stopp $kw_o && kw_long kw_cri "$1" rmp --force $kw_o && break
		[ "$kw_i" != 5 ] || kw_fail
		kw_o=$(kw_cri "$1" pods --quiet) || kw_fail
		[ -n "$kw_o" ] || break
	done
	kw_made=changed
}

kw_pods_ctr() {
	kw_o=$(kw_ctr "$1" containers list --quiet) || kw_fail
	if [ -z "$kw_o" ]; then return; fi
	for kw_c in $kw_o; do
		kw_ctr "$1" tasks delete --force "$kw_c" >/dev/null 2>&1
		kw_ctr "$1" containers delete "$kw_c" || kw_fail
	done
	kw_made=changed
}

# kw_unmount FOLDER [OPTION...]: unmounts everything below the folder, the deepest first.
kw_unmount() {
	if ! [ -d "$1" ]; then kw_done same; return; fi
	kw_p=$(cd -P -- "$1" && pwd -P) || kw_fail
	shift
	kw_o=$*
	set --
	while read -r kw_a kw_b kw_v; do
		kw_point "$kw_b"
		case $kw_b in
		"$kw_p"/*) set -- "$kw_b" "$@" ;;
		esac
	done </proc/mounts
	if [ $# = 0 ]; then kw_done same; return; fi
	for kw_b do
		# shellcheck disable=SC2086 # options, none of which holds a blank
		kw_long umount $kw_o -- "$kw_b" || kw_fail
	done
	kw_done changed
}

# kw_network PATTERN...: removes links with these names and the ends of pods' links attached
# to them, the namespaces of pods, and the firewall rules, IP sets and virtual servers of
# kube-proxy, kubelet and CNI plugins.
kw_network() {
	kw_made=same
	kw_servers
	for kw_f in "$kw_r"/sys/class/net/*; do
		for kw_p do
			# shellcheck disable=SC2254 # it is a pattern
			case ${kw_f##*/} in
			$kw_p)
				for kw_e in "$kw_f"/brif/veth*; do kw_unlink "$kw_r/sys/class/net/${kw_e##*/}"; done
				kw_unlink "$kw_f" ;;
			esac
		done
	done
	for kw_f in "$kw_r"/run/netns/cni-*; do
		if [ -e "$kw_f" ]; then ip netns delete "${kw_f##*/}" </dev/null || kw_fail; kw_made=changed; fi
	done
	kw_rules iptables
	kw_rules ip6tables
	kw_sets
	if command -v nft >/dev/null; then
		for kw_f in 'ip kube-proxy' 'ip6 kube-proxy' 'inet cni_plugins_masquerade' 'ip cni_hostport' 'ip6 cni_hostport' 'ip flannel-ipv4' 'ip6 flannel-ipv6'; do
			# shellcheck disable=SC2086 # family and name
			if nft list table $kw_f </dev/null >/dev/null 2>&1; then nft delete table $kw_f </dev/null || kw_fail; kw_made=changed; fi
		done
		kw_tables
	fi
	kw_done "$kw_made"
}

# kw_servers: removes the virtual servers of IPVS on addresses that kube-proxy has put on
# its link; other virtual servers stay. Without ipvsadm they cannot be removed.
kw_servers() {
	if ! [ -e "$kw_r/sys/class/net/kube-ipvs0" ] || ! command -v ipvsadm >/dev/null; then return; fi
	kw_v=" $(ip -o address show dev kube-ipvs0 </dev/null | awk '{ sub("/.*", "", $4); printf "%s ", $4 }')"
	kw_o=$(ipvsadm --save --numeric </dev/null 2>/dev/null | awk '$1 == "-A" { print $2, $3 }')
	set -f # IPv6 addresses are in brackets
	# shellcheck disable=SC2086 # pairs of words
	set -- $kw_o
	set +f
	while [ $# -gt 1 ]; do
		kw_a=${2%:*}
		kw_a=${kw_a#\[}
		case $kw_v in
		*" ${kw_a%\]} "*) ipvsadm --delete-service "$1" "$2" </dev/null || kw_fail; kw_made=changed ;;
		esac
		shift 2
	done
}

# kw_proxy_rules ipvs|iptables: removes what kube-proxy left in this mode, once it has
# written the rules of the other one. Whatever shows that something is left is removed last.
kw_proxy_rules() {
	kw_made=same
	case $1 in
	ipvs)
		kw_proxy_runs iptables ' -j KUBE-SVC-'
		kw_chains nat 'KUBE-(NODE-PORT|LOAD-BALANCER)'
		kw_chains filter 'KUBE-(NODE-PORT|SOURCE-RANGES-FIREWALL|IPVS-FILTER|IPVS-OUT-FILTER)'
		kw_sets
		kw_servers
		kw_unlink "$kw_r/sys/class/net/kube-ipvs0" ;;
	iptables)
		kw_proxy_runs ipvs ' --match-set KUBE-(6-)?CLUSTER-IP '
		kw_chains nat 'KUBE-(NODEPORTS|PROXY-CANARY|(SVC|SVL|SEP|EXT|FW)-.*)'
		kw_chains mangle 'KUBE-PROXY-CANARY'
		kw_chains filter 'KUBE-(SERVICES|EXTERNAL-SERVICES|NODEPORTS|PROXY-CANARY)' ;;
	esac
	kw_done "$kw_made"
}

# kw_proxy_runs MODE PATTERN: waits until kube-proxy has written its rules of a mode, which
# it does all at once. Its pod counts as ready before that.
kw_proxy_runs() {
	if ! command -v iptables-save >/dev/null; then return; fi
	for kw_i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
		if { iptables-save -t nat; ip6tables-save -t nat; } </dev/null 2>/dev/null | grep -q -E "^-A KUBE-SERVICES.*$2"; then return; fi
		sleep 2 </dev/null
	done
	kw_fail "kube-proxy has written no rules in its mode $1 here within a minute. See why: kubectl -n kube-system logs -l k8s-app=kube-proxy. Then apply again"
}

# kw_chains TABLE PATTERN: removes the chains with such names and the rules that jump to
# them, in one transaction, and leaves concurrent changes to the rest alone.
kw_chains() {
	for kw_f in iptables ip6tables; do
		if ! command -v "$kw_f-save" >/dev/null; then continue; fi
		kw_o=$("$kw_f-save" -t "$1" </dev/null 2>/dev/null | awk -v p="^($2)\$" '
			/^:/ { c = substr($1, 2); if (c ~ p) { gone[c]; print $1 " - [0:0]"; last = last "-X " c "\n" } }
			/^-A/ { for (i = 3; i < NF; i++) if (($i == "-j" || $i == "-g") && $(i + 1) in gone && !($2 in gone)) { sub("^-A", "-D"); print } }
			END { printf "%s", last }')
		if [ -z "$kw_o" ]; then continue; fi
		printf '*%s\n%s\nCOMMIT\n' "$1" "$kw_o" | "$kw_f-restore" --noflush || kw_fail
		kw_made=changed
	done
}

# kw_sets: removes the IP sets KUBE-*, to which no rule refers any more. The kernel releases
# a rule a little later than iptables reports. A set that another rule still uses stays.
kw_sets() {
	if ! command -v ipset >/dev/null; then return; fi
	for kw_f in $(ipset list -name </dev/null 2>/dev/null); do
		case $kw_f in
		KUBE-*) ;;
		*) continue ;;
		esac
		for kw_i in 1 2 3; do
			if ipset destroy "$kw_f" </dev/null 2>/dev/null; then kw_made=changed; break; fi
			[ "$kw_i" = 3 ] || sleep 1
		done
	done
}

# kw_unlink LINK: removes a link, unless it has gone together with the other end of its
# pair.
kw_unlink() {
	if ! [ -e "$1" ]; then return; fi
	ip link delete dev "${1##*/}" </dev/null || ! [ -e "$1" ] || kw_fail
	kw_made=changed
}

# kw_tables: removes tables of iptables in which no rule and no policy except accept is
# left. iptables creates them on first use, and they have no effect.
kw_tables() {
	for kw_f in 'ip filter' 'ip nat' 'ip mangle' 'ip6 filter' 'ip6 nat' 'ip6 mangle'; do
		# shellcheck disable=SC2086 # family and name
		kw_o=$(nft list table $kw_f </dev/null 2>/dev/null) || continue
		if printf '%s\n' "$kw_o" | grep -q -v -e '^#' -e '^table ' -e '^[[:space:]]*chain [A-Z]* {$' -e ' policy accept;$' -e '^[[:space:]]*}*$'; then continue; fi
		# shellcheck disable=SC2086
		nft delete table $kw_f </dev/null || kw_fail
		kw_made=changed
	done
}

# kw_rules iptables|ip6tables: removes the chains KUBE-*, CNI-* and FLANNEL-*, and the rules
# that jump to them; other rules stay.
kw_rules() {
	if ! command -v "$1-save" >/dev/null; then return; fi
	kw_o=$("$1-save" </dev/null 2>/dev/null)
	case $kw_o in
	*KUBE-* | *CNI-* | *FLANNEL-*) ;;
	*) return ;;
	esac
	printf '%s\n' "$kw_o" | grep -v -e KUBE- -e CNI- -e FLANNEL- | "$1-restore" || kw_fail
	kw_made=changed
}
