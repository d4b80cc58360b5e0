# Changes a host: one function for each operation, and shared functions. Set before: kw_r (a
# prefix for every path; empty except in tests), kw_token, kw_lineage and kw_run (those of
# the run), kw_void (a token that does not count), kw_wait (seconds that a batch waits for
# another), kw_idle (seconds that it waits for data).
#
# Files are replaced by rename, so that each is always the old or the new one. Before the
# script writes to a folder, it enters the folder and verifies that only root can change it
# and every folder on the way to it; names are relative to that folder from then on, and
# symbolic links are not followed. For mere removals the folder may be writable by a group
# as well, as /var/log is in Ubuntu: a member of the group who plants a name there can only
# get files removed that have a name there.
umask 022
kw_d=$kw_r/var/lib/kubewright
kw_me=$(id -u)
kw_safe=
kw_dirty=
kw_job=
if [ -n "$kw_r" ]; then PATH=$kw_r/usr/local/bin:$PATH; fi

# kw_op NUMBER TELLS: an operation begins, on both outputs. TELLS is yes if the output of
# its commands is to be reported while they run.
kw_op() {
	kw_at=$1
	kw_tells=$2
	kw_say op "$1"
	kw_say op "$1" >&2
	cd /
}

# kw_done changed|same: the operation is done.
kw_done() { kw_say "done" "$1"; }

# kw_fail TEXT...: the operation failed, and with it the batch. It reports the exit code of
# the previous command.
kw_fail() {
	kw_x=$?
	unset IFS
	set +f +C
	[ "$kw_x" != 0 ] || kw_x=1
	[ $# = 0 ] || printf '%s\n' "$*" >&2
	kw_flush
	kw_say failed "$kw_x"
	kw_say end
	exit 0
}

# kw_touched: records that the current folder has changed.
kw_touched() {
	case $kw_dirty in
	*"
$PWD
"*) ;;
	*) kw_dirty="$kw_dirty
$PWD
" ;;
	esac
}

