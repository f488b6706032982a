#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# man.sh SOURCE KDL: the man page renders without a warning and has a section for every command.
set -euo pipefail
page=$1/docs/man/kdl.1 kdl=$2

command -v groff >/dev/null || {
  echo "skipped: groff not found (Debian: groff-base)"
  exit 77
}
warnings=$(groff -mandoc -Tutf8 -ww -rLL=80n "$page" 2>&1 >/dev/null)
[ -z "$warnings" ] || {
  echo "man: groff warns: $warnings" >&2
  exit 1
}
text=$(groff -mandoc -Tascii -P-cbou "$page")
commands=$("$kdl" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$commands" ] || {
  echo "man: found no commands in kdl --help" >&2
  exit 1
}
for command in $commands; do
  grep -q "^ *kdl $command\( \|$\)" <<<"$text" || {
    echo "man: no synopsis of 'kdl $command'" >&2
    exit 1
  }
done
echo "man: $(wc -l <<<"$text") lines, no warnings"
