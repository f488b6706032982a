#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mlir_passes.sh PASSES.td PAGE: every pass has a row in the table of the page.
set -eu
status=0
for pass in $(sed -n 's/^def .* : Pass<"\([^"]*\)".*/\1/p' "$1"); do
  grep -q "^| [^|]*\`$pass\`[^|]* |" "$2" && continue
  echo "mlir_passes: found no row of $pass in $2" >&2
  status=1
done
[ "${pass:-}" ] || { echo "mlir_passes: found no pass in $1" >&2; exit 1; }
exit $status
