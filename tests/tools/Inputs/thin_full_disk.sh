#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# thin_full_disk.sh LIB: thins it in place on a file system of 3 MB, half of which is taken. Without the right to make
# one, there is nothing to test.
lib=$1
unshare --map-root-user --mount true 2> /dev/null || { echo "cannot mount here"; exit 0; }
# shellcheck disable=SC2016
exec unshare --map-root-user --mount sh -ec '
  mkdir -p disk && mount -t tmpfs -o size=3m tmpfs disk
  cp "$1" disk/lib.so
  dd if=/dev/zero of=disk/fill bs=1k count=700 2> /dev/null
  if kdl thin disk/lib.so --for=h200 --in-place 2> error; then
    echo "found no error, expected a full disk"
    exit 1
  fi
  grep -q "No space left" error
  cmp "$1" disk/lib.so
  test "$(ls disk | tr "\n" " ")" = "fill lib.so "
' sh "$lib"
