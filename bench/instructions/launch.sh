#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of one launch on a driver that does nothing, beyond those of a direct call of the
# driver's function pointer.
set -eu
usage='usage: launch.sh build/bin/bench_launch'
# shellcheck source=bench/instructions/callgrind.sh
. "$(dirname "$0")/callgrind.sh"

# launches CASE FUNCTION
launches() {
  instructions 10000 "$2" "$program" --count 10000 "$1"
}

direct=$(launches direct launch_direct)
launch=$(launches launch launch_kdl)
default=$(launches default launch_default_queue)
anew=$(launches anew launch_anew)
call=$(launches call launch_call)
items=$(launches items launch_items)
when=$(launches when launch_when)
shaped=$(launches shaped launch_shaped)
adaptive=$(launches adaptive launch_adaptive)
special=$(launches special launch_special)
observed=$(launches observed launch_observed)
echo "instructions of one launch: direct $direct, with its descriptor made anew $anew, kdl_launch_call $call,"
echo "  kdl_launch_items $items; beyond direct:"
hold %-22s kdl_launch $((launch - direct)) 32
hold %-22s 'with the default queue' $((default - direct)) 32
hold %-22s 'a condition' $((when - items)) 290
hold %-22s 'a decided class' $((adaptive - shaped)) 360
hold %-22s 'values with an image' $((special - shaped)) 130
hold %-22s 'observed values' $((observed - shaped)) 250
exit "$failed"
