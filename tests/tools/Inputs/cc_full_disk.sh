#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cc_full_disk.sh SOURCE BYTES: compiles it with a TMPDIR of 16 KB, so many of which are taken. Without the right to
# mount one, there is nothing to test.
unshare --map-root-user --mount true 2> /dev/null || { echo "cannot mount here"; exit 0; }
# shellcheck disable=SC2016
exec unshare --map-root-user --mount sh -ec '
  mkdir -p disk && mount -t tmpfs -o size=16k tmpfs disk
  head -c "$2" /dev/zero > disk/fill 2> /dev/null || true
  if TMPDIR=$PWD/disk kdl cc "$1" --targets=x86-64 -o full.offload 2> error; then
    echo "found no error, expected a full disk"
    exit 1
  fi
  cat error
  grep -q "No space left" error
' sh "$1" "$2"
