#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu_sanitize.sh GPU_MATMUL_TEST LIBRARY.offload [TYPE...]: the matrix multiplication on a GPU under compute-sanitizer, with each of
# its tools that looks at kernels. LIBRARY is linked already, for racecheck with all lanes arriving at barriers, and traps where it would wait for ever:
#     kdl link kdl-matmul.offload --for=h200 --const=gpu_every_lane_arrives=1 --const=gpu_wait_limit=20000000 -o LIBRARY
# SECONDS_EACH limits a run; --few is what it checks.
test=$1 library=$2
shift 2
tool=${COMPUTE_SANITIZER:-compute-sanitizer}
limit=${SECONDS_EACH:-120}
command -v "$tool" >/dev/null || { echo "no compute-sanitizer"; exit 77; }
status=0
for type in "${@:-f32_bf16}"; do
  for check in memcheck racecheck synccheck; do
    text=$(timeout "$limit" "$tool" --tool="$check" --error-exitcode=9 "$test" "$library" "$type" --few 2>&1)
    code=$?
    [ $code = 0 ] || status=1
    echo "$check $type: status $code, $(grep -c '^ok' <<<"$text") ok; $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' <<<"$text" | tail -1)"
    [ $code = 0 ] || grep -vE '^ok' <<<"$text" | head -30
  done
done
exit $status
