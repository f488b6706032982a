#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the transformer block of examples/mlir with IREE and ONNX Runtime, end to end, and profiles it.

    network.py BUILD [--iree=BIN] [--threads=1,2] [--blocks=N] [--no-profile]

BUILD is a build of libkdl or its installation; BIN the folder of iree-compile and iree-benchmark-module (from PyPI: iree-base-compiler,
iree-base-runtime); run it with a Python that has NumPy, and onnx and onnxruntime to measure these. Each gets the same weights, once as
constants, which may be packed beforehand, once as arguments. The profile needs Linux's perf, and is that of one thread with constants."""
import argparse
import bisect
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "mlir")]
import transformer as net

IREE_FLAGS = ["--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host", "--iree-llvmcpu-enable-ukernels=all",
              "--iree-opt-data-tiling"]


def tool(name):
    return shutil.which(f"{name}-22") or shutil.which(name)


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


#
# Implementations
#

def ours(options, folder, p, constants, threads):
    library = net.compile_block(options.build, folder, threads, constants)
    return net.run_block(library, p, constants)


def iree_module(options, folder, constants, *flags):
    (folder / "iree.mlir").write_text(net.block_text(destination=False, constants=constants))
    run(options.iree / "iree-compile", folder / "iree.mlir", "-o", folder / "block.vmfb", *IREE_FLAGS, *flags)
    return folder / "block.vmfb"


def iree(options, folder, p, constants, threads):
    sys.path[:0] = [str(next((options.iree.parent / "lib").glob("python3*/site-packages")))]
    import iree.runtime as rt
    module = iree_module(options, folder, constants)
    rt.flags.parse_flags(f"--task_topology_group_count={threads}")
    config = rt.Config("local-sync" if threads == 1 else "local-task")
    context = rt.SystemContext(config=config)
    context.add_vm_module(rt.VmModule.mmap(context.instance, str(module)))
    function = context.modules.module["main"]
    values = [rt.asdevicearray(config.device, value) for name, value in p.items() if name not in (constants or {})]
    return function(*values).to_host(), lambda: function(*values).to_host()


def onnx_model(p, constants):
    import onnx
    from onnx import helper, numpy_helper
    nodes = []

    def op(kind, *inputs, **attributes):
        nodes.append(helper.make_node(kind, list(inputs), [f"t{len(nodes)}"], name=f"{kind}{len(nodes)}", **attributes))
        return nodes[-1].output[0]

    def norm(x, gain, shift):
        return op("LayerNormalization", x, gain, shift, epsilon=1e-5)
    inits = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    for name, value in (("shape", np.array([net.SEQ, net.HEADS, net.DEPTH])), ("flat", np.array([net.SEQ, net.WIDTH])),
                        ("scale", np.float32(net.DEPTH ** -0.5))):
        inits.append(numpy_helper.from_array(np.asarray(value), name))
    n = norm("x", "gain1", "shift1")
    q, k, v = (op("Transpose", op("Reshape", op("MatMul", n, w), "shape"), perm=[1, 0, 2]) for w in ("wq", "wk", "wv"))
    s = op("Softmax", op("Mul", op("MatMul", q, op("Transpose", k, perm=[0, 2, 1])), "scale"), axis=2)
    a = op("Reshape", op("Transpose", op("MatMul", s, v), perm=[1, 0, 2]), "flat")
    x = op("Add", op("Add", op("MatMul", a, "wo"), "bo"), "x")
    h = op("Gelu", op("Add", op("MatMul", norm(x, "gain2", "shift2"), "w1"), "b1"), approximate="tanh")
    y = op("Add", op("Add", op("MatMul", h, "w2"), "b2"), x)
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, list(value.shape)) for name, value in p.items()
              if name not in (constants or {})]
    output = helper.make_tensor_value_info(y, onnx.TensorProto.FLOAT, [net.SEQ, net.WIDTH])
    graph = helper.make_graph(nodes, "block", inputs, [output], inits)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()


def onnx_session(p, constants, threads, profile=None):
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    if profile:
        settings.enable_profiling = True
        settings.profile_file_prefix = str(profile)
    session = onnxruntime.InferenceSession(onnx_model(p, constants), settings, providers=["CPUExecutionProvider"])
    feeds = {name: value for name, value in p.items() if name not in (constants or {})}
    return session, lambda: session.run(None, feeds)[0]


def onnx_runtime(options, folder, p, constants, threads):
    _, again = onnx_session(p, constants, threads)
    return again(), again


WAYS = {"kdl-lower-linalg": ours, "IREE": iree, "ONNX Runtime": onnx_runtime}


