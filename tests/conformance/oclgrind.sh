#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# oclgrind.sh ICD KDL WORK COMMAND...: runs COMMAND with Oclgrind (its library ICD) as the only OpenCL platform, which looks for races,
# accesses out of bounds, values that were never written, groups that part at a barrier and wrong calls, and wants no report. Before
# that, kernels make such mistakes on purpose: each must be reported.
set -euo pipefail
icd=$1 kdl=$2 work=$3
shift 3
rm -rf "$work"
mkdir -p "$work/vendors"
echo "$icd" >"$work/vendors/oclgrind.icd"
export OCL_ICD_VENDORS=$work/vendors
export OCLGRIND_DATA_RACES=1 OCLGRIND_UNIFORM_WRITES=1 OCLGRIND_UNINITIALIZED=1 OCLGRIND_CHECK_API=1

cat >"$work/errs.cl" <<'END'
kernel void race(global float *out) { out[0] = (float)get_global_id(0); }
kernel void beyond(global float *out) { out[get_global_id(0) + 1000] = 1; }
kernel void unwritten(global float *out) {
  local float room[4];
  if (get_local_id(0) == 0)
    room[0] = out[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (room[get_local_id(0)] > 0)
    out[get_global_id(0)] = 1;
}
kernel void parted(global float *out) {
  if (get_local_id(0) < 3)
    barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = 1;
}
END
"$kdl" pack -o "$work/errs.offload" "--image=file=$work/errs.cl"
while read -r kernel words; do
  OCLGRIND_LOG=$work/$kernel.log "$kdl" run "$work/errs.offload" "$kernel" --device=opencl --grid=2 --block=4 \
    --arg='buf:f32[8]=zero' >"$work/$kernel.out" 2>&1 || true
  grep -q "$words" "$work/$kernel.log" || {
    cat "$work/$kernel.out"
    echo "FAIL: Oclgrind does not report the kernel $kernel: expected '$words'"
    exit 1
  }
done <<'END'
race data race
beyond Invalid write
unwritten ninitialized
parted divergence
END
echo "Oclgrind reports four mistakes that are made on purpose"

OCLGRIND_LOG=$work/log "$@"
[ -e "$work/log" ] || {
  echo "FAIL: Oclgrind was not used: it left no log"
  exit 1
}
if [ -s "$work/log" ]; then
  head -40 "$work/log"
  echo "FAIL: $(grep -c . "$work/log") lines of reports"
  exit 1
fi
