# What was at the paths of files and folders of the user, beside the copies of kw_preserve. A
# record is a file named by an ID of its path: "absent" if nothing was there, or "folder MODE
# OWNER". The record ID.made is of a folder that was made for what is in it.

# kw_was NAME WORD...: writes a record, on disk before what it is about changes.
kw_was() {
	kw_enter "$kw_d/was/$1"
	shift
	kw_beside
	rm -f -- "$kw_t"
	(umask 077; set -C; printf '%s\n' "$*" >"$kw_t") && sync "$kw_t" && mv -fT -- "$kw_t" "./$kw_name" && sync . || kw_drop "$kw_t"
}

# kw_kept NAME: whether kw_preserve has a copy.
kw_kept() { kw_there "$kw_d/before$1" && { [ -L "$kw_d/before$1" ] || ! [ -d "$kw_d/before$1" ]; }; }

# kw_preserve_any PATH NAME ID [FOLDER ID]...: kw_preserve that also records that nothing is
# there, and which of the FOLDERs around it are not there, or mode and owner of a folder.
kw_preserve_any() {
	if kw_there "$kw_d/was/$3" || kw_kept "$2"; then kw_done same; return; fi
	if [ -d "$1" ] && ! [ -L "$1" ]; then
		kw_v=$(stat -c 'folder %a %u:%g' -- "$1") || kw_fail
		kw_was "$3" "$kw_v"
		kw_done changed
		return
	fi
	if kw_there "$1"; then kw_preserve "$1" "$2"; return; fi
	kw_id=$3
	shift 3
	while [ $# -gt 1 ]; do
		if ! kw_there "$1" && ! kw_there "$kw_d/was/$2"; then kw_was "$2.made" absent; fi
		shift 2
	done
	kw_was "$kw_id" absent
	kw_done changed
}

# kw_restore PATH NAME ID [FOLDER ID]...: restores a copy of kw_preserve, or what a record
# says; FOLDERs that were made for it go when they are empty, the innermost first. What is
# restored, with its name, is on disk before the copy or record is removed.
kw_restore() {
	kw_made=same
	if kw_kept "$2"; then
		kw_enter "$1"
		kw_beside
		cp -a -- "$kw_d/before$2" "$kw_t" && sync -f . && mv -fT -- "$kw_t" "./$kw_name" && sync . || kw_drop "$kw_t"
		rm -f -- "$kw_d/before$2" || kw_fail
		kw_made=changed
	elif [ -f "$kw_d/was/$3" ]; then
		kw_unmake "$1" "$3"
	fi
	shift 3
	while [ $# -gt 1 ] && [ -f "$kw_d/was/$2.made" ] && ! [ -f "$kw_d/was/$2" ]; do
		kw_gone "$1" || break
		rm -f -- "$kw_d/was/$2.made" || kw_fail
		kw_made=changed
		shift 2
	done
	kw_done "$kw_made"
}

# kw_unmake PATH ID: restores what the record says. A folder that was not there, and is not
# empty, stays as one that was made for what is in it.
kw_unmake() {
	kw_is_folder=
	if [ -d "$1" ] && ! [ -L "$1" ]; then kw_is_folder=yes; fi
	read -r kw_o kw_v kw_x <"$kw_d/was/$2" || kw_fail
	case $kw_o$kw_is_folder in
	absentyes)
		if ! kw_gone "$1"; then
			mv -fT -- "$kw_d/was/$2" "$kw_d/was/$2.made" || kw_fail
			return
		fi
		;;
	absent)
		if kw_there "$1"; then
			kw_enter "$1" group
			rm -f -- "./$kw_name" && sync . || kw_fail
		fi
		;;
	folderyes)
		kw_enter "$1" group
		kw_own "./$kw_name" "$kw_v" "$kw_x" && sync . || kw_fail
		;;
	esac
	rm -f -- "$kw_d/was/$2" || kw_fail
	kw_made=changed
}

# kw_gone FOLDER: removes an empty folder, or reports that it stays.
kw_gone() {
	kw_there "$1" || return 0
	kw_enter "$1" group
	rmdir -- "./$kw_name" 2>/dev/null || return 1
	sync . || kw_fail
	case $kw_safe in *":$1:"* | *":group$1:"*) kw_safe= ;; esac
}
