# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of results that were kept as text, as the data that figures are drawn from."""
import re

NUMBER = r"-?\d+(?:\.\d+)?"


def matmul(text, source):
    """Rows of `kdl bench matmul`: libkdl's share of the peak, and oneDNN's time over libkdl's."""
    rows, heading = [], None
    for line in text.splitlines():
        found = re.match(r"(bf16|s8|f32|f16)/(\d+) threads?/(packed|plain)$", line)
        heading = found.groups() if found else heading if line.strip() else None
        found = heading and re.match(rf"(\d+x\d+x\d+) +{NUMBER} (?:us|ms) +{NUMBER}(?: +({NUMBER})%)? +({NUMBER}) +({NUMBER}) +({NUMBER})", line)
        if found:
            shape, peak, ratio, low, high = found.groups()
            rows.append({"type": heading[0], "threads": int(heading[1]), "weights": heading[2], "shape": shape,
                         "of_peak": peak and float(peak), "ratio": float(ratio), "low": float(low), "high": float(high)})
    return {"schema": "kdl-matmul-rows-1", "source": source, "hardware": field(text, "hardware"), "rows": rows}


def thin(text, source):
    """Libraries before and after `kdl thin`, in MB."""
    groups = []

    def group(name, start, pattern):
        part = text[text.index(start):].split("\n\n\n")[0]
        rows = []
        for line in part.splitlines()[1:]:
            if rows and not line.strip():
                break
            found = re.match(pattern, line)
            if found:
                rows.append({"library": found[1].strip(), "before": float(found[2]), "after": float(found[3])})
        groups.append({"name": name, "rows": rows})

    group("PyTorch 2.11, CUDA 13, for an H200", "library                                                  before MB", rf"(\S.*?) {{2,}}({NUMBER}) +({NUMBER}) ")
    group("CUDA 12 libraries, for an H200", "library                                               for", rf"(\S+) +h200 +({NUMBER}) +({NUMBER})")
    group("ROCm 5.7 libraries, for gfx90a", "AMD, Debian 13's packages", rf"(lib\S+ \(\S+\)) +({NUMBER}) +({NUMBER}) ")
    return {"schema": "kdl-thin-rows-1", "source": source, "unit": "MB", "groups": groups}


def field(text, name):
    return re.search(rf"^{name} +(.*)$", text, re.MULTILINE)[1]


def matmul_scale(text, source):
    """Of bench/matmul_scale.py's results, the last whole table for each type and number of threads: kdl over PyTorch. The last two runs count."""
    sections = [part for part in text.split("\n=== ") if "next to PyTorch" in part.splitlines()[0]]
    tables = {}
    for section in sections[-2:]:
        rows, key = [], None
        for line in section.splitlines():
            head = re.fullmatch(r"(\w+), (\d+) threads?", line)
            cells = line.split()
            if head:
                rows, key = [], (head[1], int(head[2]))
            elif key and len(cells) >= 8 and re.fullmatch(r"\d+x\d+x\d+", cells[0]):
                rows.append({"type": key[0], "threads": key[1], "shape": cells[0], "plain": float(cells[4]), "packed": float(cells[5])})
            elif key and line.startswith("geometric mean"):
                tables[key] = rows
    return {"source": source, "hardware": re.search(r"^hardware +(.*)", text, re.M)[1], "rows": [row for rows in tables.values() for row in rows]}


# The data of each file, and what it is made from.
CONVERTED = {
    "matmul-2026-11-15.json": (matmul, "matmul-2026-11-15.txt"),
    "matmul-xeon-2026-11-15.json": (matmul, "matmul-xeon-2026-11-15.txt"),
    "thin-2026-11-16.json": (thin, "thin-2026-11-16.txt"),
    "matmul-scale-xeon16-2026-11-18.json": (matmul_scale, "matmul-scale-xeon16-2026-11-18.txt"),
}
