#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions from nothing to a queue on a device, counted by callgrind on the fake drivers: those of
# libkdl, and of the C library for it, without what the driver and the dynamic loader do.
set -eu
usage='usage: cold.sh build/bin/bench_cold build/fakes/whole'
# shellcheck source=bench/instructions/callgrind.sh
. "$(dirname "$0")/callgrind.sh"

# row SPEC LIMIT_FIND LIMIT_QUEUE
row() {
  devices=$1
  backend=${devices%%:*}
  shift
  for step in step_find step_queue; do
    collect "$step" "$program" "$backend"
    hold %-22s "$backend ${step#step_}" "$(own)" "$1"
    shift
  done
}

echo 'instructions to find the device, and to make the first queue'
row 'cuda:sm_90 driver=13.0 memory=1GiB' 15700 14100
row 'hip:gfx942 driver=6.4.1 memory=1GiB' 72500 10100
row 'level_zero:bmg memory=1GiB' 69000 11800
row 'opencl:spirv64 platform=x memory=1GiB' 86800 18700
exit "$failed"
