#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# record-functions.sh BUILD [COLUMN...]: records which functions of drivers libkdl calls on what this machine has, and writes
# bench/results/functions/COLUMN.txt for each, and docs/driver-functions.md from all of them. BUILD is a whole build on x86-64. Columns, all
# by default: cuda opencl-nvidia opencl-pocl opencl-intel opencl-oclgrind level-zero-loader hip-no-device fakes. What is not here is left as
# it was. On a machine without a compiler: copy BUILD and this tree there.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] || {
  sed -n '3,7s/^# \?//p' "$0"
  exit 2
}
build=$(cd "$1" && pwd)
shift
columns=${*:-cuda opencl-nvidia opencl-pocl opencl-intel opencl-oclgrind level-zero-loader hip-no-device fakes}
recorder=$build/lib/librecorder.so
library=$build/tests/conformance/conformance.offload
intel=${KDL_INTEL_OPENCL:-$build/opencl-runtime}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=/dev/null
machine="$(uname -m), $(. /etc/os-release && echo "$PRETTY_NAME")"
export KDL_CACHE_DIR=$work/cache POCL_CACHE_DIR=$work/pocl POCL_MAX_PTHREAD_COUNT=1 LC_ALL=C

# recorded COLUMN COMMAND...: its status is not asked for: a suite that fails calls functions too, and is not what this is about.
recorded() {
  local column=$1
  shift
  mkdir -p "$work/$column"
  KDL_FUNCTIONS_RECORD=$work/$column LD_PRELOAD=$recorder timeout 300 "$@" >"$work/out" 2>&1 || true
}
# written COLUMN BACKEND NAME LIBRARY COMMANDS
written() {
  if [ -z "$(find "$work/$1" -name '*.functions' 2>/dev/null)" ]; then
    echo "$1: nothing was called here: left as it was"
    return
  fi
  "$source/scripts/driver-functions.py" --gather "$work/$1" "$2" "column: $3" "library: $4" "machine: $machine, $(date -u +%F)" \
    "commands: $5" >"$work/text"
  mv "$work/text" "$source/bench/results/functions/$1.txt"
  echo "$1: $(grep -vc '^#' "$source/bench/results/functions/$1.txt") functions"
}
has() { [[ " $columns " == *" $1 "* ]]; }
suite() { recorded "$1" env "${@:4}" "$build/bin/conformance" "$library" "$2" "$3"; }
traced=(KDL_TRACE="$work/trace.json" KDL_TRACE_GPU=1 KDL_TRACE_SIZE=1M)
package() { dpkg-query -W -f='${Package} ${Version}' "$1" 2>/dev/null || echo "$1"; }

# opencl COLUMN NAME ICD LIBRARY [VARIABLE...]
opencl() {
  local column=$1 name=$2 icd=$3 told=$4 memory
  shift 4
  mkdir -p "$work/vendors-$column"
  echo "$icd" >"$work/vendors-$column/one.icd"
  local env=("OCL_ICD_VENDORS=$work/vendors-$column" "$@")
  for memory in usm svm buffer; do
    suite "$column" opencl opencl_$memory KDL_OPENCL_MEMORY=$memory "${env[@]}"
  done
  suite "$column" opencl opencl_buffer "${traced[@]}" "${env[@]}"
  recorded "$column" env "${env[@]}" "$build/bin/test_device_real_opencl"
  recorded "$column" env "${env[@]}" "$build/bin/adopt" "$library" opencl
  written "$column" opencl "$name" "$told" "conformance suite with each kind of memory and traced, what is adopted, unit.device_real_opencl"
}

if has cuda; then
  suite cuda cuda cuda
  suite cuda cuda cuda KDL_CUDA_MODULES=0
  suite cuda cuda cuda "${traced[@]}"
  recorded cuda "$build/bin/test_cuda_real"
  recorded cuda "$build/bin/test_device_real_cuda"
  recorded cuda "$build/bin/adopt" "$library" cuda
  written cuda cuda "the driver" "libcuda.so.1, $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)" \
    "conformance suite by modules, by libraries and traced, what is adopted, unit.cuda_real, unit.device_real_cuda"
fi
! has opencl-nvidia || [ ! -e /etc/OpenCL/vendors/nvidia.icd ] || opencl opencl-nvidia NVIDIA "$(cat /etc/OpenCL/vendors/nvidia.icd)" "NVIDIA's OpenCL"
! has opencl-pocl || [ ! -e /etc/OpenCL/vendors/pocl.icd ] || opencl opencl-pocl PoCL "$(cat /etc/OpenCL/vendors/pocl.icd)" \
  "$(package pocl-opencl-icd) behind $(package ocl-icd-libopencl1)"
