# Part of a shell script that kubewright sends to a host: brings a snapshot of etcd back for a moment, in
# a folder and with sockets of its own. It comes after perform.sh, runtime.sh and etcd.sh, and runs in a
# session of its own: when the connection is lost, or its caller killed, it fails at its next word, and
# removes what it has made. Nothing of an etcd that runs on the host is touched, and no port is opened.

# kw_unmount FOLDER: gives back etcd's image.
kw_unmount() {
	[ -d "$1/image" ] || return 0
	kw_ctr "$kw_socket" images unmount --rm "$1/image" >/dev/null 2>&1 || umount -- "$1/image" 2>/dev/null || :
}

# kw_rehearsed: ends the etcd and all else that runs in this session, and removes the folder.
kw_rehearsed() {
	trap '' HUP INT TERM PIPE
	cd /
	if [ -s "$kw_d/pid" ]; then kill -KILL "$(cat "$kw_d/pid")" 2>/dev/null; fi
	[ -z "$kw_server" ] || kill "$kw_server" 2>/dev/null
	kill -- "-$$" 2>/dev/null
	wait
	kw_unmount "$kw_d"
	rm -rf --one-file-system -- "$kw_d" 2>/dev/null || { sleep 1 && rm -rf --one-file-system -- "$kw_d"; }
	[ "$kw_first" != yes ] || rmdir -- "${kw_d%/*}" 2>/dev/null
}

# kw_room BYTES: fails unless the disk has room for the snapshot, the data made of it, and etcd's log.
kw_room() {
	kw_o=$(df -Pk -- "$kw_d" | awk 'NR == 2 { print $4 }')
	kw_m=$((2 * ($1 / 1024) + 524288))
	[ "$kw_o" -ge "$kw_m" ] || kw_fail "there is no room for it: ${kw_d%/*} has $((kw_o / 1024)) MiB left, and $((kw_m / 1024)) MiB are needed. Make room there, or name another host with -on"
}

# kw_beat WHAT COMMAND...: runs a command, and says what is done until it ends.
kw_beat() {
	kw_what=$1
	shift
	rm -f -- "$kw_d/code"
	{ "$@" </dev/null >"$kw_d/out" 2>"$kw_d/err"; echo $? >"$kw_d/code.new"; mv -- "$kw_d/code.new" "$kw_d/code"; } &
	kw_i=0
	while ! [ -e "$kw_d/code" ]; do
		if [ $((kw_i % 5)) = 0 ]; then kw_say heard "$kw_what" || exit 1; fi
		kw_i=$((kw_i + 1))
		sleep 0.2
	done
	read -r kw_x <"$kw_d/code"
	return "$kw_x"
}

# kw_said: the last line of the command that failed.
kw_said() { { cat "$kw_d/err" "$kw_d/out" 2>/dev/null; } | awk 'NF { last = $0 } END { print substr(last, 1, 400) }'; }

# kw_programs IMAGE: finds the programs of etcd: the host's own, those of etcd's image, or those of an
# etcd that runs here.
kw_programs() {
	mkdir -- "$kw_d/bin" || kw_fail
	kw_p=
	if command -v etcd >/dev/null && command -v etcdctl >/dev/null && command -v etcdutl >/dev/null; then
		for kw_o in etcd etcdctl etcdutl; do ln -s "$(command -v "$kw_o")" "$kw_d/bin/kw-$kw_o"; done
		return
	fi
	if kw_uses_ctr "$kw_socket"; then
		mkdir -- "$kw_d/image"
		if kw_beat "opening etcd's image" kw_ctr "$kw_socket" images mount "$1" "$kw_d/image"; then
			kw_p=$kw_d/image
		else
			rmdir -- "$kw_d/image" 2>/dev/null
		fi
	fi
	if [ -z "$kw_p" ]; then
		for kw_o in "$kw_r"/proc/[0-9]*; do
			if [ "$(cat "$kw_o/comm" 2>/dev/null)" = etcd ] && [ -x "$kw_o/root/usr/local/bin/etcdutl" ]; then kw_p=$kw_o/root; fi
		done
	fi
	[ -n "$kw_p" ] || kw_fail "the host has neither etcd, etcdctl and etcdutl, nor $1 in containerd, nor an etcd that runs, to take them from. Name a control plane with -on"
	# Under other names: nothing that looks for an etcd by its name finds this one.
	for kw_o in etcd etcdctl etcdutl; do ln -s "$kw_p/usr/local/bin/$kw_o" "$kw_d/bin/kw-$kw_o"; done
}

# kw_ask ARGUMENT...: asks the etcd.
kw_ask() {
	"$kw_d/bin/kw-etcdctl" --endpoints="unix://$kw_d/client" --dial-timeout=5s --command-timeout=60s "$@" </dev/null 2>"$kw_d/err"
}

