# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench_slowed.py FAKES CHECKER: runs `kdl bench layers` on the fake CUDA driver with one of its functions
slowed at a time, and lets CHECKER look where that shows. The functions are slow enough for any machine
to tell: a launch of them takes some microseconds."""
import os
import subprocess
import sys

fakes, checker = sys.argv[1:]
DEVICE = ('cuda:sm_90 name="NVIDIA H200" driver=13.0 memory=1GiB units=132 subgroups=32 '
          'max_block=1024 shared=48KiB shared_optin=227KiB')
# The suite, functions of the driver, for how many ms they sleep, and where that is to show: mode, peer
# and layer. libkdl asks a stream before it waits for it,
# and loads libraries or modules.
SLOWED = [
    ("cold", "cuInit", 150, [("cold", "kdl", "driver init"), ("cold", "driver", "driver init")]),
    ("cold", "cuDevicePrimaryCtxRetain", 150,
     [("cold", "kdl", "context"), ("cold", "driver", "context")]),
    ("cold", "cuLibraryLoadData", 150, [("cold", "driver-library", "load")]),
    ("cold", "cuLibraryLoadData cuModuleLoadDataEx", 150,
     [("cold", "kdl", "load"), ("cold", "driver", "load")]),
    ("cold", "cuLaunchKernel", 150, [("cold", "kdl", "launch"), ("cold", "driver", "launch")]),
    ("cold", "cuStreamSynchronize cuStreamQuery", 150,
     [("cold", "kdl", "synchronise"), ("cold", "driver", "synchronise")]),
    ("layers", "cuModuleLoadDataEx", 3, [("load", "driver", "load")]),
    ("launch", "cuLaunchKernel", 2, [("hot", "kdl", "launch"), ("hot", "driver", "launch")]),
    ("launch", "cuStreamSynchronize cuStreamQuery", 3, [("hot", "kdl", "synchronise")]),
]


def run(*command, **variables):
    done = subprocess.run(command, env=dict(os.environ, **variables), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench_slowed.py: {' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


for suite, functions, ms, places in SLOWED:
    path = f"{suite}-{functions.split()[0]}.json"
    peers = "driver,driver-library" if functions == "cuLibraryLoadData" else "driver"
    count = {"cold": ["--cold=3"], "launch": ["--warm=1"], "layers": ["--cold=1", "--warm=1"]}[suite]
    run("kdl", "bench", suite, "--device=cuda:0", f"--peers={peers}", *count, f"--json={path}",
        LD_LIBRARY_PATH=fakes, KDL_FAKE_DEVICES=DEVICE, KDL_FAKE_FAIL=";".join(f"{name}:1+:sleep={ms}" for name in functions.split()))
    for mode, peer, layer in places:
        print(run(sys.executable, checker, "slowed", path, mode, peer, layer, str(ms)), end="")
