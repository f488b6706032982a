#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# build.sh OUTPUT [WORK]: makes the folder OUTPUT, to be copied to a machine with an NVIDIA GPU: programs that `#gpu.runtime_select` made, each with other objects in its
# binary, the benchmark for llvm-test-suite, the libraries that they need, and run.sh, which runs all. WORK is the folder of ../../build.sh, which has been run for the series
# `mlir` on 23, and of ../../test-suite/bench.sh. liboffload is Debian's of main, as it is. Needs nvcc.
set -euo pipefail
output=$(realpath -m "$1")
. "$(dirname "$0")/../../lib.sh"
folder=$(cd "$(dirname "$0")" && pwd)
work=$(realpath -m "${2:-$here/../build/upstream}")
root=$work/root/build/runtime-select

rm -rf "$root"
mkdir -p "$root" "$output/lib"
cp "$folder"/*.{c,mlir} "$root"
nvcc -arch=sm_100a -cubin -DFACTOR=5 "$folder/add.cu" -o "$root/sm_100a"
nvcc -arch=sm_90a -cubin -DFACTOR=2 "$folder/add.cu" -o "$root/sm_90a"
nvcc -arch=sm_90 -cubin -DFACTOR=3 "$folder/add.cu" -o "$root/sm_90"
nvcc -arch=sm_80 -ptx -DFACTOR=6 "$folder/add.cu" -o "$root/ptx"
nvcc -arch=sm_90 -cubin "$work/root/build/test-suite/src/MicroBenchmarks/OffloadDispatch/nothing.cu" -o "$output/nothing.cubin"
gcc -shared -fPIC -O2 -DFACTOR=4 "$folder/add.c" -o "$root/host"

cat >"$root/programs.py" <<'EOF2'
# Writes NAME.mlir for each program: choose.mlir with its objects.
attributes = {
    "sm_100a": '#nvvm.target<chip = "sm_100a">, bin',
    "sm_90a": '#nvvm.target<chip = "sm_90a">, bin',
    "sm_90": '#nvvm.target<chip = "sm_90">, bin',
    "ptx": '#nvvm.target<chip = "sm_80">, assembly',
    "host": '#nvvm.target<triple = "x86_64-unknown-linux-gnu", chip = "x86-64">, bin',
}
text = open("choose.mlir").read()
for line in open("programs"):
    name, _, *images = line.split()
    objects = []
    for image in images:
        data = "".join("\\%02X" % byte for byte in open(image, "rb").read())
        objects.append(f'#gpu.object<{attributes[image]} = "{data}">')
    open(name + ".mlir", "w").write(text.replace("OBJECTS", ", ".join(objects)))
EOF2
# A program, the FACTOR of the image that should run on an H200, and its images in their order. liboffload takes no PTX (#149284).
cat >"$root/programs" <<'EOF2'
special_first 2 sm_100a sm_90a sm_90 host
plain_first 3 sm_90 sm_90a
host_last 4 sm_100a host
host_first 4 host sm_90a
ptx none sm_100a ptx
EOF2
cat >"$root/in-root.sh" <<'EOF2'
set -euo pipefail
cd /build/runtime-select
tools=/build/mlir/23/out
python3 programs.py
while read -r name _; do
  $tools/bin/mlir-translate --mlir-to-llvmir $name.mlir -o $name.ll
  clang-23 -O2 -Wno-override-module $name.ll main.c -L$tools/lib -lmlir_offload_runtime -L/usr/lib/llvm-24/lib -Wl,-rpath-link,/usr/lib/llvm-24/lib -o $name
done <programs
EOF2
in_root bash /build/runtime-select/in-root.sh
while read -r name _; do cp "$root/$name" "$output"; done <"$root/programs"
cp "$root/programs" "$work"/root/build/test-suite/out/MicroBenchmarks/OffloadDispatch/{OffloadDispatch,libOffloadDispatchKernel.so} "$output"
cp "$work/root/build/mlir/23/out/lib/libmlir_offload_runtime.so" "$work/root/usr/lib/llvm-24/lib/libLLVMOffload.so.24.0" "$output/lib"
in_root sh -c 'for file in /usr/lib/llvm-24/lib/libLLVMOffload.so.24.0 /build/test-suite/out/MicroBenchmarks/OffloadDispatch/OffloadDispatch; do /lib64/ld-linux-x86-64.so.2 --list $file; done' |
  sed -n 's/.* => \(\/[^ ]*\) .*/\1/p; s/^[\t ]*\(\/lib64[^ ]*\) .*/\1/p' | sed 's,.*/ld-linux,/lib64/ld-linux,' | sort -u | while read -r library; do
  case $library in
    */libLLVM.so.* | */libz3.so.*) # the two large ones
      [ -f "$output/$(basename "$library").xz" ] || xz -2 -c "$work/root$(in_root readlink -f "$library")" >"$output/$(basename "$library").xz" ;;
    *) cp -L "$work/root$(in_root readlink -f "$library")" "$output/lib/$(basename "$library")" ;;
  esac
done
cp "$work/root/usr/bin/xz" "$output/lib"
cp "$folder/run.sh" "$output"
du -sh "$output"
