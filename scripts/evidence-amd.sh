#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# evidence-amd.sh FOLDER [OUTPUT]: runs libkdl on AMD's own HIP and HSA runtimes, over GPUs that AMD's emulator presents (rocjitsu, in the
# folder `emulation` of ROCm/rocm-systems on GitHub), and writes what came out to OUTPUT, by default bench/results/amd-emulated-DATE.txt:
# conformance, example kernels, races on group memory, microkernels, products of matrices, the language's suite, portable images, math, MLIR's ROCDL pipeline, traces, several GPUs, what a program made itself, xnack, cooperative
# launches, amdgcnspirv, a thinned program, the Python package, AddressSanitizer, and which of HIP's functions were called. Needs root, for
# chroot and mounts in a namespace of its own; clang-22, ld.lld, gcc and python3; a build with the targets of `needed` below; and for the Python
# package a wheel of this machine's /usr/bin/python3 in build/dist (KDL_BUILD=build PYTHON=/usr/bin/python3 scripts/wheel.sh).
#
# No package has the emulator, so this is evidence and no part of `make test`. FOLDER holds
#   forky/     a Debian with libamdhip64-6 and libhsa-runtime64-1 (6.4 or newer):
#              debootstrap --variant=minbase forky FOLDER/forky && chroot FOLDER/forky apt-get install libamdhip64-6 libhsa-runtime64-1
#   src/       the sources, of which src/emulation/rocjitsu/configs is read here: what the GPUs are
#   build/     the emulator, built by CMake from src/emulation/rocjitsu: the targets rocjitsu_shared, rocjitsu_hooks and rocjitsu_bin,
#              with the changes of docs/upstream-bugs.md
# GPUS in the environment, as "gfx942 gfx1100", keeps to some GPUs; PARTS, as "conformance examples", to some of what is run; POINTS is the number of
# arguments of each function of math, by default 10000; LIMIT is the most seconds of a run of the conformance suite, by default 900; VERSIONS is added to what is written of the emulator, as its commit and patches.
set -euo pipefail
[ $# -ge 1 ] || {
  sed -n '3,20s/^# \?//p' "$0"
  exit 2
}
# Mounts go when this process goes, whatever ends it, and nothing below the chroot is ever deleted.
[ -n "${KDL_EVIDENCE_MOUNTS:-}" ] || KDL_EVIDENCE_MOUNTS=own exec unshare --mount --propagation private "$0" "$@"

source=$(cd "$(dirname "$0")/.." && pwd)
build=${KDL_BUILD:-$source/build}
folder=$(cd "$1" && pwd)
output=${2:-$source/bench/results/amd-emulated-$(date -u +%F).txt}
emulator=$folder/build/tools/rocjitsu/rocjitsu
configs=$folder/src/emulation/rocjitsu/configs
needed=("$emulator" "$configs" "$folder/forky/usr" "$build/lib/libkdl.so" "$build/lib/libhsa_sleeps.so")
for program in kdl kdl-ld conformance several adopt example_table language_launcher language_suites; do
  needed+=("$build/bin/$program")
done
for file in "${needed[@]}"; do
  [ -e "$file" ] || {
    echo "evidence-amd.sh: found no $file: see the head of this script" >&2
    exit 1
  }
done
work=$(mktemp -d "$folder/evidence.XXXXXX")
trap 'rm -rf "$work"' EXIT
for shared in /proc /sys /dev "$folder" "$source"; do
  mkdir -p "$folder/forky$shared"
  mount --rbind "$shared" "$folder/forky$shared"
done
mkdir -p "$work/lib"
# HIP's threads wait without a pause, and the emulator is a thread of the same process: tests/emulated/hsa_sleeps.c.
sleeps=$folder/build/librocjitsu.so:$build/lib/libhsa_sleeps.so

runs_part() {
  [ -z "${PARTS:-}" ] || [[ " $PARTS " == *" $1 "* ]]
}

# Packages of the other Debian with their versions, each followed by $1.
packages() {
  local behind=$1
  shift
  # shellcheck disable=SC2016 # dpkg-query's own
  chroot "$folder/forky" dpkg-query -W -f '${Package} ${Version}'"$behind" "$@"
}