# kw_flush: syncs the changed folders to disk, all at once. The result of a batch counts
# only after its answer, so this is early enough; file contents are synced before the files
# get their names.
kw_flush() {
	IFS='
'
	set -f
	set -- $kw_dirty
	set +f
	unset IFS
	kw_dirty=
	cd /
	rm -f -- "$kw_d"/part-out* 2>/dev/null
	for kw_a do
		shift
		if [ -d "$kw_a" ]; then set -- "$@" "$kw_a"; fi
	done
	[ $# = 0 ] || sync -- "$@"
}

# kw_long COMMAND...: a command that may take long. Its output goes to a file and is shown
# if it fails: if the command wrote to our output, it would die of a lost connection. (The
# script itself does, at its next word.) Concurrent commands have a kw_job each.
kw_long() {
	if [ "$kw_tells" = yes ]; then
		# The exit code goes through a file: the process that waits at the pipe ends once a
		# second, and might have read it by then.
		rm -f -- "$kw_d/part-out$kw_job.code"
		{ "$@" </dev/null >"$kw_d/part-out$kw_job" 2>&1; echo $? >"$kw_d/part-out$kw_job.code"; } | (kw_tell) || :
		{ read -r kw_x <"$kw_d/part-out$kw_job.code"; } 2>/dev/null || kw_x=1
		[ "$kw_x" != 0 ] || return 0
	else
		"$@" </dev/null >"$kw_d/part-out$kw_job" 2>&1 && return
		kw_x=$?
	fi
	tail -n 20 "$kw_d/part-out$kw_job" >&2
	return "$kw_x"
}

# kw_tell: waits for the end of its input, which a command holds open. Until then it reports
# the last line of the output of the command once a second, if that has changed. It
# continues when the connection is lost, so that the command does as well.
kw_tell() {
	trap '' PIPE
	kw_told=
	while timeout 1 cat; [ $? = 124 ]; do
		kw_o=$(tail -c 4096 "$kw_d/part-out$kw_job" | tr '\r' '\n' | tr -d '\000' | awk 'NF { last = $0 } END { print substr(last, 1, 1024) }')
		if [ "$kw_o" != "$kw_told" ]; then
			kw_told=$kw_o
			kw_say heard "$kw_at" "$kw_o"
		fi
	done 2>/dev/null
	cat
}

# On a dead connection sshd may take hours to notice, and until then no data arrives and no
# read ends. So no wait for data is much longer than kw_idle: the lock would be held for as
# long.

# kw_head: reads the header of the next frame; sets kw_len.
kw_head() {
	kw_o=$(timeout "$kw_idle" sh -c 'read -r w n && echo "$w $n"') || kw_fail 'the data ended early'
	kw_len=${kw_o#kubewright-frame }
	[ "$kw_len" != "$kw_o" ] || kw_fail 'the data ended early'
}

# kw_take [OPERAND...]: reads the frame, to nowhere unless dd has other operands. It reads
# exactly the given number of bytes, and reports write errors; the digest reveals a
# truncated frame.
kw_take() {
	kw_q=$((kw_len / 65536))
	kw_m=$((kw_len % 65536))
	if [ "$kw_q" != 0 ]; then kw_fed dd bs=65536 count="$kw_q" iflag=fullblock status=none "$@" || return; fi
	if [ "$kw_m" != 0 ]; then
		timeout "$kw_idle" dd bs="$kw_m" count=1 iflag=fullblock status=none "$@" >/dev/null || kw_late "$?" 124
	fi
}

# kw_late CODE SILENT: fails with the code, and explains it if it is the code for silence.
kw_late() {
	[ "$1" != "$2" ] || echo 'the data ended early' >&2
	return "$1"
}

# kw_fed COMMAND...: a command that reads data to its end, however long that takes; it is
# killed when no more data arrives.
kw_fed() {
	rm -f -- "$kw_d/part-out.fed"
	{ sh -c 'echo $$ && exec "$@" >/dev/null' sh "$@"; echo $? >"$kw_d/part-out.fed"; } | (kw_attend)
	{ read -r kw_x <"$kw_d/part-out.fed"; } 2>/dev/null || kw_x=1
	[ "$kw_x" = 0 ] || kw_late "$kw_x" 143
}

# kw_attend: waits for the end of its input, which has the ID of a process and is held open
# while the process runs. It kills the process when it has read nothing for kw_idle. That
# cannot be known if the kernel does not count reads.
kw_attend() {
	read -r kw_k
	kw_told=
	while timeout "$kw_idle" cat; [ $? = 124 ]; do
		kw_o=$(grep rchar "/proc/$kw_k/io")
		if [ -n "$kw_o" ] && [ "$kw_o" = "$kw_told" ]; then kill "$kw_k"; fi
		kw_told=$kw_o
	done >/dev/null 2>&1
}

# kw_keep FILE SHA256 WHAT: stores the frame, which is WHAT, in a new file, readable by root
# alone. The file must not exist: set -C opens with O_EXCL. (A shell exits if it cannot open
# a file for ":" or exec, but not if command runs them.)
kw_keep() {
	umask 077
	set -C
	command : >"$1" || kw_fail
	set +C
	umask 022
	kw_take conv=notrunc oflag=append of="$1" && sync -- "$1" || kw_drop "$1"
	kw_has "$1" "$2" && return
	rm -f -- "$1"
	kw_fail "$3 did not arrive whole"
}

# kw_has FILE SHA256
kw_has() {
	kw_o=$(sha256sum <"$1") && [ "${kw_o%% *}" = "$2" ]
}

# kw_home: makes our folder, which belongs to root alone. If others could write to it, they
# lose that right.
kw_home() {
	kw_enter "$kw_d"
	if [ -d "./$kw_name" ] && ! [ -L "./$kw_name" ]; then
		kw_o=$(stat -c %u -- "./$kw_name") || kw_fail
		case $kw_o in
		0 | "$kw_me") ;;
		*) chown -- "$kw_me" "./$kw_name" || kw_fail ;;
		esac
	fi
	kw_folder "$kw_d" 700 ''
	cd /
}

