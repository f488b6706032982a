#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# wheel.sh [FOLDER]: the Python package libkdl as a wheel and a source distribution in FOLDER, by default build/dist. Where Python
# has no setuptools that makes wheels, it is fetched from the Python package index for this once (1 MB); nothing else is
# downloaded, and nothing is installed. One wheel serves Python 3.9 and later. Without KDL_BUILD, which names a build folder to take the library and the command
# from, libkdl is built for it. With GLIBC=2.28 in the environment it is built by Zig's C compiler for that version of glibc and
# later (python3 -m ziglang: `pip install ziglang`), and named manylinux accordingly. The matrix multiplication is linked by the kdl-ld
# of KDL_LINKER, KDL_BUILD or build/, and left out where that is not built; likewise the math functions of kdl cc. python/setup.py has
# the other variables.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
output=${1:-$source/build/dist}
python=${PYTHON:-python3}
die() {
  printf 'wheel: %s\n' "$*" >&2
  exit 1
}
command -v "$python" >/dev/null || die "$python not found (Debian: python3)"
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -e "$headers/Python.h" ] || die "$headers/Python.h not found (Debian: python3-dev)"
[ -n "${KDL_BUILD:-}" ] || command -v cmake >/dev/null || die "cmake not found (Debian: cmake, ninja-build)"
mkdir -p "$output"
output=$(cd "$output" && pwd)
staging=$(mktemp -d "$output/.staging.XXXXXX")
trap 'rm -rf "$staging"' EXIT

makes_wheels() {
  "$python" -c 'import setuptools
try: import setuptools.command.bdist_wheel
except ImportError: import wheel.bdist_wheel' 2>/dev/null
}
if ! makes_wheels; then
  export PYTHONPATH=$staging/tools${PYTHONPATH:+:$PYTHONPATH}
  { "$python" -m pip install --quiet --disable-pip-version-check --retries 1 --target "$staging/tools" 'setuptools>=70.1' >"$staging/log" 2>&1 &&
    makes_wheels; } || die "$python has neither setuptools with wheel nor a pip that fetches them: $python -m pip install setuptools wheel (Debian: python3-setuptools, python3-wheel)"
fi

# The source distribution has libkdl's sources below the package's own.
cp -r "$source"/python/{csrc,kdl,pyproject.toml,setup.py,MANIFEST.in,README.md} "$staging"
cp "$source/LICENSE" "$staging"
mkdir -p "$staging/libkdl/bench"
cp -r "$source"/{include,support,lib,ext,ld,compiler,pack,cc,matmul,tools,cmake,mlir,CMakeLists.txt,LICENSE} "$staging/libkdl"
cp -r "$source"/bench/{measure,peers,suites,tool} "$staging/libkdl/bench"
find "$staging" -name __pycache__ -prune -exec rm -rf {} + -o -name '*.so' -exec rm -f {} +

export KDL_LINKER=${KDL_LINKER:-${KDL_BUILD:-$source/build}}
platform=()
if [ -n "${GLIBC:-}" ]; then
  machine=$(uname -m)
  # Zig looks into no folder of the system's. Debian has a part of Python's headers in one for the machine, which has glibc's too.
  mkdir -p "$staging/headers/$machine-linux-gnu"
  ln -s "/usr/include/$machine-linux-gnu/${headers##*/}" "$staging/headers/$machine-linux-gnu/${headers##*/}"
  printf '#!/bin/sh\nexec "%s" -m ziglang cc -target %s-linux-gnu.%s -isystem "%s" "$@"\n' "$(command -v "$python")" "$machine" "$GLIBC" \
    "$staging/headers" >"$staging/cc"
  chmod +x "$staging/cc"
  export CC=$staging/cc LDSHARED="$staging/cc -shared"
  unset KDL_BUILD
  platform=(--plat-name "manylinux_${GLIBC/./_}_$machine")
fi
cd "$staging"
"$python" setup.py --quiet sdist --dist-dir "$output" bdist_wheel --dist-dir "$output" "${platform[@]}" >"$staging/log" 2>&1 || {
  cat "$staging/log" >&2
  exit 1
}
grep ' left out of the wheel: ' "$staging/log" || true
ls "$output"/*.whl "$output"/*.tar.gz
