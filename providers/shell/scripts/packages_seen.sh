# The state of the package manager: a part of observe.sh, with its rules. It writes nothing,
# not even the package manager's own cache of repositories.

# kw_packages VERSION APT-URL DNF-URL VERSIONED NAME...: packages by name, and those of
# VERSIONED (names separated by blanks) that the repository does not have.
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

# kw_exactly: filters lines STATUS NAME VERSION for the names of those installed in the
# version.
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

# kw_deb_works: the program that uses dpkg, its database or the lists of apt.
kw_deb_works() { kw_works /var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock; }

# kw_works FILE...: the program that holds a lock on one of the files.
kw_works() {
	for kw_f do
		[ -e "$kw_r$kw_f" ] || continue
		kw_o=$(awk -v inode=":$(stat -c %i -- "$kw_r$kw_f")" '$2 == "POSIX" && substr($6, length($6) - length(inode) + 1) == inode { print $5; exit }' /proc/locks)
		if [ -n "$kw_o" ] && [ -r "/proc/$kw_o/comm" ]; then cat "/proc/$kw_o/comm"; return; fi
	done
}

# kw_fetch URL: the content of the URL, or a line from curl with the error. It has to end
# before the silence makes the observer give up the host. The URL comes from the
# configuration; redirects are followed only as kw_leads allows, and only the parts of an
# answer that are searched for are passed on. It runs without root if possible.
kw_fetch() {
	kw_nobody
	kw_u=$1
	kw_i=2
	while kw_pin "$kw_u" && kw_l=$(kw_leads_to "$kw_u") && [ -n "$kw_l" ]; do
		case $kw_l in curl:*) break ;; esac
		if ! kw_leads "$kw_u" "$kw_l" || [ "$kw_i" = 0 ]; then
			kw_l="curl: (47) it redirects to ${kw_a:-what is no http:// or https:// address}, which is not followed"
			break
		fi
		kw_i=$((kw_i - 1))
		kw_u=$kw_l
	done
	case $kw_l in ?*) printf '%s\n' "$kw_l"; return ;; esac
	if command -v curl >/dev/null; then
		kw_curl -f -L --max-redirs 0 --max-time 20 -- "$kw_u" 2>&1 | kw_cap 64
	else
		kw_wget 20 -O - -- "$kw_u" 2>/dev/null | kw_cap 64
	fi
}

# kw_cap MIB: passes on so many MiB.
kw_cap() { if command -v head >/dev/null; then head -c "$(($1 * 1048576))"; else cat; fi; }

# kw_curl ARGUMENT...
kw_curl() {
	# shellcheck disable=SC2086 # words
	$kw_as curl -q -g -sS --proto =http,https --max-filesize 67108864 ${kw_pinned:+--resolve "$kw_pinned"} "$@" </dev/null
}

# kw_wget SECONDS ARGUMENT...
kw_wget() {
	kw_t=$1
	shift
	# shellcheck disable=SC2086
	$kw_as timeout "$((kw_t * 2))" wget -q -t 1 -T "$kw_t" --max-redirect=0 "$@" </dev/null || echo 'curl: (22) wget cannot read it'
}

# kw_nobody: sets kw_as to a command prefix that drops root, if possible.
kw_nobody() {
	kw_as=
	command -v setpriv >/dev/null && command -v id >/dev/null && [ "$(id -u)" = 0 ] || return 0
	kw_a=$(id -u nobody 2>/dev/null) && kw_l=$(id -g nobody 2>/dev/null) || return 0
	kw_as="setpriv --reuid $kw_a --regid $kw_l --clear-groups --no-new-privs env HOME=/"
	$kw_as test -x "$(command -v curl || command -v wget)" 2>/dev/null || kw_as=
}

