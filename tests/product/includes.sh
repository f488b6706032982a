#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# includes.sh INCLUDES_PY FOLDER: what `pip install ./python` builds in the tree is not part of it; what is beside it is.
set -eu
check=$1 tree=$2
rm -rf "$tree" && mkdir -p "$tree/python/build/kdl" "$tree/python/csrc"
printf '#ifndef OTHER_H\n#define OTHER_H\n#endif\n' > "$tree/python/build/kdl/kdl.h"
python3 "$check" --check --root "$tree"
cp "$tree/python/build/kdl/kdl.h" "$tree/python/csrc/kdl.h"
if python3 "$check" --check --root "$tree" 2> "$tree/errors"; then
  echo "includes: found no fault with python/csrc/kdl.h" >&2
  exit 1
fi
grep -q 'python/csrc/kdl.h: found the guard OTHER_H' "$tree/errors"
