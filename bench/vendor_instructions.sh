#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of one launch through the HIP and Level Zero backends beyond those of a direct call of
# the driver's function, counted by callgrind on the fake drivers.
set -eu
program=${1:?usage: vendor_instructions.sh build/bin/bench_vendor_launch build/fakes/whole}
fakes=${2:?usage: vendor_instructions.sh build/bin/bench_vendor_launch build/fakes/whole}
command -v valgrind >/dev/null || { echo 'skipped: valgrind not found'; exit 77; }
out=$(mktemp)
trap 'rm -f "$out"' EXIT
count=1000
export LD_LIBRARY_PATH="$fakes"
export KDL_FAKE_DEVICES='hip:gfx90a:sramecc+:xnack- driver=6.4.1; level_zero:ip=20.1.4 il=1.4'

# instructions BACKEND CASE: of one run of it
instructions() {
  valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect="$2" "$program" "$1" \
    "$count" "$2" >/dev/null 2>&1
  echo $(($(sed -n 's/^summary: *\([0-9]*\).*/\1/p' "$out") / count))
}

hip=$(instructions hip hip_direct)
hip_launch=$(instructions hip hip_launch)
ze=$(instructions level_zero ze_direct)
ze_launch=$(instructions level_zero launch_empty)
append=$(instructions level_zero ze_append_saxpy)
same=$(instructions level_zero launch_saxpy)
naive=$(instructions level_zero ze_direct_saxpy)
changed=$(instructions level_zero launch_changed)
[ "$hip" -gt 0 ] && [ "$ze" -gt 0 ] || { echo 'found no instructions, expected some'; exit 1; }
echo "instructions of one launch beyond a direct call of the driver's function:"
echo "  HIP, kdl_launch                                       $((hip_launch - hip))"
echo "  Level Zero, kdl_launch, no arguments                  $((ze_launch - ze))"
echo "  Level Zero, four arguments as they were               $((same - append))"
echo "  Level Zero, one of four changed, its setting included $((changed - append))"
echo "  Level Zero, group size and four arguments set by hand $((naive - append))"
# Level Zero leaves the locking to its callers, which is eight of these.
[ $((hip_launch - hip)) -le 33 ] && [ $((ze_launch - ze)) -le 40 ] || { echo 'expected at most 33 and 40'; exit 1; }