# kw_at URL: sets kw_a to its scheme, host and port in lower case, without the default port
# of the scheme; to nothing if it is no such URL, or has a user in it.
kw_at() {
	kw_a=$(printf '%s\n' "$1" | awk '
		NR > 1 || !/^[Hh][Tt][Tt][Pp][Ss]?:\/\/[A-Za-z0-9._:[\]-]+([\/?#]|$)/ { bad = 1 }
		{ split($0, part, "/"); at = tolower(part[1] "//" part[3]); sub(/[?#].*/, "", at) }
		at ~ /^http:/ { sub(/:80$/, "", at) }
		at ~ /^https:/ { sub(/:443$/, "", at) }
		END { if (!bad) print at }')
}

# kw_leads FROM TO: whether a redirect from one URL to the other is allowed: on the same
# host, from there to its https, and from the repository of the Kubernetes project to its
# storage.
kw_leads() {
	kw_at "$1"
	kw_from=$kw_a
	kw_at "$2"
	case "$kw_from $kw_a" in
	' '* | *' ') return 1 ;;
	'https://pkgs.k8s.io https://'*.packages.k8s.io | 'https://pkgs.k8s.io https://packages.k8s.io') return 0 ;;
	esac
	[ "$kw_a" = "$kw_from" ] || [ "$kw_a" = "https://${kw_from#http://}" ]
}

# kw_leads_to URL: the redirect target of its server, or why it does not answer. Nothing
# else.
kw_leads_to() {
	if command -v curl >/dev/null; then
		kw_l=$(kw_curl -I -o /dev/null -w '%{redirect_url}' --max-time 5 -- "$1" 2>&1)
		case $?:$kw_l in
		6:curl:* | 7:curl:* | 28:curl:* | 35:curl:* | 60:curl:* | 0:http://* | 0:https://*) printf '%s\n' "$kw_l" ;;
		esac
		return 0
	fi
	kw_at "$1"
	kw_wget 5 -S --spider -- "$1" 2>&1 | awk -v at="$kw_a" '
		tolower($1) == "location:" { if ($2 ~ /^\//) $2 = at $2; print $2; exit }'
}

# kw_pin URL: sets kw_pinned to its host, port and addresses, so that curl uses no others. A
# name with an address of this machine, link-local or multicast, is refused with a message
# in kw_l.
kw_pin() {
	kw_pinned= kw_l=
	kw_at "$1"
	case ${kw_a#*://} in
	'['*) return 0 ;;
	*[!0-9.:]*) ;;
	*) return 0 ;; # an address from the configuration
	esac
	[ -z "$http_proxy$https_proxy" ] && command -v getent >/dev/null && command -v timeout >/dev/null || return 0
	kw_o=$(timeout 5 getent ahosts "$(printf '%s\n' "$kw_a" | sed 's|.*://||; s|:[0-9]*$||')" </dev/null | awk '!seen[$1]++ { print tolower($1) }')
	for kw_f in $kw_o; do
		case $kw_f in
		0.* | 127.* | 169.254.* | 22[4-9].* | 23[0-9].* | 24[0-9].* | 25[0-5].* | ::1 | :: | ::ffff:* | 64:ff9b:* | fe[89ab]?:* | ff??:* | fd00:ec2:*)
			kw_l="curl: (7) the host's name leads to $kw_f, where no repository may be"
			return 1
			;;
		*:*) kw_f="[$kw_f]" ;;
		esac
		kw_pinned="$kw_pinned${kw_pinned:+,}$kw_f"
	done
	[ -z "$kw_pinned" ] || kw_pinned=$(printf '%s\n' "$kw_a" | awk '
		{ port = /^https:/ ? 443 : 80; sub(/.*:\/\//, ""); if (match($0, /:[0-9]+$/)) { port = substr($0, RSTART + 1); sub(/:[0-9]+$/, "") } print $0 ":" port }'):$kw_pinned
}

kw_can_fetch() { command -v curl >/dev/null || command -v wget >/dev/null; }

# kw_through PROXY [PROXY]: uses the proxies of the package manager, for http and https.
kw_through() {
	case $1 in '' | DIRECT) ;; *) export http_proxy="$1" https_proxy="$1" ;; esac
	case $2 in '' | DIRECT) ;; *) export https_proxy="$2" ;; esac
}

# kw_deb_index: the packages that the repository lacks, by its list of packages.
kw_deb_index() {
	kw_can_fetch || return 0
	kw_p= kw_q=
	eval "$(apt-config shell kw_p Acquire::http::Proxy kw_q Acquire::https::Proxy)"
	kw_through "$kw_p" "$kw_q"
	kw_o=$(kw_fetch "${kw_apt}Packages" | kw_in_debs)
	case $kw_o in
	*404*)
		echo # a sign of progress
		kw_g=$(kw_fetch "${kw_apt}Packages.gz" | gzip -dc | kw_cap 256 | kw_in_debs)
		case $kw_g in unreachable*) ;; *) kw_o=$kw_g ;; esac ;;
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

# kw_rpm_index: the same for a dnf repository, unless its list is compressed in a way that
# not every host can read.
kw_rpm_index() {
	kw_can_fetch || return 0
	kw_through "$(sed -n 's/^proxy *= *//p' /etc/dnf/dnf.conf)"
	kw_o=$(kw_fetch "${kw_dnf}repodata/repomd.xml")
	case $kw_o in
	'curl: ('*) printf 'unreachable %s\n' "$kw_o"; return ;;
	esac
	kw_o=$(printf '%s\n' "$kw_o" | sed -n 's/.*href="\([^"]*primary\.xml\.gz\)".*/\1/p')
	case $kw_o in *[!A-Za-z0-9./_-]*) return ;; esac
	[ -z "$kw_o" ] || kw_fetch "$kw_dnf$kw_o" | gzip -dc | kw_cap 256 | awk -v RS='>' -v want="$kw_v" -v names="$kw_m" '
		/<\/name$/ { name = $0; sub(/<\/name$/, "", name) }
		/<version / { v = $0; sub(/.* ver="/, "", v); sub(/".*/, "", v); if (v == want) has[name] }
		END {
			if (NR < 2) exit
			n = split(names, list, " ")
			for (i = 1; i <= n; i++) if (!(list[i] in has)) print "missing " list[i]
		}'
}
