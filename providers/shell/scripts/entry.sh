# Runs as the login user and continues as root. Set before: kw_n, kw_c (reads and evaluates
# the next script), kw_root (yes: become root), kw_pw (yes: a line with the sudo password is
# next, because sudo has asked for it).
kw_uid=$(id -u) || exit 1
kw_say entered "$kw_uid"

# kw_go COMMAND...: continues, through a command that runs another one as root.
kw_go() {
	exec "$@" /usr/bin/env -i LC_ALL=C HOME=/root \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin /bin/sh -c "$kw_c"
}

# kw_enter: continues through sudo with the password. The password is checked with an input
# that ends after it, so that sudo cannot ask again, and then precedes the rest of the
# input.
kw_enter() {
	IFS= read -r kw_p || exit 1
	if ! printf '%s\n' "$kw_p" | sudo -S -p '' -- /usr/bin/env -i /bin/sh -c : >/dev/null; then
		kw_say refused
		exit 1
	fi
	{ printf '%s\n' "$kw_p" && exec cat; } | kw_go sudo -S -p '' --
	exit
}

LC_ALL=C # sudo's message shows whether it wants a password
export LC_ALL
if [ "$kw_uid" = 0 ] || [ "$kw_root" != yes ]; then
	kw_go
elif command -v sudo >/dev/null; then
	if [ "$kw_pw" = yes ] && ! sudo -n -- /usr/bin/env -i /bin/sh -c : </dev/null 2>/dev/null; then
		kw_enter
	fi
	kw_go sudo -n --
elif command -v doas >/dev/null; then
	kw_go doas -n
else
	kw_say missing
fi
exit 1