# Runs the command on the GPU of configuration $1, at most $2 seconds; what it prints goes to $work/log, how it ended to `code`.
emulated() {
  local config=$1 seconds=$2 begin=$SECONDS
  shift 2
  code=0
  timeout -k 10 "$seconds" chroot "$folder/forky" env LD_LIBRARY_PATH="${libraries:-$build/lib}:$work/lib" "$emulator" --config "$config" -- \
    env "$@" >"$work/log" 2>&1 || code=$?
  took=$((SECONDS - begin))
  case $code in 124 | 137) code="$code (stopped after $seconds s)" ;; esac
}

# What was printed, without this machine's paths, at most $1 lines of it that match $2.
excerpt() {
  grep -aE "$2" "$work/log" | sed "s,$work/,,g; s,$build/,,g" | head -"$1" || true
}

# --------------------------------------------------------------------------------------------------
# GPUs

# The emulator brings no configuration for an MI210, and one of a single GPU for most: they are made from those that it has.
make_configs() {
  cp "$configs"/*.json "$work/"
  python3 - "$work" <<'PYTHON'
import json, sys
folder = sys.argv[1]
def made(source, name, **device):
    with open(f"{folder}/{source}") as file:
        config = json.load(file)
    gpu = config["vm"]["gpu"]
    gpu["device"].update({key: value for key, value in device.items() if key not in ("arch", "num_gpus")})
    config["vm"]["arch"] = device.get("arch", config["vm"]["arch"])
    if "num_gpus" in device:
        gpu["num_gpus"] = device["num_gpus"]
    with open(f"{folder}/{name}", "w") as file:
        json.dump(config, file, indent=1)
made("gfx942_cdna3_kmd.json", "gfx90a.json", arch="cdna2", gfx_target_version=90010, device_id=0x740f,
     family_id=141, marketing_name="AMD Instinct MI210")
made("gfx942_cdna3_kmd.json", "gfx942_two.json", num_gpus=2, location_id=768, hive_id=1)
PYTHON
}

# --------------------------------------------------------------------------------------------------
# Conformance

# The kernels of the conformance suite for target $1 into library $2, with the metadata that the suite reads.
pack_conformance() {
  local images=() target version
  for target in $1; do
    version=5
    case $target in *-generic) version=6 ;; esac
    clang-22 --target=amdgcn-amd-amdhsa -nogpulib -ffreestanding -nostdlib -O2 -mcode-object-version=$version -mcpu="$target" \
      "$source/tests/golden/launch/launch.c" -o "$work/$target.hsaco"
    images+=("--image=file=$work/$target.hsaco,triple=amdgcn-amd-amdhsa,kind=hip,arch=$target,kdl.kernel.scale=sig=f32 ptr<f32> ptr<f32> u32; block=64x1x1,kdl.kernel.place=sig=ptr<u32>; block=1x1x1,kdl.kernel.weigh=sig=ptr<u32>; block=1x1x1")
  done
  "$build/bin/kdl" pack -o "$2" "${images[@]}" 2>/dev/null
}

conformance() {
  local config=$1 target=$2
  shift 2
  pack_conformance "$target" "$work/$target.offload"
  echo "== conformance, $target${*:+, $*}"
  run_conformance "$config" "$work/$target.offload" "$@"
}

run_conformance() {
  local config=$1 library=$2
  shift 2
  emulated "$config" "${LIMIT:-900}" LD_PRELOAD="$sleeps" "$@" "${conformance:-$build/bin/conformance}" "$library" hip
  excerpt 30 '^(on|FAIL|unsup|STALE|xfail|skipped)|Memory access fault|AddressSanitizer|LeakSanitizer|runtime error'
  echo "$(grep -ac '^ok ' "$work/log" || true) passed, exit code $code, $took s"
}

# As programs have it, with HIP's own waits.
waits() {
  conformance "$work/gfx942_cdna3_kmd.json" gfx942 LD_PRELOAD="$folder/build/librocjitsu.so"
}

# --------------------------------------------------------------------------------------------------
# Kernels

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
  local config=$1 target=$2
  compile_examples "$target"
  echo "== example kernels, $target"
  emulated "$config" 900 "$build/bin/example_table" "$work/examples.$target" hip
  excerpt 20 '^(kernel|saxpy|reduce|softmax|layernorm|matmul|histogram|[0-9]+ runs|skipped)|fault'
  echo "exit code $code, $took s"
}

# The emulator's detector of races does not know the counters of gfx12, by which everything is waited for there.
races() {
  local config=$1 target=$2
  case $target in gfx12*) return ;; esac
  compile_examples "$target"
  echo "== example kernels with the detector of races, $target"
  emulated "$config" 900 RJ_RACE=1 "$build/bin/example_table" "$work/examples.$target" hip
  excerpt 2 '^([0-9]+ runs|skipped)'
  echo "$(grep -ac '^RACE type=LDS' "$work/log" || true) races on group memory, $(grep -ac '^RACE ' "$work/log" || true) in all, exit code $code, $took s"
  grep -aA6 '^RACE ' "$work/log" | head -20 || true
}

# The built-in microkernels, linked into a kernel ahead of time.
ukernels() {
  local config=$1 target=$2 lanes=32
  case $target in gfx9*) lanes=64 ;; esac
  clang-22 --target=amdgcn-amd-amdhsa -mcpu="$target" -nogpulib -ffreestanding -O2 -emit-llvm -I"$source/include" \
    -c "$source/tests/tools/Inputs/ld/gpu_rows.c" -o "$work/rows.bc"
  "$build/bin/kdl" pack -o "$work/rows.offload" "--image=file=$work/rows.bc,triple=amdgcn-amd-amdhsa,arch=$target,kind=hip"
  "$build/bin/kdl" link "$work/rows.offload" --for="hip:$target driver=6.4.0" -o "$work/linked.offload"
  echo "== a built-in microkernel: kdl_uk_subgroup_sum_i32, $target"
  emulated "$config" 300 KDL_LD=/nonexistent "$build/bin/kdl" run "$work/linked.offload" rows_i32 --device=hip --grid=4 --block=$lanes \
    --arg='buf:i32[1024]=iota' --arg='buf:i32[256]=1' --arg='buf:i32[4]=zero' --dump=arg2
  excerpt 10 .
  local outcome=wrong
  ! grep -q '^arg2 = 32640 98176 163712 229248$' "$work/log" || outcome=right
  echo "$outcome, exit code $code, $took s"
}

# Products of matrices by MFMA and WMMA: microkernels linked into kdl-matmul.offload ahead of time, and what gpu_matmul_test computes with them.
matmul() {
  local config=$1 target=$2 kind kinds="f32_bf16 f32_f16 s32_s8"
  case $target in gfx942) kinds="$kinds f32_e4m3fnuz" ;; gfx12*) kinds="$kinds f32_e4m3" ;; esac
  if [ ! -e "$build/bin/gpu_matmul_test" ]; then
    echo "== products of matrices, $target: not run: found no gpu_matmul_test"
    return
  fi
  "$build/bin/kdl" link "$build/lib/kdl/kdl-matmul.offload" --for="hip:$target driver=6.4.0" -o "$work/matmul.offload"
  for kind in $kinds; do
    echo "== products of matrices, $kind, $target"
    emulated "$config" "${LIMIT:-900}" KDL_LD=/nonexistent LD_PRELOAD="$sleeps" "$build/bin/gpu_matmul_test" "$work/matmul.offload" "$kind" --few --hip
    excerpt 20 '^(FAILED|skipped|[0-9]+ checks)|fault|not implemented'
    echo "exit code $code, $took s"
  done
}

# The language's conformance suite: math by ocml, dynamic group memory, subgroups, atomics. Where the emulator aborts, it goes on behind the
# case. $3 is what it is compiled for, if not the GPU.
language() {
  local config=$1 target=$2 first=0 all=0 cases
  echo "== the language's conformance suite, $target${3:+, $3}"
  if ! python3 "$source/tests/language/run.py" "$build/bin/kdl" - "$work/language.$target" none "${3:-$target}" >"$work/log" 2>&1; then
    excerpt 20 .
    echo "not compiled"
    return
  fi
  cases=$(grep -c '^case ' "$work/language.$target/cases.txt")
  while [ "$first" -lt "$cases" ]; do
    emulated "$config" 1200 "$build/bin/language_launcher" "$work/language.$target/cases.txt" hip "$first"
    all=$((all + took))
    excerpt 60 '^[a-z]+/|^aborted|cases, |what\(\):|fault|skipped'
    [ "${code%% *}" -ge 128 ] || break
    first=$(sed -n 's/^aborted in case \([0-9]*\),.*/\1/p' "$work/log" | tail -1)
    [ -n "$first" ] || break
    first=$((first + 1))
  done
  echo "$cases cases, exit code $code, $all s"
}

