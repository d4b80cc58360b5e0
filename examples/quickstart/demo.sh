#!/bin/sh
# The life cycle of a cluster on simulated hosts: plan, apply, no changes, drift,
# repair, destroy. Works in a temporary folder; no root, no network.
set -eu
kubewright=${KUBEWRIGHT:-kubewright}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/*.hcl "$work"
cd "$work"

run() {
	printf '\n\033[1m$ %s\033[0m\n' "$*"
	shift
	"$kubewright" "$@"
}

run kubewright plan
run kubewright apply -auto-approve
run kubewright plan
run kubewright sim edit 10.77.0.11 file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg profiling=false
run kubewright plan
run kubewright apply -auto-approve
run kubewright destroy -auto-approve
