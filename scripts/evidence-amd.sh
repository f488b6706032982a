#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# evidence-amd.sh FOLDER [OUTPUT]: runs the conformance suite and the example kernels on AMD's own HIP and HSA runtimes, over GPUs that
# AMD's emulator (rocjitsu, in the folder `emulation` of ROCm/rocm-systems) presents, also with its detector of races on group memory. Writes
# what came out to OUTPUT, by default docs/results/amd-emulated-DATE.txt. Needs root, for chroot and mounts, clang-22 and ld.lld.
#
# No package has the emulator, so this is evidence and no part of `make test`. FOLDER holds
#   forky/     a Debian with libamdhip64-6 and libhsa-runtime64-1 (6.4 or newer):
#              debootstrap --variant=minbase forky FOLDER/forky && chroot FOLDER/forky apt-get install libamdhip64-6 libhsa-runtime64-1
#   src/       the sources, of which src/emulation/rocjitsu/configs is read here: what the GPUs are
#   build/     the emulator, built by CMake from src/emulation/rocjitsu: the targets rocjitsu_shared, rocjitsu_hooks and rocjitsu_bin
# VERSIONS in the environment is added to what is written of the emulator, as its commit and patches.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=${KDL_BUILD:-$source/build}
[ $# -ge 1 ] || {
  sed -n '3,15s/^# \?//p' "$0"
  exit 2
}
folder=$(cd "$1" && pwd)
output=${2:-$source/docs/results/amd-emulated-$(date -u +%F).txt}
emulator=$folder/build/tools/rocjitsu/rocjitsu
configs=$folder/src/emulation/rocjitsu/configs
for needed in "$emulator" "$configs" "$folder/forky/usr" "$build/bin/kdl" "$build/bin/conformance" "$build/bin/example_table"; do
  [ -e "$needed" ] || {
    echo "evidence-amd.sh: found no $needed: see the head of this script; the build needs kdl, conformance and example_table" >&2
    exit 1
  }
done
work=$(mktemp -d "$folder/evidence.XXXXXX")
mounted=()
cleanup() {
  for at in "${mounted[@]}"; do umount -l "$at" || true; done
  rm -rf "$work"
}
trap cleanup EXIT
for shared in /proc /sys /dev "$folder" "$source"; do
  mkdir -p "$folder/forky$shared"
  mountpoint -q "$folder/forky$shared" && continue
  mount --rbind "$shared" "$folder/forky$shared"
  mount --make-rslave "$folder/forky$shared"
  mounted=("$folder/forky$shared" "${mounted[@]}")
done

# The command as it is on GPU $1, at most $2 seconds.
emulated() {
  local config=$1 seconds=$2
  shift 2
  timeout -k 10 "$seconds" chroot "$folder/forky" env LD_LIBRARY_PATH="$build/lib" ${RJ_RACE:+RJ_RACE=1} "$emulator" --config "$configs/$config" -- "$@"
}

# The kernels of the conformance suite for target $1, with the metadata that the suite reads.
pack_conformance() {
  local target=$1 version=5 keys=()
  case $target in *-generic) version=6 ;; esac
  clang-22 --target=amdgcn-amd-amdhsa -nogpulib -ffreestanding -nostdlib -O2 -mcode-object-version=$version -mcpu="$target" \
    "$source/tests/golden/launch/launch.c" -o "$work/$target.hsaco"
  keys=("kdl.kernel.scale=sig=f32 ptr<f32> ptr<f32> u32; block=64x1x1" "kdl.kernel.place=sig=ptr<u32>; block=1x1x1"
    "kdl.kernel.weigh=sig=ptr<u32>; block=1x1x1")
  "$build/bin/kdl" pack -o "$work/$target.offload" "--image=file=$work/$target.hsaco,triple=amdgcn-amd-amdhsa,kind=hip,arch=$target,${keys[0]},${keys[1]},${keys[2]}" \
    2>/dev/null
}

conformance() {
  local config=$1 target=$2 code=0
  pack_conformance "$target"
  echo "== conformance, $target"
  emulated "$config" 600 "$build/bin/conformance" "$work/$target.offload" hip >"$work/log" 2>&1 || code=$?
  grep -v '^ok ' "$work/log" | grep -E '^(on|FAIL|unsup|STALE|xfail|skipped)|signal|fault' | sed "s,$work/,," || true
  echo "$(grep -c '^ok ' "$work/log" || true) passed, exit code $code"
}

compile_examples() {
  local target=$1 kernel variant
  mkdir -p "$work/examples.$target"
  for kernel in saxpy reduce softmax layernorm histogram matmul; do
    variant=()
    [ "$kernel" != matmul ] || variant=("--variant=tag=tiled,priority=10:$source/examples/kernels/matmul_tiled.c")
    "$build/bin/kdl" cc "$source/examples/kernels/$kernel.c" --targets="$target" --flag=-include "--flag=$source/tests/examples/mark.h" \
      "${variant[@]}" -o "$work/examples.$target/$kernel.offload"
  done
}

examples() {
  local config=$1 target=$2 code=0
  compile_examples "$target"
  echo "== example kernels, $target"
  emulated "$config" 900 "$build/bin/example_table" "$work/examples.$target" hip >"$work/log" 2>&1 || code=$?
  sed "s,$work/,,g" "$work/log" | tail -40
  echo "exit code $code"
  echo "== races on group memory in them, $target"
  RJ_RACE=1 emulated "$config" 900 "$build/bin/example_table" "$work/examples.$target" hip >"$work/log" 2>&1 || true
  echo "$(grep -c '^RACE ' "$work/log" || true) races"
  grep '^RACE ' "$work/log" | sed -E 's/.*(type=[A-Z]+).*/\1/' | sort | uniq -c || true
  grep -A6 '^RACE ' "$work/log" | head -20 || true
}

{
  echo "date      $(date -u +%F)"
  echo "hardware  none: GPUs emulated by AMD's rocjitsu${VERSIONS:+ ($VERSIONS)}"
  # shellcheck disable=SC2016 # dpkg-query's own
  echo "software  $(chroot "$folder/forky" dpkg-query -W -f '${Package} ${Version}, ' libamdhip64-6 libhsa-runtime64-1)$(clang-22 --version | head -1)"
  echo "commit    $(git -C "$source" rev-parse --short HEAD)"
  echo "command   scripts/evidence-amd.sh FOLDER"
  while read -r config target generic; do
    echo
    echo "==== $config"
    conformance "$config" "$target"
    conformance "$config" "$generic"
    examples "$config" "$target"
  done <<EOF
gfx942_cdna3_kmd.json gfx942 gfx9-4-generic
gfx1100_w7900.json gfx1100 gfx11-generic
gfx1201_r9700.json gfx1201 gfx12-generic
EOF
} | tee "$output"
if grep -q 'exit code 77' "$output"; then
  echo "evidence-amd.sh: some of it did not run: found no device" >&2
  exit 1
fi
