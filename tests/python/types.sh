#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# types.sh SOURCE PACKAGE: mypy reads the package, and a program that uses it; stubtest compares the stubs with the module that
# package.sh installed in PACKAGE.
set -eu
source=$1 package=$2
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import mypy' 2>/dev/null || {
  echo "skipped: mypy not found (Debian: mypy)"
  exit 77
}
[ -x "$package/venv/bin/python" ] || {
  echo "skipped: python.package has installed nothing"
  exit 77
}
unset PYTHONPATH
export MYPY_CACHE_DIR="$package/mypy"
cd "$source/python"
"$python" -m mypy --config-file pyproject.toml
MYPYPATH=. "$python" -m mypy --strict tests/typed.py
cd "$package"
exec "$package/venv/bin/python" -m mypy.stubtest --concise kdl._kdl
