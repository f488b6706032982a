# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the scripts that source it
# Metadata of offload images in LLVM's libraries and tools.

unit=llvm/unittests/Object
object=llvm/lib/Object

build_0001() { gtest "$BUILD/OffloadingTest" "$SRC/$unit/OffloadingTest.cpp"; }
test_0001() { "$BUILD/OffloadingTest"; }

# By 24's target parsers, which 23 does not have.
only_0002() { [ "$BASE" = 24 ]; }
build_0002() {
  gtest "$BUILD/OffloadMetadataTest" "$SRC/$unit/OffloadMetadataTest.cpp" "$SRC/$object/OffloadMetadata.cpp"
  if [ -f /kdl/libkdl.a ]; then
    cxx -w -I/kdl -I"$SRC/llvm/include" -isystem "$INCLUDE" "$upstream/$series/verdicts.cpp" "$SRC/$object/OffloadMetadata.cpp" \
      /kdl/librfc_kdl_reference.a /kdl/libkdl.a -L"$LLVM/lib" -lLLVM-$BASE -lm -ldl -lpthread -o "$BUILD/verdicts"
  fi
}
test_0002() {
  "$BUILD/OffloadMetadataTest"
  if [ -f /kdl/libkdl.a ]; then
    "$BUILD/verdicts" | tee "$BUILD/verdicts.md"
  fi
}

# Of llvm-objdump the file that the patch touches, with a program around it that opens files as llvm-objdump does.
build_0003() {
  local tool=$SRC/llvm/tools/llvm-objdump
  cxx -I"$tool" -I"$SRC/llvm/include" -isystem "$INCLUDE" "$upstream/$series/objdump.cpp" "$tool/OffloadDump.cpp" \
    -L"$LLVM/lib" -lLLVM-$BASE -o "$BUILD/bin/llvm-objdump"
}
test_0003() {
  local tests=$SRC/llvm/test/tools/llvm-objdump/Offloading
  lit "$tests/strings.test" "$tests/elf.test" "$tests/nested-offload-binary.test" "$tests/nested-offload-binary-fails.test"
}

# 24's command line has -h of its own, which the tool of 23's sources defines once more.
build_0004() {
  sed 's/Help("h"/Help("help-of-23"/' "$SRC/llvm/tools/llvm-offload-binary/llvm-offload-binary.cpp" >"$BUILD/llvm-offload-binary.cpp"
  cxx -I"$SRC/llvm/include" -isystem "$INCLUDE" "$BUILD/llvm-offload-binary.cpp" -L"$LLVM/lib" -lLLVM-$BASE -o "$BUILD/bin/llvm-offload-binary"
}
test_0004() { lit "$SRC/llvm/test/tools/llvm-offload-binary" "$SRC/llvm/test/tools/llvm-objdump/Offloading/strings.test"; }

# liboffload with the host plugin. Two files that no patch touches are changed while it is built: in one line 23's JIT does not fit
# 24's headers, and 23's olLaunchKernel does not pass the check of the host plugin, which main no longer has.
build_liboffload() {
  local jit=$SRC/offload/plugins-nextgen/common/src/JIT.cpp api=$SRC/offload/liboffload/src/OffloadImpl.cpp status=0
  cp -p "$jit" "$api" "$BUILD"
  sed -i 's/PassBuilder PB(TM,/PassBuilder PB(M.getContext(), TM,/' "$jit"
  sed -i 's/^  KernelArgsTy LaunchArgs{};/&\n  LaunchArgs.Version = OMP_KERNEL_ARG_VERSION;/' "$api"
  # -iquote: LLVM's headers with the patches before this one come before those of the package.
  if [ ! -f "$BUILD/offload/build.ninja" ]; then
    nice -n 10 cmake -G Ninja -S "$SRC/runtimes" -B "$BUILD/offload" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
      -DLLVM_ENABLE_RUNTIMES='openmp;offload' -DLIBOMPTARGET_PLUGINS_TO_BUILD=host -DCMAKE_DISABLE_FIND_PACKAGE_Clang=ON \
      -DLLVM_DIR="$LLVM/lib/cmake/llvm" -DLLVM_BINARY_DIR="$LLVM" -DLIBOMP_OMPD_SUPPORT=OFF -DLIBOMPTARGET_OMPT_SUPPORT=OFF \
      -DLLVM_INCLUDE_TESTS=OFF -DCMAKE_CXX_FLAGS="-w -iquote $SRC/llvm/include -I$SRC/llvm/include" -DCMAKE_SHARED_LINKER_FLAGS="$BUILD/OffloadMetadata.o"
  fi
  # What libLLVM would have with the patches before this one.
  cxx -fPIC -I"$SRC/llvm/include" -isystem "$INCLUDE" -c "$SRC/$object/OffloadMetadata.cpp" -o "$BUILD/OffloadMetadata.o"
  nice -n 10 ninja -C "$BUILD/offload" -j "$JOBS" LLVMOffload || status=1
  cp -p "$BUILD/JIT.cpp" "$jit"
  cp -p "$BUILD/OffloadImpl.cpp" "$api"
  return $status
}
build_offload_test() {
  local tests=$SRC/offload/unittests/OffloadAPI library
  build_liboffload
  for name in foo bar; do
    c++ -shared -fPIC -DKERNEL=$name "$tests/device_code/host.cpp" -o "$BUILD/$name.host.bin"
  done
  library=$(dirname "$(find "$BUILD/offload" -name 'libLLVMOffload.so' | head -1)")
  gtest "$BUILD/offloadBinary" "$tests/program/offloadBinary.cpp" "$tests/common/Environment.cpp" -- \
    -w -DDEVICE_CODE_PATH="\"$BUILD\"" -I"$tests/common" -I"$BUILD/offload/offload/liboffload/API" -I"$SRC/offload/liboffload/include" \
    -L"$library" -Wl,-rpath,"$library" -lLLVMOffload
}

