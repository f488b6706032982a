#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# setuid.sh SOURCE KDL: a copy of kdl that is set-user-ID runs with KDL_ variables of its user, who is another, under an /etc/kdl that only this
# script's processes see. They can make it stricter and no less strict. Needs root.
set -euo pipefail
source=$1 kdl=$2
skip() {
  echo "skipped: $*"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "needs root, for a set-user-ID program of another user"
for program in minisign clang-22 unshare; do
  command -v "$program" >/dev/null || skip "$program not found"
done
work=$(mktemp -d /tmp/kdl-setuid-XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"

other=65534
as_other() { install -o $other -g $other -m 6755 "$1" "$2"; }
as_other "$(command -v id)" id
[ "$(./id -u)" = $other ] || skip "$work is on a file system without set-user-ID programs"
unshare -m mount --bind "$work" /mnt 2>/dev/null || skip "mount namespaces are not allowed here"

mkdir bin
as_other "$kdl" bin/kdl
install -m 755 "$kdl" bin/plain-kdl
[ ! -e "$(dirname "$kdl")/kdl-ld" ] || install -m 755 "$(dirname "$kdl")/kdl-ld" bin/kdl-ld
mkdir -p etc/kdl/keys.d users/keys.d uk
cp /etc/passwd /etc/ld.so.cache etc/ 2>/dev/null || true
minisign -G -W -p etc/kdl/keys.d/a.pub -s a.sec >/dev/null
minisign -G -W -p users/keys.d/b.pub -s b.sec >/dev/null
echo off >users/trust
echo require >etc/kdl/trust
"$kdl" cc "$source/examples/kernels/saxpy.c" -I"$source/include" --targets=x86-64-v2 -o unsigned
for name in signed theirs; do cp unsigned $name; done
"$kdl" sign signed --key=a.sec
"$kdl" sign theirs --key=b.sec
chmod -R go+rX .

cat >try <<'END'
#!/bin/sh
# try PROGRAM FILE: saxpy of a file.
exec "bin/$1" run "$PWD/$2" saxpy --device=host --items=2 --arg=f32:2 --arg='buf:f32[2]=iota' --arg='buf:f32[2]=1' --arg=u32:2 --dump=arg2
END
chmod +x try

# run VARIABLE... -- PROGRAM FILE: with the variables, and the /etc of this test.
run() {
  # shellcheck disable=SC2016 # for the other shell
  unshare -m sh -c 'mount --bind "$1/etc" /etc && shift && exec env "$@"' sh "$work" "$@" >out 2>&1
}
runs() {
  run "$@" || { echo "setuid: $*: expected it to run"; cat out; exit 1; }
  grep -q 'arg2 = 1 3' out
}
refuses() {
  local expected=$1
  shift
  if run "$@"; then echo "setuid: $*: expected it to be refused"; cat out; exit 1; fi
  grep -q "$expected" out || { echo "setuid: $*: expected '$expected'"; cat out; exit 1; }
}

# The user of a plain program may say what is loaded.
refuses 'kdl.signature: found none' X= ./try plain-kdl unsigned
runs KDL_TRUST=off ./try plain-kdl unsigned
runs KDL_TRUST_DIR="$work/users" KDL_TRUST=require ./try plain-kdl theirs

# The user of one with more rights may not.
runs X= ./try kdl signed
refuses 'kdl.signature: found none' X= ./try kdl unsigned
refuses 'kdl.signature: found none' KDL_TRUST=off ./try kdl unsigned
refuses 'kdl.signature: found none' KDL_TRUST=warn ./try kdl unsigned
refuses 'kdl.signature: found none' KDL_TRUST= ./try kdl unsigned
refuses 'KDL_TRUST: found "of"' KDL_TRUST=of ./try kdl signed
refuses 'found one of key .* in /etc/kdl/keys.d' KDL_TRUST_DIR="$work/users" ./try kdl theirs
refuses 'found one of key .* in /etc/kdl/keys.d' KDL_TRUST_DIR="$work/users" KDL_TRUST=off ./try kdl theirs

# What others may write to is not the system's word.
chmod 666 etc/kdl/trust
refuses 'trust: found mode 0666' KDL_TRUST=off ./try kdl signed
chmod 644 etc/kdl/trust

# Stricter is allowed.
rm etc/kdl/trust
runs X= ./try kdl unsigned
refuses 'kdl.signature: found none' KDL_TRUST=require ./try kdl unsigned
runs KDL_TRUST=require ./try kdl signed

# Microkernels of the user's are not linked; kdl-ld itself is taken from where it is installed alone.
if [ -e bin/kdl-ld ]; then
  inputs=$source/tests/tools/Inputs/ld
  clang-22 -std=gnu17 -O2 -fPIC -march=x86-64-v2 -I"$source/include" -emit-llvm -c "$inputs/rows.c" -o rows.bc
  clang-22 -O2 -Xclang -disable-llvm-passes -DMARK=1000 -march=x86-64 -I"$source/include" -emit-llvm -c "$inputs/dot.c" -o dot.bc
  "$kdl" pack -o rows --image=file=rows.bc,triple=x86_64-unknown-linux-gnu,arch=x86-64
  "$kdl" pack -o uk/dot.offload --image=file=dot.bc,triple=x86_64-unknown-linux-gnu,arch=x86-64
  "$kdl" sign rows --key=a.sec
  chmod -R go+rX .
  sed 's/saxpy .*/rows --device=host --grid=2 "--arg=buf:f32[128]=1" "--arg=buf:f32[64]=2" "--arg=buf:f32[2]" --dump=arg2/' try >try-rows
  chmod +x try-rows
  run KDL_UKERNEL_PATH="$work/uk" KDL_CACHE=off ./try-rows plain-kdl rows || { cat out; exit 1; }
  grep -q 'arg2 = 1128 1128' out
  echo require >etc/kdl/trust
  refuses "needs 'dot_f32'\|kdl-ld not found" KDL_UKERNEL_PATH="$work/uk" KDL_TRUST=off ./try-rows kdl rows
fi

# Nor may the user say how products are divided.
cat >whole_k.c <<'END'
#include "matmul/division.h"
int main(void) {
  return kdl_matmul_whole_k_is_set();
}
END
clang-22 -I"$source" -I"$source/include" -c whole_k.c -o whole_k.o
clang-22 whole_k.o -o plain-whole_k -Wl,--unresolved-symbols=ignore-all
as_other plain-whole_k whole_k
if KDL_MATMUL_WHOLE_K=1 ./plain-whole_k; then echo "setuid: KDL_MATMUL_WHOLE_K: expected it to be set"; exit 1; fi
KDL_MATMUL_WHOLE_K=1 ./whole_k || { echo "setuid: KDL_MATMUL_WHOLE_K: expected it to count as unset"; exit 1; }
echo "setuid: all cases as expected"
