# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the scripts that source it
# The priority of offload images, and liboffload as its reader.

unit=llvm/unittests/Object

build_0001() { gtest "$BUILD/OffloadingTest" "$SRC/$unit/OffloadingTest.cpp"; }
test_0001() { "$BUILD/OffloadingTest"; }

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
      -DLLVM_INCLUDE_TESTS=OFF -DCMAKE_CXX_FLAGS="-w -iquote $SRC/llvm/include -I$SRC/llvm/include"
  fi
  nice -n 10 ninja -C "$BUILD/offload" -j "$JOBS" LLVMOffload || status=1
  cp -p "$BUILD/JIT.cpp" "$jit"
  cp -p "$BUILD/OffloadImpl.cpp" "$api"
  return $status
}
build_offload_test() {
  local tests=$SRC/offload/unittests/OffloadAPI library
  build_liboffload
  # Main's olCreateProgram has a context (#218387); that of 23.1.1's sources has none.
  sed '/ol\(Create\|Destroy\)Context\|ol_context_handle_t\|if (Context)/d; s/olCreateProgram(Context, /olCreateProgram(/' "$tests/program/offloadBinary.cpp" >"$BUILD/offloadBinary.cpp"
  for name in foo bar; do
    c++ -shared -fPIC -DKERNEL=$name "$tests/device_code/host.cpp" -o "$BUILD/$name.host.bin"
  done
  library=$(dirname "$(find "$BUILD/offload" -name 'libLLVMOffload.so' | head -1)")
  gtest "$BUILD/offloadBinary" "$BUILD/offloadBinary.cpp" "$tests/common/Environment.cpp" -- \
    -w -DDEVICE_CODE_PATH="\"$BUILD\"" -I"$tests/program" -I"$tests/common" -I"$BUILD/offload/offload/liboffload/API" -I"$SRC/offload/liboffload/include" \
    -L"$library" -Wl,-rpath,"$library" -lLLVMOffload
  # The test as it is, with main's header and library.
  mkdir -p "$BUILD/main/program" "$BUILD/main/common"
  cp "$tests/program/offloadBinary.cpp" "$BUILD/main/program"
  cp "$upstream/$series/Fixtures.hpp" "$BUILD/main/common"
  gtest "$BUILD/offloadBinary-main" "$BUILD/main/program/offloadBinary.cpp" -- \
    -w -DDEVICE_CODE_PATH="\"$BUILD\"" -I"$BUILD/main/program" -I"$INCLUDE/offload" -L"$LLVM/lib" -Wl,-rpath,"$LLVM/lib" -lLLVMOffload
}

only_0002() { [ "$BASE" = 24 ]; }
build_0002() {
  rm -rf "$BUILD/first-wins"
  build_offload_test
}
test_0002() { "$BUILD/offloadBinary" --gtest_brief=1; }
main_0002() { "$BUILD/offloadBinary-main"; }

only_0003() { [ "$BASE" = 24 ]; }
build_0003() {
  local library
  # The library of the patch before is kept, to price what first-wins costs.
  [ -d "$BUILD/first-wins" ] || { mkdir "$BUILD/first-wins" && find "$BUILD/offload" -name 'libLLVMOffload.so*' -exec cp -P {} "$BUILD/first-wins" \;; }
  build_offload_test
  for cpu in x86-64 x86-64-v4; do
    gcc -O3 -ffast-math -march=$cpu -shared -fPIC "$upstream/$series/matmul.c" -o "$BUILD/matmul-$cpu.so"
  done
  "$LLVM/bin/llvm-offload-binary" -o "$BUILD/matmul.bin" --image=file="$BUILD/matmul-x86-64.so",triple=x86_64-unknown-linux-gnu,arch=x86-64 \
    --image=file="$BUILD/matmul-x86-64-v4.so",triple=x86_64-unknown-linux-gnu,arch=x86-64-v4,variant_priority=10
  library=$(dirname "$(find "$BUILD/offload" -name 'libLLVMOffload.so' | head -1)")
  cxx -w -I"$BUILD/offload/offload/liboffload/API" -I"$SRC/offload/liboffload/include" "$upstream/$series/price.cpp" -L"$library" -lLLVMOffload -o "$BUILD/price"
}
test_0003() {
  local library
  library=$(dirname "$(find "$BUILD/offload" -name 'libLLVMOffload.so' | head -1)")
  "$BUILD/offloadBinary" --gtest_brief=1
  # A priority does not keep a host from loading what it cannot run.
  grep -q avx512vl /proc/cpuinfo || return 0
  {
    set -o pipefail
    date -u '+%Y-%m-%d, %H:%M UTC'
    sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1
    for run in 1 2 3; do
      echo "load $(cut -d' ' -f1 /proc/loadavg)"
      echo "run $run, first, matmul.bin: $(LD_LIBRARY_PATH=$BUILD/first-wins "$BUILD/price" "$BUILD/matmul.bin")"
      echo "run $run, best, matmul.bin: $(LD_LIBRARY_PATH=$library "$BUILD/price" "$BUILD/matmul.bin")"
    done
  } | tee "$BUILD/price.txt"
}
