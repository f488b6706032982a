#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smoke.sh SOURCE BUILD WORK: nested times of libkdl, of the driver and of a wrapper like MLIR's, on the fake CUDA driver: which calls lie in which. No time is looked at.
set -eu
source=$1 build=$2 work=$3
command -v python3 >/dev/null || { echo 'skipped: python3 not found'; exit 77; }
rm -rf "$work"
mkdir -p "$work"
images=$source/bench/images/nothing.offload
"$build/bin/kdl" extract "$images" --image=2 -o "$work/nothing.cubin"
KDL_FAKE_DEVICES='cuda:sm_90 driver=13.0 memory=1GiB' LD_LIBRARY_PATH=$build/fakes/whole:$build/bench/wrapper OCL_ICD_VENDORS=/nonexistent \
  python3 "$source/bench/flame/run.py" "$build" "$images" "$work/nothing.cubin" --peers=kdl,driver,mlir,plain --processes=2 --loads=3 --launches=3 \
  -o "$work/flame.json" --folded="$work/flame.folded" 2>"$work/errors"
expect() {
  grep -q "^$1 [0-9]*\$" "$work/flame.folded" || { echo "smoke.sh: found no stack $1"; cat "$work/errors" "$work/flame.folded"; exit 1; }
}
expect 'kdl;cold;process start'
expect 'kdl;cold;kdl_device_find;enumerate;driver init;cuInit'
expect 'kdl;cold;kdl_open;open;open()'
expect 'kdl;warm;kdl_prefetch;load;cuModuleLoadDataEx'
expect 'kdl;hot;kdl_launch;cuLaunchKernel'
expect 'driver;hot;launch;cuLaunchKernel'
expect 'mlir;cold;context;mgpuStreamCreate;cuInit'
expect 'mlir;warm;load;mgpuModuleLoad;cuModuleLoadDataEx'
expect 'mlir;hot;launch;mgpuLaunchKernel;cuLaunchKernel'
python3 - "$work/flame.json" <<'END'
import json
import sys

flame = json.load(open(sys.argv[1], encoding="utf-8"))
peers = {peer["name"]: peer for peer in flame["peers"]}
assert "error" in peers["plain"], "a cubin cannot be called on the host"
for name in ("kdl", "driver", "mlir"):
    for mode, runs in (("cold", 2), ("warm", 5), ("hot", 5)):
        at = peers[name]["modes"][mode]
        assert at["runs"] == runs, (name, mode, at["runs"])
        below = sum(child["ns"] for child in at["tree"]["children"])
        assert below <= at["tree"]["ns"], (name, mode)
        assert len(at["plain"]["quantiles"]) == len(flame["quantiles"]), (name, mode)
END
