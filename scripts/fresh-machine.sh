#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fresh-machine.sh [bookworm|trixie] [FOLDER]: what a new user meets. Debian's smallest system with git and make
# (debootstrap) in FOLDER/SUITE, a clone of HEAD in it, then `make demo`, `make test` and `make demo` again,
# each with its time; the first that fails ends it. Before and after, it lists packages, files and folders:
# it fails where one of the packages was removed, or where a file was left outside of packages and build/.
# Needs root and debootstrap, on any Debian or what descends from it.
#
# FOLDER is build/fresh-machine where none is given. FOLDER/SUITE is made anew each time; the logs beside it
# are SUITE-STEP.log, the lists SUITE-before.* and SUITE-after.*; SUITE-archives keeps the packages, which the
# next run need not fetch. Debian comes from where this machine's apt gets it, with the same proxy (MIRROR=URI
# says otherwise). Mounts are in a namespace of their own and end with it.
set -euo pipefail

say() { printf 'fresh-machine: %s\n' "$*"; }
die() {
  printf 'fresh-machine: %s\n' "$*" >&2
  exit 1
}

suite=${1:-bookworm}
case $suite in
  bookworm | trixie) ;;
  *) die "found '$suite', expected bookworm or trixie" ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${2:-$root/build/fresh-machine}
[ "$(id -u)" = 0 ] || die "needs root: debootstrap and chroot do"
for tool in debootstrap unshare git; do
  command -v "$tool" >/dev/null || die "$tool not found (Debian: debootstrap, util-linux, git)"
done
if [ -z "${KDL_FRESH_NAMESPACE:-}" ]; then
  KDL_FRESH_NAMESPACE=1 exec unshare --mount --propagation private --pid --fork --kill-child "$0" "$@"
fi

trap 'exit 130' INT TERM # the first process of a namespace has no other way to end by them

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
tree=$folder/$suite
clone=/root/libkdl
archives=$folder/$suite-archives
commit=$(git -C "$root" rev-parse HEAD)
[ -z "$(git -C "$root" status --porcelain)" ] ||
  say "the working tree has changes that are not committed: they are not part of what is tried"

# Where this machine gets Debian from.
mirror() {
  # shellcheck disable=SC2016 # the $(...) is apt's own field
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -m1 '/debian/*$' || true
}

bootstrap() {
  local script=/usr/share/debootstrap/scripts/$suite
  [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
  rm -rf --one-file-system "$tree"
  mkdir -p "$archives/partial"
  debootstrap --cache-dir="$archives" --variant=minbase --include=git,make "$suite" "$tree" ${MIRROR:+"$MIRROR"} "$script"
  # How this machine reaches others: apt's settings, names, and certificates of its own.
  apt-config dump | grep '^Acquire::' >"$tree/etc/apt/apt.conf.d/99fresh-machine" || true
  cp -r /etc/apt/auth.conf.d/. "$tree/etc/apt/auth.conf.d/" 2>/dev/null || true
  cp -L /etc/resolv.conf /etc/hosts "$tree/etc/"
  [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$tree/etc/"
  mkdir -p "$tree/usr/local/share/ca-certificates"
  cp -r /usr/local/share/ca-certificates/. "$tree/usr/local/share/ca-certificates/" 2>/dev/null || true
  # No package starts a daemon.
  printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"
  chmod +x "$tree/usr/sbin/policy-rc.d"
  git clone -q --no-hardlinks --no-checkout "$root" "$tree$clone"
  git -C "$tree$clone" checkout -q --detach "$commit"
}

mount_all() {
  mount -t proc proc "$tree/proc"
  mount --rbind /sys "$tree/sys"
  mount --rbind /dev "$tree/dev"
  mount -t tmpfs -o mode=1777 tmpfs "$tree/dev/shm" 2>/dev/null || true
  mount --bind "$archives" "$tree/var/cache/apt/archives"
}

# list WHEN: the packages, and the files (type, path) of the whole tree but those in build/.
list() {
  # shellcheck disable=SC2016 # the ${...} is dpkg's own field
  chroot "$tree" dpkg-query -W -f='${Package}\n' | sort >"$folder/$suite-$1.packages"
  find "$tree" -xdev -path "$tree$clone/build" -prune -o -printf '%y /%P\n' | sort >"$folder/$suite-$1.files"
}

# What became of the packages and files that were there, and what came. Packages' own scripts make folders in /usr/local.
compare() {
  local before=$folder/$suite-before after=$folder/$suite-after
  comm -23 "$before.packages" "$after.packages" >"$folder/$suite-removed.packages"
  comm -13 "$before.packages" "$after.packages" >"$folder/$suite-added.packages"
  comm -23 "$before.files" "$after.files" >"$folder/$suite-removed.files"
  comm -13 "$before.files" "$after.files" >"$folder/$suite-added.files"
  grep -E '^. /(home|mnt|opt|root|srv|tmp|var/tmp)/|^[^d] /usr/local/' "$folder/$suite-added.files" >"$folder/$suite-left.files" || true
  inside git status --porcelain --untracked-files=all >"$folder/$suite-changed.files"
  printf '%6d packages before, %d added, %d removed; %d files and folders before, %d added by packages, %d removed, %d left elsewhere\n' \
    "$(wc -l <"$before.packages")" "$(wc -l <"$folder/$suite-added.packages")" "$(wc -l <"$folder/$suite-removed.packages")" \
    "$(wc -l <"$before.files")" $(($(wc -l <"$folder/$suite-added.files") - $(wc -l <"$folder/$suite-left.files"))) \
    "$(wc -l <"$folder/$suite-removed.files")" "$(wc -l <"$folder/$suite-left.files")"
  sed 's/^/removed package: /' "$folder/$suite-removed.packages"
  head -n 40 "$folder/$suite-left.files" | sed 's/^/left: /'
  sed 's/^/changed in the clone: /' "$folder/$suite-changed.files"
  [ ! -s "$folder/$suite-removed.packages" ] && [ ! -s "$folder/$suite-left.files" ] && [ ! -s "$folder/$suite-changed.files" ]
}

# A new user's environment, and the proxies of this one.
inside() {
  local name environment=()
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -z "${!name:-}" ] || environment+=("$name=${!name}")
  done
  chroot "$tree" env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    "${environment[@]}" sh -c "cd $clone && exec \"\$@\"" sh "$@"
}

table=''
# step NAME COMMAND...: to its log, with its time.
step() {
  local name=$1 log=$folder/$suite-$1.log begin=$SECONDS result=ok
  shift
  say "$name: $* ($log)"
  set +e # not `||`, which would switch it off inside too
  (set -e && "$@") >"$log" 2>&1 </dev/null
  local code=$?
  set -e
  [ $code = 0 ] || result=failed
  table+=$(printf '  %-16s %6d s  %s' "$name" $((SECONDS - begin)) "$result")$'\n'
  if [ $result = failed ]; then
    tail -n 60 "$log" >&2
    printf '%s' "$table"
    die "$name failed on $suite at $commit: $log"
  fi
}

: "${MIRROR:=$(mirror)}"
step debootstrap bootstrap
mount_all
step list-before list before
step demo inside make demo
step test inside make test
step demo-again inside make demo
step list-after list after
step compare compare
say "$suite at $commit:"
printf '%s' "$table"
cat "$folder/$suite-compare.log"
sed -n '/^[0-9]*% tests passed/p; /^How long each part took/,$p' "$folder/$suite-test.log"
