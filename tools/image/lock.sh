#!/bin/sh
# Writes debian.lock: which package files of Debian the image for CI is made of. apt resolves them
# for each architecture in a folder of its own; nothing is installed. Needs apt and Debian's keys.
set -eu
cd "$(dirname "$0")"
suite=trixie
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=${KUBEWRIGHT_DEBIAN_MIRROR:-http://deb.debian.org}
packages="base-files base-passwd bash ca-certificates coreutils curl dash diffutils findutils git grep gzip jq mawk openssh-client sed tar"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
  echo "# Package files of Debian $suite for the image for CI: architecture, SHA-256, size, path."
  echo "# make image-lock writes this file."
} > "$work/lock"
for arch in amd64 arm64; do
  dir=$work/$arch
  mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
  : > "$dir/status"
  for source in "debian $suite" "debian $suite-updates" "debian-security $suite-security"; do
    echo "deb [signed-by=$keys] $mirror/$source main"
  done > "$dir/sources.list"
  set -- -q -o APT::Architecture=$arch -o APT::Architectures=$arch -o APT::Install-Recommends=false \
    -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::ForceHash=SHA256 \
    -o Dir::State::lists="$dir/lists" -o Dir::State::status="$dir/status" -o Dir::Cache="$dir/cache" \
    -o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null
  apt-get "$@" update >&2
  # Each line: 'URL' FILE SIZE SHA256:DIGEST
  apt-get "$@" install --yes --print-uris $packages > "$dir/uris"
  sed -n "s|^'$mirror/\([^']*\)' [^ ]* \([0-9]*\) SHA256:\([0-9a-f]*\)\$|$arch \3 \2 \1|p" "$dir/uris" | LC_ALL=C sort -k4 >> "$work/lock"
done
mv "$work/lock" debian.lock