# kw_planted FOLDER TEST...: fails if the TEST of find is true of anything in the folder.
# Files that others have planted there would be followed, emptied, or taken for our own.
kw_planted() {
	kw_o=$(find "$@" -print) || kw_fail
	if [ -n "$kw_o" ]; then
		kw_fail "$(printf '%s\n' "$kw_o" | head -n 1) is not kubewright's: it is no plain file or folder of root alone. See what it is (ls -la $kw_d) and who has put it there, remove it, and run the same command again"
	fi
}

# kw_mine PATH: whether it is a file of root with a single name, or does not exist.
kw_mine() {
	if ! kw_there "$1"; then return; fi
	kw_o=$(stat -c '%F|%h|%u' -- "$1") || return
	case $kw_o in
	'regular file|1|0' | 'regular empty file|1|0' | "regular file|1|$kw_me" | "regular empty file|1|$kw_me") ;;
	*) return 1 ;;
	esac
}

# kw_more A B: whether A is the higher of two numbers, which may have any length and have no
# leading zeros: test compares 64 bits only.
kw_more() {
	if [ "${#1}" != "${#2}" ]; then [ "${#1}" -gt "${#2}" ]; return; fi
	while [ -n "$1" ]; do
		kw_a=${1%"${1#?}"}
		kw_b=${2%"${2#?}"}
		if [ "$kw_a" != "$kw_b" ]; then [ "$kw_a" -gt "$kw_b" ]; return; fi
		set -- "${1#?}" "${2#?}"
	done
	return 1
}

# kw_token: reads the last run that the host has seen. If that cannot be determined, the
# host does nothing.
kw_token() {
	kw_seen=0
	kw_owner=
	kw_by=
	if kw_there "$kw_d/token"; then
		kw_seen=
		read -r kw_seen kw_owner kw_by <"$kw_d/token" || :
	fi
	case $kw_seen in
	0) ;;
	'' | *[!0123456789]* | 0*) kw_fail "$kw_d/token holds no number of a run. See who has written it, put it back from a backup or remove it, and run the same command again" ;;
	esac
	if [ -n "$kw_owner" ] && [ -n "$kw_lineage" ] && [ "$kw_owner" != "$kw_lineage" ]; then
		kw_say foreign "$kw_owner"; kw_say end; exit 0
	fi
	# A token that the run knows not to count; 2^63-1 stands for all above it as well.
	if [ -n "$kw_void" ]; then
		if [ "$kw_seen" = "$kw_void" ] || { [ "$kw_void" = 9223372036854775807 ] && kw_more "$kw_seen" "$kw_void"; }; then
			kw_seen=0
			kw_by=
		fi
	fi
}

# kw_guard: stops unless this run is the newest that the host knows, and has the state that
# the host belongs to. Batches wait for each other, including for one that has lost its
# connection. (Those of one run come one by one.)
kw_guard() {
	kw_home
	if command -v flock >/dev/null; then
		kw_mine "$kw_d/lock" || kw_planted "$kw_d/lock"
		command exec 9>"$kw_d/lock" || kw_fail
		if ! flock -w "$kw_wait" 9; then kw_say busy; kw_say end; exit 0; fi
	fi
	kw_planted "$kw_d/." -mindepth 1 -maxdepth 1 \( ! -type f ! -type d -o -type f -links +1 -o -perm -020 -o -perm -002 -o ! -user 0 ! -user "$kw_me" \)
	if [ -d "$kw_d/before" ]; then
		kw_planted "$kw_d/before" -type d \( -perm -020 -o -perm -002 -o ! -user 0 ! -user "$kw_me" \)
	fi
	if [ -d "$kw_d/was" ]; then
		kw_planted "$kw_d/was" \( ! -type f ! -type d -o -type f -links +1 -o -perm -020 -o -perm -002 -o ! -user 0 ! -user "$kw_me" \)
	fi
	kw_token
	if kw_more "$kw_seen" "$kw_token"; then kw_say superseded "$kw_seen"; kw_say end; exit 0; fi
	if [ "$kw_seen" = "$kw_token" ] && [ -n "$kw_by" ] && [ -n "$kw_run" ] && [ "$kw_by" != "$kw_run" ]; then
		kw_say superseded "$kw_seen"; kw_say end; exit 0
	fi
	if [ "$kw_seen $kw_owner $kw_by" != "$kw_token $kw_lineage $kw_run" ]; then
		rm -rf -- "$kw_d/token.new"
		(umask 077; set -C; printf '%s\n' "$kw_token $kw_lineage${kw_run:+ $kw_run}" >"$kw_d/token.new") &&
			sync "$kw_d/token.new" && mv -fT "$kw_d/token.new" "$kw_d/token" && sync "$kw_d" || kw_fail
	fi
	rm -rf -- "$kw_d"/part-*
}