# Kernels of Rodinia and PolyBench/GPU, against the suites' plain code.
suites() {
  local config=$1 target=$2
  bash "$source/tests/language/suites.sh" "$source" "$build/bin/kdl" - "$work/suites.$target" none "${3:-$target}"
  echo "== kernels of public suites, $target${3:+, $3}"
  emulated "$config" 900 "$build/bin/language_suites" hip "$work/suites.$target/rodinia.offload" "$work/suites.$target/polybench.offload"
  excerpt 30 '^(Rodinia|PolyBench|suites|skipped)|fault'
  echo "exit code $code, $took s"
}

# All of it from portable images, lowered for the GPU ahead of time: docs/portable.md.
portable() {
  "$build/bin/kdl" cc "$source/tests/conformance/portable.c" --targets=portable -o "$work/portable.offload"
  "$build/bin/kdl" link "$work/portable.offload" --for="hip:$2 driver=6.4.0" -o "$work/portable.$2.offload"
  echo "== conformance, $2, portable@hip:$2 driver=6.4.0"
  run_conformance "$1" "$work/portable.$2.offload" ${more:+"$more"}
  language "$1" "$2" "portable@hip:$2 driver=6.4.0"
  suites "$1" "$2" "portable@hip:$2 driver=6.4.0"
}

