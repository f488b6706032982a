#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# registry.sh FOLDER: puts Debian's docker-registry (5 MB) into FOLDER, for the test that pushes into a registry. Installed as a package it
# would start a daemon; so nothing outside FOLDER is touched. Where it cannot be had, the test is reported as skipped.
set -euo pipefail
[ $# = 1 ] || {
  echo "usage: registry.sh FOLDER" >&2
  exit 2
}
folder=$1 work=$1.new
if [ -x "$folder/bin/docker-registry" ] || command -v docker-registry >/dev/null; then exit 0; fi
skip() {
  printf 'registry: %s: the test of registries will be skipped\n' "$*"
  exit 0
}
for program in apt-get dpkg-deb; do
  command -v "$program" >/dev/null || skip "$program not found, and docker-registry is in Debian's archive"
done
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
(cd "$work" && apt-get download -qq docker-registry >log 2>&1 && dpkg-deb -x docker-registry_*.deb .) ||
  skip "Debian's archive did not give docker-registry ($(tail -n 1 "$work/log"))"
rm -rf "$folder"
mkdir -p "$folder/bin"
mv "$work/usr/bin/docker-registry" "$folder/bin/"