# kw_expect NUMBER PATH SHA256: stops unless the file is unchanged since the plan was made.
kw_expect() {
	kw_o=gone
	if [ -f "$2" ]; then kw_o=$(sha256sum <"$2") || kw_fail; fi
	if [ "${kw_o%% *}" = "$3" ]; then return; fi
	kw_say moved "$1" "${kw_o%% *}"
	kw_say end
	exit 0
}

# kw_way FOLDER STOP [GROUP]: fails unless every folder from STOP down to FOLDER belongs to
# root (or to us) and only root can change it; with GROUP the group of FOLDER itself may
# write to it. To /var/log a system group may: on Ubuntu that of the log daemon.
kw_way() {
	kw_a=$1
	kw_stop=$2
	kw_b=$3
	set --
	while :; do
		set -- "$@" "${kw_a:-/}"
		if [ "$kw_a" = "$kw_stop" ] || [ -z "$kw_a" ]; then break; fi
		kw_a=${kw_a%/*}
	done
	kw_o=$(stat -L -c '%F|%u|%g|%a|%n' -- "$@") || kw_fail
	set -- "$kw_b"
	IFS='
'
	set -f
	for kw_a in $kw_o; do # FOLDER comes first
		kw_b=${kw_a#*|}
		case $kw_b in
		0\|* | "$kw_me"\|*) ;;
		*) kw_fail "${kw_a##*|} does not belong to root. Unless others need it: chown root:root ${kw_a##*|}" ;;
		esac
		case $kw_a in
		directory\|*) ;;
		*) kw_fail "${kw_a##*|} is no folder" ;;
		esac
		case $kw_b in
		*\|*\|*[2367]\|*) kw_fail "others than root can write to ${kw_a##*|}. Unless others need to: chmod go-w ${kw_a##*|}" ;;
		*\|0\|*) ;;
		*\|*\|*[2367]?\|*)
			kw_grp=${kw_b#*|}
			[ -n "$1" ] || [ "${kw_a##*|}:$((${kw_grp%%|*} < 1000))" = "$kw_r/var/log:1" ] ||
				kw_fail "others than root can write to ${kw_a##*|}. Unless others need to: chmod go-w ${kw_a##*|}"
			;;
		esac
		set -- ''
	done
	set +f
	unset IFS
}

# kw_enter PATH [GROUP]: enters the folder of PATH, and makes it if need be; sets kw_name to
# the last part of PATH. It checks the way as written, and with symbolic links resolved
# (/var/lib/etcd may be one, made by root). With GROUP, for callers that write nothing
# there, the group of the folder may write to it.
kw_enter() {
	kw_dir=${1%/*}
	kw_name=${1##*/}
	kw_group=${2:+group}
	case $kw_safe in
	*":$kw_dir:"* | *":$kw_group$kw_dir:"*) cd -P -- "${kw_dir:-/}" || kw_fail; return ;;
	esac
	kw_up=$kw_dir
	while [ -n "$kw_up" ] && ! [ -e "$kw_up" ] && ! [ -L "$kw_up" ]; do kw_up=${kw_up%/*}; done
	[ "$kw_up" = "$kw_dir" ] || kw_group= # a folder is made there
	kw_way "$kw_up" "$kw_r" "$kw_group"
	cd -P -- "$kw_r/" || kw_fail
	kw_rp=$(pwd -P)
	cd -P -- "${kw_up:-/}" || kw_fail
	kw_pp=$(pwd -P)
	case $kw_pp/ in
	"${kw_rp%/}"/*) kw_way "${kw_pp%/}" "${kw_rp%/}" "$kw_group" ;;
	*) kw_way "${kw_pp%/}" '' "$kw_group" ;;
	esac
	if [ "$kw_up" != "$kw_dir" ]; then
		mkdir -p -- "$kw_dir" && cd -P -- "$kw_dir" || kw_fail
	fi
	kw_safe="$kw_safe:$kw_group$kw_dir:"
}

# kw_is FILE TYPE MODE OWNER: whether a path has these, without following links. An empty
# OWNER matches any.
kw_is() {
	kw_o=$(stat -c '%F|%a|%U:%G' -- "$1" 2>/dev/null) || return 1
	case $kw_o in
	"regular empty file|"*) kw_o="regular file|${kw_o#*|}" ;;
	esac
	[ "$kw_o" = "$2|$3|${4:-${kw_o##*|}}" ] || case $4 in
	[0-9]*:* | *:[0-9]*) kw_has_ids "$kw_o" "$2|$3|$4" "$1" ;;
	*) false ;;
	esac
}

# kw_has_ids SEEN WANTED FILE: kw_is for an OWNER with IDs.
kw_has_ids() {
	kw_o=${1%|*}
	for kw_v in $(stat -c '%u:%g %U:%g %u:%G' -- "$3" 2>/dev/null); do
		if [ "$kw_o|$kw_v" = "$2" ]; then return; fi
	done
	return 1
}

# kw_own FILE MODE OWNER: the owner first, since chown drops set-id bits.
kw_own() {
	if [ -n "$3" ]; then chown -- "$3" "$1" || return; fi
	chmod -- "$2" "$1"
}

# kw_new FILE MODE OWNER: kw_own for a file that was just made with mode 600.
kw_new() {
	if [ "$kw_me" = 0 ] && [ "$3" = root:root ]; then set -- "$1" "$2" ''; fi
	if [ "$2" = 600 ] && [ -z "$3" ]; then return; fi
	kw_own "$@"
}

# kw_there PATH: whether it exists, including as a dangling link.
kw_there() { [ -e "$1" ] || [ -L "$1" ]; }

# kw_write PATH MODE OWNER SHA256, and a frame.
kw_write() { kw_write_by kw_move "$@"; }

kw_move() { mv -fT -- "$kw_t" "./$kw_name"; }

# kw_write_by COMMAND PATH MODE OWNER SHA256, and a frame: the command puts kw_t, the new file,
# in the place of kw_name.
kw_write_by() {
	kw_by=$1
	shift
	kw_head
	kw_enter "$1"
	if kw_there "./$kw_name"; then
		if kw_is "./$kw_name" 'regular file' "$2" "$3" && kw_has "./$kw_name" "$4"; then
			kw_take || kw_fail
			kw_done same
			return
		fi
		if [ -d "./$kw_name" ] && ! [ -L "./$kw_name" ]; then kw_fail "$1 is a folder"; fi
	fi
	kw_beside
	kw_keep "$kw_t" "$4" "the data for $1"
	kw_new "$kw_t" "$2" "$3" && "$kw_by" || kw_drop "$kw_t"
	kw_touched
	kw_done changed
}

# kw_beside: sets kw_t to a new name next to kw_name, and removes leftovers of a lost
# connection there; the dot keeps the kubelet from reading it.
kw_beside() {
	for kw_t in "./.$kw_name.kubewright-"*; do
		if [ -e "$kw_t" ] || [ -L "$kw_t" ]; then rm -f -- "$kw_t"; fi
	done
	kw_t=./.$kw_name.kubewright-$kw_n
}

# kw_drop PATH...: fails with the exit code of the previous command, and removes what that
# had begun to make.
kw_drop() {
	kw_x=$?
	rm -rf -- "$@"
	(exit "$kw_x")
	kw_fail
}

# kw_folder PATH MODE OWNER: makes a folder with these; sets kw_made.
kw_folder() {
	kw_enter "$1"
	kw_made=same
	if [ -L "./$kw_name" ]; then # a link made by root to another place; others are refused
		kw_enter "$1/."
		kw_name=.
	fi
	if ! [ -d "./$kw_name" ]; then
		mkdir -m 700 -- "./$kw_name" || kw_fail
		kw_made=changed
	fi
	if ! kw_is "./$kw_name" directory "$2" "$3"; then
		kw_own "./$kw_name" "$2" "$3" || kw_fail
		kw_made=changed
	fi
	if [ "$kw_made" = changed ]; then kw_touched; fi
}

# kw_directory PATH MODE OWNER
kw_directory() {
	kw_enter "$1" group
	if kw_is "./$kw_name" directory "$2" "$3"; then kw_done same; return; fi
	kw_folder "$@"
	kw_done "$kw_made"
}

# kw_access PATH MODE OWNER: sets mode and owner of an existing file, and keeps its content.
kw_access() {
	if ! kw_there "$1"; then kw_fail "$1 is not there"; fi
	kw_enter "$1"
	if [ -L "./$kw_name" ] || ! [ -f "./$kw_name" ]; then kw_fail "$1 is no file"; fi
	if kw_is "./$kw_name" 'regular file' "$2" "$3"; then kw_done same; return; fi
	kw_own "./$kw_name" "$2" "$3" && sync "./$kw_name" || kw_fail
	kw_done changed
}

# kw_access_if_there PATH MODE OWNER: the same, and leaves an absent file alone.
kw_access_if_there() {
	if kw_there "$1"; then kw_access "$@"; else kw_done same; fi
}

# kw_point NAME: sets kw_b to the mount point with this name in /proc/mounts, which has
# octal escapes for blanks and the like.
kw_point() {
	kw_b=$1
	case $1 in
	*\\*) kw_b=$(printf '%b/' "$(printf '%s\n' "$1" | sed 's/\\\([0-7][0-7][0-7]\)/\\0\1/g')"); kw_b=${kw_b%/} ;;
	esac
}

# kw_free FOLDER: fails if anything is mounted below the folder, because rm would delete its
# content: rm stops at other file systems only, and only below its arguments.
kw_free() {
	kw_p=$(cd -P -- "$1" && pwd -P) || kw_fail
	while read -r kw_a kw_b kw_v; do
		kw_point "$kw_b"
		case $kw_b in
		"$kw_p"/*) kw_fail "$kw_b is mounted below $kw_p, and what it holds must not be removed. See what it is (findmnt '$kw_b'), unmount it (umount '$kw_b'), and run the same command again" ;;
		esac
	done </proc/mounts || kw_fail
}

# kw_remove PATH: removes a file, a link or a tree without mounts. A folder that is a mount
# point itself is emptied, since it cannot be removed.
kw_remove() {
	if ! kw_there "$1"; then kw_done same; return; fi
	kw_enter "$1" group
	if [ -d "./$kw_name" ] && ! [ -L "./$kw_name" ] && mountpoint -q "./$kw_name" </dev/null; then
		kw_clear
		return
	fi
	if [ -d "./$kw_name" ] && ! [ -L "./$kw_name" ]; then kw_free "./$kw_name"; fi
	rm -rf --one-file-system -- "./$kw_name" || kw_fail
	if kw_there "./$kw_name"; then kw_fail "$1 is still there"; fi
	kw_touched
	kw_done changed
}

# kw_empty PATH: removes the content of a folder, but not the folder.
kw_empty() {
	if ! kw_there "$1"; then kw_done same; return; fi
	if [ -L "$1" ]; then kw_fail "$1 is a link, and through a link nothing is emptied: mount the folder there instead (mount --bind), and try again"; fi
	[ -d "$1" ] || kw_fail "$1 is no folder"
	kw_enter "$1" group
	kw_clear
}

# kw_clear: empties the folder kw_name itself, never the target of a link that was planted
# under this name in the meantime.
kw_clear() {
	kw_o=$(stat -c '%F %d:%i' -- "./$kw_name") || kw_fail
	cd -P -- "./$kw_name" || kw_fail
	[ "$(stat -c '%F %d:%i' .)" = "$kw_o" ] || kw_fail "$kw_dir/$kw_name is not what it was a moment ago"
	kw_free .
	if [ -z "$(find . -mindepth 1 -maxdepth 1 -print | head -n 1)" ]; then kw_done same; return; fi
	find . -mindepth 1 -maxdepth 1 -exec rm -rf --one-file-system -- {} + || kw_fail
	kw_touched
	kw_done changed
}

# The functions for an archive, in order: kw_wants for each file, kw_unpack with a frame,
# kw_place for each file, kw_placed.

# kw_wants PATH MODE OWNER SHA256: sets kw_need unless the file matches.
kw_wants() {
	if kw_is "$1" 'regular file' "$2" "$3" && kw_has "$1" "$4"; then return; fi
	kw_need=yes
}

# kw_unpack SHA256 MEMBER..., and a frame: unpacks members of an archive into our own
# folder, where they can do no harm. Without need it skips the frame.
kw_unpack() {
	kw_head
	if [ -z "$kw_need" ]; then kw_take || kw_fail; return; fi
	kw_sum=$1
	shift
	kw_keep "$kw_d/part-$kw_n" "$kw_sum" 'the archive'
	rm -rf -- "$kw_d/part-files" && mkdir -m 700 -- "$kw_d/part-files" && cd -P -- "$kw_d/part-files" || kw_fail
	kw_long tar -x --no-same-owner -f "$kw_d/part-$kw_n" -- "$@" || kw_drop "$kw_d/part-$kw_n" "$kw_d/part-files"
	rm -f -- "$kw_d/part-$kw_n"
}

# kw_place MEMBER PATH MODE OWNER SHA256: installs a member.
kw_place() {
	if [ -z "$kw_need" ]; then return; fi
	if kw_is "$2" 'regular file' "$3" "$4" && kw_has "$2" "$5"; then return; fi
	kw_f=$kw_d/part-files/$1
	if ! [ -f "$kw_f" ] || [ -L "$kw_f" ] || ! kw_has "$kw_f" "$5"; then kw_fail "$1 in the archive is not what was planned"; fi
	kw_enter "$2"
	if [ -d "./$kw_name" ] && ! [ -L "./$kw_name" ]; then kw_fail "$2 is a folder"; fi
	kw_beside
	cp -- "$kw_f" "$kw_t" && kw_own "$kw_t" "$3" "$4" && sync "$kw_t" && mv -fT -- "$kw_t" "./$kw_name" || kw_drop "$kw_t"
	kw_touched
	kw_note "$2" "$5"
}

kw_placed() {
	cd /
	rm -rf -- "$kw_d/part-files"
	if [ -n "$kw_need" ]; then kw_done changed; else kw_done same; fi
}

# kw_note PATH SHA256: notes the digest of a large file, so that an observation need not
# read all of it. Outdated notes do no harm; there are few.
kw_note() {
	kw_o=$(stat -c '%i:%s:%.9Y:%.9Z' -- "$1") || kw_fail
	printf '%s %s %s\n' "$2" "$kw_o" "$1" >>"$kw_d/digests" || kw_fail
}

# kw_preserve PATH NAME: keeps a copy of the file at PATH, once. The copy, with its name, is
# on disk before another file takes its place, possibly on another disk.
kw_preserve() {
	if [ -d "$1" ] && ! [ -L "$1" ]; then kw_fail "$1 is a folder"; fi
	if kw_there "$kw_d/before$2" || ! kw_there "$1"; then kw_done same; return; fi
	kw_enter "$kw_d/before$2"
	kw_beside
	cp -a -- "$1" "$kw_t" && sync -f . && mv -fT -- "$kw_t" "./$kw_name" && sync . || kw_drop "$kw_t"
	kw_done changed
}

# kw_marks_off: removes everything that kubewright keeps on the host.
kw_marks_off() {
	kw_enter "$kw_d"
	if [ -d ./kubewright ] && ! [ -L ./kubewright ]; then kw_free ./kubewright; fi # an image of etcd is mounted there if a restore was killed
	rm -rf --one-file-system -- ./kubewright || kw_fail
	kw_touched
	kw_done changed
}
