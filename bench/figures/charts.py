# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every figure but the flame graphs."""
import math

from svg import MARGIN, WIDTH, Drawing, duration, on, round_duration, text_width

PEERS = (("kdl", "libkdl", "kdl"), ("driver", "the driver", "driver"), ("liboffload", "liboffload", "offload"),
         ("cudart", "CUDA runtime", "cudart"), ("mlir", "MLIR's wrapper", "mlir"))
PHASE_KINDS = {"process start": "none", "driver dlopen": "library", "driver init": "driver", "enumerate": "opencl",
               "context": "cuda", "open": "offload", "select": "kdl", "load": "system", "resolve": "part",
               "arguments": "none", "launch": "kdl", "synchronise": "offload", "process end": "step"}


def figure_of(data, name):
    return next((row for row in data["figures"] if row["name"] == name), None)


# ---- phases -------------------------------------------------------------------------------------

PHASE_MODES = (("cold", "a process, from its start to its first result and its end"), ("load", "from bytes to a kernel, warm"),
               ("hot", "a launch of what is loaded, and the wait"), ("queued", "one of 100 launches that are queued"))


def phases(data):
    out = Drawing("What a dispatch spends, phase by phase", "An NVIDIA H200, driver 580; one image, all in one run (kdl bench layers). "
                  "Medians; each block has its own scale, and phases divide the length of their total.")
    left, right = 124, WIDTH - MARGIN - 84
    peers = [peer for peer in PEERS if figure_of(data, f"layers/cold/{peer[0]}/total")]
    for mode, words in PHASE_MODES:
        found = {}
        for peer, _, _ in peers:
            prefix = f"layers/{mode}/{peer}/"
            found[peer] = {row["name"][len(prefix):]: row for row in data["figures"] if row["name"].startswith(prefix)}
        top = max(rows["total"]["median"] for rows in found.values())
        out.y += 14
        out.text(MARGIN, out.y + 8, words, "name")
        out.y += 20
        seen = []
        for peer, title, kind in peers:
            x = left
            out.text(left - 8, out.y + 18, title, "end")
            parts = {name: row for name, row in found[peer].items() if name != "total" and row["median"] > 0}
            whole = found[peer]["total"]
            if not parts:
                out.rect(x, out.y, whole["median"] / top * (right - left), 26, kind, f"{title}: {duration(whole['median'])}")
            told = sum(row["median"] for row in parts.values())  # medians of phases do not add up to the median of their sum
            for name, row in parts.items():
                width = row["median"] / told * whole["median"] / top * (right - left)
                if width > 0.2:
                    out.rect(x, out.y, width, 26, PHASE_KINDS.get(name, "none"), f"{title}, {name}: {duration(row['median'])}", "edge")
                if width > 3 and name not in seen:
                    seen.append(name)
                x += width
            out.text(WIDTH - MARGIN, out.y + 18, duration(whole["median"]), "end")
            out.y += 30
        if seen:
            order = [name for name in PHASE_KINDS if name in seen]
            out.keys([(PHASE_KINDS[name], name) for name in order])
        else:
            out.y += 8
    return out


# ---- curves -------------------------------------------------------------------------------------

class Plot:
    """Both axes are logarithmic where `log` has their letter."""

    def __init__(self, out, x_range, y_range, height=250, log="xy", left=86):
        self.out, self.xs, self.ys, self.log = out, x_range, y_range, log
        self.left, self.top, self.height = left, out.y, height
        out.y += height + 44

    def at(self, letter, value):
        low, high = self.xs if letter == "x" else self.ys
        if letter in self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        share = (value - low) / (high - low)
        return (self.left + share * (WIDTH - MARGIN - 10 - self.left) if letter == "x"
                else self.top + self.height * (1 - share))

    def grid(self, xs, ys, x_words, x_name):
        for y in ys:
            self.out.line(self.left, self.at("y", y), WIDTH - MARGIN - 10, self.at("y", y))
            self.out.text(self.left - 6, self.at("y", y) + 5, self.y_words(y), "soft end")
        for x in xs:
            self.out.text(self.at("x", x), self.top + self.height + 19, x_words(x), "soft mid")
        self.out.text(WIDTH - MARGIN - 10, self.top + self.height + 38, x_name, "soft end")

    y_words = staticmethod(round_duration)

    def curve(self, points, kind, name):
        places = [(self.at("x", x), self.at("y", y)) for x, y in points]
        self.out.path(places, kind, name)
        for (x, y), place in zip(points, places):
            self.out.dot(*place, kind, f"{name}, {x:,}: {duration(y)}")


