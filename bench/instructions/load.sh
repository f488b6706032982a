#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of each step from bytes to a kernel and back, counted by callgrind on the fake CUDA
# driver: those of libkdl and of the C library for it, without what the driver does.
set -eu
usage='usage: load.sh build/bin/bench_load build/fakes/whole'
devices='cuda:sm_90 driver=13.0 memory=1GiB'
# shellcheck source=bench/instructions/callgrind.sh
. "$(dirname "$0")/callgrind.sh"
bundle=$(dirname "$0")/../images/nothing.offload
count=101

# row STEP LIMIT WORDS [FILE KERNEL]
row() {
  step=$1 most=$2 words=$3
  shift 3
  collect "$step" "$program" "$count" "$@"
  hold %-46s "$words" $(($(own) / count)) "$most"
}

# Some 60 of each but kdl_open_memory keep the thread from being cancelled meanwhile.
# The first load of a process reads what /etc/kdl and KDL_TRUST say of signatures: some 50 of kdl_prefetch's are its share.
echo 'instructions, of a library with one image'
row step_open 1150 kdl_open_memory
row step_select 2780 kdl_sym
row step_load 3300 kdl_prefetch
row step_close 940 kdl_close
echo 'instructions, of a library with 11 images'
row step_open 4750 kdl_open_memory "$bundle" nothing
row step_select 4900 kdl_sym "$bundle" nothing
row step_load 3540 kdl_prefetch "$bundle" nothing
row step_close 1020 kdl_close "$bundle" nothing
exit "$failed"
