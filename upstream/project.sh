#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# project.sh [WORK]: makes a git repository for each base, WORK/root/project/BASE, of the subtrees that the series need,
# with one commit tagged `base`. Where the archive has no source of 24, its tree is 23's with every file replaced that
# Debian's packages of 24 contain (public headers, TableGen files, Clang's own headers); the commit's message tells which.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
work=$(realpath -m "${1:-$here/../build/upstream}")
root=$work/root

mapfile -t subtrees < <(lines "$here/subtrees")

# unpack BASE INTO: the subtrees of BASE's source.
unpack() {
  local tar=$work/src/$1.orig.tar.xz top
  top=$(xz -dc "$tar" 2>/dev/null | tar -t 2>/dev/null | head -1 | cut -d/ -f1) || true
  mkdir -p "$2"
  nice -n 10 tar -xJf "$tar" -C "$2" --strip-components=1 "${subtrees[@]/#/$top/}"
}

# overlay TREE PACKAGED: replaces files of TREE by those of the same name below PACKAGED.
overlay() {
  local tree=$1 packaged=$2
  (cd "$tree" && find . -type f) | while read -r file; do
    if [ -f "$packaged/$file" ] && ! cmp -s "$packaged/$file" "$tree/$file"; then
      cp "$packaged/$file" "$tree/$file"
      echo "$tree/$file"
    fi
  done
}

# New files, which 23 does not have, come with their folders.
add_new() { (cd "$2" && cp -rn . "$1/"); }

commit() {
  git -C "$1" init --quiet --initial-branch=main
  git -C "$1" config user.name upstream
  git -C "$1" config user.email upstream@localhost
  git -C "$1" config gc.auto 0
  git -C "$1" add --all --force
  git -C "$1" commit --quiet --message "$2"
  git -C "$1" tag base
}

make() {
  local base=$1 tree=$root/project/$1
  [ -d "$tree/.git" ] && git -C "$tree" rev-parse --quiet --verify base >/dev/null && return
  rm -rf "$tree"
  if [ -f "$work/src/$base.orig.tar.xz" ]; then
    unpack "$base" "$tree"
    touch "$tree.complete" # run.sh: every file is of this version
    commit "$tree" "LLVM $base: sources of $(lines "$here/pins" | awk -v b="$base" '$1 == b { print $5 }')"
    return
  fi
  [ "$base" = 24 ] && [ -d "$root/project/23/.git" ] || fail "no sources of $base"
  mkdir -p "$tree"
  git -C "$root/project/23" archive base | tar -x -C "$tree"
  {
    overlay "$tree/llvm/include" "$root/usr/include/llvm-24"
    overlay "$tree/mlir/include" "$root/usr/lib/llvm-24/include"
    overlay "$tree/clang/lib/Headers" "$root/usr/lib/llvm-24/lib/clang/24/include"
    overlay "$tree/llvm/cmake" "$root/usr/lib/llvm-24/lib/cmake"
  } >"$work/overlay-24"
  add_new "$tree/llvm/include/llvm/Object" "$root/usr/include/llvm-24/llvm/Object"
  add_new "$tree/llvm/include/llvm/TargetParser" "$root/usr/include/llvm-24/llvm/TargetParser"
  commit "$tree" "LLVM 24's public files over 23's sources: $(wc -l <"$work/overlay-24") files of 24 differ from 23's"
}

# The suite, of which the series test-suite needs a few folders. Where it is not to be had, that series is left out.
make_suite() {
  local tree=$root/project/suite
  [ -d "$tree/.git" ] && git -C "$tree" rev-parse --quiet --verify base >/dev/null && return
  rm -rf "$tree"
  git init --quiet "$tree"
  git -C "$tree" remote add origin "$suite_source"
  git -C "$tree" sparse-checkout set --no-cone /lit.cfg /litsupport/ /litsupport-tests/ /MicroBenchmarks/CMakeLists.txt
  if ! { git -C "$tree" fetch --quiet --depth 1 --filter=blob:none origin $suite && git -C "$tree" checkout --quiet --detach FETCH_HEAD; } 2>"$work/suite.log"; then
    say "llvm-test-suite is not to be had from $suite_source ($work/suite.log)" >&2
    rm -rf "$tree"
    return
  fi
  rm -rf "$tree/.git"
  commit "$tree" "llvm-test-suite as of ${suite:0:12}"
}

make 23
make 24
make_suite
for base in 23 24 suite; do
  [ -d "$root/project/$base" ] || continue
  say "project $base: $(git -C "$root/project/$base" log -1 --format=%s base)"
done