# How far ocml is from MPFR, in units in the last place.
math() {
  local config=$1 target=$2 library
  if [ ! -e "$build/bin/math_ulp" ]; then
    echo "== math, $target: not run: found no math_ulp (Debian: libmpfr-dev)"
    return
  fi
  ldd "$build/bin/math_ulp" | awk '/lib(mpfr|gmp)/{print $3}' | while read -r library; do
    cp -L "$library" "$work/lib/"
  done
  "$build/bin/kdl" cc "$source/bench/math/kernels.c" --targets="$target" -o "$work/math.offload"
  echo "== math: units in the last place from MPFR, $target"
  emulated "$config" 1800 "$build/bin/math_ulp" "${POINTS:-10000}" "$target=hip=$work/math.offload"
  excerpt 200 .
  echo "exit code $code, $took s"
}

# --------------------------------------------------------------------------------------------------
# MLIR

# Libraries of this machine that MLIR's own runtime needs and the other Debian may not have.
copy_mlir_libraries() {
  local library
  for library in "$llvm/lib/libmlir_runner_utils.so" "$llvm/lib/libmlir_c_runner_utils.so"; do
    { echo "$library"; ldd "$library" | awk '/=> \//{print $3}'; } | while read -r file; do
      case $(basename "$file") in
        libc.so* | libm.so* | libstdc++* | libgcc_s* | libpthread* | libdl* | librt*) ;;
        *) [ -e "$work/lib/$(basename "$file")" ] || cp -L "$file" "$work/lib/" ;;
      esac
    done
  done
  for library in libmlir_runner_utils libmlir_c_runner_utils; do
    cp -L "$llvm/lib/$library.so" "$work/lib/$(objdump -p "$llvm/lib/$library.so" | awk '/SONAME/{print $2}')"
  done
}

