#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# root.sh [WORK]: gets Debian's LLVM 24 (experimental) and 23 (sid), with compilers and tools of the same suites,
# and unpacks them into WORK/root, to be used by chroot. WORK is build/upstream below this tree unless given.
# What is there already is kept; WORK/versions has the versions found. Exits 77 where Debian's archive is out of reach
# or chroot is not permitted.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
work=$(realpath -m "${1:-$here/../build/upstream}")
root=$work/root
mirror=${UPSTREAM_MIRROR:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

[ "$(id -u)" = 0 ] || skip "chroot and mount need root"
command -v apt-get >/dev/null || skip "apt-get not found"
[ -f "$keyring" ] || skip "$keyring not found (Debian: debian-archive-keyring)"

make_apt_root() {
  mkdir -p "$work"/apt/etc/apt/{apt.conf.d,preferences.d,sources.list.d,trusted.gpg.d} "$work/src" \
    "$work"/apt/var/{lib/apt/lists/partial,lib/dpkg,cache/apt/archives/partial,log/apt}
  touch "$work/apt/var/lib/dpkg/status"
  for suite in sid experimental; do
    printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$mirror" $suite
    printf 'deb-src [signed-by=%s] %s %s main\n' "$keyring" "$mirror" $suite
  done >"$work/apt/etc/apt/sources.list"
  apt apt-get update >"$work/apt/update.log" 2>&1 || skip "no package lists from $mirror ($work/apt/update.log)"
}

# The versions in the archive against those of `pins`.
compare_versions() {
  lines "$here/pins" | while read -r base package pinned _; do
    found=$(apt apt-cache policy "$package" | sed -n 's/^ *Candidate: //p')
    [ "$found" = "$pinned" ] || say "the archive has moved on: $package is $found, the series were written for $pinned" >&2
    echo "$base $package $found"
  done >"$work/versions.new"
}

get_packages() {
  mapfile -t packages < <(lines "$here/packages" | tr ' ' '\n')
  apt apt-get --yes --target-release experimental --download-only install "${packages[@]}" >"$work/apt/install.log" 2>&1 ||
    fail "packages are not to be had ($work/apt/install.log)"
  # Of two versions of these apt installs one; unpacked they do not meet.
  (cd "$work/apt/var/cache/apt/archives" && apt apt-get download libclc-24 libclc-24-dev libmlir-23-dev) >>"$work/apt/install.log" 2>&1 ||
    fail "libclc-24 or libmlir-23-dev is not to be had ($work/apt/install.log)"
}

# The sources of the pinned version, or what the archive has of them. A source that the archive does not give is
# reported and left to project.sh, which has a way without it.
get_sources() {
  lines "$here/pins" | while read -r base _ _ source version; do
    upstream=${version#*:}
    orig=${source}_${upstream%-*}.orig.tar.xz
    [ -f "$work/src/$base.orig.tar.xz" ] && continue
    if (cd "$work/src" && apt apt-get source --download-only "$source=$version") >"$work/apt/source-$base.log" 2>&1 ||
      [ -f "$work/src/$orig" ]; then
      mv "$work/src/$orig" "$work/src/$base.orig.tar.xz"
    else
      say "the archive lists the source of $source $version and does not have it" >&2
    fi
  done
}

# dpkg -x does not run the packages' scripts: links of merged /usr come first, the names of tools last.
unpack() {
  mkdir -p "$root"/{usr/{bin,sbin,lib,lib64},proc,dev,tmp,root,etc,var,ccache}
  for name in bin sbin lib lib64; do
    [ -e "$root/$name" ] || ln -s usr/$name "$root/$name"
  done
  mkdir -p "$root/var/unpacked"
  for package in "$work"/apt/var/cache/apt/archives/*.deb; do
    mark=$root/var/unpacked/$(basename "$package")
    [ -f "$mark" ] && continue
    nice -n 10 dpkg -x "$package" "$root" && touch "$mark"
  done
  [ -e "$root/bin/sh" ] || ln -s dash "$root/bin/sh"
  [ -e "$root/bin/awk" ] || ln -s gawk "$root/bin/awk"
  for name in c++:g++ cc:gcc; do
    [ -e "$root/bin/${name%:*}" ] || ln -s "${name#*:}" "$root/bin/${name%:*}"
  done
  # NumPy's BLAS, which the packages' scripts would choose.
  for name in blas lapack; do
    ln -sfn $name/lib$name.so.3 "$root/usr/lib/x86_64-linux-gnu/lib$name.so.3"
  done
  # MLIR 24's CMake package names a program that Debian does not pack.
  [ -e "$root/usr/lib/llvm-24/bin/cir-lsp-server" ] || touch "$root/usr/lib/llvm-24/bin/cir-lsp-server"
  printf 'root:x:0:0:root:/root:/bin/bash\n' >"$root/etc/passwd"
}

make_apt_root
compare_versions
if ! cmp -s "$work/versions.new" "$work/versions" || ! cmp -s "$here/packages" "$work/packages"; then
  get_packages
  unpack
fi
get_sources
in_root sh -c 'cmake --version && g++ --version && for v in 23 24; do /usr/lib/llvm-$v/bin/llvm-config --version; done' >"$work/root.log" 2>&1 ||
  fail "the root does not work ($work/root.log)"
mv "$work/versions.new" "$work/versions"
cp "$here/packages" "$work/packages"
say "root: $root"
cat "$work/versions"
