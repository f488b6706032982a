#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# torch.sh FOLDER: an environment of Python's in FOLDER with PyTorch, Triton, NumPy and pytest, for the test python.torch, which is
# skipped where build/torch is none. They come from the Python package index (several GB), and nothing outside FOLDER is touched.
set -euo pipefail
[ $# = 1 ] || {
  echo "usage: torch.sh FOLDER" >&2
  exit 2
}
rm -rf "$1.new"
"${PYTHON:-python3}" -m venv "$1.new"
"$1.new/bin/python" -m pip install --quiet --disable-pip-version-check 'torch>=2.4' numpy pytest
rm -rf "$1"
mv "$1.new" "$1"
