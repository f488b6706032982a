# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench_layers.py slowed FILE.json MODE PEER LAYER MS: that layer took at least MS, and every other one
of that mode and peer less than half of it; MS is far more than a busy machine adds to a median. bench_layers.py schema FILE.json: has the members that
docs/bench.md lists, and no others. bench_layers.py documented FILE.json DOCS: each member is in the table there."""
import json
import sys

what, path, *rest = sys.argv[1:]
data = json.load(open(path))


def check(condition, words):
    if not condition:
        sys.exit(f"bench_layers.py: {path}: {words}")


def slowed(mode, peer, layer, ms):
    prefix = f"{data['suite']}/{mode}/{peer}/"
    layers = {f["name"][len(prefix):]: f["median"] / 1e6 for f in data["figures"]
              if f["name"].startswith(prefix)}
    total = layers.pop("total")
    print(f"{mode} {peer}: {layer} of {total:.1f} ms")
    check(layers.get(layer, 0) >= float(ms), f"found {layers}, expected {layer} to take {ms} ms")
    for name, median in layers.items():
        outside = name == layer or name.startswith("process ")
        check(outside or median < float(ms) / 2, f"{name}: found {median} ms, expected less")


MEMBERS = {
    "": "schema suite command libkdl date complete machine notes figures comparisons checks curves "
        "skipped",
    "machine": "host cpu cpus virtual kernel pinned governor mhz load noise others timer_ns step_ns",
    "figures": "name unit samples rounds median low high p5 p95 p99",
    "comparisons": "of to blocks rounds ratio low high",
    "checks": "name sum total limit slack holds noisy",
    "curves": "name parameter exponent at_one points",
    "skipped": "what why",
}


def schema():
    check(data["schema"] == "kdl-bench-1", "another schema")
    check(list(data) == MEMBERS[""].split(), f"found {list(data)}")
    for key, members in MEMBERS.items():
        items = [data] if not key else data[key] if isinstance(data[key], list) else [data[key]]
        for item in items:
            check(list(item) == members.split(), f"{key}: found {list(item)}")
    for figure in data["figures"]:
        check(figure["p5"] <= figure["median"] <= figure["p95"] <= figure["p99"], f"{figure}")
        check(figure["low"] <= figure["median"] <= figure["high"], f"{figure}")
    names = [figure["name"] for figure in data["figures"]]
    check(len(set(names)) == len(names), "two figures of one name")
    for curve in data["curves"]:
        check(all(point["figure"] in names for point in curve["points"]), f"{curve}")
    print(f"{data['suite']}: {len(names)} figures, {len(data['comparisons'])} comparisons, "
          f"{len(data['checks'])} checks, {len(data['curves'])} curves")


def documented(path):
    table = open(path).read().split("## JSON", 1)[1].split("\n## ", 1)[0]
    count = 0
    for key, members in MEMBERS.items():
        row = next((line for line in table.splitlines() if line.startswith("|") and f"`{key}`" in line.split("|")[1]), "")
        for member in members.split():
            check(f"`{member}`" in (row if key else table), f"{key} {member}: found no such member in {path}")
            count += 1
    print(f"{count} members, all in bench.md")


{"slowed": slowed, "schema": schema, "documented": documented}[what](*rest)