only_0005() { [ "$BASE" = 24 ]; }
build_0005() {
  rm -rf "$BUILD/first-wins"
  build_offload_test
}
test_0005() { "$BUILD/offloadBinary" --gtest_brief=1; }

only_0006() { [ "$BASE" = 24 ]; }
build_0006() {
  local plugins=$SRC/offload/plugins-nextgen library=$BUILD/offload/lib
  # The library of the patch before is kept, to price what first-wins costs.
  [ -d "$BUILD/first-wins" ] || { mkdir "$BUILD/first-wins" && find "$BUILD/offload" -name 'libLLVMOffload.so*' -exec cp -P {} "$BUILD/first-wins" \;; }
  build_offload_test
  # Plugins that are not built here must compile.
  for plugin in cuda:dynamic_cuda amdgpu:dynamic_hsa; do
    cxx -w -fsyntax-only -DTARGET_NAME=x -DDEBUG_PREFIX='"x"' -DOMPTARGET_DEBUG=0 -DOFFLOAD_MIN_CUDA_VERSION=11000 -I"$plugins/common/include" -I"$plugins/${plugin%:*}/${plugin#*:}" \
      -I"$plugins/${plugin%:*}/utils" -I"$SRC/offload/include" -I"$SRC/libc" -I"$BUILD/offload/offload/plugins-nextgen/common/include" -I"$BUILD/offload/offload/include" \
      -I"$BUILD/offload/offload/liboffload/API" -I"$BUILD/offload/openmp/runtime/src" -I"$SRC/llvm/include" -isystem "$INCLUDE" "$plugins/${plugin%:*}/src/rtl.cpp"
  done
  for cpu in x86-64 x86-64-v4; do
    gcc -O3 -ffast-math -march=$cpu -shared -fPIC "$upstream/$series/matmul.c" -o "$BUILD/matmul-$cpu.so"
  done
  "$LLVM/bin/llvm-offload-binary" -o "$BUILD/matmul.bin" --image=file="$BUILD/matmul-x86-64.so",triple=x86_64-unknown-linux-gnu,arch=x86-64 \
    --image=file="$BUILD/matmul-x86-64-v4.so",triple=x86_64-unknown-linux-gnu,arch=x86-64-v4,requires_features=avx512f+avx512vl+avx512bw+avx512dq,variant_priority=10
  library=$(dirname "$(find "$BUILD/offload" -name 'libLLVMOffload.so' | head -1)")
  cxx -w -I"$BUILD/offload/offload/liboffload/API" -I"$SRC/offload/liboffload/include" "$upstream/$series/price.cpp" -L"$library" -lLLVMOffload -o "$BUILD/price"
}
test_0006() {
  local library
  library=$(dirname "$(find "$BUILD/offload" -name 'libLLVMOffload.so' | head -1)")
  "$BUILD/offloadBinary" --gtest_brief=1
  {
    set -o pipefail
    echo "first image that fits: $(LD_LIBRARY_PATH=$BUILD/first-wins "$BUILD/price" "$BUILD/matmul.bin")"
    echo "best image:            $(LD_LIBRARY_PATH=$library "$BUILD/price" "$BUILD/matmul.bin")"
  } | tee "$BUILD/price.txt"
}

# 23's linker wrapper does not fit 24's option tables, and the target parsers of patch 0002 are not in 23: of its functions those that the
# wrapper calls are built with it.
only_0007() { [ "$BASE" = 23 ]; }
build_0007() {
  local tool=$SRC/clang/tools/clang-linker-wrapper out=$BUILD/linker-wrapper
  mkdir -p "$out/clang/Basic"
  "$LLVM/bin/llvm-tblgen" -gen-opt-parser-defs -I "$INCLUDE" "$tool/LinkerWrapperOpts.td" -o "$out/LinkerWrapperOpts.inc"
  printf '%s\n' '#define CLANG_VERSION 23.1.4' '#define CLANG_VERSION_STRING "23.1.4"' '#define CLANG_VERSION_MAJOR 23' '#define CLANG_VERSION_MAJOR_STRING "23"' \
    '#define CLANG_VERSION_MINOR 1' '#define CLANG_VERSION_PATCHLEVEL 4' >"$out/clang/Basic/Version.inc"
  {
    echo '#include "llvm/Object/OffloadBinary.h"'
    echo '#include "llvm/Object/OffloadMetadata.h"'
    echo 'using namespace llvm;'
    echo 'using namespace llvm::object;'
    sed -n '/^SmallVector.*getRequiredFeatures/,/^}/p; /^uint32_t object::getVariantPriority/,/^}/p' "$SRC/$object/OffloadMetadata.cpp"
  } >"$out/metadata.cpp"
  cxx -w -I"$out" -I"$SRC/clang/include" -I"$SRC/llvm/include" -isystem "$INCLUDE" "$tool/ClangLinkerWrapper.cpp" "$out/metadata.cpp" \
    -L"$LLVM/lib" -l:libclang-cpp.so.23.1 -lLLVM-$BASE -o "$BUILD/bin/clang-linker-wrapper"
}
test_0007() { lit "$SRC"/clang/test/OffloadTools/clang-linker-wrapper/linker-wrapper{-metadata,-verbose}.c; }

only_0008() { only_0007; }
build_0008() { build_0007; }
test_0008() { test_0007; }
