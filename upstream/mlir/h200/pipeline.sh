#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pipeline.sh OUTPUT METADATA [WORK]: makes the folder OUTPUT, to be copied to a machine with an NVIDIA GPU: the programs of pipeline.txt, whose kernels MLIR compiles, the
# libraries that they need, what ../../metadata/h200/build.sh made in METADATA, and run.sh, which runs all and prints a table. WORK is the folder of ../../build.sh, which has
# been run for the series `mlir` on 23 and for METADATA. CUDA (/usr/local/cuda) has ptxas and fatbinary. liboffload is Debian's of main, as it is, with the part of libLLVM that it
# calls, without its JIT; the programs with a key run on METADATA's, by a runtime library that hands it the container.
set -euo pipefail
output=$(realpath -m "$1") metadata=$(realpath "$2")
. "$(dirname "$0")/../../lib.sh"
folder=$(cd "$(dirname "$0")" && pwd)
work=$(realpath -m "${3:-$here/../build/upstream}")
root=$work/root/build/pipeline
export bind=${CUDA:-/usr/local/cuda} # in_root shows it as /source

rm -rf "$root" "$output"
mkdir -p "$root" "$output/main" "$output/lib"
cp "$folder"/pipeline.{mlir,c,py,txt} "$folder/without_contexts.h" "$root"
cp "$here"/mlir/0007-*.patch "$root/wrapper.patch"

cat >"$root/in-root.sh" <<'EOF'
set -euo pipefail
cd /build/pipeline
tools=$TOOLS llvm=/usr/lib/llvm-24
export PATH=/source/bin:$PATH
python3 pipeline.py $tools/bin /source $llvm/bin/llvm-offload-binary

# The wrapper is a new file of the patch.
git apply --include='*OffloadRuntimeWrappers.cpp' wrapper.patch
wrapper=mlir/lib/ExecutionEngine/OffloadRuntimeWrappers.cpp
compile() { $llvm/bin/clang++ -std=c++17 -O1 -fPIC -shared -fno-rtti -fno-exceptions -fvisibility=hidden -w "$@"; }
mkdir -p main whole
compile -I$llvm/include/offload $wrapper -L$llvm/lib -lLLVMOffload -o main/libmlir_offload_runtime.so
# The container as a whole.
sed 's/^static std::vector<std::string_view> getImages(std::string_view bytes) {/&\n  return {bytes};/; s/"OffloadAPI.h"/"without_contexts.h"/' $wrapper >whole.cpp
compile -I. -I/build/cuda/out/offload/liboffload/API -I/build/cuda/src/offload/liboffload/include whole.cpp /build/cuda/bin-best/libLLVMOffload.so.24.0 -o whole/libmlir_offload_runtime.so
while read -r name _ form _; do
  case $name in '#'* | '') continue ;; esac
  library=main
  case $form in key | nokey) library=whole ;; esac
  $llvm/bin/clang -O2 -Wno-override-module $name.ll pipeline.c -L$library -lmlir_offload_runtime -Wl,--allow-shlib-undefined -o $name.exe
done <pipeline.txt

# The part of libLLVM that Debian's liboffload calls without its JIT; the JIT's functions do nothing.
nm -D --undefined-only $llvm/lib/libLLVMOffload.so.24.0 | sed -n 's/.* \([^ ]*\)@LLVM.*/\1/p' | sort -u >symbols
{ echo 'LLVM_24.0 { global:' && sed 's/$/;/' symbols && echo 'local: *; };'; } >versions
sed 's/^/-Wl,--undefined=/' symbols | tr '\n' ' ' >undefined
link() {
  g++ -shared -Wl,--gc-sections -Wl,-soname,libLLVM.so.24.0 -Wl,--version-script=versions @undefined "$@" -Wl,--start-group $llvm/lib/libLLVM{Object,BitReader,Core,Support,TargetParser,BinaryFormat,MC,MCParser,IRReader,AsmParser,Remarks,BitstreamReader,TextAPI,Demangle,ProfileData,FrontendOpenMP,DebugInfoDWARF,DebugInfoDWARFLowLevel,Symbolize,DebugInfoPDB,DebugInfoCodeView,DebugInfoMSF,DebugInfoGSYM,DebugInfoBTF,Option}.a \
    -Wl,--end-group -lz -lzstd -llzma -lpthread -o libLLVM.so.24.0
}
link
nm -D --defined-only libLLVM.so.24.0 | sed 's/.* //; s/@.*//' | sort -u >defined
{
  echo .text
  comm -23 symbols defined | sed 's/.*/.globl &\n&: xorl %eax, %eax\n ret/'
  echo '.section .note.GNU-stack,"",@progbits'
} >stubs.s
gcc -c stubs.s -o stubs.o
link stubs.o
strip libLLVM.so.24.0
cp $llvm/lib/libLLVMOffload.so.24.0 libLLVM.so.24.0 main
for library in ld-linux-x86-64.so.2 libstdc++.so.6 libgcc_s.so.1 libm.so.6 libc.so.6 libz.so.1 libzstd.so.1 liblzma.so.5 libdl.so.2 libpthread.so.0 librt.so.1; do
  mkdir -p lib && cp -L "$(ls /usr/lib/x86_64-linux-gnu/$library /usr/lib64/$library 2>/dev/null | head -1)" lib
done
EOF
rm -rf "$work/root/build/cuda/bin-best" && cp -r "$metadata/best" "$work/root/build/cuda/bin-best"
in_root /usr/bin/env TOOLS="${TOOLS:-/build/mlir/23/out}" bash /build/pipeline/in-root.sh
cp -r "$root"/{main,whole} "$output"
cp "$root"/lib/* "$output/lib"
cp "$root"/*.exe "$root/pipeline.txt" "$output"
cp -r "$metadata" "$output/matmul"
cp "$folder/pipeline-run.sh" "$output/run.sh"
chmod +x "$output/run.sh"
du -sh "$output"