# A program in MLIR's gpu dialect as an executable: by MLIR's own passes, or by libkdl's.
compile_mlir() {
  local how=$1 target=$2 bitcode input="$source/mlir/test/Inputs/place.mlir"
  bitcode=$(dirname "$(find /usr/lib /opt/rocm -name ockl.bc 2>/dev/null | head -1)")
  mkdir -p "$work/rocm/amdgcn" "$work/rocm/llvm/bin"
  ln -sfn "$bitcode" "$work/rocm/amdgcn/bitcode"
  ln -sf "$llvm/bin/ld.lld" "$work/rocm/llvm/bin/ld.lld"
  rm -f "$work/place" "$work/void.ll"
  if [ "$how" = "MLIR's passes" ]; then
    "$llvm/bin/mlir-opt" "$input" -o "$work/place.mlir" --pass-pipeline="builtin.module(gpu.module(convert-gpu-to-rocdl{use-bare-ptr-memref-call-conv=true}),rocdl-attach-target{chip=$target},gpu-to-llvm{use-bare-pointers-for-kernels=true},convert-to-llvm,reconcile-unrealized-casts,gpu-module-to-binary{toolkit=$work/rocm})" &&
      "$llvm/bin/mlir-translate" --mlir-to-llvmir "$work/place.mlir" -o "$work/void.ll" || return
  else
    "$llvm/bin/mlir-opt" --load-dialect-plugin="$build/lib/KdlMLIR.so" "$input" -o "$work/place.mlir" \
      --pass-pipeline="builtin.module(kdl-lower-to-binary{targets=$target,host bare-pointers=true})" &&
      "$build/bin/kdl-mlir" translate "$work/place.mlir" -o "$work/void.ll" || return
  fi
  # MLIR's main returns nothing, so the program would end with any code.
  sed 's/@main(/@place_main(/g' "$work/void.ll" >"$work/place.ll"
  echo 'void place_main(void); int main(void) { place_main(); return 0; }' >"$work/main.c"
  clang-22 -O2 -Wno-override-module "$work/place.ll" "$work/main.c" -o "$work/place" -L"$build/lib" -lkdl_mlir_runtime -lkdl \
    -L"$llvm/lib" -lmlir_runner_utils -lmlir_c_runner_utils -Wl,--allow-shlib-undefined
}

mlir() {
  local config=$1 target=$2 how outcome
  llvm=${LLVM:-/usr/lib/llvm-22}
  if [ ! -e "$build/lib/libkdl_mlir_runtime.so" ] || [ ! -e "$llvm/bin/mlir-opt" ]; then
    echo "== MLIR, $target: not run: found no libkdl_mlir_runtime.so or no mlir-opt"
    return
  fi
  copy_mlir_libraries
  for how in "MLIR's passes" "libkdl's passes"; do
    echo "== MLIR's ROCDL, compiled by $how, $target"
    if ! compile_mlir "$how" "$target" >"$work/log" 2>&1; then
      excerpt 5 .
      echo "not compiled"
      continue
    fi
    emulated "$config" 300 KDL_DEVICE=hip KDL_DEBUG=load "$work/place"
    excerpt 10 '^\[|bound to|error|kdl_mlir'
    outcome=wrong
    ! grep -q '\[0, *1, *2, *3, *10, *11, *12, *13, *20, *21, *22, *23, *100, *101, *102, *103, *110, *111, *112, *113, *120, *121, *122, *123\]' \
      "$work/log" || outcome=right
    echo "$outcome, exit code $code, $took s"
  done
}

# --------------------------------------------------------------------------------------------------
# What the runtime does beside launching

traces() {
  local config=$1 target=$2
  pack_conformance "$target" "$work/$target.offload"
  echo "== a trace with the device's times, $target"
  emulated "$config" 300 KDL_TRACE="$work/trace.json" KDL_TRACE_GPU=1 "$build/bin/kdl" run "$work/$target.offload" scale --device=hip --items=100000 \
    --arg=f32:2 --arg='buf:f32[100000]=iota' --arg='buf:f32[100000]=zero' --arg=u32:100000 --repeat=3
  excerpt 5 .
  echo "exit code $code, $took s"
  "$build/bin/kdl" trace report "$work/trace.json" 2>&1 | sed "s,$work/,,g" | head -40 || true
}

