#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# One C source, compiled by LLVM 22 for four vendors, packed into one file, listed and verified by
# kdl, read back by LLVM; which image runs where, and why; and the one for this CPU run. Every command
# is shown as it is run.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$root/build/demo
source=examples/saxpy/saxpy.c

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
else
  bold='' dim='' plain=''
fi

step() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# Shows a command, folded where it is long, and runs it.
run() {
  local line="\$" word
  for word in "$@"; do
    if [ $((${#line} + ${#word})) -gt 98 ]; then
      printf '%s%s \\%s\n' "$dim" "$line" "$plain"
      line='   '
    fi
    line+=" $word"
  done
  printf '%s%s%s\n' "$dim" "$line" "$plain"
  if [ $# = 1 ]; then eval "$1"; else "$@"; fi
}

for tool in clang-22 ld.lld-22 llvm-objdump-22; do
  if ! command -v "$tool" >/dev/null; then
    echo "demo: $tool not found (make setup installs it on Debian 12)" >&2
    exit 1
  fi
done
ptxas=$(PATH=$PATH:/usr/local/cuda/bin command -v ptxas || true)

rm -rf "$work"
mkdir -p "$work"
cp "$source" "$work"
cd "$work"
PATH=$root/build/bin:$PATH

step "1. One source, $source, compiled for each target"
common=(-std=gnu17 -O3 -ffreestanding -nostdlib "-I$root/include")
# Where there is no CUDA to ask, clang takes a PTX version too old for sm_80.
run clang-22 -o sm_80.s "${common[@]}" --target=nvptx64-nvidia-cuda -march=sm_80 \
  --cuda-feature=+ptx70 -S saxpy.c
images=("--image=file=sm_80.s,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda")
if [ -n "$ptxas" ]; then
  run "$ptxas" -arch=sm_90 sm_80.s -o sm_90.cubin
  images+=("--image=file=sm_90.cubin,triple=nvptx64-nvidia-cuda,arch=sm_90,kind=cuda")
fi
for arch in gfx90a gfx942; do
  run clang-22 -o $arch.o "${common[@]}" --target=amdgcn-amd-amdhsa -mcpu=$arch -nogpulib saxpy.c
  images+=("--image=file=$arch.o,triple=amdgcn-amd-amdhsa,arch=$arch,kind=hip")
done
run clang-22 -o saxpy.spv "${common[@]}" --target=spirv64-unknown-unknown -c saxpy.c
images+=("--image=file=saxpy.spv,triple=spirv64-unknown-unknown,arch=generic,kind=sycl")
for level in v2 v3 v4; do
  run clang-22 -o x86-64-$level.so "${common[@]}" --target=x86_64-unknown-linux-gnu \
    -march=x86-64-$level -fPIC -shared -fuse-ld=lld saxpy.c
  images+=("--image=file=x86-64-$level.so,triple=x86_64-unknown-linux-gnu,arch=x86-64-$level,kind=openmp")
done

step "2. All of them in one file, with an index of their kernels"
run kdl pack --index -o saxpy.offload "${images[@]}"

step "3. What the file holds"
run kdl ls --kernels saxpy.offload

step "4. Is every image what the file says it is?"
run kdl verify saxpy.offload

step "5. LLVM's own tool reads the same file"
run "llvm-objdump-22 --offloading saxpy.offload | xargs -n 11"

step "6. Which image would run on this machine, and why not the others"
run kdl explain saxpy.offload saxpy

step "7. And on machines that are not here"
for device in h200 rtx5090 orin mi250 mi300x pvc zen4 graviton4; do
  # 3: nothing fits, which is an answer too
  run kdl which saxpy.offload saxpy --device=$device || [ $? = 3 ]
done

step "8. The image chosen for this CPU, run: y = 2 x + y"
run kdl run saxpy.offload saxpy --device=host --items=8 --arg=f32:2 '--arg=buf:f32[8]=iota' \
  '--arg=buf:f32[8]=1' --arg=u32:8 --dump=arg2

count=$(kdl ls --json saxpy.offload | grep -o '"index":' | wc -l)
seen=$(llvm-objdump-22 --offloading saxpy.offload | grep -c '^OFFLOADING IMAGE')
if [ "$count" != ${#images[@]} ] || [ "$seen" != ${#images[@]} ]; then
  echo "demo: packed ${#images[@]} images; kdl lists $count and llvm-objdump $seen" >&2
  exit 1
fi
step "Packed ${#images[@]} images; kdl and LLVM both list $count. The file: build/demo/saxpy.offload"
