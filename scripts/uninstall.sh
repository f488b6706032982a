#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# uninstall.sh PREFIX: removes the files that `make install` put into PREFIX, below DESTDIR if set, which
# share/doc/libkdl/installed.txt there lists, and folders of libkdl's own that are then empty. All else stays.
set -euo pipefail
[ $# = 1 ] || {
  echo "usage: uninstall.sh PREFIX" >&2
  exit 2
}
prefix=${DESTDIR:-}$1
list=share/doc/libkdl/installed.txt
[ -r "$prefix/$list" ] || {
  echo "uninstall: no libkdl is installed in $prefix: $prefix/$list not found" >&2
  exit 1
}
mapfile -t files <"$prefix/$list"
cd "$prefix"
folders=()
for file in "${files[@]}"; do
  case /$file/ in
    // | //* | */../*) continue ;; # not a name from the prefix
  esac
  rm -f -- "$file"
  folder=$(dirname "$file")
  while [[ /$folder/ =~ /(lib)?kdl/ ]]; do
    folders+=("$folder")
    folder=$(dirname "$folder")
  done
done
if [ ${#folders[@]} -gt 0 ]; then
  printf '%s\n' "${folders[@]}" | sort -ru | while IFS= read -r folder; do
    rmdir --ignore-fail-on-non-empty -- "$folder"
  done
fi
echo "uninstall: ${#files[@]} files removed from $prefix"