! has opencl-intel || [ ! -e "$intel/vendors/intel.icd" ] || opencl opencl-intel "Intel's for CPUs" "$(cat "$intel/vendors/intel.icd")" \
  "Intel's OpenCL runtime for CPUs behind $(package ocl-icd-libopencl1)" LD_LIBRARY_PATH="$intel"
! has opencl-oclgrind || [ ! -e /usr/lib/oclgrind/liboclgrind-rt-icd.so ] || {
  KDL_CONFORMANCE_LARGEST=4096
  export KDL_CONFORMANCE_LARGEST
  mkdir -p "$work/vendors-grind"
  echo /usr/lib/oclgrind/liboclgrind-rt-icd.so >"$work/vendors-grind/one.icd"
  suite opencl-oclgrind opencl oclgrind OCL_ICD_VENDORS="$work/vendors-grind"
  suite opencl-oclgrind opencl oclgrind OCL_ICD_VENDORS="$work/vendors-grind" "${traced[@]}"
  written opencl-oclgrind opencl Oclgrind "$(package oclgrind) behind $(package ocl-icd-libopencl1)" "conformance suite, also traced"
  unset KDL_CONFORMANCE_LARGEST
}
if has level-zero-loader && [ -e "$build/fakes/driver/libze_fake.so.1" ]; then
  behind=(ZE_ENABLE_ALT_DRIVERS="$build/fakes/driver/libze_fake.so.1" KDL_FAKE_SETTINGS=level_zero.version=0x10004
    "KDL_FAKE_DEVICES=level_zero:ip=12.60.7 il=1.4 memory=1GiB max_block=1024 cooperative=yes" ZE_ENABLE_VALIDATION_LAYER=1 ZE_ENABLE_PARAMETER_VALIDATION=1)
  suite level-zero-loader level_zero loader "${behind[@]}"
  suite level-zero-loader level_zero loader "${behind[@]}" "${traced[@]}"
  recorded level-zero-loader "$build/bin/test_device_real_level_zero"
  written level-zero-loader level_zero "loader $(package libze1 | sed "s,.* ,,; s,-.*,,"), a fake behind it" "$(package libze1), the fake as its driver" \
    "conformance suite, also traced; unit.device_real_level_zero without the fake"
fi
if has hip-no-device; then
  recorded hip-no-device "$build/bin/test_device_real_hip"
  written hip-no-device hip "ROCm without a device" "$(package libamdhip64-5)" "unit.device_real_hip"
fi
if has fakes; then
  # shellcheck disable=SC2034 # "backend" names one of them
  {
    cuda="cuda:sm_90 driver=13.0 memory=1GiB shared_optin=227KiB"
    hip="hip:gfx90a:sramecc+:xnack- driver=7.0.0 memory=1GiB max_block=1024 shared=64KiB cooperative=yes"
    level_zero="level_zero:ip=20.1.4 memory=1GiB max_block=1024 shared=128KiB cooperative=yes il=1.4"
    opencl="opencl:spirv64 il=1.4 platform=fake memory=1GiB"
  }
  for backend in cuda hip level_zero opencl; do
    for age in whole old; do
      fake=(LD_LIBRARY_PATH="$build/fakes/$age" "KDL_FAKE_DEVICES=${!backend}")
      suite "fake-$backend" $backend fake_${age}_$backend "${fake[@]}"
      suite "fake-$backend" $backend fake_${age}_$backend "${fake[@]}" "${traced[@]}"
      suite "fake-$backend" $backend fake_${age}_$backend "${fake[@]}" KDL_CUDA_MODULES=0 KDL_OPENCL_MEMORY=svm
      suite "fake-$backend" $backend fake_${age}_$backend "${fake[@]}" KDL_OPENCL_MEMORY=buffer
    done
    for test in "$build"/bin/test_"$backend"_* "$build"/bin/test_device_{discover,faults}; do
      recorded "fake-$backend" "$test"
    done
    written "fake-$backend" $backend fake "tests/fakes" "conformance suite on two generations, also traced; unit.${backend}_*, unit.device_discover, unit.device_faults"
  done
fi
"$source/scripts/driver-functions.py"
