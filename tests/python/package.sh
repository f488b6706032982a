#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# package.sh SOURCE BUILD WORK: builds the wheel from what is built, installs it into an environment of its own, and runs its tests there.
set -eu
source=$1 build=$2 work=$3
python=${PYTHON:-/usr/bin/python3}
for module in setuptools wheel venv numpy pytest; do
  "$python" -c "import $module" 2>/dev/null || {
    echo "skipped: Python's $module not found (Debian: python3-$module)"
    exit 77
  }
done
[ -e "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] || {
  echo "skipped: Python.h not found (Debian: python3-dev)"
  exit 77
}
unset PYTHONPATH
rm -rf "$work"
mkdir -p "$work"
KDL_BUILD=$build KDL_WHEEL_CPUS=host PYTHON=$python "$source/scripts/wheel.sh" "$work/dist"
"$python" -m venv --system-site-packages "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index --no-deps "$work"/dist/*.whl
# NumPy has no bfloat16 of its own.
[ ! -d "$source/build/ml-dtypes" ] || cp -r "$source"/build/ml-dtypes/ml_dtypes* "$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')"
cd "$work"
"$work/venv/bin/kdl" --version
[ ! -x "$build/bin/kdl-mlir" ] || export KDL_TEST_MLIR="$build/bin/kdl-mlir"
for math in "$build"/lib*/kdl/math-*.bc "$build"/lib*/*/kdl/math-*.bc; do
  [ ! -e "$math" ] || export KDL_TEST_MATH=1 # what the wheel then must have
done
"$work/venv/bin/python" -B -m pytest -q -p no:cacheprovider "$source/python/tests" --ignore "$source/python/tests/test_fakes.py"

# On GPUs that the fake drivers show.
LD_LIBRARY_PATH=$build/fakes/whole${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
KDL_FAKE_DEVICES='cuda:sm_90 name="NVIDIA H200" memory=141GB; cuda:sm_90; hip:gfx942:sramecc+:xnack- driver=6.4.43482 memory=192GB' \
  exec "$work/venv/bin/python" -B -m pytest -q -p no:cacheprovider "$source/python/tests/test_fakes.py" \
    "$source/python/tests/test_sequence.py"
