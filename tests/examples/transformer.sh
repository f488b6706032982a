#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# transformer.sh SOURCE KDL PROGRAM WORK ROUTE...: records a transformer block on the host, and replays the file
# through each driver: with the kernels it carries, and with those of a library whose tiles are others. On the
# host, at each level of x86-64; on the fakes of CUDA, HIP and Level Zero, calls are counted, since nothing is computed.
set -euo pipefail
source=$1 kdl=$2 program=$3 work=$4
shift 4
kernels=$source/examples/kernels more=$source/examples/transformer/more.c

if ! command -v "${KDL_CLANG:-clang-22}" >/dev/null; then
  echo "skipped: clang-22 not found (Debian: clang-22)"
  exit 77
fi
if [ "$(uname -m)" = x86_64 ]; then
  levels='x86-64-v2 x86-64-v3 x86-64-v4'
else
  levels=armv8-a
fi
case " $* " in # recording takes one level
*' opencl '*) targets=${levels%% *},opencl-c ;;
*' cuda '*) targets=${levels%% *},compute_75,gfx90a,spirv64 ;;
*) targets=${levels// /,} ;;
esac
rm -rf "$work"
mkdir -p "$work"
cd "$work"

# Blocks and tiles of the second library are others.
sed 's/KDL_BLOCK(16, 16)/KDL_BLOCK(32, 8)/' "$kernels/matmul.c" >matmul_wide.c
sed 's/KDL_BLOCK(16, 16)/KDL_BLOCK(8, 8)/; s/KDL_BLOCK(256)/KDL_BLOCK(64)/' "$more" >more_small.c
for file in "$kernels"/{saxpy,softmax,layernorm,matmul}.c "$more" matmul_wide.c more_small.c; do
  "$kdl" cc "$file" --targets="$targets" -o "$(basename "$file" .c).offload"
done
"$kdl" merge -o kernels.offload {saxpy,softmax,layernorm,matmul,more}.offload
"$kdl" merge -o others.offload {saxpy,softmax,layernorm,matmul_wide,more_small}.offload
KDL_DEVICE=host "$program" record ./kernels.offload block.offload
KDL_DEVICE=host "$program" record ./kernels.offload alone.offload alone
"$kdl" verify block.offload alone.offload

fail() {
  echo "transformer: $*" >&2
  exit 1
}
# replay FILE ROUTE TILES [LIBRARY]
replay() {
  "$program" replay "./$1" "$2" ${4+"./$4"} >out || fail "$1 on $2: $(cat out)"
  cut -c1-200 out
  grep -q "with tiles of $3\$" out || fail "$1 on $2: other tiles than $3"
}
# fake ROUTE SPEC FUNCTION COUNT FUNCTION COUNT...: the numbers are those of launching one by one, and each function is called so often.
fake() {
  local route=$1 file=$2
  shift 2
  rm -f log
  KDL_FAKE_LOG=$work/log "$program" replay "./$file" "$route" ${library+"./$library"} >out || true
  cut -c1-200 out
  grep -q '^0 of 1920 numbers differ from launching' out || fail "$file on the fake $route"
  grep -q '^alive at exit' log && fail "the fake $route: $(grep '^alive' log)"
  for ((; $#; )); do
    local found
    found=$(grep -c "^$1\$" log || true)
    [ "$found" = "$2" ] || fail "$file on the fake $route: found $found calls of $1, expected $2"
    shift 2
  done
}

for route in "$@"; do
  case $route in
  host)
    for level in $levels; do
      "$kdl" thin block.offload "--for=host:$level" -o "block-$level.offload"
      if "$kdl" which "block-$level.offload" matmul --device=host; then # this CPU has it
        replay "block-$level.offload" host 16x16
      fi
    done
    replay alone.offload host 32x8 others.offload
    ;;
  cuda)
    export KDL_FAKE_DEVICES='cuda:sm_90 driver=13.0 memory=1GiB max_block=1024 shared=64KiB'
    fake cuda block.offload cuGraphAddKernelNode 42 cuGraphLaunch 2 cuLaunchKernel 42 cuGraphInstantiateWithFlags 1
    library=others.offload fake cuda alone.offload cuGraphAddKernelNode 42 cuGraphLaunch 2 cuLaunchKernel 42
    ;;
  hip)
    export KDL_FAKE_DEVICES='hip:gfx90a:sramecc+:xnack- driver=7.0.0 memory=1GiB max_block=1024 shared=64KiB'
    fake hip block.offload hipGraphAddKernelNode 42 hipGraphLaunch 2 hipModuleLaunchKernel 42 hipGraphInstantiate 1
    library=others.offload fake hip alone.offload hipGraphAddKernelNode 42 hipGraphLaunch 2
    ;;
  level_zero) # appended to the queue one by one, and once to a list
    export KDL_FAKE_DEVICES='level_zero:ip=20.1.4 memory=1GiB max_block=1024 shared=128KiB il=1.4'
    fake level_zero block.offload zeCommandListAppendLaunchKernel 84 zeCommandListImmediateAppendCommandListsExp 2 zeCommandListClose 1
    library=others.offload fake level_zero alone.offload zeCommandListAppendLaunchKernel 84 zeCommandListImmediateAppendCommandListsExp 2
    ;;
  *)
    if ! "$kdl" devices --json | grep -q "^ *\"backend\": \"$route\",\$"; then
      echo "skipped: nothing here runs through $route"
      exit 77
    fi
    replay block.offload "$route" 16x16
    replay alone.offload "$route" 32x8 others.offload
    ;;
  esac
done