def settle():
    """Waits until no thread of this process runs: ONNX Runtime's spin for 40 ms after a run, on a CPU that the next way needs."""
    spent = 1.0
    while spent > 0.001:
        begin = time.process_time()
        time.sleep(0.005)
        spent = time.process_time() - begin


def measure(options, p, constants, threads):
    """Medians of interleaved blocks of 10 runs each, after one run that starts the threads."""
    os.environ["KDL_HOST_THREADS"] = str(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    reference = net.reference(p)
    runs, times = {}, collections.defaultdict(list)
    with contextlib.ExitStack() as folders:
        for way, make in WAYS.items():
            if way == "IREE" and not options.iree:
                continue
            folder = pathlib.Path(folders.enter_context(tempfile.TemporaryDirectory()))
            try:
                result, runs[way] = make(options, folder, p, constants, threads)
            except ImportError as why:
                print(f"{way}: left out: {why}")
                continue
            if not np.abs(result - reference).max() < 1e-4:
                sys.exit(f"network.py: {way}: the result is wrong")
        for _ in range(options.blocks):
            for way, again in runs.items():
                settle()
                again()
                begin = clock()
                for _ in range(10):
                    again()
                times[way].append((clock() - begin) / 10)
    first = times["kdl-lower-linalg"]
    for way, values in times.items():
        ratios = sorted(b / a for a, b in zip(first, values))
        print(f"  {way:18} {1e6 * sorted(values)[len(values) // 2]:9.1f} us" + ("" if values is first else
              f"   kdl-lower-linalg is {ratios[len(ratios) // 2]:.2f} times as fast [{ratios[len(ratios) // 10]:.2f}, {ratios[-1 - len(ratios) // 10]:.2f}]"),
              flush=True)


#
# Profile
#

def kinds(text):
    """The kind of operation of each line of the module."""
    found, kind = {}, "rest"
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"\s*%v\d+ = (\S+)", line):
            three = re.search(r"outs\(\S+ : tensor<\d+x\d+x\d+x|tensor<4x64x", line)
            name = match[1]
            kind = ("product" if "matmul" in name else "transpose" if name in ("linalg.transpose", "tensor.expand_shape", "tensor.collapse_shape")
                    else ("softmax" if three else "norm") if name == "linalg.generic" else "rest")
            start = number
        elif "math.tanh" in line or "math.exp " in line or "arith.addf %b, %a2" in line:
            kind = "GELU, bias" if "tanh" in line else "softmax" if "exp" in line else "residual, bias"
            found.update({n: kind for n in range(start, number)})
        found[number] = kind
    return found


def inner_loops(path):
    """Address ranges of innermost loops that multiply and add."""
    listing = run(tool("llvm-objdump"), "-d", "--no-show-raw-insn", "--print-imm-hex", path, capture_output=True, text=True).stdout
    adds, jumps = [], []
    for line in listing.splitlines():
        match = re.match(r"\s*([0-9a-f]+):\s+(\S+)(.*)", line)
        if not match:
            continue
        address = int(match[1], 16)
        if match[2].startswith(("vfmadd", "vdpbf16", "vpdpbus")):
            adds.append(address)
        elif match[2][0] == "j" and (target := re.match(r"\s+(?:0x)?([0-9a-f]+)", match[3])) and int(target[1], 16) < address:
            jumps.append((int(target[1], 16), address))
    jumps.sort()
    innermost = [(a, b) for a, b in jumps if not any((c, d) != (a, b) and a <= c and d <= b for c, d in jumps)]
    return [(a, b) for a, b in innermost if bisect.bisect(adds, b) - bisect.bisect_left(adds, a) >= 8]


