# Operations on packages. They need perform.sh and follow its rules, and they need
# packages_seen.sh, which finds other users of the package manager. Dependencies are
# recorded in kw_d/packages before they are installed, so that a run that was killed does
# not lose track of them.

# kw_turn: waits for other users of the package manager, at most five minutes. apt-get does
# so itself, except for its lists, and dpkg does not.
kw_turn() {
	kw_i=100
	while kw_by=$(kw_deb_works) && [ -n "$kw_by" ]; do
		[ "$kw_i" != 0 ] || kw_fail "$kw_by has worked with the package manager for five minutes; see what holds it up, and apply again when it has ended"
		kw_i=$((kw_i - 1))
		sleep 3
	done
}

# kw_apt ARGUMENT...: apt-get without questions, which waits for other users and keeps
# existing settings.
kw_apt() {
	kw_turn
	kw_long env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C apt-get -q -y \
		-o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -o APT::Keep-Downloaded-Packages=false \
		-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"
}

# kw_try ARGUMENT...: writes the changes that apt-get would make to kw_d/part-try.
kw_try() {
	LC_ALL=C apt-get -q -s -o Debug::NoLocking=1 "$@" </dev/null >"$kw_d/part-try" 2>&1
}

# kw_deb NAME: sets kw_ver, kw_status and kw_want of a package.
kw_deb() {
	kw_o=$(dpkg-query -W -f '${Version} ${db:Status-Status} ${db:Status-Want}' -- "$1" 2>/dev/null </dev/null) || kw_o='- not-installed -'
	kw_ver=${kw_o%% *}
	kw_ver=${kw_ver#*:}
	kw_ver=${kw_ver%-*}
	kw_o=${kw_o#* }
	kw_status=${kw_o%% *}
	kw_want=${kw_o##* }
}

# kw_apt_install REPOSITORY [NAME VERSION HOLD]...: REPOSITORY is the file that configures
# the repository of Kubernetes' packages.
kw_apt_install() {
	kw_s=$1
	shift
	kw_specs= kw_hold= kw_unhold= kw_made=same
	while [ $# != 0 ]; do
		kw_deb "$1"
		kw_moves=no
		if [ "$kw_status" != installed ] || [ "$kw_ver" != "${2:-$kw_ver}" ]; then kw_specs="$kw_specs $1${2:+=$2-*}" kw_moves=yes; fi
		case $3:$kw_want:$kw_moves in
		hold:hold:no | :hold:no) ;;
		hold:* | :hold:yes) kw_hold="$kw_hold $1" ;; # apt-get drops the hold of what it installs
		unhold:hold:*) kw_unhold="$kw_unhold $1" ;;
		esac
		shift 3
	done
	set -f
	if [ -n "$kw_specs" ]; then kw_apt_bring; fi
	# shellcheck disable=SC2086 # names, which have no blanks
	if [ -n "$kw_hold" ]; then kw_long apt-mark hold $kw_hold || kw_fail; kw_made=changed; fi
	# shellcheck disable=SC2086
	if [ -n "$kw_unhold" ]; then kw_long apt-mark unhold $kw_unhold || kw_fail; kw_made=changed; fi
	set +f
	kw_done "$kw_made"
}

# kw_apt_bring: installs kw_specs. It reads the lists of other repositories again only if a
# package is not found.
# shellcheck disable=SC2086
kw_apt_bring() {
	kw_turn # another process may be completing a partial installation
	if [ -n "$(dpkg --audit </dev/null)" ]; then # an installation was interrupted
		kw_long env DEBIAN_FRONTEND=noninteractive dpkg --force-confdef --force-confold --configure -a || kw_fail
	fi
	kw_apt update -o Dir::Etc::SourceList="$kw_s" -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=0 -o APT::Update::Error-Mode=any || kw_fail
	set -- install --no-remove --allow-downgrades --allow-change-held-packages $kw_specs
	if ! kw_try "$@"; then
		kw_apt update || kw_fail
		if ! kw_try "$@"; then grep -e '^[EW]: ' -e '^ ' "$kw_d/part-try" | tail -n 20 >&2; (exit 100); kw_fail; fi
	fi
	awk '$1 == "Inst" && $3 !~ /^\[/ { print $2 }' "$kw_d/part-try" >>"$kw_d/packages" && sync "$kw_d/packages" || kw_fail
	kw_apt "$@" || kw_fail
	kw_made=changed
}

# kw_apt_remove REPOSITORY NAME...: removes them and their dependencies that nothing else
# needs. If another package needs them, it fails and leaves the decision to the operator.
kw_apt_remove() {
	kw_s=$1
	shift
	kw_made=same
	for kw_f do
		shift
		kw_deb "$kw_f"
		if [ "$kw_status" != not-installed ]; then set -- "$@" "$kw_f"; fi
	done
	if [ $# != 0 ]; then
		kw_try purge --allow-change-held-packages "$@" || { tail -n 20 "$kw_d/part-try" >&2; (exit 100); kw_fail; }
		printf '%s\n' "$@" >"$kw_d/part-ours"
		if [ -f "$kw_d/packages" ]; then cat "$kw_d/packages" >>"$kw_d/part-ours"; fi
		kw_o=$(awk 'NR == FNR { ours[$1]; next } ($1 == "Remv" || $1 == "Purg") && !($2 in ours) { print $2 }' "$kw_d/part-ours" "$kw_d/part-try" | sort -u | tr '\n' ' ')
		[ -z "$kw_o" ] || kw_fail "other packages need these and would go as well: ${kw_o}– remove them yourself, or say with install.keep what is to stay"
		kw_apt purge --allow-change-held-packages "$@" || kw_fail
		kw_made=changed
	fi
	kw_apt_orphans
	kw_apt_lists
	kw_done "$kw_made"
}

# kw_apt_orphans: removes dependencies that are no longer needed.
kw_apt_orphans() {
	[ -s "$kw_d/packages" ] || return 0
	kw_try autoremove || kw_fail
	# shellcheck disable=SC2046 # names, which have no blanks
	set -- $(awk 'NR == FNR { ours[$1]; next } $1 == "Remv" && ($2 in ours) { print $2 }' "$kw_d/packages" "$kw_d/part-try")
	if [ $# != 0 ]; then
		kw_apt purge "$@" || kw_fail
		kw_made=changed
	fi
	rm -f -- "$kw_d/packages"
}

# kw_apt_lists: removes the cached lists of the repository, and those of the minor versions
# that the host has had before.
kw_apt_lists() {
	apt-get indextargets -o Dir::Etc::SourceList="$kw_s" -o Dir::Etc::SourceParts=- --format '$(FILENAME)' </dev/null 2>/dev/null |
		while read -r kw_f; do
			case $kw_f in
			/var/lib/apt/lists/*_v[0-9]*.[0-9]*_deb_Packages) rm -f -- "${kw_f%_v*_deb_Packages}"_v[0-9]*.[0-9]*_deb_* ;;
			/var/lib/apt/lists/*_Packages) rm -f -- "${kw_f%Packages}"* ;;
			esac
		done
}

# kw_dnf_install REPOSITORY [NAME VERSION HOLD]...: dnf has no hold; the file of the
# repository excludes its packages from upgrades, but not here.
kw_dnf_install() {
	shift
	kw_specs=
	while [ $# != 0 ]; do
		kw_o=$(rpm -q --queryformat '%{VERSION}' -- "$1" </dev/null 2>/dev/null) || kw_o=
		if [ -z "$kw_o" ] || [ "$kw_o" != "${2:-$kw_o}" ]; then kw_specs="$kw_specs $1${2:+-$2}"; fi
		shift 3
	done
	[ -n "$kw_specs" ] || { kw_done same; return; }
	# shellcheck disable=SC2086
	kw_long dnf -y -q --setopt=disable_excludes=kubernetes install $kw_specs || kw_fail
	kw_done changed
}

# kw_dnf_remove REPOSITORY NAME...: dnf itself removes dependencies.
kw_dnf_remove() {
	shift
	for kw_f do
		shift
		if rpm -q -- "$kw_f" >/dev/null 2>&1 </dev/null; then set -- "$@" "$kw_f"; fi
	done
	[ $# != 0 ] || { kw_done same; return; }
	kw_long dnf -y -q --setopt=disable_excludes=kubernetes --setopt=clean_requirements_on_remove=True remove "$@" || kw_fail
	kw_done changed
}
