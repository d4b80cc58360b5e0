# Observes a host and changes nothing, not even a temporary file. Every command has
# /dev/null as its input; a batch of paths costs one process, not one each. Set before:
# kw_cap (the largest file that is read, in bytes), kw_r (a prefix for every path; empty
# except in tests).
if [ -n "$kw_r" ]; then PATH=$kw_r/usr/local/bin:$PATH; fi

# kw_facts: the facts of the host.
kw_facts() {
	kw_say facts
	printf 'time '; date +%s.%N
	printf 'arch '; uname -m
	printf 'cpus '; nproc
	kw_line hostname /proc/sys/kernel/hostname
	kw_line kernel /proc/sys/kernel/osrelease
	kw_line boot_id /proc/sys/kernel/random/boot_id
	while read -r kw_k kw_v kw_x; do
		if [ "$kw_k" = MemTotal: ]; then printf 'memory %s\n' "$kw_v"; break; fi
	done </proc/meminfo
	{ read -r kw_v; if read -r kw_v; then echo 'swap yes'; fi; } </proc/swaps
	if kw_swap_boots; then echo 'swap_at_boot yes'; fi
	if [ -f /sys/fs/cgroup/cgroup.controllers ]; then echo 'cgroup 2'; fi
	if [ -d /run/systemd/system ]; then echo 'systemd yes'; fi
	if [ -e "$kw_r/sys/class/net/kube-ipvs0" ]; then
		echo 'proxy ipvs'
		if { iptables-save -t filter; ip6tables-save -t filter; } 2>/dev/null | grep -q '^:KUBE-EXTERNAL-SERVICES '; then echo 'proxy iptables'; fi
	fi
	kw_say addresses
	ip -o addr show scope global || hostname -I
	kw_say sockets
	# The kernel lists sockets page by page, and can omit one while others come and go.
	for kw_a in 1 2 3; do
		if grep ' 00010000 .*\(containerd\|crio\|cri-dockerd\)\.sock$' /proc/net/unix; then break; fi
	done
}

# kw_room: whether there is room for a change, and how much.
kw_room() {
	kw_say room
	if [ -w "$kw_r/etc" ]; then echo 'etc_writable true'; else echo 'etc_writable false'; fi
	df -Pk /etc /var/lib | {
		read -r kw_v
		for kw_k in etc var_lib; do
			if read -r kw_v kw_v kw_v kw_v kw_x; then printf '%s_free_kib %s\n' "$kw_k" "$kw_v"; fi
		done
	}
}

