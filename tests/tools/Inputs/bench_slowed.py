# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench_slowed.py FAKES CHECKER cold|warm|liboffload: runs `kdl bench` on the fake CUDA driver with one layer of it slowed at a
time, and lets CHECKER look where that shows: in that layer, and in no other. The layers are slowed by enough
for any machine to tell: they take some microseconds."""
import os
import subprocess
import sys

fakes, checker, part = sys.argv[1:]
DEVICE = ('cuda:sm_90 name="NVIDIA H200" driver=13.0 memory=1GiB units=132 subgroups=32 '
          'max_block=1024 shared=48KiB shared_optin=227KiB')
OPEN = "dlopen"  # not a function of the driver: the fakes take this long to open
COLD_MS = 100
LIBOFFLOAD_MS = 500  # opening it takes tens, with all of LLVM

# In which layer the functions of the driver show, and for which peers. The others have no such layer, or it is
# another function's. libkdl asks a stream before it waits for it, and loads modules where there is one GPU.
# A count behind a function is the call that is slow; otherwise each of them is.
BOTH = ["kdl", "driver"]
ALL = ["kdl", "driver", "driver-library"]
COLD = [
    (OPEN, "driver dlopen", ALL),
    ("cuInit", "driver init", ALL),
    ("cuDeviceGetAttribute:1", "enumerate", ["kdl"]),
    ("cuDevicePrimaryCtxRetain", "context", ALL),
    ("cuModuleLoadDataEx", "load", BOTH),
    ("cuLibraryLoadData", "load", ["driver-library"]),
    ("cuModuleGetFunction", "resolve", BOTH),
    ("cuLibraryGetKernel", "resolve", ["driver-library"]),
    ("cuLaunchKernel", "launch", ALL),
    ("cuStreamSynchronize cuStreamQuery", "synchronise", ALL),
]
COLD_LIBOFFLOAD = [
    ("cuInit", "driver init"),
    ("cuModuleLoadDataEx", "load"),
    ("cuLaunchKernel", "launch"),
    ("cuStreamSynchronize", "synchronise"),
]
# The same when everything is warm: mode, functions, ms, layer, whose.
WARM = [
    ("load", "cuModuleLoadDataEx", 3, "load", BOTH),
    ("load", "cuLibraryLoadData", 3, "load", ["driver-library"]),
    ("load", "cuModuleGetFunction", 3, "resolve", BOTH),
    ("load", "cuLibraryGetKernel", 3, "resolve", ["driver-library"]),
    ("hot", "cuLaunchKernel", 1, "launch", BOTH),
    ("hot", "cuStreamSynchronize cuStreamQuery", 3, "synchronise", BOTH),
]


def slow(functions, ms):
    if functions == OPEN:
        return {"KDL_FAKE_OPEN_MS": str(ms)}
    rules = [name if ":" in name else f"{name}:1+" for name in functions.split()]
    return {"KDL_FAKE_FAIL": ";".join(f"{rule}:sleep={ms}" for rule in rules)}


def run(*command, may_fail=False, **variables):
    done = subprocess.run(command, env=dict(os.environ, **variables), capture_output=True, text=True)
    if done.returncode and not may_fail:
        sys.exit(f"bench_slowed.py: {' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.returncode, done.stdout


def bench(suite, peers, path, slowed, *options, may_fail=False):
    return run("kdl", "bench", suite, "--device=cuda:0", "--peers=" + ",".join(peers), f"--json={path}", *options,
               may_fail=may_fail, LD_LIBRARY_PATH=fakes + ":" + os.environ.get("LD_LIBRARY_PATH", ""),
               KDL_FAKE_DEVICES=DEVICE, **slowed)[0]


def check(path, mode, who, layer, ms):
    for peer in who:
        print(run(sys.executable, checker, "slowed", path, mode, peer, layer, str(ms))[1], end="")


def slow_cold():
    for functions, layer, who in COLD:
        bench("cold", [peer for peer in who if peer != "kdl"], "cold.json", slow(functions, COLD_MS), "--cold=3")
        check("cold.json", "cold", who, layer, COLD_MS)


def slow_warm():
    for mode, functions, ms, layer, who in WARM:
        suite = {"load": "layers", "hot": "launch"}[mode]
        options = ["--warm=1"] + (["--cold=1"] if suite == "layers" else [])
        bench(suite, [peer for peer in who if peer != "kdl"], "warm.json", slow(functions, ms), *options)
        check("warm.json", mode, who, layer, ms)


def slow_liboffload():
    if bench("cold", ["liboffload"], "cold.json", {}, "--cold=1", may_fail=True):
        print("liboffload is not here")
        return
    for functions, layer in COLD_LIBOFFLOAD:
        bench("cold", ["liboffload"], "cold.json", slow(functions, LIBOFFLOAD_MS), "--cold=1")
        check("cold.json", "cold", ["liboffload"], layer, LIBOFFLOAD_MS)


{"cold": slow_cold, "warm": slow_warm, "liboffload": slow_liboffload}[part]()
