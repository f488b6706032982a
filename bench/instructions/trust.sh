#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of seeing that an image's signature was found right before, as when its file is opened again.
set -eu
usage='usage: trust.sh build/bin/bench_trust'
# shellcheck source=bench/instructions/callgrind.sh
. "$(dirname "$0")/callgrind.sh"
found=$(instructions 10000 kdl_trust_check "$program" 10000)
hold %s 'a signature that was checked before' "$found" 2000
exit "$failed"