# kw_swap_boots: whether a boot turns swap on, which swap.target pulls in unless it is
# masked. For fstab the file counts, not the units generated from it at the last boot.
kw_swap_boots() {
	if [ "$kw_r/etc/systemd/system/swap.target" -ef /dev/null ]; then return 1; fi
	if [ -f "$kw_r/etc/fstab" ]; then
		while read -r kw_k kw_v kw_x kw_e kw_i || [ -n "$kw_k" ]; do
			case $kw_k:$kw_x:,$kw_e, in
			'#'* | *,noauto,*) ;;
			*:swap:*) return 0 ;;
			esac
		done <"$kw_r/etc/fstab"
	fi
	for kw_f in etc/systemd/system run/systemd/generator run/systemd/generator.early run/systemd/generator.late usr/lib/systemd/system; do
		for kw_e in "$kw_r/$kw_f"/swap.target.wants/* "$kw_r/$kw_f"/swap.target.requires/*; do
			if [ -f "$kw_e" ] && ! kw_of_fstab "$kw_e"; then return 0; fi
		done
	done
	return 1
}

# kw_of_fstab FILE: whether a unit was generated from fstab.
kw_of_fstab() {
	while read -r kw_v; do
		if [ "$kw_v" = SourcePath=/etc/fstab ]; then return 0; fi
	done <"$1"
	return 1
}

# kw_line NAME FILE: the first line of a file, by name.
kw_line() {
	if IFS= read -r kw_v <"$2"; then printf '%s %s\n' "$1" "$kw_v"; fi
}

# kw_stats PATH...: type, size, mode, owner by name and by ID, time of those that exist; targets of links and
# their types; how many entries a folder has.
kw_stats() {
	kw_unseen "$@"
	for kw_f do
		shift
		if [ -e "$kw_f" ] || [ -L "$kw_f" ]; then set -- "$@" "$kw_f"; fi
	done
	kw_say stats
	[ $# = 0 ] || stat -c '%f|%s|%a|%U:%G:%u:%g|%.9Y|%n' -- "$@"
	kw_say links
	for kw_f do
		if [ -L "$kw_f" ]; then printf '%s\n' "$kw_f"; readlink -- "$kw_f"; fi
	done
	kw_say entries
	for kw_f do
		if [ -d "$kw_f" ] && ! [ -L "$kw_f" ]; then kw_count "$kw_f"; printf '%s %s\n' "$kw_i" "$kw_f"; fi
	done
	kw_targets "$@"
}

# kw_unseen PATH...: why it is unknown whether paths exist, as with a failing disk: an
# unreadable file must not count as absent. Ubuntu's stat, which is that of uutils, adds the
# error number.
kw_unseen() {
	for kw_f do
		shift
		if ! [ -e "$kw_f" ] && ! [ -L "$kw_f" ]; then set -- "$@" "$kw_f"; fi
	done
	[ $# != 0 ] || return 0
	kw_o=$(stat -c %n -- "$@" 2>&1 >/dev/null | grep -v -E ': (No such file or directory|Not a directory)( \(os error [0-9]+\))?$')
	if [ -n "$kw_o" ]; then
		kw_say unseen
		printf '%s\n' "$kw_o"
	fi
}

# kw_targets PATH...: mode and owner of the regular files that links among them point to,
# and then the path of each of these.
kw_targets() {
	for kw_f do
		shift
		if [ -L "$kw_f" ] && [ -f "$kw_f" ]; then set -- "$@" "$kw_f"; fi
	done
	[ $# != 0 ] || return 0
	kw_say targets
	stat -L -c '%a|%U:%G|%n' -- "$@"
	for kw_f do readlink -f -- "$kw_f"; done
}

# kw_count FOLDER: sets kw_i to its number of entries.
kw_count() {
	set -- "$1"/* "$1"/.[!.]* "$1"/..?*
	kw_i=0
	for kw_e do
		if [ -e "$kw_e" ] || [ -L "$kw_e" ]; then kw_i=$((kw_i + 1)); fi
	done
}

# kw_digests PATH...: SHA-256 of the regular files among them.
kw_digests() {
	for kw_f do
		shift
		if [ -f "$kw_f" ]; then set -- "$@" "$kw_f"; fi
	done
	kw_say digests
	if [ $# != 0 ] && [ -s "$kw_r/var/lib/kubewright/digests" ] && kw_ours "$kw_r/var/lib/kubewright" && kw_ours "$kw_r/var/lib/kubewright/digests"; then
		kw_noted "$@"
	elif [ $# != 0 ]; then
		sha256sum -- "$@"
	fi
}

# kw_ours PATH: whether others cannot have changed it.
kw_ours() {
	! [ -L "$1" ] && [ -O "$1" ] && [ -z "$(find "$1" -prune \( -perm -020 -o -perm -002 -o -type f -links +1 \) -print)" ]
}

# kw_noted PATH...: kw_digests with digests of large files that were noted when the files
# were written (kw_note). A note is valid while inode, size and both times are the same; a
# file cannot be changed without changing the second time. uutils stat reports that time in
# whole seconds: it does not show a change within the second of the note that also restores
# the first time.
kw_noted() {
	kw_o=$(stat -L -c '%i:%s:%.9Y:%.9Z %n' -- "$@" | awk -v notes="$kw_r/var/lib/kubewright/digests" '
		BEGIN { while ((getline line < notes) > 0) known[substr(line, 66)] = substr(line, 1, 64) }
		{ name = substr($0, index($0, " ") + 1) }
		$0 in known { print known[$0] "  " name; next }
		{ print "?" name }')
	set --
	set -f
	IFS='
'
	for kw_f in $kw_o; do
		case $kw_f in
		\?*) set -- "$@" "${kw_f#?}" ;;
		*) printf '%s\n' "$kw_f" ;;
		esac
	done
	unset IFS
	set +f
	[ $# = 0 ] || sha256sum -- "$@"
}

# kw_small COMMAND PATH...: the sizes of the regular files among them, and then the command
# for those that are not too large.
kw_small() {
	kw_do=$1
	shift
	for kw_f do
		shift
		if [ -f "$kw_f" ]; then set -- "$@" "$kw_f"; fi
	done
	kw_say sizes
	[ $# != 0 ] || return 0
	kw_o=$(stat -L -c '%s %n' -- "$@")
	printf '%s\n' "$kw_o"
	shift $#
	set -f
	IFS='
'
	for kw_f in $kw_o; do
		if [ "${kw_f%% *}" -le "$kw_cap" ]; then set -- "$@" "${kw_f#* }"; fi
	done
	unset IFS
	set +f
	kw_say "${kw_do#kw_}"
	[ $# = 0 ] || "$kw_do" "$@"
}

# kw_contents PATH...: their contents, one after the other. The sizes separate them and the
# digests verify that, so that a file that changes in the meantime cannot pass for another;
# the end of base64 is unambiguous.
kw_contents() { cat -- "$@" | base64; }

# kw_certificates PATH...: the certificates in PEM files, never a key next to them.
kw_certificates() {
	awk 'FNR == 1 { print ">" FILENAME; on = 0 }
		/-----BEGIN CERTIFICATE-----/ { on = 1 }
		on { print }
		/-----END CERTIFICATE-----/ { on = 0 }' "$@"
}

# kw_keys PATH...: the names of files that hold a private key, each after the public part of
# it: for the forms of RSA (PKCS #1, PKCS #8; 2048, 3072, 4096 bits) modulus and exponent,
# which come first; for those of P-256 and P-384 (SEC 1, PKCS #8) the point, which comes
# last. For a file in another form it is "-". Nothing else of a key leaves the host: the
# form determines where the public part begins or ends.
kw_keys() {
	awk 'function public(t) {
			if (t ~ /^MII[EGJ].[AQgw]IBAAKCAQEA/) return substr(t, 1, 364)
			if (t ~ /^MII[EGJ].[AQgw]IBAAKCAYEA/) return substr(t, 1, 536)
			if (t ~ /^MII[EGJ].[AQgw]IBAAKCAgEA/) return substr(t, 1, 708)
			if (t ~ /^MII[EGJ].[AQgw]IBADANBgkqhkiG9w0BAQEFAASC....gg..AgEAAoIBAQ/) return substr(t, 1, 400)
			if (t ~ /^MII[EGJ].[AQgw]IBADANBgkqhkiG9w0BAQEFAASC....gg..AgEAAoIBgQ/) return substr(t, 1, 572)
			if (t ~ /^MII[EGJ].[AQgw]IBADANBgkqhkiG9w0BAQEFAASC....gg..AgEAAoICAQ/) return substr(t, 1, 740)
			if (length(t) == 164 && t ~ /^MHcCAQEEI/ && substr(t, 53, 4) == "oAoG") return substr(t, 53)
			if (length(t) == 224 && t ~ /^MIGkAgEBBD/ && substr(t, 77, 4) == "BwYF") return substr(t, 77)
			if (length(t) == 184 && t ~ /^MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/ && substr(t, 93, 4) == "RANC") return substr(t, 93)
			if (length(t) == 248 && t ~ /^MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBD/ && substr(t, 113, 4) == "ZANi") return substr(t, 113)
			return "-"
		}
		FNR == 1 { on = 0; told = 0 }
		/^-----BEGIN ([A-Z]+ )?PRIVATE KEY-----[ \t\r]*$/ && !told { on = 1; text = ""; next }
		on && /^[A-Za-z0-9+\/=]+[ \t\r]*$/ { on = 2; sub(/[ \t\r]+$/, ""); text = text $0 }
		on == 2 && /^-----END ([A-Z]+ )?PRIVATE KEY-----[ \t\r]*$/ { print public(text) " " FILENAME; on = 0; told = 1 }' "$@"
}

# kw_kubeconfigs PATH...: kubeconfigs without their secrets. Lines that are not known to be
# harmless are omitted, and of secrets only the name is kept.
kw_kubeconfigs() {
	awk 'FNR == 1 { print ">" FILENAME }
		/^[ -]*(clusters|contexts|users|cluster|context|user):[ \t\r]*$/ ||
		/^[ -]*server:[ \t]*"?https?:\/\/\[[0-9A-Fa-f:.]+\](:[0-9]+)?\/?"?[ \t\r]*$/ ||
		/^[ -]*(apiVersion|kind|name|server|cluster|user|current-context|namespace|tls-server-name|insecure-skip-tls-verify|certificate-authority|certificate-authority-data|client-certificate|client-certificate-data|client-key):[ \t]*([^][{}&*|>!%@ \t][^][{} \t]*)?[ \t\r]*$/ { print; next }
		/^[ -]*(client-key-data|token|tokenFile|username|password|exec|auth-provider):/ { sub(/:.*/, ": present"); print }' "$@"
}

