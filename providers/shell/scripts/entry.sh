# Runs as the login user and goes on as root.
# Set before: kw_n, kw_c (what reads and evaluates the next script), kw_root
# (yes: become root), kw_pw (length of the password's line, 0 without one).
kw_uid=$(id -u) || exit 1
kw_say entered "$kw_uid"

# kw_go COMMAND...: goes on, through a command that runs another one as root.
kw_go() {
	exec "$@" /usr/bin/env -i LC_ALL=C HOME=/root \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin /bin/sh -c "$kw_c"
}

if [ "$kw_uid" = 0 ] || [ "$kw_root" != yes ]; then
	kw_go
elif command -v sudo >/dev/null; then
	if [ "$kw_pw" = 0 ] || sudo -n -- /usr/bin/env -i /bin/sh -c : </dev/null 2>/dev/null; then
		kw_go sudo -n --
	fi
	# One attempt: the input ends behind the password, so sudo cannot ask again.
	if dd bs="$kw_pw" count=1 iflag=fullblock 2>/dev/null | sudo -S -p '' -- /usr/bin/env -i /bin/sh -c : >/dev/null; then
		kw_go sudo -S -p '' --
	fi
	kw_say refused
elif command -v doas >/dev/null; then
	kw_go doas -n
else
	kw_say missing
fi
exit 1
