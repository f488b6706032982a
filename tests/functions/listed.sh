#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# listed.sh SOURCE BUILD WORK: what the conformance suite calls of the fake drivers, as the recorder sees it, is what the tables of the
# backends have; and the recorder sees a launch of each.
set -euo pipefail
source=$1 build=$2 work=$3
rm -rf "$work"
while read -r backend launch device; do
  mkdir -p "$work/$backend"
  KDL_FUNCTIONS_RECORD=$work/$backend LD_PRELOAD=$build/lib/librecorder.so LD_LIBRARY_PATH=$build/fakes/whole \
    KDL_FAKE_DEVICES=$device "$build/bin/conformance" "$build/tests/conformance/conformance.offload" "$backend" \
    "fake_whole_$backend" >"$work/$backend/out" || true
  "$source/scripts/driver-functions.py" --gather "$work/$backend" >"$work/$backend/called"
  grep -qx "$launch" "$work/$backend/called" || {
    cat "$work/$backend/out" "$work/$backend/called"
    echo "FAIL: $backend: no call of $launch was seen"
    exit 1
  }
  echo "$backend: $(wc -l <"$work/$backend/called") functions were called, all of the tables"
done <<'END'
cuda cuLaunchKernel cuda:sm_90 driver=13.0 memory=1GiB shared_optin=227KiB
hip hipModuleLaunchKernel hip:gfx90a:sramecc+:xnack- driver=7.0.0 memory=1GiB max_block=1024 shared=64KiB cooperative=yes
level_zero zeCommandListAppendLaunchKernel level_zero:ip=20.1.4 memory=1GiB max_block=1024 shared=128KiB cooperative=yes il=1.4
opencl clEnqueueNDRangeKernel opencl:spirv64 il=1.4 platform=fake memory=1GiB
END
# A function that no table has is noticed.
printf '*cuUnheardOf /lib/libcuda.so.1 libkdl.so.0+0x1\n' >"$work/cuda/0-0.functions"
if "$source/scripts/driver-functions.py" --gather "$work/cuda" >/dev/null 2>"$work/refused"; then
  echo "FAIL: a function that no table has went unnoticed"
  exit 1
fi
grep -q 'not in the tables of lib/backends: cuUnheardOf' "$work/refused"