# kw_served: whether the etcd answers.
kw_served() {
	kw_i=0
	until kw_ask get '' --from-key --limit=1 --write-out=json >"$kw_d/head"; do
		kw_i=$((kw_i + 1))
		[ "$kw_i" -lt 60 ] || return
		if [ -s "$kw_d/pid" ] && ! kill -0 "$(cat "$kw_d/pid")" 2>/dev/null; then return 1; fi
		sleep 0.5
	done
}

# kw_keys PREFIX: counts the keys by folder, page by page, as of the first answer: leases expire.
kw_keys() {
	kw_after=
	: >"$kw_d/counts"
	while :; do
		kw_say heard 'counting keys' || exit 1
		kw_ask get "$kw_after" --from-key --limit=5001 --rev="$kw_revision" --keys-only >"$kw_d/page" || kw_fail "etcd does not list its keys: $(kw_said)"
		awk -v p="$1/" -v after="$kw_after" '
			NF == 0 || $0 == after { next }
			index($0, p) != 1 { n[""]++; next }
			{
				split(substr($0, length(p) + 1), part, "/")
				folder = part[1]
				if (folder == "services" || index(folder, ".")) folder = folder "/" part[2]
				n[folder]++
			}
			END { for (f in n) print n[f] " " f }' "$kw_d/page" >>"$kw_d/counts" || kw_fail
		[ "$(awk 'NF { n++ } END { print n + 0 }' "$kw_d/page")" = 5001 ] || break
		kw_after=$(awk 'NF { last = $0 } END { print last }' "$kw_d/page")
	done
	awk '{ c = $1; sub(/^[0-9]+ /, ""); n[$0] += c } END { for (f in n) printf "%d %s\n", n[f], f }' "$kw_d/counts"
}

# kw_rehearse BYTES SHA256 IMAGE SOCKET PREFIX, and a frame: the snapshot.
kw_rehearse() {
	kw_first=
	kw_server=
	kw_there "$kw_d" || kw_first=yes
	kw_home
	kw_socket=$4
	for kw_o in "$kw_d"/rehearsal-*; do # of a host that went down
		if [ -f "$kw_o/lock" ] && flock --nonblock "$kw_o/lock" true 2>/dev/null; then
			kw_unmount "$kw_o"
			rm -rf --one-file-system -- "$kw_o"
		fi
	done
	umask 077
	kw_o=$(mktemp -d "$kw_d/rehearsal-XXXXXX") || kw_fail
	kw_d=$kw_o
	trap kw_rehearsed EXIT
	trap 'exit 1' HUP INT TERM PIPE
	if command -v flock >/dev/null; then exec 9>"$kw_d/lock" && flock 9; fi
	kw_head
	kw_room "$1"
	kw_say heard 'sending the snapshot' || exit 1
	kw_keep "$kw_d/snapshot.db" "$2" 'the snapshot'
	umask 077
	kw_programs "$3"
	kw_beat 'restoring the snapshot' nice -n 10 "$kw_d/bin/kw-etcdutl" snapshot restore "$kw_d/snapshot.db" --data-dir "$kw_d/data" ||
		kw_fail "etcd's data cannot be made from the snapshot: $(kw_said)"
	rm -f -- "$kw_d/snapshot.db"
	timeout 3600 nice -n 10 sh -c 'echo $$ >"$0/pid" && exec "$0/bin/kw-etcd" --data-dir="$0/data" --listen-client-urls="unix://$0/client" --advertise-client-urls=http://localhost:1 \
		--listen-peer-urls="unix://$0/peer" --enable-grpc-gateway=false --unsafe-no-fsync --logger=zap' "$kw_d" </dev/null >"$kw_d/log" 2>&1 &
	kw_server=$!
	kw_beat 'starting etcd' kw_served || { cp -- "$kw_d/log" "$kw_d/err"; kw_fail "the etcd does not start: $(kw_said)"; }
	kw_revision=$(sed -n 's/.*"revision":\([0-9][0-9]*\).*/\1/p' "$kw_d/head")
	[ -n "$kw_revision" ] || kw_fail 'the etcd says no revision'
	kw_say revision "$kw_revision"
	kw_say etcd "$("$kw_d/bin/kw-etcd" --version 2>/dev/null | sed -n 's/^etcd Version: //p')"
	kw_say keys
	kw_keys "$5"
	kw_say secret
	kw_ask get "$5/secrets/" --prefix --limit=1 --rev="$kw_revision" --write-out=json || kw_fail "etcd does not give a Secret: $(kw_said)"
	kw_say rehearsed
}
