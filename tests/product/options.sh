#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# options.sh SOURCE KDL: every option that a command's --help lists is in the man page and in both
# completions, and these list no option that no command has.
set -euo pipefail
source=$1 kdl=$2
status=0

options_in() { grep -oE -e '(^|[^a-z0-9-])--[a-z][a-z0-9-]*' | grep -oE -e '--.*' | sort -u; }

real=$(for command in $("$kdl" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  [ "$command" = help ] || "$kdl" "$command" --help | sed -n '/^options:/,/^$/s/^ *\(-.*\)  .*/\1/p'
done | options_in)
real=$(printf '%s\n--help\n--version\n' "$real" | sort -u)

compare() {
  local difference
  difference=$(diff <(echo "$real") -) && return
  echo "options: $1 has (>) what kdl has not (<), or the other way round:" >&2
  grep '^[<>]' <<<"$difference" >&2
  status=1
}

# In the page's source a dash of an option is written \- or, as a flag, left to the macro.
compare "the man page" < <(sed 's/\\-/-/g; s/Fl -/--/g' "$source/docs/man/kdl.1" | options_in)
compare "completions/kdl.bash" < <(options_in <"$source/completions/kdl.bash")
compare "completions/_kdl" < <(options_in <"$source/completions/_kdl")
[ $status = 0 ] && echo "options: $(wc -l <<<"$real") options, the same everywhere"
exit $status
