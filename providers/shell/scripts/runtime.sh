# The clients of a container runtime, for observations and changes.

# kw_ctr SOCKET ARGUMENT...: containerd's own client.
kw_ctr() {
	kw_k=$1
	shift
	ctr --address "$kw_k" --namespace k8s.io "$@" </dev/null
}

# kw_cri SOCKET ARGUMENT...: the client for every runtime. Its default timeout of two
# seconds is too short on a busy host.
kw_cri() {
	kw_k=$1
	shift
	crictl --timeout 30s --runtime-endpoint "unix://$kw_k" --image-endpoint "unix://$kw_k" "$@" </dev/null
}

# kw_listens SOCKET: whether a runtime listens there. The socket file alone remains after a
# runtime was killed.
kw_listens() {
	# The kernel shows the path as the runtime wrote it: /run or /var/run.
	kw_b=$(readlink -f -- "$1") || kw_b=$1
	awk -v a="$1" -v b="$kw_b" '$4 == "00010000" && ($8 == a || $8 == b || $8 == "/var" b) { found = 1 } END { exit !found }' /proc/net/unix
}

# kw_uses_ctr SOCKET
kw_uses_ctr() {
	case $1 in
	*containerd*) command -v ctr >/dev/null ;;
	*) false ;;
	esac
}
