# Replaces the manifests of static pods. A kubelet that finds another manifest while the pod
# of the former one ends looks again some ten seconds later, and an API server takes thirty
# seconds to end. So the manifest is taken away, the new one follows as soon as the kubelet has
# forgotten the former pod, and the API server is ended early.

# kw_write_pod PATH MODE OWNER SHA256, and a frame: kw_write for the manifest of a static pod.
kw_write_pod() {
	kw_c=${1##*/}
	kw_c=${kw_c%.yaml}
	# One that a lost connection has left puts its manifest into place when it is stopped.
	systemctl stop "kubewright-manifest-$kw_c-*.service" >/dev/null 2>&1 || :
	kw_write_by kw_follow "$@"
}

# kw_follow: puts the new manifest in the place of the former one. A transient unit does it, so
# that the pod comes back when the connection is lost. It also waits where the manifest was
# removed before: the API server of that pod may still run.
kw_follow() {
	kw_o=$(kw_static "$kw_c")
	if [ -n "$kw_o" ] && systemctl --quiet is-active kubelet.service && command -v systemd-run >/dev/null; then
		systemd-run --quiet --wait --collect --unit="kubewright-manifest-$kw_c-$$" --description="replace the manifest of $kw_c" --setenv=PATH="$PATH" -- \
			/bin/sh -c "$kw_follow_script" sh "$PWD" "$kw_name" "$kw_t" "$(kw_endpoint)" "$kw_o" >&2 || :
	fi
	if kw_there "$kw_t"; then kw_move; else kw_there "./$kw_name"; fi
}

# kw_static COMPONENT: the folders of its static pods, in one line. Their UIDs are digests,
# without the dashes of those that the API assigns.
kw_static() {
	for kw_f in "$kw_r"/var/lib/kubelet/pods/*/containers/"$1"; do
		kw_f=${kw_f%/containers/*}
		case ${kw_f##*/} in
		*-*) ;;
		*) [ ! -d "$kw_f" ] || printf '%s ' "$kw_f" ;;
		esac
	done
}

# kw_endpoint: the socket of the kubelet's container runtime; nothing if it is not known.
kw_endpoint() {
	cat "$kw_r/var/lib/kubelet/instance-config.yaml" "$kw_r"/var/lib/kubelet/*.env "$kw_r/var/lib/kubelet/config.yaml" 2>/dev/null |
		sed -n 's#.*[cC]ontainer-*[rR]untime-*[eE]ndpoint[:=] *"*\(unix://[^" ]*\).*#\1#p' | head -n 1
}

# The unit's arguments are the folder, the manifest, the new one, the runtime's socket, and the
# folders of the former pods. An API server closes its port at once, and then keeps watches open
# until it is killed (--shutdown-send-retry-after is off by default): after ten seconds it has
# answered what it had received. A runtime sends SIGTERM once, whoever else asks it to stop the
# container. The kubelet removes the folder of a pod when it has forgotten it. systemd keeps the
# script in a unit file: it is one line, and has no braces.
kw_follow_script='cd -P -- "$1" || exit; n=$3 m=$2 e=$4; shift 4; '\
'trap "mv -fT -- \"\$n\" \"./\$m\"" EXIT; trap "exit 1" TERM; rm -f -- "./$m"; '\
'if [ "$m" = kube-apiserver.yaml ] && [ -n "$e" ] && command -v crictl >/dev/null; then '\
'set -- "$*" --timeout 60s --runtime-endpoint "$e" --image-endpoint "$e"; d=$1; shift; '\
'id=$(crictl "$@" ps --quiet --name "^kube-apiserver\$" --label io.kubernetes.pod.namespace=kube-system </dev/null); '\
'[ -z "$id" ] || crictl "$@" stop --timeout 10 $id </dev/null >/dev/null; set -- "$d"; fi; '\
'i=0; for d in $*; do while [ -d "$d" ] && [ "$i" -lt 600 ]; do sleep 0.1; i=$((i + 1)); done; done'
