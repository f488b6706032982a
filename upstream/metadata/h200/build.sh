#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# build.sh OUTPUT [WORK]: makes the folder OUTPUT, to be copied to a machine with an NVIDIA GPU: liboffload for CUDA without the patches (none/), with
# 1 and 2 (first/) and with 1 to 3 (best/), price_gpu, its images, the libraries that they need, and run.sh, which prints the times. WORK is the folder of ../../build.sh, which
# has been run. Needs nvcc. liboffload is built without its JIT, and LLVM is linked with what is left, which makes 5 MB of libLLVM's 155.
set -euo pipefail
output=$(realpath -m "$1")
. "$(dirname "$0")/../../lib.sh"
folder=$(cd "$(dirname "$0")" && pwd)
work=$(realpath -m "${2:-$here/../build/upstream}")
root=$work/root/build/cuda

rm -rf "$root" "$output"
mkdir -p "$root/bin" "$output/lib"
cp -a "$here/metadata" "$root/patches"
for kernel in plain:sm_90 tensor:sm_90a; do
  nvcc -O3 -std=c++17 -arch="${kernel#*:}" -cubin "$folder/${kernel%:*}.cu" -o "$root/bin/${kernel%:*}.cubin"
done

cat >"$root/in-root.sh" <<'EOF'
set -euo pipefail
cd /build/cuda
src=/build/cuda/src llvm=/usr/lib/llvm-24
git -C /project/24 worktree prune
git -C /project/24 worktree add --quiet --force --detach $src base
# What is changed for the build alone: 23's sources with 24's headers, and no JIT.
adapt() {
  sed -i 's/^  KernelArgsTy LaunchArgs{};/&\n  LaunchArgs.Version = OMP_KERNEL_ARG_VERSION;/' $src/offload/liboffload/src/OffloadImpl.cpp
  cat >$src/offload/plugins-nextgen/common/src/JIT.cpp <<'JIT'
#include "JIT.h"
#include "llvm/Support/MemoryBuffer.h"
using namespace llvm;
using namespace llvm::omp::target;
JITEngine::JITEngine(Triple::ArchType TA) : TT(Triple::getArchTypeName(TA)) {}
Expected<std::unique_ptr<MemoryBuffer>> JITEngine::process(StringRef, plugin::GenericDeviceTy &) { return createStringError("built without the JIT"); }
JIT
}
# build NAME: liboffload as $src has it.
build() {
  adapt
  [ -f out/build.ninja ] || cmake -G Ninja -S $src/runtimes -B out -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ \
    -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DLLVM_ENABLE_RUNTIMES='openmp;offload' -DLIBOMPTARGET_PLUGINS_TO_BUILD='host;cuda' \
    -DLIBOMPTARGET_DLOPEN_PLUGINS=cuda -DCMAKE_DISABLE_FIND_PACKAGE_Clang=ON -DLLVM_DIR=$llvm/lib/cmake/llvm -DLLVM_BINARY_DIR=$llvm -DLIBOMP_OMPD_SUPPORT=OFF \
    -DLIBOMPTARGET_OMPT_SUPPORT=OFF -DLLVM_INCLUDE_TESTS=OFF -DCMAKE_CXX_FLAGS="-w -iquote $src/llvm/include -I$src/llvm/include"
  ninja -C out -j "$JOBS" LLVMOffload
  mkdir -p "bin/$1"
  cp "$(find out -name libLLVMOffload.so.24.0 -type f)" "bin/$1"
  strip "bin/$1/libLLVMOffload.so.24.0"
  git -C $src checkout --quiet --force HEAD
}
export GIT_COMMITTER_NAME=upstream GIT_COMMITTER_EMAIL=upstream@localhost
build none
git -C $src am --quiet --keep-non-patch /build/cuda/patches/000[12]-*.patch
build first
git -C $src am --quiet --keep-non-patch /build/cuda/patches/0003-*.patch
build best

g++ -O2 -w -std=c++17 -Iout/offload/liboffload/API -I$src/offload/liboffload/include patches/h200/price_gpu.cpp bin/best/libLLVMOffload.so.24.0 -Wl,-rpath-link,$llvm/lib -o bin/price_gpu
$llvm/bin/llvm-offload-binary -o bin/matmul.bin --image=file=bin/plain.cubin,triple=nvptx64-nvidia-cuda,arch=sm_90 \
  --image=file=bin/tensor.cubin,triple=nvptx64-nvidia-cuda,arch=sm_90a,variant_priority=10

# The part of libLLVM that is called, under the name and the symbol version of the whole.
nm -D --undefined-only bin/*/libLLVMOffload.so.24.0 | sed -n 's/.* \(_\?[A-Za-z]*[^@]*\)@LLVM.*/\1/p' | sort -u >symbols
{ echo 'LLVM_24.0 { global:' && sed 's/$/;/' symbols && echo 'local: *; };'; } >versions
sed 's/^/-Wl,--undefined=/' symbols | tr '\n' ' ' >undefined
g++ -shared -Wl,--gc-sections -Wl,-soname,libLLVM.so.24.0 -Wl,--version-script=versions @undefined -Wl,--start-group $llvm/lib/libLLVM{Object,BitReader,Core,Support,TargetParser,BinaryFormat,MC,MCParser,IRReader,AsmParser,Remarks,BitstreamReader,TextAPI,Demangle,ProfileData,FrontendOpenMP,DebugInfoDWARF,DebugInfoDWARFLowLevel,Symbolize,DebugInfoPDB,DebugInfoCodeView,DebugInfoMSF,DebugInfoGSYM,DebugInfoBTF,Option}.a \
  -Wl,--end-group -lz -lzstd -llzma -lpthread -o bin/libLLVM.so.24.0
strip bin/libLLVM.so.24.0
for library in ld-linux-x86-64.so.2 libstdc++.so.6 libgcc_s.so.1 libm.so.6 libc.so.6 libz.so.1 libzstd.so.1 liblzma.so.5 libdl.so.2 libpthread.so.0 librt.so.1; do
  cp -L "$(ls /usr/lib/x86_64-linux-gnu/$library /usr/lib64/$library 2>/dev/null | head -1)" bin
done
EOF
in_root bash /build/cuda/in-root.sh
mv "$root"/bin/*.so.* "$output/lib"
cp -r "$root"/bin/* "$output"
cat >"$output/run.sh" <<'EOF'
#!/bin/sh
# run.sh: every file with either library, three times.
cd "$(dirname "$0")" || exit
for run in 1 2 3; do
  for library in none first best; do
    for file in matmul.bin plain.cubin tensor.cubin; do
      echo "run $run, $library, $file: $(timeout 30 lib/ld-linux-x86-64.so.2 --library-path "$library:lib:/usr/lib/x86_64-linux-gnu:/usr/lib64" ./price_gpu "$file" 2>&1)"
    done
  done
done
EOF
chmod +x "$output/run.sh"
