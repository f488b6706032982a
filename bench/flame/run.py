#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs bench_flame under libkdl_flame.so, peer by peer in turns, and writes the nested times.

    bench/flame/run.py BUILD LIBRARY IMAGE --device=cuda:0 --peers=kdl,driver,liboffload,cudart,mlir -o FLAME.json

Of each mode the run whose time is the median is kept: of the processes for `cold`, of all loads for
`warm`, of all launches for `hot`. As many processes run without the library and give the times as a
whole. FLAME.json is what bench/figures draws; --folded writes stacks for FlameGraph and speedscope.
"""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

QUANTILES = [0, 0.005] + [i / 100 for i in range(1, 100)] + [0.995, 0.999]
# What a phase is called through libkdl's interface.
STEPS = {"enumerate": "kdl_device_find", "context": "kdl_queue_create, kdl_alloc", "open": "kdl_open",
         "select": "kdl_sym", "load": "kdl_prefetch", "launch": "kdl_launch", "synchronise": "kdl_sync"}


class Frame:
    def __init__(self, name, begin):
        self.name, self.begin, self.end, self.children = name, begin, None, []

    def length(self):
        return self.end - self.begin


def read_records(path):
    """The outermost frames of each thread."""
    roots, open_frames = {}, {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        thread, ns, *name = line.split(" ", 2)
        stack = open_frames.setdefault(thread, [])
        if name:
            stack.append(Frame(name[0], int(ns)))
        elif stack:
            frame = stack.pop()
            frame.end = int(ns)
            (stack[-1].children if stack else roots.setdefault(thread, [])).append(frame)
    return roots


def is_call(name):
    """A call of a library or of the system, and no mark of the program or of libkdl."""
    word = name.split(" ")[0]
    return word.endswith("()") or (
        word.lstrip("_")[:2] in ("cu", "ol", "cl", "mg") and any(letter.isupper() for letter in word))


def attach(frame, other):
    """Puts a frame of another thread into the innermost frame that waits for it."""
    for child in frame.children:
        if child.begin <= other.begin and other.end <= child.end:
            return attach(child, other)
    if not any(child.begin < other.end and other.begin < child.end for child in frame.children):
        frame.children.append(other)
        frame.children.sort(key=lambda child: child.begin)
    return None


def named(frame, peer):
    name = frame.name.removeprefix("step ")
    return STEPS.get(name, name) if peer == "kdl" and name != frame.name else name


def merge(frames, length, peer):
    """Children with one name are one, in the order of their first."""
    merged = {}
    for frame in frames:
        node = merged.setdefault(named(frame, peer), {"ns": 0, "count": 0, "frames": []})
        node["ns"] += frame.length()
        node["count"] += 1
        node["frames"] += frame.children
    children = []
    for name, node in merged.items():
        child = {"name": name, "ns": node["ns"], "count": node["count"]}
        below = merge(node["frames"], node["ns"], peer)
        if below:
            child["children"] = below
        children.append(child)
    return children


def tree(frame, peer):
    return {"ns": frame.length(), "children": merge(frame.children, frame.length(), peer)}


def run_marked(command, environment, peer):
    """The runs of each mode as frames; a cold one with the start and the end of its process."""
    with tempfile.TemporaryDirectory() as folder:
        records = pathlib.Path(folder) / "records"
        start = time.monotonic_ns()
        subprocess.run(command, check=True, env=environment | {"KDL_FLAME": str(records)})
        end = time.monotonic_ns()
        roots = read_records(records)
    main = next(thread for thread, frames in roots.items() if any(f.name == "cold" for f in frames))
    runs = {mode: [f for f in roots[main] if f.name == mode] for mode in ("cold", "warm", "hot")}
    cold = runs["cold"][0]
    last = max(f.end for f in roots[main] if f.name in runs)
    own = [f for thread, frames in roots.items() if thread != main for f in frames if not is_call(f.name)]
    for frame in sorted(own, key=lambda f: -f.length()):
        attach(cold, frame)
    whole = Frame("process", start)
    whole.end = end
    for name, begin, stop in (("process start", start, cold.begin), ("process end", last, end)):
        part = Frame(name, begin)
        part.end = stop
        part.children = [f for f in roots[main] if begin <= f.begin and f.end <= stop and is_call(f.name)]
        whole.children.append(part)
    whole.children[1:1] = cold.children
    # The launches and loads in between are not part of it.
    whole.begin += last - cold.end
    runs["cold"] = [whole]
    driver = [f for thread, frames in roots.items() if thread != main for f in frames if is_call(f.name)]
    return runs, {"calls": len(driver), "ns": sum(f.length() for f in driver)}


def quantiles(values):
    values = sorted(values)
    return [values[min(len(values) - 1, int(q * len(values)))] for q in QUANTILES]


def measure(args, peer, environment, plain):
    program = str(pathlib.Path(args.build) / "bin" / "bench_flame")
    words = [peer if peer != "omp" else str(pathlib.Path(args.build, "lib", "kdl_peer_omp.so").resolve()),
             args.device, args.library, args.image, str(args.loads), str(args.launches)]
    if plain:
        out = subprocess.run([program, *words], check=True, capture_output=True, text=True, env=environment)
        return json.loads(out.stdout)
    shim = str(pathlib.Path(args.build, "lib", "libkdl_flame.so").resolve())
    return run_marked([program, *words], environment | {"LD_PRELOAD": shim}, peer)


HOLD = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
device, context = ctypes.c_int(), ctypes.c_void_p()
ok = not cuda.cuInit(0) and not cuda.cuDeviceGet(ctypes.byref(device), 0)
print(ok and not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), flush=True)
sys.stdin.read()
"""


