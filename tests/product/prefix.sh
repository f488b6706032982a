#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# prefix.sh BUILD PREFIX: installs into PREFIX, made anew, for the tests that are of what users have. Every program and
# library there finds the libraries that it needs, without a word in the environment.
set -euo pipefail
build=$1 prefix=$2
unset LD_LIBRARY_PATH
rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix" >/dev/null

missing=$(find "$prefix" -type f \( -perm -u+x -o -name '*.so*' \) | while IFS= read -r file; do
  [ "$(head -c 4 "$file" | tr -d '\0')" = $'\x7fELF' ] || continue
  ldd "$file" | sed -n "s,^[[:space:]]*\(.*\) => not found.*,${file#"$prefix"/}: \1 is not found,p"
done)
[ -z "$missing" ] || {
  echo "$missing" >&2
  exit 1
}
echo "install: $(find "$prefix" -type f | wc -l) files in $prefix"
