#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws docs/figures/*.svg from bench/results/*.json, with Python's standard library alone.

    bench/figures/draw.py            what `make figures` runs
    bench/figures/draw.py --check    fails where a figure is not what its data make, or in no document
"""
import hashlib
import json
import pathlib
import re
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "flame")]
import charts  # noqa: E402
import convert  # noqa: E402
import flame  # noqa: E402
import run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS, FIGURES = ROOT / "bench" / "results", ROOT / "docs" / "figures"
H200, HELD = "flame-h200-2026-11-17.json", "flame-h200-held-2026-11-17.json"
CUDA_KEYS = ("step", "kdl", "offload", "cudart", "mlir", "cuda", "system")


def register_gpu(data):
    """ns of the request, in libkdl's process."""
    def find(node):
        return node["ns"] if node.get("name", "").endswith("nvidia-uvm 0x25") else sum(map(find, node.get("children", [])))
    return flame.duration(find(data["peers"][0]["modes"]["cold"]["tree"]))


def flame_cold(alone, held):
    both = [f"{flame.PEERS[a['name']]} {flame.duration(b['modes']['cold']['tree']['ns'])}"
            for a in alone["peers"] for b in held["peers"] if a["name"] == b["name"]]
    return flame.draw(alone, "A cold dispatch on an H200, down to the ioctl",
                      f"{alone['hardware']}. A whole process that launches an empty kernel once; no other process has the GPU open. "
                      "Callers above what they call; hover for times.", ("cold",), CUDA_KEYS,
                      "Most of it is in NVIDIA's kernel module: REGISTER_GPU of nvidia-uvm takes "
                      f"{register_gpu(alone)}, or {register_gpu(held)} where another process has the GPU open; all of it then: {'; '.join(both)}. Hatched: within libcuda, which has no symbols.")


def flame_warm(data):
    return flame.draw(data, "From bytes to a kernel on an H200", f"{data['hardware']}. The process is warm, the image is in memory: "
                      "libkdl opens the library, chooses, loads and resolves; the others load and resolve the one image.", ("warm",),
                      CUDA_KEYS[:-1], "No system call is made. Hatched: within libcuda, which has no symbols.")


def flame_hot(data):
    return flame.draw(data, "A launch and its wait on an H200", f"{data['hardware']}. An empty kernel that is loaded; marks included. "
                      "Callers above what they call; hover for times.", ("hot",), CUDA_KEYS[:-1],
                      "No system call on this thread: libcuda writes the launch into memory of the device that is mapped. liboffload asks the driver to "
                      "block in waits (cuDevicePrimaryCtxSetFlags); the others spin.")


def flame_host(data, layers):
    launch = charts.figure_of(layers, "layers/hot/kdl/total")["median"]
    return flame.draw(data, "A dispatch on the CPU", f"{data['hardware']}. libkdl, dlopen by hand, and LLVM's OpenMP runtime, which is "
                      "loaded before the first mark. Hover for times.", ("cold", "warm"), ("step", "kdl", "system"),
                      f"A launch of what is loaded is shorter than a mark: {flame.duration(launch)} by kdl bench layers.")


def flame_pocl(data):
    return flame.draw(data, "A dispatch on PoCL", f"{data['hardware']}. OpenCL C is compiled when it is loaded; PoCL's own cache of programs is warm.",
                      ("cold", "warm", "hot"), ("step", "kdl", "opencl", "system"))


def flame_perf(data):
    return flame.draw(data, "A dispatch on PoCL, sampled by perf", f"{data['hardware']}. CPU time by shared object, for one run; neighbouring "
                      f"functions of an object are one block. {data['sampled']:,} samples a second, {data['processes']} processes.", ("cold", "warm"),
                      tuple(flame.SAMPLED), "Blocks below 0.4% are left out. A process waits, too: CPU time is less than what passes.")


