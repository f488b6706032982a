# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=sh disable=SC2034
# What the scripts share that count instructions by callgrind: the same on every run of the same program. They are given
# the program, and the folder of the drivers it uses.
program=${1:?$usage}
fakes=${2:-}
unset KDL_CPU # valgrind's CPU is a lesser one
command -v valgrind >/dev/null || { echo 'skipped: valgrind not found'; exit 77; }
out=$(mktemp)
trap 'rm -f "$out" "$out".*' EXIT
failed=0

# collect FUNCTION COMMAND...: counts what happens in it, into $out. Few variables are in the environment, since
# each question walks them all. OpenCL's loader finds no platform: what they bring takes longer to start than all else.
collect() {
  function=$1
  shift
  env -i PATH="$PATH" LD_LIBRARY_PATH="$fakes" KDL_FAKE_DEVICES="${devices:-}" \
    OCL_ICD_VENDORS=/nonexistent KDL_LLVM_SPIRV=none LD_BIND_NOW=1 \
    valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect="$function" "$@" >/dev/null 2>&1
  [ "$(total)" -gt 0 ] || { echo "$function: found no instructions, expected some" >&2; exit 1; }
}

total() {
  sed -n 's/^summary: *\([0-9]*\).*/\1/p' "$out"
}

# instructions COUNT FUNCTION COMMAND...: of one of COUNT calls
instructions() {
  count=$1
  shift
  collect "$@"
  echo $(($(total) / count))
}

# own: what was counted in all, less what the calls of the drivers' functions took, and of the dynamic loader's, whose
# cost depends on the paths of a machine. Callgrind names a function once, "cfn=(12) cuInit", and has the cost of a call in
# the line after "calls=".
own() {
  awk '/^summary:/ { total = $2 }
       /^c?fn=/ { split($1, id, "="); if (NF > 1) name[id[2]] = $2 }
       /^cfn=/ { called = name[id[2]] }
       is_call && called ~ /^((cu|hip|ze|cl)[A-Z]|dl(m?open|sym)(@|$))/ { driver += $2 }
       { is_call = /^calls=/ }
       END { print total - driver }' "$out"
}

# limit N: with what compilers other than gcc 12 may spend more
limit() {
  echo $(($1 + $1 * ${KDL_LIMIT_SLACK:-0} / 100))
}

# hold FORMAT WORDS FOUND MOST: prints a row, and remembers where more was found
hold() {
  most=$(limit "$4")
  # shellcheck disable=SC2059
  printf "  $1 %6d   at most %d\n" "$2" "$3" "$most"
  [ "$3" -le "$most" ] || failed=1
}
