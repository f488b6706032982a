#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the figures of a machine with an NVIDIA GPU are drawn from, as JSON, into a folder.
#
#     bench/run_flame.sh BUILD RESULTS [SITE_PACKAGES]
#
# BUILD/flame holds what bench/flame/make.sh made. liboffload, the CUDA runtime and MLIR's CUDA wrapper take part where the loader finds them:
# bench/run_cuda.sh and bench/flame/mlir_wrapper.sh describe how. SITE_PACKAGES is a folder for kdl check. Returns 77 where there is no driver.
set -eu
usage='usage: bench/run_flame.sh BUILD RESULTS [SITE_PACKAGES]'
build=${1:?$usage}
results=${2:?$usage}
here=$(dirname "$0")
kdl=$build/bin/kdl
images=$build/flame
mkdir -p "$results"
"$kdl" devices >"$results/machine.txt" 2>&1
grep -q ' cuda ' "$results/machine.txt" || exit 77
{
  nvidia-smi
  lscpu
  uname -a
  echo "perf: $(command -v perf || echo none), perf_event_paranoid $(cat /proc/sys/kernel/perf_event_paranoid)"
} >>"$results/machine.txt" 2>&1 || true
failed=0
run() {
  begin=$(date +%s)
  code=0
  timeout 150 "$@" >>"$results/log.txt" 2>&1 || code=$?
  echo "$1 $2: exit $code after $(($(date +%s) - begin)) s" | tee -a "$results/log.txt"
  [ "$code" -eq 0 ] || failed=$code
}
hardware=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1 | sed 's/, /, driver /')
run python3 "$here/flame/run.py" "$build" "$images/nothing.offload" "$images/nothing.cubin" --device=cuda:0 \
  --hardware="$hardware" -o "$results/flame.json" --folded="$results/flame.folded"
run python3 "$here/flame/run.py" "$build" "$images/nothing.offload" "$images/nothing.cubin" --device=cuda:0 \
  --hardware="$hardware" --hold -o "$results/flame-held.json" --folded="$results/flame-held.folded"
"$build/bin/bench_overhead" "$images/matmul.offload" "$images/matmul.cubin" 1000 >"$results/overhead.json" || failed=$?
"$build/bin/bench_latency" "$images/chase.offload" >"$results/latency.json" || failed=$?
run "$kdl" bench scale --blocks=20 --json="$results/scale.json"
run "$kdl" bench sequence --blocks=40 --json="$results/sequence.json"
run "$kdl" bench select --json="$results/select.json"
run "$kdl" bench layers --device=cuda:0 --cold=20 --json="$results/layers.json"
if [ -n "${3:-}" ]; then
  set -- "$3" --json -o "$results/check.json"
  for device in v100 t4 a100 l40s h100 h200 b200 rtx5090 mi250x mi300x; do
    set -- "$@" "--device=$device"
  done
  run "$kdl" check "$@"
fi
exit "$failed"