several() {
  local target=gfx942 list
  pack_conformance "$target" "$work/$target.offload"
  for list in "2" "1 HIP_VISIBLE_DEVICES=1" "2 HIP_VISIBLE_DEVICES=1,0" "1 ROCR_VISIBLE_DEVICES=0"; do
    echo "== two GPUs, $target: ${list#* } expects ${list%% *}"
    # shellcheck disable=SC2046 # the variable, where there is one
    emulated "$work/gfx942_two.json" 300 $([ "${list#* }" = "$list" ] || echo "${list#* }") "$build/bin/several" "$work/$target.offload" hip "${list%% *}"
    excerpt 20 .
    echo "exit code $code, $took s"
  done
}

# A stream and memory of the program's own, and a sequence in its own graph.
adopted() {
  local target=gfx942
  pack_conformance "$target" "$work/$target.offload"
  echo "== a stream, memory and a capture of the program's own, $target"
  emulated "$work/gfx942_cdna3_kmd.json" 300 "$build/bin/adopt" "$work/$target.offload" hip
  excerpt 5 '^(ok|FAIL|skipped)|fault'
  echo "exit code $code, $took s"
}

xnack() {
  local mode
  pack_conformance "gfx942:xnack- gfx942:xnack+" "$work/xnack.offload"
  for mode in 0 1; do
    echo "== HSA_XNACK=$mode, images for xnack- and xnack+, gfx942"
    emulated "$work/gfx942_cdna3_kmd.json" 300 HSA_XNACK=$mode KDL_DEBUG=load "$build/bin/kdl" run "$work/xnack.offload" scale --device=hip --items=5 \
      --arg=f32:2 --arg='buf:f32[5]=iota' --arg='buf:f32[5]=zero' --arg=u32:5 --dump=arg2
    excerpt 10 '^scale|^arg2|bound|error'
    echo "exit code $code, $took s"
  done
}

cooperative() {
  local target=gfx942
  conformance "$work/gfx942_cdna3_kmd.json" $target GPU_ENABLE_COOP_GROUPS=0
}

spirv() {
  local llc=${LLVM:-/usr/lib/llvm-22}/bin/llc
  echo "== amdgcnspirv, gfx942"
  # clang -c leaves bitcode for this target.
  if ! clang-22 --target=spirv64-amd-amdhsa -nogpulib -ffreestanding -nostdlib -O2 -emit-llvm -c "$source/tests/golden/launch/launch.c" \
    -o "$work/launch.bc" >"$work/log" 2>&1 || ! "$llc" -mtriple=spirv64-amd-amdhsa -filetype=obj "$work/launch.bc" -o "$work/launch.spv" >"$work/log" 2>&1; then
    excerpt 5 .
    echo "not compiled"
    return
  fi
  "$build/bin/kdl" pack -o "$work/spirv.offload" "--image=file=$work/launch.spv,triple=spirv64-amd-amdhsa,arch=amdgcnspirv,kind=hip"
  emulated "$work/gfx942_cdna3_kmd.json" 300 AMD_COMGR_EMIT_VERBOSE_LOGS=1 AMD_COMGR_REDIRECT_LOGS=stdout "$build/bin/kdl" run "$work/spirv.offload" scale \
    --device=hip --items=5 --arg=f32:2 --arg='buf:f32[5]=iota' --arg='buf:f32[5]=zero' --arg=u32:5 --dump=arg2
  excerpt 20 '^(scale|arg2|kdl run)|ActionKind.*SPIRV|STATUS_ERROR|AMDGPUCompiler|COMGR_DISABLE_SPIRV'
  echo "exit code $code, $took s"
  if grep -qa 'built with -DCOMGR_DISABLE_SPIRV' "$folder"/forky/usr/lib/x86_64-linux-gnu/libamd_comgr.so.*; then
    echo "this libamd_comgr was built without SPIR-V (COMGR_DISABLE_SPIRV)"
  fi
}

