#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of one launch through the HIP, Level Zero and OpenCL backends beyond those of direct
# calls of the driver's functions, counted by callgrind, on drivers that do nothing. Arguments of
# Level Zero and OpenCL are given one by one, before the launch; libkdl compares each with what was
# given last, and gives those that differ.
set -eu
usage='usage: vendor.sh build/bin/bench_vendor_launch build/bench/null'
# shellcheck source=bench/instructions/callgrind.sh
. "$(dirname "$0")/callgrind.sh"

# launches BACKEND CASE [thread]: counted once
launches() {
  known=$out.$1.$2${3:+.$3}
  [ -s "$known" ] || instructions 1000 "$2" "$program" "$1" 1000 "$2" ${3:+"$3"} >"$known"
  cat "$known"
}

# row BACKEND CASE PEER LIMIT WORDS [thread]
row() {
  peer=$(launches "$1" "$3")
  hold %-66s "$5" $(($(launches "$1" "$2" ${6:+"$6"}) - peer)) "$4"
}

echo 'HIP, beyond hipModuleLaunchKernel'
row hip launch_0 hip_0 32 'no arguments'
row hip launch_1 hip_1 32 'one argument'
row hip launch_4 hip_4 32 'four arguments'
for backend in level_zero opencl; do
  if [ $backend = opencl ]; then
    direct=cl call=clSetKernelArg launch=clEnqueueNDRangeKernel more=1 # asks whose thread it is
  else
    direct=ze call=zeKernelSetArgumentValue launch=zeCommandListAppendLaunchKernel more=0
  fi
  echo "$backend, beyond $launch"
  row $backend launch_0 ${direct}_0 $((32 + more)) 'no arguments'
  row $backend launch_3 ${direct}_0 $((64 + more)) 'three arguments as they were'
  row $backend launch_8 ${direct}_0 $((99 + more)) 'eight arguments as they were'
  echo "$backend, beyond as many calls of $call and $launch"
  row $backend launch_3 ${direct}_given_3 42 'three arguments as they were, which the direct calls give again'
  row $backend launch_8 ${direct}_given_8 32 'eight arguments as they were, which the direct calls give again'
  row $backend changed_3 ${direct}_given_1 330 'a number of three arguments changed, given by one direct call'
  row $backend changed_8 ${direct}_given_1 400 'a number of eight arguments changed, likewise'
  row $backend moved_3 ${direct}_given_1 330 'memory of three arguments changed, likewise'
  row $backend moved_8 ${direct}_given_1 400 'memory of eight arguments changed, likewise'
  row $backend default_3 ${direct}_0 90 "three arguments as they were, on the device's own queue"
  row $backend items_3 ${direct}_0 280 'three arguments as they were, kdl_launch_items'
  row $backend launch_3 ${direct}_0 220 'three arguments as they were, from another thread than the first' thread
done
exit "$failed"
