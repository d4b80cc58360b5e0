#!/bin/sh
# Takes a backup of this cluster: a snapshot of etcd, the certificates and keys of the control plane, and
# the keys that API objects are encrypted with. It is encrypted here, to the recipients beside this script,
# before it leaves the host. kubewright writes this file; the unit kubewright-backup.service runs it.
#
# Every control plane has the timer, and only the one whose etcd leads takes the backup.
#
# backup.sh before RISK [SINCE]: kubewright takes a backup here, whichever etcd leads, before a step of a plan
# that could lose data. One that was taken before the same risk since then (YYYYMMDDhhmmss, in UTC) is enough.
set -eu
umask 077
export LC_ALL=C
root=${KUBEWRIGHT_BACKUP_ROOT:-} # for tests
here=$root/etc/kubernetes/backup
kept=$root/var/lib/kubewright/backup
work=$kept/work
# shellcheck disable=SC1091
. "$here/settings"
etcdctl=
before=
since=
if [ "${1:-}" = before ]; then
	before=$2
	since=${3:-}
fi

# fail TEXT: says why there is no backup, here and to the next plan.
fail() {
	printf 'kubewright-backup: %s\n' "$1" >&2
	why=$(printf '%s' "$1" | tr '\n\t' '  ' | tr -cd ' !#-[]-~' | cut -c1-400)
	# With a full disk the age of the last backup says it.
	if printf '{"time":"%s","error":"%s"}\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$why" >"$kept/.failed" 2>/dev/null; then
		mv -f "$kept/.failed" "$kept/failed"
	fi
	exit 1
}

# leave: removes what a backup that was not completed leaves.
leave() {
	rm -rf "$work"
	if [ -n "$folder" ]; then rm -f "$root$folder/.$name.partial" "$root$folder/.$name.json.partial"; fi
}

# number KEY: prints the number of a key in etcd's status.
number() { printf '%s' "$status" | sed -n "s/.*\"$1\":\"\{0,1\}\([0-9][0-9]*\).*/\1/p"; }

sum() { sha256sum "$1" | cut -c1-64; }

# text KEY FILE: prints the text of a key in a description.
text() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$2"; }

# taken: whether the backup before this risk is there already, as when an interrupted plan continues.
taken() {
	[ -n "$since" ] && [ -s "$kept/before" ] && [ "$(text before "$kept/before")" = "$before" ] || return 1
	[ "$(text time "$kept/before" | tr -cd 0-9)" -ge "$since" ] || return 1
	[ -z "$folder" ] || [ -f "$root$folder/$(text name "$kept/before")" ]
}

# argument FILE NAME: prints an argument of a static pod.
argument() { sed -n "s/^ *- --$2=\(.*\)$/\1/p" "$1" 2>/dev/null | head -n 1; }

# find_etcdctl: finds etcdctl in the container of this cluster's etcd, or on the host.
find_etcdctl() {
	for p in "$root"/proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" = etcd ] || continue
		tr '\0' '\n' 2>/dev/null <"$p/cmdline" | grep -qxF -e "--data-dir=$etcd_data" || continue
		if [ -x "$p/root/usr/local/bin/etcdctl" ]; then
			etcdctl=$p/root/usr/local/bin/etcdctl
		elif command -v etcdctl >/dev/null; then
			etcdctl=etcdctl
		else
			fail "etcd's container has no /usr/local/bin/etcdctl, and this host no etcdctl. Install it, or use the image of etcd of Kubernetes."
		fi
		return
	done
	fail "no etcd with the data in $etcd_data runs here. See why: crictl ps -a --name etcd"
}

# ask TIMEOUT ARGUMENT...: runs etcdctl against the member of this host.
ask() {
	timeout=$1
	shift
	"$etcdctl" --endpoints=https://127.0.0.1:2379 --dial-timeout=10s --command-timeout="$timeout" \
		--cacert="$root$pki/etcd/ca.crt" --cert="$root$pki/etcd/healthcheck-client.crt" --key="$root$pki/etcd/healthcheck-client.key" \
		"$@" 2>"$work/error"
}

# snapshot: saves a snapshot of etcd, and compares it with the digest that etcd has put behind it.
snapshot() {
	ask 30m snapshot save "$work/archive/snapshot.db" >/dev/null || fail "etcd gives no snapshot: $(tail -n 1 "$work/error")"
	size=$(wc -c <"$work/archive/snapshot.db")
	[ "$size" -gt 512 ] || fail "the snapshot of etcd is incomplete: it has $size bytes."
	want=$(tail -c 32 "$work/archive/snapshot.db" | od -An -v -tx1 | tr -d ' \n')
	got=$(head -c "$((size - 32))" "$work/archive/snapshot.db" | sha256sum | cut -c1-64)
	[ "$got" = "$want" ] || fail "the snapshot of etcd is damaged: its digest is $got and should be $want. See whether the disk is full or broken: df $kept"
}

