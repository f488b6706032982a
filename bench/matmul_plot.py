#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws results of `kdl bench matmul --json` as SVG: how much of the peak each library reaches, a
panel for each type, in the order of the shapes.

    bench/matmul_plot.py RESULTS.json... -o PLOT.svg [--threads=1] [--weights=packed]
        [--iree IREE.json...]

IREE.json is what bench/matmul_iree.py wrote; IREE's points are our share of the peak over its
ratio.
"""

import argparse
import html
import json
import sys

COLOURS = {"kdl": "#0b6e4f", "oneDNN": "#c8553d", "OpenBLAS": "#5b6c9e", "IREE": "#b58900"}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 290, 60, 16, 34, 92


def read(paths, threads, weights):
    """{type: {shape: {who: ns}}}, all in the order of the files."""
    types = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        for figure in data["figures"]:
            _, kind, count, form, shape, who = figure["name"].split("/")
            if count.split()[0] == str(threads) and form == weights:
                types.setdefault(kind, {}).setdefault(shape, {})[who] = figure["median"]
    return types


def add_iree(types, path):
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    for row in rows:
        shape = types.get(row["type"], {}).get(row["shape"])
        if shape:
            shape["IREE"] = shape["kdl"] * row["ratio"]


def panel(kind, shapes, top):
    shares = {shape: {who: 100 * times["peak"] / ns for who, ns in times.items() if who != "peak"}
              for shape, times in shapes.items() if "peak" in times}
    if not shares:
        return ""
    inner = HEIGHT - TOP - BOTTOM

    def x(i):
        return LEFT + (i + 0.5) * (WIDTH - LEFT - RIGHT) / len(shares)

    def y(share):
        return top + TOP + inner * (1 - min(share, 105) / 105)

    out = [f'<text x="{LEFT}" y="{top + TOP - 12}" class="title">{html.escape(kind)}</text>']
    for tick in (0, 25, 50, 75, 95, 100):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" '
                   f'class="{"aim" if tick == 95 else "grid"}"/>')
        if tick != 100:
            out.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" class="tick">{tick}%</text>')
    for i, shape in enumerate(shares):
        out.append(f'<text transform="translate({x(i) + 4:.1f},{top + HEIGHT - BOTTOM + 12}) '
                   f'rotate(-55)" class="tick">{html.escape(shape)}</text>')
    whos = [who for who in COLOURS if any(who in share for share in shares.values())]
    for k, who in enumerate(whos):
        colour = COLOURS[who]
        points = [(x(i), y(share[who])) for i, share in enumerate(shares.values()) if who in share]
        # A line only along the squares: other shapes are in no order.
        squares = [(x(i), y(share[who])) for i, (shape, share) in enumerate(shares.items())
                   if who in share and len(set(shape.split("x"))) == 1]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in squares)
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" '
                   'stroke-opacity="0.45"/>')
        out.extend(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in points)
        at = WIDTH - RIGHT - 84 * (len(whos) - k)
        out.append(f'<circle cx="{at}" cy="{top + TOP - 16}" r="4" fill="{colour}"/>'
                   f'<text x="{at + 8}" y="{top + TOP - 12}" class="key">{who}</text>')
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+")
    parser.add_argument("-o", dest="output", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", default="packed", choices=("packed", "plain"))
    parser.add_argument("--iree", nargs="+", default=[])
    args = parser.parse_args()
    types = read(args.results, args.threads, args.weights)
    if not types:
        sys.exit(f"matmul_plot.py: found no figures of {args.threads} threads with {args.weights} "
                 "weights")
    for path in args.iree:
        add_iree(types, path)
    title = (f"Share of the peak: {args.threads} thread{'s' if args.threads > 1 else ''}, "
             f"{args.weights} weights; the dashed line is 95%")
    panels = [panel(kind, shapes, 30 + i * HEIGHT)
              for i, (kind, shapes) in enumerate(types.items())]
    height = 30 + len(panels) * HEIGHT
    with open(args.output, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
                   f'width="{WIDTH}" height="{height}" font-family="sans-serif">\n'
                   "<style>.title{font-size:14px;font-weight:bold}.tick{font-size:10px;"
                   "text-anchor:end;fill:#444}.key{font-size:11px}.grid{stroke:#ddd}"
                   ".aim{stroke:#999;stroke-dasharray:4 3}</style>\n"
                   f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n'
                   f'<text x="{LEFT}" y="20" class="title">{html.escape(title)}</text>\n'
                   + "\n".join(panels) + "\n</svg>\n")


if __name__ == "__main__":
    main()