# kw_units UNIT...
kw_units() {
	kw_say units
	systemctl --no-pager show -p LoadState,ActiveState,UnitFileState -- "$@"
}

# kw_sysctls FILE...: their first lines. Not with read: it requests one byte after the
# other, and the kernel returns the first byte of a number only.
kw_sysctls() {
	kw_say sysctls
	[ $# = 0 ] || grep -sH -m 1 '' -- "$@"
}

# kw_modules MODULE...: those that are loaded or built in, and those that modprobe would not
# find.
kw_modules() {
	kw_say modules
	IFS= read -r kw_v </proc/sys/kernel/osrelease
	kw_x=
	for kw_f do
		if [ -d "/sys/module/$kw_f" ] || grep -qs "/$kw_f\.ko" "/lib/modules/$kw_v/modules.builtin"; then
			printf '%s\n' "$kw_f"
		else
			kw_x="$kw_x $kw_f"
		fi
	done
	kw_say no_modules
	for kw_f in $kw_x; do
		modprobe -n -q -- "$kw_f" >/dev/null 2>&1 || printf '%s\n' "$kw_f"
	done
}

# kw_users NAME...: the users and groups with these names that exist.
kw_users() {
	kw_say users
	for kw_f do
		if id -u "$kw_f" >/dev/null 2>&1; then printf 'user %s\n' "$kw_f"; fi
		if [ -n "$(kw_group "$kw_f")" ]; then printf 'group %s\n' "$kw_f"; fi
	done
}

# kw_ports: listening TCP sockets.
kw_ports() {
	kw_say ports
	grep -hs ':0000 0A ' /proc/net/tcp /proc/net/tcp6
}

# kw_commands NAME...: those that are on the search path.
kw_commands() {
	kw_say commands
	for kw_f do
		if command -v "$kw_f" >/dev/null; then printf '%s\n' "$kw_f"; fi
	done
}

# kw_slow IMAGES PREFLIGHT PROGRAMS SOCKET ENDPOINT PATH-TO PEERS: the slow parts, because large programs have to
# start. It runs concurrently with everything else, into a pipe that is read last.
kw_slow() {
	export GOGC=off GOMAXPROCS=1 # a third less work for kubelet --version
	kw_versions "$3"
	if [ "$2" = yes ]; then kw_resolves "$5"; kw_cri_served; kw_between "$6" "$7"; fi
	if [ "$1" = yes ]; then kw_images "$4"; fi
}

# kw_versions PROGRAMS: versions of the kubelet and the runtime, unless their files are
# still those of the last observation. With times in whole seconds (uutils), a file that was
# replaced twice within one second and has kept its size passes for the first.
kw_versions() {
	kw_say programs
	# shellcheck disable=SC2046 # paths on the search path, which has no blanks
	set -- "$1" $(command -v kubelet; command -v containerd; command -v crio)
	kw_o=$1
	shift
	[ $# = 0 ] || set -- $(stat -L -c '%n:%d:%i:%s:%.9Z' -- "$@")
	printf '%s\n' "$*"
	[ "$*" != "$kw_o" ] || return 0
	kw_say versions
	for kw_f in kubelet containerd crio; do
		if command -v "$kw_f" >/dev/null; then "$kw_f" --version & fi
	done
	wait
}

# kw_images SOCKET: the images of the given runtime, or of the first one found if none is
# given. If it does not list them, the images are unknown. This needs runtime.sh.
kw_images() {
	kw_say images
	kw_f=$1
	if [ -z "$1" ]; then
		for kw_f in containerd/containerd.sock crio/crio.sock cri-dockerd.sock; do
			kw_f=$kw_r/run/$kw_f
			[ ! -S "$kw_f" ] || break
		done
	fi
	[ -S "$kw_f" ] || return 0
	if kw_uses_ctr "$kw_f"; then
		kw_ctr "$kw_f" --timeout 10s images list --quiet || kw_say no_images
	else
		kw_cri "$kw_f" images --output json || kw_say no_images
	fi
}
