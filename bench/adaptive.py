#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy adaptive on real kernels: its share of the oracle, the fastest variant of each shape by exhaustive search in the same run,
just after the choice, in the same process and memory: which of two variants is faster may depend on where a process has its stack.

    bench/adaptive.py BUILD [--device=host] [--sets=matmul,softmax] [--ms=2000] [--most=20000] [--libraries=FOLDER] [--json=FILE]

Each set is a kernel of bench/adaptive, compiled by `kdl cc --variant` into 8 or more images, and 24 or more shapes, of which a third
is held out of the first process. Each shape is launched for --ms, and until its class is decided, but not longer than --most. Next to
adaptive choice: the static rank (image 0), the best single variant, and for held-out shapes the table of the others (KDL_EXPLORE=0) and
the fastest variant of the nearest of them. --libraries names a folder with the compiled sets (make them with --compile=FOLDER),
for machines without a compiler."""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def variants(file, names, rows):
    """--variant options: each row gives values of the macros."""
    made = []
    for row in rows:
        macros = "+".join(f"{name}={value}" for name, value in zip(names, row))
        made.append(f"--variant=tag={'x'.join(map(str, row))},define={macros}:{file}")
    return made


MATMUL = os.path.join(HERE, "adaptive", "matmul.c")
ROWS = os.path.join(HERE, "adaptive", "rows.c")
HOST_TILES = [(1, 64, 8, 64), (1, 256, 1, 256), (2, 32, 32, 64), (4, 32, 16, 32), (4, 32, 128, 128), (6, 32, 48, 128), (8, 16, 64, 16),
              (4, 16, 1024, 1024), (1, 32, 1, 32), (4, 64, 64, 64)]
GPU_TILES = [(16, 16, 16, 1, 1), (16, 32, 16, 1, 2), (32, 64, 16, 2, 4), (64, 64, 16, 4, 4), (64, 128, 16, 4, 8), (128, 128, 8, 8, 8),
             (128, 64, 8, 8, 4), (16, 128, 32, 1, 8), (4, 256, 16, 1, 4)]
HOST_ROWS = [(1, 8), (1, 64), (8, 1), (8, 16), (64, 16), (64, 64), (512, 8), (4096, 32)]
HOST_HEADS = [(1, 16), (1, 64), (2, 32), (4, 8), (4, 64), (8, 16), (8, 64), (16, 32), (32, 32)]
GPU_HEADS = [(1, 256), (2, 128), (4, 64), (8, 32), (16, 16), (32, 1), (32, 4), (32, 8), (64, 2), (128, 1)]
GPU_ROWS = [(32, 1), (32, 8), (64, 4), (128, 1), (128, 4), (256, 1), (512, 1), (1024, 1)]
MATMUL_SHAPES = [(1, 512, 512), (1, 2048, 256), (1, 1000, 1333), (2, 1024, 512), (3, 300, 700), (4, 64, 2048), (5, 2048, 64), (8, 8, 4096),
                 (8, 700, 140), (16, 16, 2048), (16, 512, 256), (17, 133, 465), (24, 24, 1384), (32, 256, 256), (32, 1024, 64), (48, 196, 148),
                 (64, 64, 256), (64, 1, 2048), (100, 7, 700), (128, 128, 128), (128, 256, 64), (200, 10, 300), (256, 4, 512), (7, 1700, 170),
                 (256, 256, 256), (512, 32, 32), (300, 300, 40)]
GPU_MATMUL_SHAPES = [(1, 1024, 1024), (1, 4096, 4096), (2, 8192, 512), (4, 2048, 2048), (8, 512, 4096), (16, 4096, 1024), (16, 16, 8192),
                     (32, 1024, 1024), (33, 1000, 777), (64, 64, 4096), (64, 2048, 512), (100, 100, 100), (128, 128, 128),
                     (128, 4096, 128), (200, 333, 1000), (256, 256, 256), (256, 1024, 1024), (512, 512, 512), (512, 64, 2048),
                     (777, 555, 333), (1024, 1024, 256), (1024, 16, 1024), (1024, 1024, 1024), (2048, 2048, 64), (2048, 128, 512)]
ROW_SHAPES = [(1, 10000), (1, 40960), (1, 300000), (2, 17000), (4, 50000), (7, 7770), (8, 2000), (16, 800), (16, 16000), (32, 1000),
              (60, 3330), (64, 128), (64, 4096), (100, 1000), (128, 2048), (200, 140), (256, 1000), (300, 45), (512, 64), (512, 512),
              (1000, 100), (2000, 30), (3000, 20), (4096, 8), (4096, 64), (8192, 16), (9000, 10), (30000, 4), (60000, 3)]
GPU_ROW_SHAPES = [(rows * 4, columns) for rows, columns in ROW_SHAPES]
HEAD_SHAPES = [(1, 64), (1, 200), (1, 400), (1, 800), (1, 1500), (1, 3000), (1, 8000), (1, 16000), (2, 100), (2, 640), (2, 2000), (2, 6000),
               (3, 1000), (4, 200), (5, 333), (8, 80), (8, 512), (12, 1200), (16, 60), (16, 300), (32, 64), (32, 256), (64, 256), (128, 128),
               (200, 10), (256, 64), (300, 150)]
GPU_HEAD_SHAPES = [(1, 2000), (1, 8000), (1, 16000), (2, 640), (4, 4000), (8, 80), (8, 512), (12, 3000), (16, 300), (32, 64), (32, 1024),
                   (48, 96), (64, 256), (64, 4096), (100, 20), (128, 128), (128, 2000), (256, 64), (300, 1500), (512, 512), (1000, 100),
                   (1024, 1024), (2048, 64), (4096, 32), (4096, 256), (10000, 10)]
SETS = {
    "matmul-f32": ("matmul", 4, MATMUL, ["TM", "TN", "ROWS", "COLUMNS"], HOST_TILES, MATMUL_SHAPES, "m,n,k", []),
    "matmul-bf16": ("matmul", 2, MATMUL, ["TM", "TN", "ROWS", "COLUMNS"], HOST_TILES, MATMUL_SHAPES, "m,n,k", ["-DELEMENT=__bf16"]),
    "softmax": ("softmax", 4, ROWS, ["ROWS", "LANES"], HOST_ROWS, ROW_SHAPES, "rows,columns", []),
    "sums": ("sums", 4, ROWS, ["ROWS", "LANES"], HOST_ROWS, ROW_SHAPES, "rows,columns", []),
    "attention": ("attention", 4, ROWS, ["QUERIES", "KEYS"], HOST_HEADS, HEAD_SHAPES, "queries,keys", []),
    "gpu-matmul-f32": ("matmul", 4, MATMUL, ["BM", "BN", "BK", "TM", "TN"], GPU_TILES, GPU_MATMUL_SHAPES, "m,n,k", []),
    "gpu-softmax": ("softmax", 4, ROWS, ["THREADS", "ROWS"], GPU_ROWS, GPU_ROW_SHAPES, "rows,columns", []),
    "gpu-attention": ("attention", 4, ROWS, ["QUERIES", "SPLIT"], GPU_HEADS, GPU_HEAD_SHAPES, "queries,keys", []),
    "gpu-sums": ("sums", 4, ROWS, ["THREADS", "ROWS"], GPU_ROWS, GPU_ROW_SHAPES, "rows,columns", []),
}


def compile_set(build, name, folder, cpu="native"):
    _, _, source, macros, rows, _, shape, options = SETS[name]
    target = "sm_90" if name.startswith("gpu-") else cpu
    path = os.path.join(folder, name + ".offload")
    subprocess.check_call([os.path.join(build, "bin", "kdl"), "cc", source, *variants(source, macros, rows), *options, f"--field=shape={shape}",
                           "--field=effects=idempotent", f"--targets={target}", "-o", path])
    return path


def run(build, library, name, device, mode, shapes, *ms, **environment):
    kernel, element = SETS[name][:2]
    command = [os.path.join(build, "bin", "bench_adaptive"), library, kernel, device, str(element), mode]
    text = "".join(" ".join(map(str, shape)) + "\n" for shape in shapes)
    done = subprocess.run(command + list(map(str, ms)), input=text, stdout=subprocess.PIPE, encoding="utf-8", check=True,
                          env={**os.environ, **environment})
    lines = (line.split(":") for line in done.stdout.splitlines())
    return {tuple(map(int, shape.split())): [float(word) for word in words.split()] for shape, words in lines}


class Load:
    """Processes that launch the set's last shape on the same device while choices are made."""

    def __init__(self, count, *args):
        self.count, self.args = count, args

    def __enter__(self):
        build, library, name, device, shape = self.args
        kernel, element = SETS[name][:2]
        self.running = []
        for _ in range(self.count):
            one = subprocess.Popen([os.path.join(build, "bin", "bench_adaptive"), library, kernel, device, str(element), "best", "600000"],
                                   stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            one.stdin.write((" ".join(map(str, shape)) + "\n").encode())
            one.stdin.close()
            self.running.append(one)

    def __exit__(self, *_):
        for one in self.running:
            one.kill()
            one.wait()


def learned(build, library, name, device, **environment):
    """What the table has: trials, and the share of the time that they took."""
    command = [os.path.join(build, "bin", "kdl"), "explain", library, SETS[name][0], f"--device={device}", "--policy=adaptive", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env={**os.environ, **environment})
    classes = json.loads(done.stdout)["measured"]
    time = sum(one["time_ns"] for one in classes)
    return {"trials": sum(one["trials"] for one in classes), "decided": sum(one["decided"] for one in classes), "classes": len(classes),
            "share": sum(one["explored_ns"] for one in classes) / time if time else 0}


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def nearest(shape, known):
    return min(known, key=lambda other: sum(abs(math.log2(a / b)) for a, b in zip(shape, other)))


def bench(build, library, name, device, ms, most, load, folder):
    shapes = SETS[name][5]
    held_out = shapes[1::3]
    known = [shape for shape in shapes if shape not in held_out]
    cache = {"KDL_CACHE_DIR": os.path.join(folder, "cache-" + name), "KDL_CACHE": "on"}
    search = [] if load else ["all"]
    with Load(load, build, library, name, device, shapes[-1]):
        first = run(build, library, name, device, "adaptive", known, ms, most, *search, **cache)
    after_first = learned(build, library, name, device, **cache)
    second = run(build, library, name, device, "adaptive", known, ms // 10 + 1, **cache)
    after_second = learned(build, library, name, device, **cache)
    near = run(build, library, name, device, "adaptive", held_out, 1, KDL_EXPLORE="0", **cache)
    with Load(load, build, library, name, device, shapes[-1]):
        later = run(build, library, name, device, "adaptive", held_out, ms, most, *search, **cache)
    measured = {**first, **later}
    if load:  # the search without it
        quiet = run(build, library, name, device, "all", shapes)
        measured = {shape: measured[shape] + quiet[shape] for shape in shapes}
    times = {shape: measured[shape][4:] for shape in shapes}
    share = {shape: min(times[shape]) / times[shape][int(measured[shape][0])] for shape in shapes}
    count = len(times[shapes[0]])
    single = max(range(count), key=lambda i: mean([min(times[s]) / times[s][i] for s in shapes]))
    lengths = [first[s][1] / 1e9 for s in known]
    result = {
        "set": name, "device": device, "variants": count, "shapes": len(shapes), "seconds of the first process": sum(lengths), "longest": max(lengths),
        "share of the oracle": mean(list(share.values())), "worst": min(share.values()),
        "static rank": mean([min(times[s]) / times[s][0] for s in shapes]),
        "best single": mean([min(times[s]) / times[s][single] for s in shapes]), "best single variant": single,
        "held out, by the table": mean([min(times[s]) / times[s][int(near[s][0])] for s in held_out]),
        "held out, by the nearest": mean([min(times[s]) / times[s][times[o].index(min(times[o]))] for s in held_out for o in [nearest(s, known)]]),
        "held out, then measured": mean([share[s] for s in held_out]),
        "classes decided": f"{after_first['decided']} of {after_first['classes']}",
        "trials": after_first["trials"], "exploration": after_first["share"],
        "trials in the second process": after_second["trials"] - after_first["trials"],
        "second process to the oracle": mean([min(times[s]) / times[s][int(second[s][0])] for s in known]),
    }
    for shape in shapes:
        chosen, ns, _, decided = measured[shape][:4]
        chosen = int(chosen)
        print(f"  {'x'.join(map(str, shape)):16} oracle {min(times[shape]) / 1000:9.2f} us by {times[shape].index(min(times[shape])):2}, "
              f"chosen {chosen:2}: {share[shape]:.3f}, {ns / 1e9:4.1f} s{'' if decided else ', not decided'}"
              f"{', held out' if shape in held_out else ''}", file=sys.stderr)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--device", default="host")
    parser.add_argument("--sets")
    parser.add_argument("--ms", type=int, default=2000)
    parser.add_argument("--most", type=int, help="ms; ten times --ms where it is not given")
    parser.add_argument("--load", type=int, default=0, help="so many other processes use the device while choices are made")
    parser.add_argument("--libraries")
    parser.add_argument("--compile")
    parser.add_argument("--cpu", default="native", help="the target of --compile for the sets of CPUs")
    parser.add_argument("--json")
    options = parser.parse_args()
    on_gpu = options.device != "host"
    names = options.sets.split(",") if options.sets else [name for name in SETS if name.startswith("gpu-") == on_gpu]
    if options.compile:
        os.makedirs(options.compile, exist_ok=True)
        for name in names:
            compile_set(options.build, name, options.compile, options.cpu)
        return
    results = []
    with tempfile.TemporaryDirectory(prefix="kdl-adaptive-") as folder:
        for name in names:
            library = os.path.join(options.libraries, name + ".offload") if options.libraries else compile_set(options.build, name, folder)
            results.append(bench(options.build, library, name, options.device, options.ms, options.most or 10 * options.ms, options.load, folder))
            print("\n".join(f"{key}: {value:.4f}" if isinstance(value, float) else f"{key}: {value}" for key, value in results[-1].items()))
            print(flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