# A program that the runtime registers by itself, with and without the images of other GPUs, on a GPU that it still serves and on one that it does not.
thinned() {
  local target targets=host-x86_64-unknown-linux-gnu- inputs=(--input=/dev/null) program config
  for target in gfx906 gfx908 gfx90a gfx942 gfx1030 gfx1100 gfx1151 gfx1201; do
    pack_conformance $target "$work/$target.offload"
    targets+=,hipv4-amdgcn-amd-amdhsa--$target
    inputs+=("--input=$work/$target.hsaco")
  done
  "$(command -v clang-offload-bundler-22 || echo "${LLVM:-/usr/lib/llvm-22}/bin/clang-offload-bundler")" --type=o --bundle-align=4096 \
    --targets=$targets "${inputs[@]}" --output="$work/bundle.hipfb"
  gcc -O2 -DBUNDLE="\"$work/bundle.hipfb\"" "$source/tests/emulated/registered.c" -o "$work/registered" \
    "$folder"/forky/usr/lib/x86_64-linux-gnu/libamdhip64.so.6 -Wl,--unresolved-symbols=ignore-all
  echo "== a program that HIP's runtime registers, thinned for gfx942"
  "$build/bin/kdl" thin "$work/registered" --for=hip:gfx942 -o "$work/thinned" --verbose 2>&1 | sed "s,$work/,,g"
  echo "$(stat -c %s "$work/registered") bytes before, $(stat -c %s "$work/thinned") after"
  for config in gfx942_cdna3_kmd gfx1100_w7900; do
    for program in registered thinned; do
      emulated "$work/$config.json" 300 "$work/$program"
      echo "$program, $config: $(excerpt 3 "^HIP's error|fault"), exit code $code, $took s"
    done
  done
  echo "98 is hipErrorInvalidDeviceFunction: the image for gfx1100 went"
}