def powers(low, high):
    return [10.0 ** e for e in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]


def scale(data):
    out = Drawing("How costs grow", f"{data['machine']['cpu']}, {data['machine']['cpus']} CPUs; kdl bench scale. Both axes are logarithmic.")
    medians = {row["name"]: row["median"] for row in data["figures"]}
    curves = {curve["name"]: curve for curve in data["curves"]}
    for parameter, words, rows in (
            ("images", "with the images of a library", (("open", "offload"), ("open and choose", "kdl"), ("choose again", "cuda"))),
            ("threads", "with the threads that launch", None)):
        names = [name for name in curves if curves[name]["parameter"] == parameter]
        series = []
        for name in names:
            label = name.split("/")[-1]
            kind = dict(rows)[label] if rows else "kdl"
            series.append((label, kind, [(p["at"], medians[p["figure"]]) for p in curves[name]["points"]], curves[name]["exponent"]))
        values = [y for _, _, points, _ in series for _, y in points]
        xs = [x for x, _ in series[0][2]]
        out.y += 12
        out.text(MARGIN, out.y + 8, words, "name")
        out.y += 14
        out.keys([(kind, f"{label} (grows as n^{abs(exponent) if abs(exponent) < 0.005 else exponent:.2f})") for label, kind, _, exponent in series])
        plot = Plot(out, (min(xs) * 0.9, max(xs) * 1.1), (min(values) * 0.7, max(values) * 1.3), 230 if rows else 150)
        plot.grid(xs, powers(*plot.ys) if rows else [v for v in (2, 5, 10, 20, 50) if plot.ys[0] < v < plot.ys[1]],
                  lambda x: f"{x:,}", parameter)
        for label, kind, points, _ in series:
            plot.curve(points, kind, label)
    return out


def distribution(data):
    out = Drawing("How long a launch and its wait take, launch by launch",
                  f"{data['hardware']}; an empty kernel, {data['processes']} processes of each peer in turns, unpinned. "
                  "The share of launches that took at most so long.")
    shown = [(row, peer) for peer in PEERS for row in data["peers"] if row["name"] == peer[0]]
    out.keys([(kind, f"{title}, median {duration(row['modes']['hot']['plain']['median'])}") for row, (_, title, kind) in shown])
    lines = {row["name"]: row["modes"]["hot"]["plain"]["quantiles"] for row, _ in shown}
    low = min(line[1] for line in lines.values())
    high = max(line[-2] for line in lines.values())
    plot = Plot(out, (low * 0.97, high * 1.03), (0, 1), 300, "x", 60)
    plot.y_words = lambda share: f"{share:.0%}"
    xs = [x for x in (4e3, 6e3, 8e3, 10e3, 12e3, 15e3, 20e3, 30e3, 40e3, 60e3, 100e3) if plot.xs[0] < x < plot.xs[1]]
    for x in xs:
        out.line(plot.at("x", x), plot.top, plot.at("x", x), plot.top + plot.height)
    plot.grid(xs, (0, 0.25, 0.5, 0.75, 1), lambda x: f"{x / 1e3:g} µs", "a launch and its wait")
    for row, (_, title, kind) in shown:
        points = [(plot.at("x", min(max(ns, plot.xs[0]), plot.xs[1])), plot.at("y", share))
                  for share, ns in zip(data["quantiles"], lines[row["name"]])]
        out.path(points, kind, title)
    out.paragraph("liboffload, alone in a process, has the driver block in a wait (CU_CTX_SCHED_BLOCKING_SYNC), which gives the CPU away; "
                  "the others spin.")
    return out


