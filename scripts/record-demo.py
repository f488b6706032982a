#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs scripts/demo.sh in a terminal of 80 columns and draws what it showed as an animated SVG.

    record-demo.py [--still=STEP] OUT.svg

Each step of the demo is a screen: its commands first, their output after a second; what is longer than a
screen scrolls once. Readers who prefer reduced motion, and --still, see one screen. No text is changed.
"""
import argparse
import html
import os
import pathlib
import pty
import re
import sys

COLUMNS, ROWS, CELL, LINE, MARGIN, HEAD = 80, 25, 8.6, 18, 16, 34
COLOURS = {"32": "#7ee787", "36": "#79c0ff", "31": "#ff7b72", "33": "#e3b341"}
TOKEN = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")
STILL = 3  # which step a reader sees without animation


def record(root):
    """All bytes that the demo wrote to its terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(root)
        os.environ.update(TERM="xterm-256color", SETUP="no", COLUMNS=str(COLUMNS), LC_ALL="C.UTF-8")
        os.environ.pop("NO_COLOR", None)
        os.execvp("sh", ["sh", "-c", f"stty cols {COLUMNS} rows 40; exec scripts/demo.sh"])
    taken = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            part = b""
        if not part:
            break
        taken += part
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
        sys.exit(f"record-demo: the demo failed:\n{taken.decode(errors='replace')[-2000:]}")
    return taken.decode("utf-8", errors="replace")


def lines_of(text):
    """Lines as lists of (character, style), as a terminal shows them."""
    lines, line, column, style = [], [], 0, ()
    for found in TOKEN.finditer(text):
        token = found.group(0)
        if token == "\n":
            lines.append(line)
            line, column = [], 0
        elif token == "\r":
            column = 0
        elif found.group(2) == "m":
            code = found.group(1)
            style = () if code in ("", "0") else style + tuple(code.split(";"))
        elif found.group(2) == "K":
            del line[column:]
        elif not found.group(2):
            for character in token:
                if column >= COLUMNS:
                    lines.append(line)
                    line, column = [], 0
                line[column:column + 1] = [(character, style)]
                column += 1
    return lines + ([line] if line else [])


def is_heading(line):
    return bool(line) and all("1" in style for _, style in line) and line[0][0].isdigit()


def steps_of(lines):
    steps = []
    for line in lines:
        if is_heading(line):
            steps.append([])
        if steps:
            steps[-1].append(line)
    end = next((i for i, line in enumerate(steps[-1]) if "".join(c for c, _ in line).startswith("Where to go")), None)
    steps[-1] = steps[-1][:end]
    for step in steps:
        while step and not step[-1]:
            step.pop()
    return steps


def screens_of(steps):
    """(number of the step, its lines), once for each screen that a step fills: its first, and its last lines."""
    return [(number, lines) for number, step in enumerate(steps, 1)
            for lines in ([step] if len(step) <= ROWS else [step[:ROWS], step[-ROWS:]])]


def draw_line(line, row):
    """One text element; a run of one style is a span at its own column."""
    if not line:
        return ""
    spans, start = [], 0
    for i in range(1, len(line) + 1):
        if i < len(line) and line[i][1] == line[start][1]:
            continue
        text, style = "".join(c for c, _ in line[start:i]), line[start][1]
        if text.strip():
            lead = len(text) - len(text.lstrip())
            colour = next((COLOURS[code] for code in style if code in COLOURS), None)
            kind = " class='b'" if "1" in style else " class='d'" if "2" in style else ""
            fill = f" fill='{colour}'" if colour else ""
            body = text.strip()
            spans.append(f"<tspan x='{MARGIN + (start + lead) * CELL:g}' textLength='{len(body) * CELL:g}'"
                         f"{kind}{fill}>{html.escape(body)}</tspan>")
        start = i
    return f"<text y='{HEAD + (row + 1) * LINE}' xml:space='preserve'>{''.join(spans)}</text>"


def is_command(line):
    return bool(line) and all("2" in style for _, style in line)


def draw_step(step):
    """The heading and the commands, and all output."""
    first = [row == 0 or is_command(line) for row, line in enumerate(step)]
    drawn = [draw_line(line, row) for row, line in enumerate(step)]
    return ("".join(text for text, is_first in zip(drawn, first) if is_first),
            "".join(text for text, is_first in zip(drawn, first) if not is_first))


def animate(screens):
    """When each screen's commands and output appear and when it ends, in seconds."""
    times, at = [], 0.0
    for number, lines in screens:
        typed = 1.0 if any(map(is_command, lines)) and is_heading(lines[0]) else 0.0
        times.append((at, at + typed, at + 3.0 + typed + 0.12 * len(lines)))
        at = times[-1][-1]
    return times, at


def draw(screens, still):
    rows = max(len(lines) for _, lines in screens)
    width, height = 2 * MARGIN + COLUMNS * CELL, HEAD + rows * LINE + MARGIN
    style = ["text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3}",
             ".b{font-weight:700;fill:#fff}", ".d{fill:#9da7b3}"]
    body = []
    times, whole = animate(screens)
    seen = max(i for i, (number, _) in enumerate(screens, 1) if number == still)
    for i, ((_, lines), (begin, output, end)) in enumerate(zip(screens, times), 1):
        for part, (name, start) in zip(draw_step(lines), (("c", begin), ("o", output))):
            shown = 1 if i == seen else 0
            body.append(f"<g class='{name}{i}' opacity='{shown}'>{part}</g>")
            if len(screens) > 1:
                first, last = start / whole * 100, end / whole * 100
                style.append(f"@keyframes {name}{i}{{0%{{opacity:{1 if start == 0 else 0}}}{first:.2f}%{{opacity:1}}"
                             f"{min(last, 100):.2f}%,100%{{opacity:0}}}}"
                             f"@media(prefers-reduced-motion:no-preference){{.{name}{i}{{animation:{name}{i} {whole:.1f}s step-end infinite}}}}")
    dots = "".join(f"<circle cx='{MARGIN + 6 + 18 * i}' cy='18' r='5.5' fill='{c}'/>"
                   for i, c in enumerate(("#ff5f57", "#febc2e", "#28c840")))
    return (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' role='img' "
            f"aria-label='A recording of make demo'>\n<!-- scripts/record-demo.py wrote this from a run of make demo -->\n"
            f"<style>{''.join(style)}</style>\n<rect x='.5' y='.5' width='{width - 1:g}' height='{height - 1:g}' rx='8' fill='#0d1117' stroke='#3d444d'/>{dots}"
            f"<text x='{width / 2:g}' y='23' text-anchor='middle' style='fill:#9da7b3'>make demo</text>\n" + "\n".join(body) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--still", type=int)
    parser.add_argument("out", type=pathlib.Path)
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    screens = screens_of(steps_of(lines_of(record(root))))
    if options.still:
        screens = [screen for screen in screens if screen[0] == options.still][-1:]
    options.out.write_text(draw(screens, options.still or STILL), encoding="utf-8")
    print(f"{options.out}: {len(screens)} screens")


if __name__ == "__main__":
    main()
