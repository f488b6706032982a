# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the scripts that source it
# Shared by the scripts of this folder: sourced, never run.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# The commit of llvm-test-suite that the series test-suite is for, and where it is to be had.
suite=3c0a28f12509091808c051c80ca867d9085cd8fb
suite_source=${UPSTREAM_SUITE:-https://github.com/llvm/llvm-test-suite}

say() { printf 'upstream: %s\n' "$*"; }
fail() {
  say "$*" >&2
  exit 1
}
skip() {
  say "skipped: $*"
  exit 77
}

# lines FILE: the lines of FILE that are no comments.
lines() { sed '/^ *#/d; /^ *$/d' "$1"; }

# apt VERB ARGUMENT...: apt with a root of its own below $work, never with the system's configuration.
apt_options() {
  printf '%s\n' -o "Dir=$work/apt" -o "Dir::State::status=$work/apt/var/lib/dpkg/status" -o Acquire::Languages=none \
    -o APT::Sandbox::User=root -o APT::Install-Recommends=false -o Debug::NoLocking=1 -o APT::Get::AllowUnauthenticated=false
}
apt() {
  local tool=$1 options
  shift
  mapfile -t options < <(apt_options)
  nice -n 10 "$tool" "${options[@]}" "$@"
}

# in_root COMMAND...: runs it in the root, in a mount namespace of its own with /proc and /dev there, and the folder $bind as /source.
in_root() {
  unshare --mount sh -c '
    root=$1 bind=$2; shift 2
    mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" || exit 77
    [ -z "$bind" ] || { mkdir -p "$root/source" && mount --bind "$bind" "$root/source"; } || exit 77
    exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/bin:/usr/sbin:/bin LC_ALL=C \
      CCACHE_DIR=/ccache JOBS="${JOBS:-2}" "$@"' sh "$work/root" "${bind:-}" "$@"
}