# Each figure, what draws it, and its data.
DRAWN = {
    "flame-cold": (flame_cold, (H200, HELD)),
    "flame-warm": (flame_warm, (H200,)),
    "flame-hot": (flame_hot, (H200,)),
    "flame-host": (flame_host, ("flame-host-2026-11-17.json", "layers-epyc-2026-11-15.json")),
    "flame-pocl": (flame_pocl, ("flame-pocl-2026-11-17.json",)),
    "flame-pocl-perf": (flame_perf, ("flame-pocl-perf-2026-11-17.json",)),
    "dispatch-phases": (charts.phases, ("layers-h200-2026-11-16.json",)),
    "images-threads": (charts.scale, ("scale-h200-2026-11-17.json",)),
    "launch-distribution": (charts.distribution, (H200,)),
    "replay-graph": (charts.sequence, ("sequence-h200-2026-11-17.json",)),
    "matmul": (charts.matmul, ("matmul-2026-11-15.json", "matmul-xeon-2026-11-15.json")),
    "matmul-threads": (charts.matmul_threads, ("matmul-scale-xeon16-2026-11-18.json",)),
    "gpu-matmul": (charts.gpu_matmul, ("gpu-matmul-h200-2026-11-18.json",)),
    "threads": (charts.threads, ("scale-threads-xeon16-2026-11-17.json",)),
    "thin": (charts.thin, ("thin-2026-11-16.json",)),
    "check": (charts.check, ("check-2026-11-18.json",)),
    "overhead-10ms": (charts.overhead, ("overhead-h200-2026-11-17.json",)),
    "select-latency": (charts.latency, ("latency-2026-11-17.json",)),
}


def digest_of(names):
    return hashlib.sha256(b"".join((RESULTS / name).read_bytes() for name in names)).hexdigest()


def draw(name):
    function, names = DRAWN[name]
    data = [json.loads((RESULTS / each).read_text(encoding="utf-8")) for each in names]
    return function(*data).finish(digest_of(names), [f"bench/results/{each}" for each in names])


def converted(name):
    function, source = convert.CONVERTED[name]
    return run.json_text(function((RESULTS / source).read_text(encoding="utf-8"), f"bench/results/{source}"))


def check():
    wrong = []
    for name in convert.CONVERTED:
        if (RESULTS / name).read_text(encoding="utf-8") != converted(name):
            wrong.append(f"bench/results/{name} is not what its source has")
    for name, (_, names) in DRAWN.items():
        path = FIGURES / f"{name}.svg"
        words = path.read_text(encoding="utf-8") if path.exists() else ""
        found = re.search(r"sha256 ([0-9a-f]{64})", words)
        if not found or found[1] != digest_of(names):
            wrong.append(f"docs/figures/{name}.svg is not of the data in {', '.join(names)}")
        elif words != draw(name):
            wrong.append(f"docs/figures/{name}.svg is not what bench/figures draws")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.html")]
    used = set(re.findall(r"figures/([\w.-]+\.svg)", "\n".join(page.read_text(encoding="utf-8") for page in pages)))
    wrong += [f"docs/figures/{path.name} is in no document" for path in sorted(FIGURES.glob("*.svg")) if path.name not in used]
    wrong += [f"a document has docs/figures/{name}, which there is not" for name in sorted(used) if not (FIGURES / name).exists()]
    return wrong


def main():
    if sys.argv[1:] == ["--check"]:
        wrong = check()
        print("\n".join(wrong) + "\n`make figures` draws them anew" if wrong else f"{len(DRAWN)} figures are of their data")
        return 1 if wrong else 0
    FIGURES.mkdir(exist_ok=True)
    for name in convert.CONVERTED:
        (RESULTS / name).write_text(converted(name), encoding="utf-8")
    for name in DRAWN:
        (FIGURES / f"{name}.svg").write_text(draw(name), encoding="utf-8")
    print(f"{len(DRAWN)} figures in docs/figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
