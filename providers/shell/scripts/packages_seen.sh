# What the package manager knows: a part of observe.sh, with its rules. Nothing
# is written, not even the manager's own cache of what repositories have.

# kw_packages VERSION APT-URL DNF-URL VERSIONED NAME...: packages by name, and of
# VERSIONED (names with blanks between) those that the repository does not have.
kw_packages() {
	kw_say packages
	kw_v=$1
	kw_apt=$2
	kw_dnf=$3
	kw_w=$4
	shift 4
	if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
		echo 'manager apt'
		dpkg-query -W -f 'package ${Package} ${Version} ${db:Status-Status} ${db:Status-Want}\n' -- "$@"
		dpkg-query -W -f 'broken ${db:Status-Status} ${Package}\n' | grep -v -e ' installed ' -e ' config-files ' -e ' not-installed '
		kw_o=$(kw_deb_works)
		[ -z "$kw_o" ] || printf 'locked %s\n' "$kw_o"
		kw_lacks "$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' -- $kw_w | kw_exactly)"
		[ -z "$kw_m" ] || kw_deb_index
	elif command -v dnf >/dev/null && command -v rpm >/dev/null; then
		echo 'manager dnf'
		rpm -q --queryformat 'package %{NAME} %{VERSION}-%{RELEASE} installed install\n' -- "$@" | grep ' installed install$'
		kw_o=$(kw_works /var/lib/rpm/.rpm.lock)
		[ -z "$kw_o" ] || printf 'locked %s\n' "$kw_o"
		kw_lacks "$(rpm -q --queryformat 'installed %{NAME} %{VERSION}-%{RELEASE}\n' -- $kw_w | kw_exactly)"
		[ -z "$kw_m" ] || kw_rpm_index
	fi
}

# kw_exactly: of lines STATUS NAME VERSION the names of those that are installed in the version.
kw_exactly() {
	awk -v want="$kw_v" '$1 == "installed" { sub(/^[0-9]+:/, "", $3); sub(/-[^-]*$/, "", $3); if ($3 == want) print $2 }'
}

# kw_lacks NAMES: sets kw_m to those of kw_w that are not among them.
kw_lacks() {
	kw_m=
	for kw_f in $kw_w; do
		case "
$1
" in
		*"
$kw_f
"*) ;;
		*) kw_m="$kw_m $kw_f" ;;
		esac
	done
}

# kw_deb_works: the program that works with dpkg, its data base or apt's lists.
kw_deb_works() { kw_works /var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock; }

# kw_works FILE...: the program that holds a lock on one of the files.
kw_works() {
	for kw_f do
		[ -e "$kw_r$kw_f" ] || continue
		kw_o=$(awk -v inode=":$(stat -c %i -- "$kw_r$kw_f")" '$2 == "POSIX" && substr($6, length($6) - length(inode) + 1) == inode { print $5; exit }' /proc/locks)
		if [ -n "$kw_o" ] && [ -r "/proc/$kw_o/comm" ]; then cat "/proc/$kw_o/comm"; return; fi
	done
}

# kw_fetch URL: what is there, or a line from curl on why not. It has to end before the
# asker takes the silence for a host that hangs.
kw_fetch() {
	if command -v curl >/dev/null; then
		curl -fsSL --max-time 20 -- "$1" 2>&1
	else
		timeout 40 wget -q -t 1 -T 20 -O - -- "$1" || echo 'curl: (22) wget cannot read it'
	fi
}

kw_can_fetch() { command -v curl >/dev/null || command -v wget >/dev/null; }

# kw_through PROXY [PROXY]: goes by the package manager's way, for http and https.
kw_through() {
	case $1 in '' | DIRECT) ;; *) export http_proxy="$1" https_proxy="$1" ;; esac
	case $2 in '' | DIRECT) ;; *) export https_proxy="$2" ;; esac
}

# kw_deb_index: what the repository lacks, by its list of packages.
kw_deb_index() {
	kw_can_fetch || return 0
	kw_p= kw_q=
	eval "$(apt-config shell kw_p Acquire::http::Proxy kw_q Acquire::https::Proxy)"
	kw_through "$kw_p" "$kw_q"
	kw_o=$(kw_fetch "${kw_apt}Packages" | kw_in_debs)
	case $kw_o in
	*404*)
		kw_i=$(kw_fetch "${kw_apt}Packages.gz" | gzip -dc | kw_in_debs)
		case $kw_i in unreachable*) ;; *) kw_o=$kw_i ;; esac ;;
	esac
	printf '%s\n' "$kw_o"
}

kw_in_debs() {
	awk -v want="$kw_v" -v names="$kw_m" '
		/^curl: \(/ { print "unreachable " $0; bad = 1; exit }
		/^Package: / { name = $2 }
		/^Version: / { v = $2; sub(/^[0-9]+:/, "", v); sub(/-[^-]*$/, "", v); if (v == want) has[name] }
		END {
			if (bad) exit
			if (NR == 0) { print "unreachable its list of packages is empty"; exit }
			n = split(names, list, " ")
			for (i = 1; i <= n; i++) if (!(list[i] in has)) print "missing " list[i]
		}'
}

# kw_rpm_index: the same of a repository for dnf, unless its list is compressed
# in a way that not every host can read.
kw_rpm_index() {
	kw_can_fetch || return 0
	kw_through "$(sed -n 's/^proxy *= *//p' /etc/dnf/dnf.conf)"
	kw_o=$(kw_fetch "${kw_dnf}repodata/repomd.xml")
	case $kw_o in
	'curl: ('*) printf 'unreachable %s\n' "$kw_o"; return ;;
	esac
	kw_o=$(printf '%s\n' "$kw_o" | sed -n 's/.*href="\([^"]*primary\.xml\.gz\)".*/\1/p')
	[ -z "$kw_o" ] || kw_fetch "$kw_dnf$kw_o" | gzip -dc | awk -v RS='>' -v want="$kw_v" -v names="$kw_m" '
		/<\/name$/ { name = $0; sub(/<\/name$/, "", name) }
		/<version / { v = $0; sub(/.* ver="/, "", v); sub(/".*/, "", v); if (v == want) has[name] }
		END {
			if (NR < 2) exit
			n = split(names, list, " ")
			for (i = 1; i <= n; i++) if (!(list[i] in has)) print "missing " list[i]
		}'
}
