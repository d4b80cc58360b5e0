# Part of a shell script that kubewright sends to a host: the data of a member of etcd, and backups of it.

# kw_etcd_free MEMBER: waits until no etcd uses the database, which etcd locks.
kw_etcd_free() {
	kw_i=120
	while [ -f "$1/snap/db" ] && ! flock --nonblock "$1/snap/db" true; do
		kw_i=$((kw_i - 1))
		[ "$kw_i" != 0 ] || kw_fail "an etcd still runs on $1"
		sleep 0.5
	done
}

# kw_etcd_off FOLDER NAME: renames the data of a stopped member within its folder. Data that
# already has that name is kept as well.
kw_etcd_off() {
	kw_etcd_free "$1/member"
	kw_p=$1/$2
	while kw_there "$kw_p"; do kw_p=$kw_p.again; done
	mv -T -- "$1/member" "$kw_p" && sync -f "$1" || kw_fail
}

# kw_etcd_aside FOLDER NAME
kw_etcd_aside() {
	if ! kw_there "$1/member"; then kw_done same; return; fi
	kw_etcd_off "$1" "$2"
	kw_done changed
}

# kw_etcdutl IMAGE SOCKET ARGUMENT...: runs the host's own etcdutl, or that of etcd's image.
kw_etcdutl() {
	kw_i=$1
	kw_s=$2
	shift 2
	if command -v etcdutl >/dev/null; then kw_long etcdutl "$@"; return; fi
	if ! kw_uses_ctr "$kw_s"; then
		echo 'there is neither etcdutl nor containerd with its ctr, to take it from the image of etcd' >&2
		return 1
	fi
	kw_p=$(mktemp -d "$kw_d/image-XXXXXX") || return
	kw_long kw_ctr "$kw_s" images mount "$kw_i" "$kw_p" || { kw_x=$?; rmdir -- "$kw_p"; return "$kw_x"; }
	kw_long "$kw_p/usr/local/bin/etcdutl" "$@"
	kw_x=$?
	kw_ctr "$kw_s" images unmount --rm "$kw_p" >/dev/null 2>&1 || umount -- "$kw_p"
	rmdir -- "$kw_p"
	return "$kw_x"
}

# kw_etcd_restore FOLDER NAME MARKER SHA256 IMAGE SOCKET ARGUMENT..., and a frame: makes the
# data of a new member from a snapshot, and records from which. Existing data is renamed.
# The new data is made next to it and renamed, so that it is always complete.
kw_etcd_restore() {
	kw_head
	if kw_there "$1/member" && [ "$(cat -- "$3" 2>/dev/null)" = "$4" ]; then
		kw_take || kw_fail
		kw_done same
		return
	fi
	kw_f=$1
	kw_name=$2
	kw_marker=$3
	kw_sum=$4
	kw_keep "$kw_d/part-$kw_n" "$kw_sum" 'the snapshot'
	if [ -d "$1/kubewright-restore" ]; then kw_free "$1/kubewright-restore"; fi
	if kw_there "$1/member"; then kw_etcd_off "$1" "$2"; fi
	rm -rf --one-file-system -- "$1/kubewright-restore" || kw_fail
	kw_image=$5
	kw_socket=$6
	shift 6
	kw_etcdutl "$kw_image" "$kw_socket" snapshot restore "$kw_d/part-$kw_n" --data-dir "$kw_f/kubewright-restore" \
		--bump-revision 1000000000 --mark-compacted "$@" || kw_drop "$kw_d/part-$kw_n"
	rm -f -- "$kw_d/part-$kw_n"
	printf '%s\n' "$kw_sum" >"$kw_f/kubewright-restore/member/kubewright-restored" || kw_fail
	mv -T -- "$kw_f/kubewright-restore/member" "$kw_f/member" && rm -rf -- "$kw_f/kubewright-restore" && sync -f "$kw_f" || kw_fail
	printf '%s\n' "$kw_sum" >"$kw_marker" && sync -- "$kw_marker" || kw_fail
	kw_done changed
}

# kw_backup SCRIPT SHA256 RISK SINCE: has the script of a backup block take a backup before a risk, unless it has
# taken one since then. The script says at its end which; it prints its name.
kw_backup() {
	kw_there "$1" || kw_fail "there is no $1, which takes backups. Apply the backup block first, or go on without a backup and a snapshot: -skip-phase=etcd-snapshot"
	kw_mine "$1" && kw_has "$1" "$2" || kw_fail "$1 has changed since the plan was made, and is not run. Run kubewright apply, which writes it again"
	kw_long env KUBEWRIGHT_BACKUP_ROOT="$kw_r" sh "$1" before "$3" "$4" || kw_fail
	kw_o=$(tail -n 1 "$kw_d/part-out$kw_job")
	kw_o=${kw_o#kubewright-backup: }
	case $kw_o in
	*.tar.age' is complete') kw_x=changed ;;
	*.tar.age' is there already') kw_x=same ;;
	*) kw_fail "$1 has ended without a backup: $kw_o" ;;
	esac
	printf '%s\n' "${kw_o%% *}"
	kw_done "$kw_x"
}