def sample(folder, *command):
    """Sampled addresses, with their files."""
    run("perf", "record", "-q", "-e", "cpu-clock", "-F", "9973", "-o", folder / "perf.data", "--", *command, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    text = run("perf", "script", "-i", folder / "perf.data", "-F", "ip,sym,symoff,dso", capture_output=True, text=True).stdout
    return re.findall(r"^\s*([0-9a-f]+) (\S+?)(?:\+0x([0-9a-f]+))? \((\S+?)\)$", text, re.MULTILINE)


def table(title, shares):
    total = sum(shares.values())
    print(title)
    for name, value in sorted(shares.items(), key=lambda item: -item[1]):
        if value / total >= 0.005:
            print(f"  {100 * value / total:5.1f} %  {name}")


def profile_ours(options, folder, p, constants):
    net.compile_block(options.build, folder, 1, constants, debug=True)
    block = folder / "block.so"
    samples = sample(folder, sys.executable, __file__, options.build, f"--loop={folder}")
    symbols = {name: int(address, 16) for address, name in
               re.findall(r"^([0-9a-f]+) \w (\S+)$", run(tool("llvm-nm"), block, capture_output=True, text=True).stdout, re.MULTILINE)}
    inside, shares = [], collections.Counter()
    for _, name, offset, where in samples:
        if where == str(block) and name in symbols:
            inside.append(symbols[name] + int(offset or "0", 16))
        elif "python" not in where and "kernel" not in where:
            shares[f"{name} of {os.path.basename(where)}"] += 1
    # Without inlined frames: the line of the module's operation.
    lines = run(tool("llvm-symbolizer"), f"--obj={block}", "--output-style=GNU", "--no-inlines", "--functions=none",
                input="\n".join(f"0x{address:x}" for address in inside), capture_output=True, text=True).stdout.splitlines()
    kind, loops = kinds((folder / "block.mlir").read_text()), inner_loops(block)
    for address, line in zip(inside, [line for line in lines if line]):
        number = re.search(r"block\.mlir:(\d+)", line)
        name = kind.get(int(number[1]), "rest") if number else "rest"
        if name in ("product", "rest") and any(a <= address <= b for a, b in loops):
            name = "microkernels"
        elif name == "product":
            name = "products outside microkernels: packing, loops"
        shares[name] += 1
    table("kdl-lower-linalg, one thread:", shares)


def profile_iree(options, folder, p, constants):
    """Profiles IREE with a library whose functions perf can name."""
    module = iree_module(options, folder, constants, "--iree-llvmcpu-link-embedded=false")
    os.environ.update(IREE_PRESERVE_DYLIB_TEMP_FILES=str(folder), TMPDIR=str(folder))
    samples = sample(folder, options.iree / "iree-benchmark-module", f"--module={module}", "--device=local-sync", "--function=main",
                     f"--input={net.SEQ}x{net.WIDTH}xf32=1", "--benchmark_min_time=2s")
    shares = collections.Counter()
    for _, name, _, where in samples:
        shares[re.sub(r"^main\$?", "", name) if "dispatch" in name else "the runtime and the rest" if "iree" in where else "the system"] += 1
    table("IREE, one thread, by dispatch:", shares)


def profile_onnx(options, folder, p, constants):
    session, again = onnx_session(p, constants, 1, profile=folder / "onnx")
    for _ in range(1000):
        again()
    events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    shares = collections.Counter()
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            shares[event["args"]["op_name"]] += event["dur"]
    table("ONNX Runtime, one thread, by kind of node:", shares)


def loop(folder):
    """The loop that perf samples."""
    import ctypes
    p = net.weights()
    constants = {name: value for name, value in p.items() if name != "x"}
    _, again = net.run_block(ctypes.CDLL(str(folder / "block.so")), p, constants)
    end = time.process_time() + 3
    while time.process_time() < end:
        again()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--iree", type=pathlib.Path)
    parser.add_argument("--threads", default=",".join(sorted({"1", str(len(os.sched_getaffinity(0)))})))
    parser.add_argument("--blocks", type=int, default=31)
    parser.add_argument("--no-profile", action="store_true")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--loop", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.loop:
        return loop(options.loop)
    p = net.weights()
    weights = {name: value for name, value in p.items() if name != "x"}
    if options.only:
        threads, how = options.only.split(",")
        return measure(options, p, weights if how == "constants" else None, int(threads))
    for threads in options.threads.split(","):
        for how in ("constants", "arguments"):
            print(f"{threads} thread{'s' if threads != '1' else ''}, weights as {how}, "
                  f"{'time of the processor' if threads == '1' else 'wall-clock time'}, load {os.getloadavg()[0]:.1f}:", flush=True)
            iree_option = [f"--iree={options.iree}"] if options.iree else []
            run(sys.executable, __file__, options.build, *iree_option, f"--blocks={options.blocks}", f"--only={threads},{how}")
    if options.no_profile:
        return None
    if not shutil.which("perf"):
        return print("no profile: perf not found (Debian: linux-perf)")
    os.environ["KDL_HOST_THREADS"] = "1"
    for make in (profile_ours, profile_iree, profile_onnx):
        if make is profile_iree and not options.iree:
            continue
        with tempfile.TemporaryDirectory() as name:
            try:
                make(options, pathlib.Path(name), p, weights)
            except ImportError as why:
                print(f"ONNX Runtime: left out: {why}")
    return None


main()
