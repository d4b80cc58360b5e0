#!/bin/sh
# ca.sh: creates a CA to try the example with: ca.crt and ca.key. It is valid from
# January 2026 on, because simulated hosts run in March 2026.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/ca.cnf" <<END
[ca]
database = $work/index
serial = $work/serial
new_certs_dir = $work
policy = names
default_md = sha256
[names]
commonName = supplied
[authority]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
END
: > "$work/index"
echo 01 > "$work/serial"
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=Example Kubernetes CA" \
	-keyout ca.key -out "$work/ca.csr"
openssl ca -config "$work/ca.cnf" -name ca -extensions authority -selfsign -batch -notext \
	-in "$work/ca.csr" -keyfile ca.key -out ca.crt -startdate 20260101000000Z -enddate 20360101000000Z
