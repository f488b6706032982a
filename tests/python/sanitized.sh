#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sanitized.sh SOURCE BUILD WORK COMPILER: the package's tests with the extension and the library under ASan and UBSan, whose runtime
# is loaded into Python before all else. BUILD is sanitized.
set -eu
source=$1 build=$2 work=$3 compiler=$4
python=${PYTHON:-/usr/bin/python3}
for module in numpy pytest; do
  "$python" -c "import $module" 2>/dev/null || {
    echo "skipped: Python's $module not found (Debian: python3-$module)"
    exit 77
  }
done
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -e "$include/Python.h" ] || {
  echo "skipped: Python.h not found (Debian: python3-dev)"
  exit 77
}
runtime=$("$compiler" -print-file-name="libclang_rt.asan-$(uname -m).so")
[ -e "$runtime" ] || {
  echo "skipped: $compiler has no shared runtime of ASan's (Debian: libclang-rt-22-dev)"
  exit 77
}
rm -rf "$work"
mkdir -p "$work/kdl"
cp "$source"/python/kdl/*.py* "$work/kdl"
"$compiler" -std=c17 -O1 -g -fPIC -shared -fsanitize=address,undefined -fno-sanitize-recover=undefined -shared-libasan \
  -fvisibility=hidden -I"$source/include" -I"$include" "$source"/python/csrc/*.c "$build/lib/libkdl_matmul.a" "$build/lib/libkdl.a" -lm -ldl -lpthread \
  -Wl,--exclude-libs,ALL -o "$work/kdl/_kdl.abi3.so"
# The matrix multiplication as the plain build's wheel has it, where that is built.
for library in "${build%/asan}"/tests/python/package/venv/lib/python*/site-packages/kdl/lib; do
  [ ! -d "$library" ] || cp -r "$library" "$work/kdl"
done

# The command is sanitized by itself, and cannot have the runtime twice: it compiles before, and what runs it is left out.
cd "$work"
"$python" -B -c 'import os, runpy, sys
sys.modules["kdl"] = sys
open("kernels.c", "w").write(runpy.run_path(os.path.join(sys.argv[1], "python/tests/conftest.py"))["SOURCE"])' "$source"
"$build/bin/kdl" cc kernels.c -I"$source/include" --targets=native,sm_80,sm_90 -o kernels.offload
"$build/bin/kdl" cc kernels.c -I"$source/include" --targets=native,sm_90,gfx942 -o gpu.offload
export KDL_TEST_KERNELS="$work/kernels.offload" KDL_TEST_GPU_KERNELS="$work/gpu.offload" KDL_PYTHON_LAUNCHES=5000
export PYTHONPATH="$work" PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 UBSAN_OPTIONS=print_stacktrace=1
run() {
  LD_PRELOAD=$runtime "$python" -B -m pytest -q -p no:cacheprovider "$@"
}
run "$source/python/tests" --ignore "$source/python/tests/test_fakes.py" --ignore "$source/python/tests/test_manual.py" --ignore "$source/python/tests/test_reports.py" --ignore "$source/python/tests/test_page.py" \
  -k 'not command and not take_no_memory and not torch and not the_image_s_own'
LD_LIBRARY_PATH=$build/fakes/whole${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
KDL_FAKE_DEVICES='cuda:sm_90 name="NVIDIA H200" memory=141GB; cuda:sm_90; hip:gfx942:sramecc+:xnack- driver=6.4.43482 memory=192GB' \
  run "$source/python/tests/test_fakes.py" "$source/python/tests/test_sequence.py"
