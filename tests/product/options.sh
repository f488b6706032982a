#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# options.sh PAGE DESCRIBE: the generated parts of a page are those of the tables of commands and architectures.
set -euo pipefail
"$2" "$1" - | diff "$1" - >&2 || {
  echo "options: $1 differs (<) from what kdl-describe makes of it (>): 'make cli-docs' writes it again" >&2
  exit 1
}
echo "options: $1 has what the tables have"
