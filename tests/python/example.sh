#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# example.sh PACKAGE ARGUMENT...: runs Python with the package that package.sh installed in PACKAGE, as for an example.
set -eu
[ -x "$1/venv/bin/python" ] || {
  echo "skipped: python.package has installed nothing"
  exit 77
}
unset PYTHONPATH
python=$1/venv/bin/python
shift
exec "$python" -B "$@"
