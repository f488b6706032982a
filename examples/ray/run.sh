#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh SOURCE BUILD PACKAGE WORK: two nodes of Ray's on this machine, of which one has its CPU and the other poses as one with an NVIDIA GPU
# (a fake driver that computes), and saxpy.py on both. PACKAGE is where tests/python/package.sh has installed the Python package. Ray comes
# from scripts/ray.sh; nothing of it is running afterwards.
set -euo pipefail
source=$1 build=$2 package=$3 work=$4
python=$package/venv/bin/python
[ -x "$python" ] || { echo "skipped: python.package has installed nothing"; exit 77; }
ray=$source/build/ray
PYTHONPATH=$ray "$python" -c 'import ray' 2>/dev/null || { echo "skipped: Ray not found (scripts/ray.sh build/ray)"; exit 77; }
command -v clang-22 >/dev/null || { echo "skipped: clang-22 not found"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
cd "$work"
"$build/bin/kdl" cc "$source/examples/kernels/saxpy.c" -I"$source/include" --targets=x86-64-v2,x86-64-v3,x86-64-v4,compute_75 -o saxpy.offload

# What Ray writes goes to a short path of this user's: it holds sockets.
temporary=$(mktemp -d /tmp/kdl-ray-XXXXXX)
export PYTHONPATH=$ray RAY_USAGE_STATS_ENABLED=0 RAY_DISABLE_IMPORT_WARNING=1 RAY_DEDUP_LOGS=0 PYTHONDONTWRITEBYTECODE=1
export RAY_TMPDIR=$temporary HOME=$temporary
# The nodes and the driver know each other by a token.
RAY_AUTH_TOKEN=$("$python" -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

# The programs that docs/clusters.md names, with what two nodes on one machine need besides.
mkdir bin
ln -s "$source/examples" examples
cat >bin/python3 <<END
#!/bin/sh
exec "$python" -B "\$@"
END
cat >bin/ray <<END
#!/bin/bash
common=(--node-ip-address=127.0.0.1 --num-cpus=1 --object-store-memory=80000000 --disable-usage-stats)
[ "\$2" != --head ] || common+=(--port=$port --include-dashboard=false --temp-dir=$temporary)
exec "$python" -c 'from ray.scripts.scripts import main; main()' "\${@/HEAD:6379/127.0.0.1:$port}" "\${common[@]}" >>ray.log 2>&1
END
chmod +x bin/*
PATH=$work/bin:$PATH
mapfile -t commands < <("$python" "$source/tests/product/clusters.py" "$source" print ray)

# What Ray has started is told from all else by the folder of this run, in its environment.
stop() {
  unset RAY_TMPDIR
  for signal in TERM KILL; do
    for process in /proc/[0-9]*; do
      if tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx "RAY_TMPDIR=$temporary"; then
        kill -s $signal "${process#/proc/}" 2>/dev/null || true
      fi
    done
    sleep 0.5
  done
  rm -rf "$temporary"
}
trap stop EXIT

KDL_DEVICE=host bash -c "${commands[0]}"
(
  export LD_LIBRARY_PATH=$build/fakes/whole KDL_FAKE_DEVICES='cuda:sm_90 driver=13.0 memory=1GiB' KDL_DEVICE=cuda
  bash -c "${commands[1]}"
)
RAY_ADDRESS=127.0.0.1:$port bash -c "${commands[2]}" | tee out.txt
grep -q '^kdl:x86-64-v2: right, on host:' out.txt
grep -q '^kdl:sm_90: right, on cuda:sm_90, image 3' out.txt