def sequence(data):
    out = Drawing("A recorded sequence and the driver's graph", f"{data['machine']['cpu']} with an NVIDIA H200; empty kernels; kdl bench sequence. "
                  "Time for each launch of a sequence; both axes are logarithmic.")
    rows = (("replay", "kdl", "libkdl: replay"), ("driver: graph", "driver", "driver: graph"),
            ("replay, every slot bound anew", "offload", "libkdl: every slot bound anew"),
            ("driver: graph, every node set", "cuda", "driver: every node set"), ("launches", "cudart", "libkdl: launches"))
    out.keys([(kind, words) for _, kind, words in rows])
    counts = (1, 10, 100, 1000)
    series = {name: [(n, figure_of(data, f"sequence/cuda/{n} launches/{name}")["median"]) for n in counts] for name, _, _ in rows}
    values = [y for points in series.values() for _, y in points]
    plot = Plot(out, (0.9, 1100), (min(values) * 0.8, max(values) * 1.2), 270)
    plot.grid(counts, [v for v in (1e3, 2e3, 5e3, 10e3, 20e3) if plot.ys[0] < v < plot.ys[1]], lambda x: f"{x:,}", "launches in the sequence")
    for name, kind, words in rows:
        plot.curve(series[name], kind, words)
    ratios = [f"{n:,}: {row['ratio']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" for n in counts for row in data["comparisons"]
              if row["of"] == f"sequence/cuda/{n} launches/replay" and row["to"] == f"sequence/cuda/{n} launches/driver: graph"]
    out.paragraph("Replay to graph, ratio and 95% interval at " + "; ".join(ratios) + ".")
    return out


# ---- matmul -------------------------------------------------------------------------------------

def ratio_scale(left, right, least, most):
    """Where a ratio is on a logarithmic axis; those beyond it are at its ends."""
    low, high = math.log(least), math.log(most)
    return lambda ratio: left + (math.log(min(max(ratio, least), most)) - low) / (high - low) * (right - left)


def ratio_ticks(out, place, top, ticks):
    for tick in ticks:
        out.line(place(tick), top, place(tick), out.y, "grid" if tick != 1 else "s-driver")
        out.text(place(tick), out.y + 18, f"{tick:g}", "soft mid")
    out.y += 30


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def matmul(epyc, xeon):
    out = Drawing("Matrix products: libkdl and oneDNN", "oneDNN's time over libkdl's, packed weights; a dot is a shape (21 each), the bar their "
                  "geometric mean. To the right of 1 libkdl is faster.")
    left, right = 186, WIDTH - MARGIN - 62
    place = ratio_scale(left, right, 0.6, 3.2)
    top = out.y + 6
    out.y += 6
    for data, machine in ((epyc, "AMD EPYC, Zen 4"), (xeon, "Intel Xeon, AMX")):
        out.text(MARGIN, out.y + 16, machine, "name")
        out.y += 26
        groups = {}
        for row in data["rows"]:
            if row["weights"] == "packed" and row["type"] != "f16":
                groups.setdefault((row["type"], row["threads"]), []).append(row)
        for (kind, threads), rows in groups.items():
            counted = [row for row in rows if threads == 1 or min(map(int, row["shape"].split("x"))) >= 768]
            mean = geometric_mean([row["ratio"] for row in counted])
            label = f"{kind}, {'1 core' if threads == 1 else f'all {threads} cores'}"
            out.text(left - 10, out.y + 17, label, "end")
            out.line(left, out.y + 12, right, out.y + 12)
            for row in rows:
                peak = f", {row['of_peak']:.0f}% of the peak" if row["of_peak"] else ""
                out.dot(place(row["ratio"]), out.y + 12, "offload" if row["ratio"] >= 0.98 else "bad",
                        f"{row['shape']}: {row['ratio']:.3f} [{row['low']:.3f}, {row['high']:.3f}]{peak}", 4.5)
            out.rect(place(mean) - 1.5, out.y + 1, 4, 22, "kdl", f"geometric mean {mean:.3f}")
            out.text(WIDTH - MARGIN, out.y + 17, f"{mean:.2f}", "end")
            out.y += 30
        out.y += 6
    ratio_ticks(out, place, top, (0.7, 1, 1.5, 2, 3))
    out.keys([("offload", "0.98 or more"), ("bad", "less"), ("kdl", "geometric mean")])
    out.paragraph("All cores: the bar is of the squares from 768 on. Below, oneDNN's threads wait for each other by spinning, which on this virtual "
                  "machine takes many times as long as the work. Dots beyond the scale lie at its end.")
    return out


