#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every time and share that a page quotes is the one of its source in bench/results.

A line of FIGURES is a text of a page with {} where its figures are, and where they come from. A
figure is right where its source rounds to it. In the parts of pages that PARTS names, a time or
share that no line accounts for is an error: it has no source. Drawings are checked by bench/figures/draw.py.

    figures.py SOURCE_FOLDER
"""
import json
import pathlib
import re
import subprocess
import sys

UNITS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
NUMBER = r"\d+(?:\.\d+)?"
FIGURE = re.compile(rf"(?<![\w.\-–])({NUMBER}) ?(ns|µs|ms|%)(?!\w)")

# Of each page the part that is held to its sources: from a line to another, or to the end.
PARTS = {
    "README.md": ("# libkdl", None),
    "docs/performance.md": ("One core of an AMD EPYC", None),
}
# What the early documents said themselves, and counts that are no measurement.
QUOTED = ["3–6 ns for each dispatch", "takes 36 µs, 90% of the cold path", "take 4.1 µs*",
          "below 0.0001% of a kernel of 10 ms*, which is 10 ns", "and 10 ns cannot be", "97 to 99% of the pairs on the H200, 97%"]

SELECT = "select-2026-11-18.txt"
OPEN = "open-2026-11-15.txt"
H200 = "layers-h200-2026-11-16.json"
EPYC = "layers-epyc-2026-11-15.json"
POCL = "layers-pocl-2026-11-15.json"
OVERHEAD = "overhead-h200-2026-11-17.json"
LATENCY = "latency-2026-11-17.json"
FLAME = "flame-h200-2026-11-17.json"
HELD = "flame-h200-held-2026-11-17.json"
MLIR = "mlir-2026-11-15.txt"
MLIR_LAUNCH = "mlir-launch-2026-11-18.txt"


class Results:
    """What the files of a folder say, in nanoseconds."""

    def __init__(self, folder):
        self.folder = folder

    def read(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def layer(self, name, figure):
        for row in json.loads(self.read(name))["figures"]:
            if row["name"] == "layers/" + figure:
                return row["median"]
        raise KeyError(f"{name}: no figure layers/{figure}")

    def ratio(self, name, of, to):
        for row in json.loads(self.read(name))["comparisons"]:
            if row["of"] == "layers/" + of and row["to"] == "layers/" + to:
                return row
        raise KeyError(f"{name}: no comparison of {of} to {to}")

    def select(self, images, *calls):
        """Instructions of some calls among so many images."""
        return sum(self.text(SELECT, rf"^ +{images} images: {call} +(\d+)") for call in calls)

    def open(self, case, row):
        """The first column of a row below a case of bench_open."""
        part = self.read(OPEN).split(f"\n{case}\n")[1].split("\n\n")[0]
        return float(re.search(rf"^ +{re.escape(row)} +({NUMBER})", part, re.MULTILINE).group(1))

    def text(self, name, pattern):
        return float(re.search(pattern, self.read(name), re.MULTILINE).group(1))

    def json(self, name):
        return json.loads(self.read(name))

    def overhead(self, run):
        """ns of the driver's kernel, and the differences of libkdl and of the driver itself, of one run."""
        at = self.json(OVERHEAD)["runs"][run]
        return at["figures"][1]["median"], *at["differences"]

    def latency(self, machine, *names):
        rows = {row["name"]: row["median"] for row in self.json(LATENCY)["machines"][machine]["figures"]}
        return [rows[name] for name in names]

    def register_gpu(self, name):
        """ns of the ioctl of nvidia-uvm, in libkdl's cold process."""
        def find(node):
            return node["ns"] if node.get("name", "").endswith("nvidia-uvm 0x25") else sum(map(find, node.get("children", [])))
        return find(self.json(name)["peers"][0]["modes"]["cold"]["tree"])

    def mlir(self, row):
        """The first column of a row of bench_mlir_launch on the H200."""
        part = self.read(MLIR).split("2. On an H200")[1]
        return float(re.search(rf"^ +{re.escape(row)} +({NUMBER})", part, re.MULTILINE).group(1))


