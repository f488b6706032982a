#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh PROGRAM SECONDS FINDINGS [libFuzzer option...]
# Fuzzes for SECONDS from a fixed seed, starting at the committed corpus, which is only read. What
# it finds lands in the folder FINDINGS. The limits are part of the test: an input that takes ten
# seconds, or makes the library ask for 256 MiB at once, is a finding too.
set -eu
program=$1 seconds=$2 findings=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
target=$(basename "$program")
work=$(dirname "$program")/../corpus/$target
rm -rf "$work"
mkdir -p "$work" "$findings"
if [ -f "$here/$target.dict" ]; then
  set -- "-dict=$here/$target.dict" "$@"
fi
# libFuzzer's own exit code for a crash, 77, is what ctest here takes for "skipped".
exec "$program" -error_exitcode=1 -seed=1 -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
  -malloc_limit_mb=256 -print_final_stats=1 -artifact_prefix="$findings/$target-" "$@" \
  "$work" "$here/corpus/$target"