# This machine's Python, since the other Debian may have none.
python() {
  local wheel interpreter=/usr/bin/python3 home=$work/python version library
  wheel=$(find "$build/dist" -name 'libkdl-*.whl' 2>/dev/null | head -1)
  echo "== the Python package, gfx942"
  if [ -z "$wheel" ]; then
    echo "not run: found no $build/dist/libkdl-*.whl"
    return
  fi
  version=$($interpreter -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
  mkdir -p "$home/lib" "$home/bin" "$home/site"
  cp -r "/usr/lib/$version" "$home/lib/"
  cp -L $interpreter "$home/bin/python3"
  ldd $interpreter | awk '/lib(z|expat)/{print $3}' | while read -r library; do
    cp -L "$library" "$work/lib/"
  done
  $interpreter -m zipfile -e "$wheel" "$home/site"
  pack_conformance gfx942 "$work/gfx942.offload"
  emulated "$work/gfx942_cdna3_kmd.json" 300 PYTHONHOME="$home" PYTHONPATH="$home/site" "$home/bin/python3" "$source/tests/emulated/package.py" "$work/gfx942.offload"
  excerpt 12 .
  echo "exit code $code, $took s"
}

sanitized() {
  local asan=${KDL_ASAN_BUILD:-$build/asan}
  if [ ! -e "$asan/bin/conformance" ]; then
    echo "== AddressSanitizer: not run: found no $asan/bin/conformance (cmake --preset asan)" | sed "s,$source/,,"
    return
  fi
  echo "== conformance under AddressSanitizer and UndefinedBehaviorSanitizer, leaks of the runtime's own left out (tests/drivers.supp)"
  local libraries=$asan/lib conformance=$asan/bin/conformance
  # With whole stacks: those by frame pointers end in libstdc++, before the library that the leak is of.
  conformance "$work/gfx942_cdna3_kmd.json" gfx942 "LSAN_OPTIONS=suppressions=$source/tests/drivers.supp" \
    ASAN_OPTIONS=verify_asan_link_order=0:protect_shadow_gap=0:detect_leaks=1:fast_unwind_on_malloc=0
}

# Which of HIP's functions libkdl called on the real runtime: docs/driver-functions.md.
functions() {
  local target=gfx942 calls=$work/calls both record=$source/bench/results/functions/hip-emulated.txt
  both=LD_PRELOAD=$sleeps:$build/lib/librecorder.so
  mkdir -p "$calls"
  pack_conformance "$target" "$work/$target.offload"
  echo "== functions of libamdhip64 that libkdl calls"
  emulated "$work/gfx942_cdna3_kmd.json" "${LIMIT:-900}" "$both" KDL_FUNCTIONS_RECORD="$calls" "$build/bin/conformance" "$work/$target.offload" hip
  emulated "$work/gfx942_two.json" 300 "$both" KDL_FUNCTIONS_RECORD="$calls" "$build/bin/several" "$work/$target.offload" hip 2
  echo "two GPUs: exit code $code, $took s"
  emulated "$work/gfx942_cdna3_kmd.json" 300 "$both" KDL_FUNCTIONS_RECORD="$calls" "$build/bin/adopt" "$work/$target.offload" hip
  # Without metadata, so that the runtime is asked for a block.
  emulated "$work/gfx942_cdna3_kmd.json" 300 "$both" KDL_FUNCTIONS_RECORD="$calls" "$build/bin/kdl" run "$work/$target.hsaco" saxpy --device=hip \
    --items=5 --arg=f32:2 --arg='buf:f32[5]=iota' --arg='buf:f32[5]=1' --arg=u32:5 --dump=arg2
  excerpt 5 '^saxpy|^arg2|error'
  "$source/scripts/driver-functions.py" --gather "$calls" hip "column: ROCm, emulated GPU" \
    "library: $(packages '' libamdhip64-6)" \
    "machine: none: an MI300X that AMD's emulator presents, $(date -u +%F)" \
    "commands: conformance suite, several GPUs, what is adopted, kdl run without metadata" >"$work/functions"
  cp "$work/functions" "$record"
  "$source/scripts/driver-functions.py"
  echo "$(grep -vc '^#' "$record") functions were called: docs/driver-functions.md; of graphs $(grep -c '^hipGraph' "$record")"
}

# --------------------------------------------------------------------------------------------------

make_configs
{
  echo "date      $(date -u +%F)"
  echo "hardware  none: GPUs emulated by AMD's rocjitsu${VERSIONS:+ ($VERSIONS)}"
  echo "software  $(packages ', ' libamdhip64-6 libhsa-runtime64-1 libamd-comgr3)$(clang-22 --version | head -1)"
  echo "commit    $(git -C "$source" rev-parse --short HEAD)"
  echo "command   ${GPUS:+GPUS=\"$GPUS\" }${PARTS:+PARTS=\"$PARTS\" }scripts/evidence-amd.sh FOLDER"
  while read -r target config generic; do
    [ -z "${GPUS:-}" ] || [[ " $GPUS " == *" $target "* ]] || continue
    echo
    echo "==== $target"
    # The emulator has not all of gfx90a's instructions: HIP's cooperative launches end in one that is missing.
    case $target in gfx90a) more=GPU_ENABLE_COOP_GROUPS=0 ;; *) more='' ;; esac
    if runs_part conformance; then
      conformance "$work/$config" "$target" ${more:+"$more"}
      [ -z "$generic" ] || conformance "$work/$config" "$generic"
    fi
    for part in examples races ukernels matmul language suites portable math mlir traces; do
      ! runs_part $part || $part "$work/$config" "$target"
    done
  done <<EOF
gfx942 gfx942_cdna3_kmd.json gfx9-4-generic
gfx1100 gfx1100_w7900.json gfx11-generic
gfx1201 gfx1201_r9700.json gfx12-generic
gfx1151 gfx1151.json gfx11-generic
gfx90a gfx90a.json
EOF
  echo
  echo "==== the runtime, on gfx942"
  for part in waits several adopted xnack cooperative spirv thinned python sanitized functions; do
    ! runs_part $part || $part
  done
} | sed -u "s,$source/,,g; s,$folder/,FOLDER/,g" | tee "$output"
if grep -q 'exit code 77' "$output"; then
  echo "evidence-amd.sh: some of it did not run: found no device" >&2
  exit 1
fi