def matmul_threads(data):
    out = Drawing("Matrix products by number of threads: libkdl and PyTorch", "PyTorch's time over libkdl's; a dot is a shape, the bar their "
                  "geometric mean. To the right of 1 libkdl is faster.")
    left, right = 150, WIDTH - MARGIN - 110
    place = ratio_scale(left, right, 0.4, 6)
    out.text(WIDTH - MARGIN - 52, out.y + 14, "packed", "soft end")
    out.text(WIDTH - MARGIN, out.y + 14, "plain", "soft end")
    out.y += 22
    top = out.y
    groups = {}
    for row in data["rows"]:
        groups.setdefault((row["type"], row["threads"]), []).append(row)
    for (kind, threads), rows in sorted(groups.items(), key=lambda group: (group[0][0], group[0][1])):
        out.text(left - 10, out.y + 17, f"{kind}, {threads} thread{'s' if threads > 1 else ''}", "end")
        out.line(left, out.y + 12, right, out.y + 12)
        for weights, style, column in (("plain", "offload", 0), ("packed", "kdl", 52)):
            for row in rows:
                out.dot(place(row[weights]), out.y + 12, style, f"{row['shape']}, {weights}: {row[weights]:.2f}", 4)
            mean = geometric_mean([row[weights] for row in rows])
            out.rect(place(mean) - 1.5, out.y + 1, 4, 22, style, f"{weights}, geometric mean {mean:.2f}")
            out.text(WIDTH - MARGIN - column, out.y + 17, f"{mean:.2f}", "end")
        out.y += 28
    ratio_ticks(out, place, top, (0.5, 1, 2, 4))
    out.keys([("kdl", "packed weights"), ("offload", "plain weights")])
    out.paragraph("Sixteen shapes. Virtual CPUs, which vary twofold within a run, and of which the two libraries had different ones in bf16 and int8 at 2 to 8 threads. Dots beyond the scale lie at its end.")
    return out


GPU_MATMULS = (("kdl-wgmma", "libkdl, wgmma", "kdl"), ("kdl-sync", "libkdl, mma.sync", "offload"), ("triton", "Triton's tutorial", "cudart"))


def gpu_matmul(data):
    card = data["runs"][0]["card"]
    out = Drawing("Matrix products on a GPU: libkdl and cuBLASLt", f"{card['name']}, driver {card['driver']}. The time of cuBLASLt's best of 8 heuristics over that "
                  "of others; a dot is a shape (20 each), the bar their geometric mean. To the right of 1 cuBLASLt is slower.")
    left, right = 200, WIDTH - MARGIN - 62
    place = ratio_scale(left, right, 0.1, 1.6)
    top = out.y + 6
    out.y += 6
    for run in data["runs"]:
        for name, label, style in GPU_MATMULS:
            rows = [row for row in run["rows"] if name in row["burst"]]
            if not rows:
                continue
            out.text(left - 10, out.y + 17, f"{rows[0]['type']}, {label}", "end")
            out.line(left, out.y + 12, right, out.y + 12)
            for row in rows:
                ratio = row["burst"][name]["to_best"]
                out.dot(place(ratio), out.y + 12, style, f"{row['shape']}: {ratio:.2f}", 4)
            mean = geometric_mean([row["burst"][name]["to_best"] for row in rows])
            out.rect(place(mean) - 1.5, out.y + 1, 4, 22, style, f"geometric mean {mean:.2f}")
            out.text(WIDTH - MARGIN, out.y + 17, f"{mean:.2f}", "end")
            out.y += 28
    ratio_ticks(out, place, top, (0.2, 0.5, 1))
    out.keys([(style, label) for _, label, style in GPU_MATMULS])
    out.paragraph("In one process, in turns, random data, a pause before each timing. mma.sync is the code for devices before Hopper; it runs here for comparison. "
                  "Dots beyond the scale lie at its end.")
    return out


THREAD_PEERS = (("kdl", "libkdl", "kdl"), ("openmp", "OpenMP", "offload"), ("torch", "PyTorch", "cudart"), ("onednn", "oneDNN", "cuda"),
                ("pocl", "PoCL", "system"), ("intel", "Intel's OpenCL", "part"), ("roofline", "limit of the machine", "driver"))
THREAD_ROWS = (("triad small", "triad of 64 Ki numbers"), ("triad large", "triad of 16 Mi numbers"), ("stencil small", "stencil of 64 Ki numbers"),
               ("compute large", "64 multiplications and additions for each of 1 Mi numbers"), ("group_stencil large", "stencil with barriers, 1024 by 1024"),
               ("gemm large", "matrix product of 1024 by 1024, f32"), ("gemm_bf16 large", "matrix product of 1024 by 1024, bf16"))