def figures(r):
    chosen, llvm = ("kdl_open_memory", "first kdl_select", "kdl_close"), "LLVM, open and match"
    case = "64 images of 65536 bytes"
    by_peer = lambda figure: [r.layer(H200, figure.format(peer))
                              for peer in ("kdl", "driver", "liboffload", "cudart")]
    cold = lambda peer, layer: r.layer(H200, f"cold/{peer}/{layer}")
    warm = lambda layer: r.layer(H200, f"load/kdl/{layer}")
    more = lambda layer: warm(layer) - r.layer(H200, f"load/driver/{layer}")
    share = lambda peer, layer: cold(peer, layer) / cold(peer, "total") * 100
    kernel, added, null = r.overhead(0)
    _, added_again, null_again = r.overhead(1)
    blocking = next(peer for peer in r.json(FLAME)["peers"] if peer["name"] == "liboffload")["modes"]["hot"]["plain"]
    return {
        "docs/performance.md": [
            ("from memory | {} an image | {} (`OffloadBinary::create`), {} (`extract",
             [r.open(case, "memory: kdl_open_memory + kdl_close"),
              r.open(case, "memory: LLVM OffloadBinary::create"),
              r.open(case, "memory: LLVM extractOffloadBinaries")]),
            ("the same from a file | {} an image | {} |",
             [r.open(case, "file: kdl_open + kdl_close"),
              r.open(case, "file: LLVM extractOffloadBinaries")]),
            ("choose the last, close | {#} | {#} (`Offload", [r.select(3, *chosen), r.select(3, llvm)]),
            ("the same of 1,000 images | {#} million | {#} million |",
             [r.select(1000, *chosen) / 1e6, r.select(1000, llvm) / 1e6]),
            ("among 3 and among 1,000 | {#} and {#} million | {#} and {#} million (`are",
             [r.select(3, "first kdl_select"), r.select(1000, "first kdl_select") / 1e6,
              r.select(3, "LLVM, match alone"), r.select(1000, "LLVM, match alone") / 1e6]),
            ("the choice is remembered | {#} |", [r.select(3, "kdl_select, remembered")]),
            ("an H200 and for an MI300X | {#} and {#} |",
             [r.text(SELECT, rf"^ +8 images of a file, {device}: first kdl_select +(\d+)") for device in ("h200", "mi300x")]),
            ("| 100 launches queued, each | {} | {} | {} | {} |", by_peer("queued/{}/total")),
            ("| a launch, waited for | {} | {} | {} | {} |", by_peer("hot/{}/total")),
            ("| from bytes to a kernel, warm | {} | {} | {} | {} |", by_peer("load/{}/total")),
            ("result and end | {} | {} | {} | {} |", by_peer("cold/{}/total")),
            ("libkdl's {} more in the third row: {#} choose among 13 images, {#} open the library, {#} go",
             [more("total"), warm("select") / 1e3, warm("open") / 1e3,
              (more("load") + more("resolve")) / 1e3]),
            ("That is {#} times the driver's", [r.ratio(H200, "load/kdl/total", "load/driver/total")["ratio"]]),
            ("a launch on the host | {} | {} (`dlsym` and a call), {} (LLVM",
             [r.layer(EPYC, f"hot/{peer}/total") for peer in ("kdl", "plain", "omp")]),
            ("result and end | {} | {}, {} |",
             [r.layer(EPYC, f"cold/{peer}/total") for peer in ("kdl", "plain", "omp")]),
            ("100 queued, each | {} | {} (OpenCL",
             [r.layer(POCL, f"queued/{peer}/total") for peer in ("kdl", "opencl")]),
            ("choice among 3 images takes {#} instructions, and a dispatch", [r.select(3, "first kdl_select")]),
            ("of the cold path*: {} with libkdl and {} with the driver, of a process of {}, of which the "
             "context takes {}.",
             [cold("kdl", "load"), cold("driver", "load"), cold("kdl", "total"), share("kdl", "context")]),
            ("take 4.1 µs*: {} with libkdl, {} with the driver.", by_peer("hot/{}/total")[:2]),
            ("cold process {} are one ioctl, REGISTER_GPU of nvidia-uvm, which takes {} where", [r.register_gpu(FLAME), r.register_gpu(HELD)]),
            ("a launch with its wait takes {}. The table above", [blocking["median"]]),
            ("A matrix product of {} takes {} longer through libkdl, 95% interval {} to {}: {};",
             [kernel, added["median"], added["low"], added["high"], added["median"] / kernel * 100]),
            ("differs from itself by {} in the same run", [null["median"]]),
            ("another machine of the kind it is {} and {} (", [added_again["median"], null_again["median"]]),
            ("the cheapest choice, takes {} on the H200's Xeon, a load from that CPU's L2 cache {}, from its L3 cache {}, and from the L2 cache of "
             "the GPU {}; on the EPYC {}, {} and {} (",
             [*r.latency(0, "kdl_select, remembered", "L2 cache", "L3 cache", "L2 cache of the GPU"),
              *r.latency(1, "kdl_select, remembered", "L2 cache", "L3 cache")]),
        ],
        "README.md": [
            ("wait for it take {} through libkdl and {} through", by_peer("hot/{}/total")[:2]),
            ("| 100 launches queued, each | {} | {} | {} | {} |", by_peer("queued/{}/total")),
            ("| a launch, waited for | {} | {} | {} | {} |", by_peer("hot/{}/total")),
            ("result and end | {} | {} | {} | {} |", by_peer("cold/{}/total")),
        ],
        "docs/mlir.md": [
            ("is {#} instructions with a stream and {#} without, through `#gpu.select_object` on the same",
             [r.text(MLIR_LAUNCH, r"with a stream: +runtime_select (\d+)"),
              r.text(MLIR_LAUNCH, r"without a stream: +runtime_select (\d+)")]),
            ("same library {#} and {#} (`mlir/bench",
             [r.text(MLIR_LAUNCH, r"with a stream: .*select_object (\d+)"),
              r.text(MLIR_LAUNCH, r"without a stream: .*select_object (\d+)")]),
            ("a launch that waits takes {}, or {#} through `#gpu.select_object`, where the calls of MLIR's "
             "own CUDA runtime take {#}; one of 64 in a loop {#}; one with a stream {#} and {#}",
             [r.mlir("runtime_select sync"), r.mlir("select_object sync") / 1e3,
              r.mlir("upstream sync") / 1e3, r.mlir("runtime_select loop") / 1e3,
              r.mlir("runtime_select async") / 1e3, r.mlir("upstream async") / 1e3]),
        ],
        "docs/rfc/0002-gpu-runtime-select.md": [
            ("CUDA runtime take {} for a launch without a stream", [r.mlir("upstream sync")]),
        ],
    }


