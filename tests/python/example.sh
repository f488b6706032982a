#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# example.sh PACKAGE SCRIPT: runs an example with the package that package.sh installed in PACKAGE.
set -eu
[ -x "$1/venv/bin/python" ] || {
  echo "skipped: python.package has installed nothing"
  exit 77
}
unset PYTHONPATH
exec "$1/venv/bin/python" -B "$2"