def device_time(args):
    """ns of the kernel by the device's clock, as kdl trace has it; None where it has none."""
    kdl = str(pathlib.Path(args.build) / "bin" / "kdl")
    with tempfile.TemporaryDirectory() as folder:
        trace, report = f"{folder}/trace.json", f"{folder}/report.json"
        command = [kdl, "run", args.library, "nothing", f"--device={args.device}", "--grid=1", "--block=1",
                   "--arg=buf:i8[64]", "--repeat=1000"]
        traced = subprocess.run([kdl, "trace", "--gpu-time", "-o", trace, "--", *command], capture_output=True)
        if traced.returncode:
            print(traced.stderr.decode(), file=sys.stderr)
            return None
        subprocess.run([kdl, "trace", "report", trace, f"--json={report}"], check=True, capture_output=True)
        kernels = json.loads(pathlib.Path(report).read_text(encoding="utf-8"))["kernels"]
    return kernels[0]["on_device"]["median"] if kernels and kernels[0]["on_device"]["count"] else None


def json_text(result):
    """JSON with a line for each member, and for each element of a list of objects."""
    def member(value):
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
        return json.dumps(value)
    words = ",\n".join(f" {json.dumps(key)}: {member(value)}" for key, value in result.items())
    return "{\n" + words + "\n}\n"


def fold(node, stack, out):
    own = node["ns"] - sum(child["ns"] for child in node.get("children", []))
    if own > 0:
        out.append(f"{';'.join(stack)} {own}")
    for child in node.get("children", []):
        fold(child, stack + [child["name"].replace(";", ":")], out)


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def argument_parser(description, device, peers, processes, loads):
    """What perf.py takes, too; the other parameters are defaults."""
    parser = argparse.ArgumentParser(description=description)
    for name in ("build", "library", "image"):
        parser.add_argument(name)
    parser.add_argument("--device", default=device)
    parser.add_argument("--peers", default=peers, type=lambda words: words.split(","))
    parser.add_argument("--processes", type=int, default=processes)
    parser.add_argument("--loads", type=int, default=loads)
    parser.add_argument("--hardware", default=cpu_name())
    parser.add_argument("--folded")
    parser.add_argument("-o", dest="output", required=True)
    return parser


def write_results(args, result, folded):
    pathlib.Path(args.output).write_text(json_text(result), encoding="utf-8")
    if args.folded:
        pathlib.Path(args.folded).write_text("\n".join(folded) + "\n", encoding="utf-8")


def main():
    parser = argument_parser(__doc__.splitlines()[0], "cuda:0", "kdl,driver,liboffload,cudart,mlir", processes=9, loads=100)
    parser.add_argument("--launches", type=int, default=1000)
    parser.add_argument("--hold", action="store_true", help="another process has the GPU open meanwhile")
    args = parser.parse_args()
    environment = dict(os.environ)
    peers = {}
    holder = None
    if args.hold:
        holder = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if holder.stdout.readline().strip() != "True":
            sys.exit("run.py: --hold: found no CUDA driver that works")
    for turn in range(args.processes):
        for peer in args.peers:
            if peer in peers and "error" in peers[peer]:
                continue
            try:
                at = peers.setdefault(peer, {"runs": {"cold": [], "warm": [], "hot": []}, "plain": {}})
                runs, at["other_threads"] = measure(args, peer, environment, False)
                for mode, frames in runs.items():
                    at["runs"][mode] += frames[1 if turn == 0 and len(frames) > 1 else 0:]
                for mode, ns in measure(args, peer, environment, True).items():
                    at["plain"].setdefault(mode, []).extend(ns[1 if len(ns) > 1 else 0:])
            except (subprocess.CalledProcessError, StopIteration) as error:
                peers[peer] = {"error": str(error)}
    if holder:
        holder.communicate("")
    result = {"schema": "kdl-flame-1", "held": args.hold, "date": time.strftime("%Y-%m-%d", time.gmtime()),
              "hardware": args.hardware, "device": args.device, "processes": args.processes,
              "command": " ".join(["bench/flame/run.py", *sys.argv[1:]]), "device_ns": device_time(args),
              "quantiles": QUANTILES, "peers": []}
    folded = []
    for peer, at in peers.items():
        if "error" in at:
            result["peers"].append({"name": peer, "error": at["error"]})
            continue
        row = {"name": peer, "other_threads": at["other_threads"], "modes": {}}
        for mode, frames in at["runs"].items():
            if not frames:
                continue
            middle = sorted(frames, key=Frame.length)[len(frames) // 2]
            drawn = tree(middle, peer)
            row["modes"][mode] = {"runs": len(frames), "tree": drawn}
            if at["plain"].get(mode):
                row["modes"][mode]["plain"] = {"median": statistics.median(at["plain"][mode]),
                                               "quantiles": quantiles(at["plain"][mode])}
            fold(drawn, [peer, mode], folded)
        result["peers"].append(row)
    write_results(args, result, folded)


if __name__ == "__main__":
    main()