def step_of(shown):
    """What the last digit that is shown stands for; zeros at the end of a whole number may round."""
    if "." in shown:
        return 10.0 ** -len(shown.split(".")[1])
    return 10.0 ** (len(shown) - len(shown.rstrip("0")) if shown.strip("0") else 0)


def pattern_of(text):
    parts = []
    for part in re.split(r"(\{#?\})", text):
        if part == "{}":
            parts.append(rf"({NUMBER} ?(?:ns|µs|ms|%))")
        elif part == "{#}":
            parts.append(rf"({NUMBER})")
        else:
            parts.append(re.sub(r"(\\ |\s)+", r"\\s+", re.escape(part)))
    return re.compile("".join(parts))


def check_line(page, content, text, sources, wrong):
    """The spans of the figures that the line accounts for."""
    found = pattern_of(text).search(content)
    if not found:
        wrong.append(f"{page}: no text as '{text}'")
        return []
    for i, source in enumerate(sources, 1):
        shown = found.group(i)
        number, unit = re.match(rf"({NUMBER}) ?(\S*)", shown).groups()
        value = source / UNITS.get(unit, 1.0)
        if abs(float(number) - value) > step_of(number) / 2 * 1.000001:
            wrong.append(f"{page}: found {shown} in '{text}', its source has {value:.5g} {unit}".rstrip())
    return [found.span()]


def check_part(page, content, spans, wrong):
    start, end = PARTS[page]
    begin = content.index(start)
    stop = content.index(end, begin) if end else len(content)
    for quoted in QUOTED:
        at = content.find(quoted)
        if at >= 0:
            spans.append((at, at + len(quoted)))
    for found in FIGURE.finditer(content, begin, stop):
        if not any(first <= found.start() and found.end() <= last for first, last in spans):
            wrong.append(f"{page}: {found.group(0)} has no source: {content[found.start() - 40:found.end()]!r}")


def main():
    source = pathlib.Path(sys.argv[1])
    wrong = []
    count = 0
    for page, lines in figures(Results(source / "bench" / "results")).items():
        content = (source / page).read_text(encoding="utf-8")
        spans = []
        for text, sources in lines:
            spans += check_line(page, content, text, sources, wrong)
            count += len(sources)
        if page in PARTS:
            check_part(page, content, spans, wrong)
    drawn = subprocess.run([sys.executable, source / "bench" / "figures" / "draw.py", "--check"], capture_output=True, text=True)
    if drawn.returncode:
        wrong.append(drawn.stdout + drawn.stderr)
    for line in wrong:
        print("figures:", line, file=sys.stderr)
    if not wrong:
        print(f"figures: {count} are those of their sources")
    return 1 if wrong else 0


sys.exit(main())