def threads(data):
    out = Drawing("Kernels by number of threads", f"{data['machine']['cpu']}, {data['machine']['cpus']} virtual CPUs; kdl bench scale --threads=powers. "
                  "Time of a launch; both axes are logarithmic.")
    medians = {row["name"]: row["median"] for row in data["figures"]}
    curves = {curve["name"]: curve for curve in data["curves"]}
    shown = [peer for peer in THREAD_PEERS if any(f"scale/{row}/{peer[0]}" in curves for row, _ in THREAD_ROWS)]
    out.keys([(kind, title) for _, title, kind in shown])
    for row, words in THREAD_ROWS:
        series = [(title, kind, [(p["at"], medians[p["figure"]]) for p in curves[f"scale/{row}/{name}"]["points"]])
                  for name, title, kind in shown if f"scale/{row}/{name}" in curves]
        values = [y for _, _, points in series for _, y in points]
        xs = [x for x, _ in series[0][2]]
        out.y += 12
        out.text(MARGIN, out.y + 8, words, "name")
        out.y += 18
        plot = Plot(out, (min(xs) * 0.9, max(xs) * 1.1), (min(values) * 0.8, max(values) * 1.25), 150)
        plot.grid(xs, [v * e for e in powers(plot.ys[0] / 10, plot.ys[1]) for v in (1, 2, 5) if plot.ys[0] < v * e < plot.ys[1]],
                  lambda x: f"{x:g}", "threads")
        for title, kind, points in series:
            plot.curve(points, kind, title)
    return out


# ---- bytes and kernels --------------------------------------------------------------------------

def thin(data):
    out = Drawing("Bytes before and after kdl thin", "Millions of bytes of each library as it is installed, and with the device code of one device alone.")
    out.keys([("kdl", "after"), ("none", "removed")])
    left, right = 226, WIDTH - MARGIN - 156
    for group in data["groups"]:
        rows = sorted((row for row in group["rows"] if not row["library"].startswith("all ")), key=lambda row: -row["before"])[:8]
        whole = next((row for row in group["rows"] if row["library"].startswith("all ")), None)
        out.y += 12
        title = group["name"] + (f": {whole['before']:,.0f} MB to {whole['after']:,.0f} in {whole['library'][4:]}" if whole else "")
        out.text(MARGIN, out.y + 8, title, "name")
        out.y += 20
        top = max(row["before"] for row in rows)
        for row in rows:
            name = row["library"].rpartition("/")[2].removesuffix(".so").split(".so")[0].split(".cpython")[0]
            name = name if text_width(name) < left - MARGIN - 10 else name[:21] + "…"
            scale_to = (right - left) / top
            hover = f"{row['library']}: {row['before']:,.1f} MB to {row['after']:,.1f}"
            out.text(left - 8, out.y + 16, name, "end", hover)
            out.rect(left, out.y + 2, row["before"] * scale_to, 18, "none", hover)
            out.rect(left, out.y + 2, row["after"] * scale_to, 18, "kdl", hover)
            less = 100 * (1 - row["after"] / row["before"])
            out.text(WIDTH - MARGIN, out.y + 16, f"{row['before']:,.0f} → {row['after']:,.0f} ({less:.0f}%)", "end")
            out.y += 24
    out.paragraph("In brackets: how much goes. The largest eight of each; cuFFT's modules have PTX and link-time IR in place of machine code, which stay.")
    return out


def check(data):
    out = Drawing("kdl check: what of some packages runs where", f"{data['environment'][0].upper()}{data['environment'][1:]}. "
                  "Share of the kernels of each package that run on a device, as machine code or by the driver's compiler.")
    out.keys([("kdl", "all"), ("part", "some"), ("bad", "none"), ("none", "for another vendor")])
    left = 196
    width = (WIDTH - 2 * MARGIN - left) / len(data["devices"])
    out.y += 66
    for i, device in enumerate(data["devices"]):
        x = left + (i + 0.5) * width
        out.add(f'<text transform="translate({x + 5:.1f},{out.y - 6:.1f}) rotate(-50)" class="soft"><title>{data["architectures"][i]}</title>{device}</text>')
    for row in data["packages"]:
        if not row["cells"][0]["kernels"]:
            continue
        name, _, version = row["package"].partition(" ")
        label = name.removeprefix("nvidia_").removesuffix("_cu12").removesuffix("_cu13").replace("_cuda13x", "").replace("_cuda13", "")
        out.text(left - 8, out.y + 18, label, "end", f"{row['package']}, {row['libraries']} libraries")
        for i, cell in enumerate(row["cells"]):
            runs = cell["native"] + cell["jit"]
            share = runs / cell["kernels"]
            kind = "none" if set(cell["runs"]) == {"other"} else "kdl" if share == 1 else "part" if runs else "bad"
            percent = math.floor(share * 100)
            words = "–" if kind == "none" else "" if kind != "part" else f"{percent}" if percent else "<1"
            hover = (f"{row['package']} on {data['devices'][i]} ({data['architectures'][i]}): {runs:,} of {cell['kernels']:,} kernels, "
                     f"{cell['jit']:,} of them by the driver's compiler")
            out.rect(left + i * width, out.y, width - 2, 24, kind, hover)
            if words:
                out.text(left + (i + 0.5) * width - 1, out.y + 17, words, "mid " + (on(kind) if kind != "none" else "soft"), hover)
        out.y += 26
    out.paragraph("Numbers are percent. Libraries as cuBLAS hold kernels that are for other architectures on purpose, so that no device runs all of them. "
                  "Of alternatives, the one that serves the device counts.")
    return out


