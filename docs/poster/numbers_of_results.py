# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every number of the poster, the slides, the abstract and the answers, by name, with the one file it is from."""
import json
import re

H200 = "layers-h200-2026-11-16.json"
EPYC = "layers-epyc-2026-11-15.json"
SELECT = "select-2026-11-18.txt"
SELECT_TIMES = "select-2026-11-17.txt"
SEQUENCE = "sequence-2026-11-16.txt"
PYTHON = "python-2026-11-16.txt"
THIN = "thin-2026-11-16.txt"
MATMUL = "matmul-2026-11-15.txt"
MLIR = "mlir-launch-2026-11-18.txt"
OVERHEAD = "overhead-h200-2026-11-17.json"
LATENCY = "latency-2026-11-17.json"
LINES = "lines-2026-11-17.txt"
WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()
PEERS = {"kdl": "libkdl", "driver": "the driver", "liboffload": "liboffload", "cudart": "the CUDA runtime"}


def time(ns):
    """Three digits, with the unit that leaves one to three of them before the point."""
    for unit, size in (("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        if ns < 999.5 * size or unit == "s":
            digits = 2 if ns < 9.995 * size else 1 if ns < 99.95 * size else 0
            return f"{ns / size:.{digits}f} {unit}"
    return None


class Numbers:
    """Looks a name up in the results; remembers the files that were used."""

    def __init__(self, root):
        self.root, self.results, self.sources = root, root / "bench" / "results", {}

    def text(self, file, pattern, form=str):
        found = re.search(pattern, (self.results / file).read_text(encoding="utf-8"), re.MULTILINE)
        if not found:
            raise KeyError(f"{file} has nothing like {pattern}")
        return form(found.group(1)), file

    def layer(self, file, figure):
        for row in json.loads((self.results / file).read_text(encoding="utf-8"))["figures"]:
            if row["name"] == "layers/" + figure:
                return row["median"]
        raise KeyError(f"{file} has no layers/{figure}")

    def ratio(self, part):
        rows = json.loads((self.results / H200).read_text(encoding="utf-8"))["comparisons"]
        row = next(row for row in rows
                   if row["of"] == f"layers/{part}/kdl/total" and row["to"] == f"layers/{part}/driver/total")
        return f"{row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})", H200

    def sequence(self, row):
        value, unit = re.search(rf"^{re.escape(row)} +([\d.]+) (ns|us)", (self.results / SEQUENCE).read_text(encoding="utf-8"),
                                re.MULTILINE).groups()
        return time(float(value) * (1e3 if unit == "us" else 1)), SEQUENCE

    def overhead(self, run):
        """(time of the kernel, libkdl less driver, the driver less itself) of a run, in ns."""
        at = json.loads((self.results / OVERHEAD).read_text(encoding="utf-8"))["runs"][run]
        return at["figures"][0]["median"], at["differences"][0], at["differences"][1]

    def latency(self, name):
        rows = json.loads((self.results / LATENCY).read_text(encoding="utf-8"))["machines"][0]["figures"]
        return time(next(row["median"] for row in rows if row["name"] == name)), LATENCY

    def find(self, name):
        part, _, peer = name.partition("-")
        if part in ("cold", "load", "hot", "queued") and peer in PEERS:
            return time(self.layer(H200, f"{part}/{peer}/total")), H200
        if part == "ratio":
            return self.ratio(peer)
        if name in self.fixed:
            return self.fixed[name](self)
        raise KeyError(f"no number is called {name}")

    def get(self, name):
        value, source = self.find(name)
        self.sources[name] = source
        return value

    thousands = staticmethod(lambda text: f"{int(text):,}")
    fixed = {
        "module-kdl": lambda n: (time(n.layer(H200, "cold/kdl/load")), H200),
        "module-driver": lambda n: (time(n.layer(H200, "cold/driver/load")), H200),
        "context-share": lambda n: (f"{n.layer(H200, 'cold/kdl/context') / n.layer(H200, 'cold/kdl/total') * 100:.0f}%", H200),
        "load-more": lambda n: (time(n.layer(H200, "load/kdl/total") - n.layer(H200, "load/driver/total")), H200),
        "host-kdl": lambda n: (time(n.layer(EPYC, "hot/kdl/total")), EPYC),
        "host-plain": lambda n: (time(n.layer(EPYC, "hot/plain/total")), EPYC),
        "host-omp": lambda n: (time(n.layer(EPYC, "hot/omp/total")), EPYC),
        "first-3": lambda n: n.text(SELECT, r"^  3 images: first kdl_select +(\d+)", n.thousands),
        "again-3": lambda n: n.text(SELECT, r"^  3 images: kdl_select, remembered +(\d+)", n.thousands),
        "again-time": lambda n: n.text(SELECT_TIMES, r"^3 images/kdl_select, remembered +([\d.]+ ns)"),
        "llvm-match-3": lambda n: n.text(SELECT, r"^  3 images: LLVM, match alone +(\d+)", n.thousands),
        "open-1000": lambda n: n.text(SELECT_TIMES, r"^1000 images/kdl_open_memory, first kdl_select, kdl_close +([\d.]+) us",
                                      lambda us: time(float(us) * 1e3)),
        "llvm-open-1000": lambda n: n.text(SELECT_TIMES, r"^1000 images/LLVM OffloadBinary::create, .* match +([\d.]+) us",
                                           lambda us: time(float(us) * 1e3)),
        "replay-1000": lambda n: n.sequence("cuda/1000 launches/replay"),
        "graph-1000": lambda n: n.sequence("cuda/1000 launches/driver: graph"),
        "launches-1000": lambda n: n.sequence("cuda/1000 launches/launches"),
        "python-kdl": lambda n: n.text(PYTHON, r"^kdl, torch tensors +([\d.]+)", lambda us: time(float(us) * 1e3)),
        "python-c": lambda n: n.text(PYTHON, r"^C, driver alone +([\d.]+)", lambda us: time(float(us) * 1e3)),
        "python-ffi": lambda n: n.text(PYTHON, r"^tvm-ffi, torch tensors +([\d.]+)", lambda us: time(float(us) * 1e3)),
        "python-core": lambda n: n.text(PYTHON, r"^cuda.core +([\d.]+)", lambda us: time(float(us) * 1e3)),
        "python-triton": lambda n: n.text(PYTHON, r"^Triton +([\d.]+)", lambda us: time(float(us) * 1e3)),
        "thin-before": lambda n: n.text(THIN, r"^all 44 libraries +([\d.]+)", lambda mb: f"{float(mb):,.0f} MB"),
        "thin-after": lambda n: n.text(THIN, r"^all 44 libraries +[\d.]+ +([\d.]+)", lambda mb: f"{float(mb):,.0f} MB"),
        "thin-less": lambda n: n.text(THIN, r"^all 44 libraries +[\d.]+ +[\d.]+ +(\d+)", lambda share: f"{share}%"),
        "thin-same": lambda n: n.text(THIN, r"^the same bit for bit +(\d+)", n.thousands),
        "thin-samples": lambda n: n.text(THIN, r"^samples compared +(\d+)", n.thousands),
        "matmul-mean": lambda n: n.text(MATMUL, r"^oneDNN: geometric mean ([\d.]+)"),
        "matmul-least": lambda n: n.text(MATMUL, r"^oneDNN: geometric mean [\d.]+, least ([\d.]+)"),
        "mlir-select": lambda n: n.text(MLIR, r"with a stream: +runtime_select (\d+)"),
        "mlir-object": lambda n: n.text(MLIR, r"with a stream: .*select_object (\d+)"),
        "mlir-patches": lambda n: (WORDS[len(list((n.root / "upstream/mlir").glob("*.patch")))], "upstream/mlir"),
        "verdicts": lambda n: (re.search(r"([\d,]+) verdicts", (n.root / "docs/compared-libraries.md").read_text(encoding="utf-8")).group(1),
                               "docs/compared-libraries.md"),
        "compared-images": lambda n: (re.search(r"([\d,]+) images", (n.root / "docs/compared-libraries.md").read_text(encoding="utf-8")).group(1),
                                      "docs/compared-libraries.md"),
        "overhead-kernel": lambda n: (time(n.overhead(0)[0]), OVERHEAD),
        "overhead-more": lambda n: (time(n.overhead(0)[1]["median"]), OVERHEAD),
        "overhead-low": lambda n: (time(n.overhead(0)[1]["low"]), OVERHEAD),
        "overhead-high": lambda n: (time(n.overhead(0)[1]["high"]), OVERHEAD),
        "overhead-null": lambda n: (time(n.overhead(0)[2]["median"]), OVERHEAD),
        "overhead-share": lambda n: (f"{n.overhead(0)[1]['median'] / n.overhead(0)[0] * 100:.3f}%", OVERHEAD),
        "overhead-other": lambda n: (time(n.overhead(1)[1]["median"]), OVERHEAD),
        "latency-select": lambda n: n.latency("kdl_select, remembered"),
        "latency-l2": lambda n: n.latency("L2 cache"),
        "latency-l3": lambda n: n.latency("L3 cache"),
        "lines-core": lambda n: n.text(LINES, r"^core +[\d,]+ +([\d,]+)"),
        "lines-tests": lambda n: n.text(LINES, r"^tests +[\d,]+ +([\d,]+)"),
        "lines-all": lambda n: n.text(LINES, r"^all +[\d,]+ +([\d,]+)"),
    }
