#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# man.sh PAGE: the man page renders without a warning.
set -euo pipefail
command -v groff >/dev/null || {
  echo "skipped: groff not found (Debian: groff-base)"
  exit 77
}
warnings=$(groff -mandoc -Tutf8 -ww -rLL=80n "$1" 2>&1 >/dev/null)
[ -z "$warnings" ] || {
  echo "man: groff warns: $warnings" >&2
  exit 1
}
echo "man: $(groff -mandoc -Tascii "$1" | wc -l) lines, no warnings"
