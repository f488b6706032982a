#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# llvm-versions.sh [--work WORK] [--only REGEX] [VERSION...]: builds libkdl with LLVM 22, 23 and 24, or with VERSIONs of them, and runs the
# tests of kdl-ld and of the MLIR component. 22 is this machine's; 23 and 24 are Debian's, which upstream/root.sh gets and which are used by
# chroot: that needs root and Debian's archive. WORK is build/upstream below this tree unless given. Prints a table, which WORK/versions.md
# has too. --only takes tests whose names match. Intel's OpenCL and NVIDIA's tools are taken from KDL_INTEL_OPENCL and KDL_CUDA_TOOLS, else
# from where `make test` puts them, build/opencl-runtime and build/cuda-tools; without them some tests are skipped. A second run with the
# same WORK compiles only what changed.
set -euo pipefail
# shellcheck source=upstream/lib.sh
. "$(dirname "$0")/../upstream/lib.sh"
source=$(realpath "$here/..")
work=$source/build/upstream versions=() only=
while [ $# -gt 0 ]; do
  case $1 in
    --work) work=$2 && shift 2 ;;
    --only) only=$2 && shift 2 ;;
    2[234]) versions+=("$1") && shift ;;
    *) fail "unknown argument $1 (usage: llvm-versions.sh [--work WORK] [--only REGEX] [VERSION...])" ;;
  esac
done
work=$(realpath -m "$work")
[ ${#versions[@]} -gt 0 ] || versions=(22 23 24)

# The tests of kdl-ld, of the work-group lowering that is a part of it, and of the MLIR component; not those of what is installed.
tests='mlir\.[^.]*|tools\.cc-(barriers|group)[^.]*'
for file in "$source"/tests/tools/link/*.test; do tests+="|tools\\.$(basename "$file" .test)"; done
tests=${only:-"^($tests)\$"}

# Runs where the compilers are, with the source and a folder for the build. The counts go to BUILD/counts.
run=$(mktemp)
trap 'rm -f "$run" "$work/root/${run##*/}"' EXIT
cat >"$run" <<'RUN'
set -e
version=$1 source=$2 build=$3 tests=$4 opencl=$5 cuda=$6
launcher=$(command -v ccache || true)
mkdir -p "$build"
cmake -G Ninja -S "$source" -B "$build" -DKDL_LLVM_ROOT="/usr/lib/llvm-$version" -DCMAKE_C_COMPILER="clang-$version" \
  -DCMAKE_CXX_COMPILER="clang++-$version" -DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" \
  -DKDL_WITH_BENCH=OFF -DKDL_BUILD_BENCH=OFF -DKDL_INTEL_OPENCL="$opencl" -DKDL_CUDA_TOOLS="$cuda" >"$build/configure.log" 2>&1
export CCACHE_SLOPPINESS=time_macros,include_file_mtime,include_file_ctime,pch_defines
# shellcheck disable=SC2046
nice -n 5 ninja -C "$build" -j "$JOBS" product tests/images/all $(ninja -C "$build" -t targets all |
  grep -oE '^(fake_[a-z_]+|null_backend|test_mlir_[a-z]+|example_saxpy):' | tr -d :) >"$build/build.log" 2>&1
nice -n 5 ctest --test-dir "$build" -j "$JOBS" --timeout 600 --output-on-failure -E '^mlir\.(installed|provider)$' -R "$tests" >"$build/tests.log" 2>&1 || true
number() { grep -c "$1" "$build/tests.log" || true; }
printf '%s|%s|%s|%s|%s\n' "$("/usr/lib/llvm-$version/bin/llvm-config" --version)" "$(grep -c 'warning:' "$build/build.log" || true)" "$(number '   Passed ')" \
  "$(number '\*\*\*Skipped')" "$(number '\*\*\*\(Failed\|Timeout\|Exception\|Not Run\)')" >"$build/counts"
RUN

opencl=${KDL_INTEL_OPENCL:-$source/build/opencl-runtime} cuda=${KDL_CUDA_TOOLS:-$source/build/cuda-tools}
# copy_drivers: what the tests use of them, in the root under other names.
copy_drivers() {
  if [ -d "$opencl" ] && [ ! -d "$work/root/opencl-runtime" ]; then
    cp -rL "$opencl" "$work/root/opencl-runtime"
    echo /opencl-runtime/libintelocl.so >"$work/root/opencl-runtime/vendors/intel.icd"
  fi
  [ ! -d "$cuda" ] || [ -d "$work/root/cuda-tools" ] || cp -rL "$cuda" "$work/root/cuda-tools"
}

case " ${versions[*]} " in *" 23 "* | *" 24 "*) "$here/root.sh" "$work" && copy_drivers ;; esac
rows=() status=0
for version in "${versions[@]}"; do
  say "LLVM $version"
  start=$(date +%s)
  if [ "$version" = 22 ]; then
    build=$work/kdl/22
    JOBS=${JOBS:-2} bash "$run" "$version" "$source" "$build" "$tests" "$opencl" "$cuda" || fail "LLVM $version: see $build/*.log"
  else
    build=$work/root/build/kdl/$version
    cp "$run" "$work/root/"
    bind=$source in_root bash "/${run##*/}" "$version" /source "/build/kdl/$version" "$tests" /opencl-runtime /cuda-tools || fail "LLVM $version: see $build/*.log"
  fi
  IFS='|' read -r found warnings passed skipped failed <"$build/counts"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ] || status=1
  rows+=("| $found | $warnings | $passed | $skipped | $failed | $(($(date +%s) - start)) |")
done

{
  echo '| LLVM | warnings | tests passed | skipped | failed | s |'
  echo '|---|---|---|---|---|---|'
  printf '%s\n' "${rows[@]}"
} | tee "$work/versions.md"
[ $status = 0 ] || fail "some test failed: $work/kdl/22/tests.log, $work/root/build/kdl/*/tests.log"