# ---- claims -------------------------------------------------------------------------------------

def overhead(data):
    out = Drawing("What libkdl adds to a kernel of 9 ms", f"{data['hardware'].split(';')[0]}; {data['kernel']}, launched and waited for, in turns. "
                  "Difference of the medians, block by block, with its 95% interval.")
    left, right = 206, WIDTH - MARGIN - 150
    place = lambda us: left + (us + 0.5) / 4 * (right - left)
    for i, run in enumerate(data["runs"]):
        driver = next(row for row in run["figures"] if row["name"] == "driver")["median"]
        out.y += 8
        out.text(MARGIN, out.y + 16, f"machine {i + 1}: {run['blocks']:,} blocks, {duration(driver)} each", "name")
        out.y += 26
        for tick in (0, 1, 2, 3):
            out.line(place(tick), out.y, place(tick), out.y + 58, "grid" if tick else "s-driver")
        for row, words, kind in zip(run["differences"], ("libkdl less the driver", "the driver less itself"), ("kdl", "driver")):
            y = out.y + 14
            share = [row[key] / driver * 100 for key in ("median", "low", "high")]
            hover = f"{words}: {row['median'] / 1e3:.2f} µs [{row['low'] / 1e3:.2f}, {row['high'] / 1e3:.2f}], {share[0]:.3f}% [{share[1]:.3f}, {share[2]:.3f}]"
            out.text(left - 10, y + 5, words, "end", hover)
            out.add(f'<line x1="{place(row["low"] / 1e3):.1f}" x2="{place(row["high"] / 1e3):.1f}" y1="{y}" y2="{y}" class="s-{kind}"/>')
            out.dot(place(row["median"] / 1e3), y, kind, hover, 6)
            out.text(WIDTH - MARGIN, y + 5, f"{row['median'] / 1e3:.2f} µs, {share[0]:.3f}%", "end", hover)
            out.y += 30
    for tick in (0, 1, 2, 3):
        out.text(place(tick), out.y + 18, f"{tick} µs", "soft mid")
    out.y += 26
    return out


def latency(data):
    out = Drawing("A selection that is remembered, and accesses to memory", "kdl_select again, and loads that each wait for the one before, along a random "
                  "cycle of lines that fits the cache. Medians with 95% intervals; the axis is logarithmic.")
    left, right = 206, WIDTH - MARGIN - 76
    place = ratio_scale(left, right, 1, 400)
    for machine in data["machines"]:
        out.y += 8
        out.text(MARGIN, out.y + 16, machine["hardware"], "name")
        out.y += 26
        for tick in (1, 10, 100):
            out.line(place(tick), out.y, place(tick), out.y + 25 * len(machine["figures"]))
        for row in machine["figures"]:
            kind = "kdl" if row["name"].startswith("kdl") else "cuda" if "GPU" in row["name"] else "offload"
            hover = f"{row['name']}: {row['median']:.2f} ns [{row['low']:.2f}, {row['high']:.2f}]" + (f", {row['bytes']:,} bytes" if row["bytes"] else "")
            out.text(left - 8, out.y + 16, row["name"], "end", hover)
            out.rect(left, out.y + 2, place(row["median"]) - left, 18, kind, hover)
            out.add(f'<line x1="{place(row["low"]):.1f}" x2="{place(row["high"]):.1f}" y1="{out.y + 11}" y2="{out.y + 11}" class="s-driver"/>')
            out.text(WIDTH - MARGIN, out.y + 16, duration(row["median"]), "end")
            out.y += 25
    for tick in (1, 10, 100):
        out.text(place(tick), out.y + 18, f"{tick} ns", "soft mid")
    out.y += 28
    return out