# collect: copies the certificates and keys into the archive, and those that API objects are encrypted with.
collect() {
	[ -s "$root$pki/ca.crt" ] || fail "there is no $pki/ca.crt. Run kubewright plan, which says how it comes back."
	find -L "$root$pki" -type f \( -name '*.crt' -o -name '*.key' -o -name '*.pub' \) | sort >"$work/files"
	encryption=$(argument "$root/etc/kubernetes/manifests/kube-apiserver.yaml" encryption-provider-config | tr -d \"\')
	if [ -n "$encryption" ]; then
		[ -f "$root$encryption" ] || fail "the API server encrypts with $encryption, and there is no such file. Put it back: a backup without it could not be read."
		printf '%s\n' "$root$encryption" >>"$work/files"
	fi
	while read -r f; do
		to=$work/archive/files/${f#"$root/"}
		{ mkdir -p "${to%/*}" && cp "$f" "$to"; } 2>"$work/error" || fail "$f cannot be copied: $(tail -n 1 "$work/error")"
	done <"$work/files"
}

# manifest: prints what the archive holds.
manifest() {
	printf '{"format":1,"cluster":"%s","node":"%s","time":"%s","kubernetes":"%s","etcd":"%s","etcd_id":"%s","revision":%s,"ca":"%s","recipients":%s,' \
		"$cluster" "$node" "$time" \
		"$(sed -n 's/^ *image: .*kube-apiserver:v\([0-9A-Za-z.+-]*\)$/\1/p' "$root/etc/kubernetes/manifests/kube-apiserver.yaml" | head -n 1)" \
		"$(printf '%s' "$status" | sed -n 's/.*"version":"\([0-9A-Za-z.+-]*\)".*/\1/p')" \
		"$(number cluster_id)" "$(number revision)" "$(sum "$work/archive/files$pki/ca.crt")" "$recipients"
	if [ -n "$before" ]; then printf '"before":"%s",' "$before"; fi
	printf '"files":{"snapshot.db":"%s"' "$(sum "$work/archive/snapshot.db")"
	while read -r f; do printf ',"%s":"%s"' "${f#"$root/"}" "$(sum "$work/archive/files/${f#"$root/"}")"; done <"$work/files"
	printf '}}\n'
}

# pack FILE: encrypts the archive into a file.
pack() {
	{
		tar -C "$work/archive" -cf - manifest.json files snapshot.db 2>"$work/error" && echo yes >"$work/packed"
	} | age -R "$here/recipients" -o "$1" 2>"$work/age" || fail "the backup could not be encrypted into $1: $(tail -n 1 "$work/age")"
	[ -s "$work/packed" ] || fail "the backup could not be written: $(tail -n 1 "$work/error")"
}

# describe FILE: prints what stands beside the backup: all that is no secret.
describe() {
	printf '{"name":"%s","size":%s,"sha256":"%s","manifest":%s}\n' "$name" "$(wc -c <"$1" | tr -d ' ')" "$(sum "$1")" "$(cat "$work/archive/manifest.json")"
}

# to_folder: puts the backup into a folder, and removes the oldest of its kind beyond those that are kept.
to_folder() {
	[ -d "$root$folder" ] || mkdir -p "$root$folder" 2>"$work/error" || fail "the folder $folder cannot be made: $(tail -n 1 "$work/error")"
	pack "$root$folder/.$name.partial"
	describe "$root$folder/.$name.partial" >"$work/description"
	{ cp "$work/description" "$root$folder/.$name.json.partial" && sync "$root$folder/.$name.partial" "$root$folder/.$name.json.partial"; } 2>"$work/error" ||
		fail "the backup could not be written into $folder: $(tail -n 1 "$work/error")"
	mv -f "$root$folder/.$name.json.partial" "$root$folder/$name.json"
	mv -f "$root$folder/.$name.partial" "$root$folder/$name"
	sync "$root$folder"
	of_kind "$root$folder" | sort -r | tail -n "+$((keep + 1))" | while read -r old; do
		rm -f "$root$folder/$old" "$root$folder/$old.json"
	done
	of_cluster "$root$folder" | sort -r | while read -r f; do
		if [ -s "$root$folder/$f.json" ]; then head -n 1 "$root$folder/$f.json"; fi
	done >"$kept/.index"
}

# of_cluster FOLDER: prints the names of the backups of this cluster.
of_cluster() {
	for f in "$1/$cluster"-[0-9]*.tar.age; do
		f=${f##*/}
		if printf '%s' "${f#"$cluster-"}" | grep -q '^[0-9]\{8\}T[0-9]\{6\}Z-.*\.tar\.age$'; then printf '%s\n' "$f"; fi
	done
}

# of_kind FOLDER: prints the names of those of them that are of the kind of this one. The kinds are counted
# apart, so that many plans in a row leave the backups of the timer where they are.
of_kind() {
	if [ -n "$before" ]; then
		of_cluster "$1" | grep '_before\.tar\.age$'
	else
		of_cluster "$1" | grep -v '_before\.tar\.age$'
	fi
}

put() {
	curl --config "$here/s3" --silent --show-error --fail-with-body --max-time 3600 --retry 3 --aws-sigv4 "aws:amz:$s3_region:s3" \
		--header "x-amz-content-sha256: $(sum "$1")" --upload-file "$1" --output "$work/answer" "$s3_url$2" 2>"$work/error" ||
		fail "the bucket did not take $2: $(tail -n 1 "$work/error") $(sed -n 's|.*<Message>\(.*\)</Message>.*|\1|p' "$work/answer" 2>/dev/null | head -n 1)"
}

# to_bucket: puts the backup into a bucket, whose lifecycle removes old ones.
to_bucket() {
	packed=$root$folder/$name
	if [ -z "$folder" ]; then
		packed=$work/$name
		pack "$packed"
		describe "$packed" >"$work/description"
		{
			cat "$work/description"
			if [ -f "$kept/index" ]; then cat "$kept/index"; fi
		} >"$work/index"
		{
			grep -v '"before":"' "$work/index" | head -n "$keep"
			grep '"before":"' "$work/index" | head -n "$keep"
		} >"$kept/.index"
	fi
	put "$packed" "$name"
	put "$work/description" "$name.json"
}

mkdir -p "$kept"
chmod 700 "$kept"
exec 9>"$kept/lock"
if [ -n "$before" ]; then
	flock -w "${KUBEWRIGHT_BACKUP_WAIT:-1200}" 9 || fail "another backup has been running here for 20 minutes. See why it does not end: systemctl status kubewright-backup"
else
	flock -n 9 || { echo "kubewright-backup: another backup runs" && exit 0; }
fi
if taken; then
	echo "kubewright-backup: $(text name "$kept/before") is there already"
	exit 0
fi
node=$(uname -n | tr -cd 'A-Za-z0-9.-')
time=$(date -u +%Y-%m-%dT%H:%M:%SZ)
name=$cluster-$(printf '%s' "$time" | tr -d ':-')-$node${before:+_before}.tar.age
rm -rf "$work"
mkdir "$work" "$work/archive" || fail "there is no room to work in $kept"
trap leave EXIT
trap 'exit 1' INT TERM HUP

find_etcdctl
status=$(ask 30s endpoint status --write-out=json) || fail "etcd does not answer: $(tail -n 1 "$work/error")"
if [ -n "$before" ]; then
	case $(number leader) in
	'' | 0) fail "the etcd of this host knows no leader, so that its data may be old. See why: kubewright etcd status" ;;
	esac
elif [ "$(number member_id)" != "$(number leader)" ]; then
	echo "kubewright-backup: the etcd of another control plane leads, and that one takes the backup"
	exit 0
fi
command -v age >/dev/null || fail "age is not installed here, and a backup leaves the host only encrypted. Install it (apt-get install age, dnf install age), or put age into the artifacts."
grep -q . "$here/recipients" || fail "no recipient is in /etc/kubernetes/backup/recipients, so that the backup cannot be encrypted. Run kubewright apply, which writes the file."
if [ -n "$s3_url" ]; then
	command -v curl >/dev/null || fail "curl is not installed here, which puts backups into the bucket. Install it (apt-get install curl, dnf install curl)."
	curl --version | awk 'NR == 1 { split($2, v, "."); exit !(v[1] > 7 || v[1] == 7 && v[2] >= 88) }' ||
		fail "curl is older than 7.88 here, and cannot sign what it puts into a bucket. Install a newer one, or back up into a folder."
fi
snapshot
collect
manifest >"$work/archive/manifest.json" || fail "there is no room to work in $kept"
if [ -n "$folder" ]; then to_folder; fi
if [ -n "$s3_url" ]; then to_bucket; fi
mv -f "$kept/.index" "$kept/index"
if [ -n "$before" ]; then cp "$work/description" "$kept/.before" && mv -f "$kept/.before" "$kept/before"; fi
mv -f "$work/description" "$kept/last"
rm -f "$kept/failed"
echo "kubewright-backup: $name is complete"
