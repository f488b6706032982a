# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drawings as SVG: 720 units wide, so that text of 15 units is read at 400 pixels too; light and dark as the
reader's screen is; no scripts and no fonts of their own."""
import html

WIDTH, MARGIN = 720, 14
# Each with its colour on white and on black.
COLOURS = {
    "kdl": ("#1a7f5a", "#46b98c"), "driver": ("#7d8590", "#9198a1"), "library": ("#aab2bd", "#6b7280"),
    "offload": ("#3a6fb7", "#6ea0e6"), "cudart": ("#8250b8", "#b58be6"), "opencl": ("#8250b8", "#b58be6"),
    "mlir": ("#0e7490", "#4fb3c9"), "cuda": ("#d08a1d", "#d9a04a"), "system": ("#c4453a", "#e0695f"), "step": ("#b3bcc8", "#4b5563"),
    "hidden": ("#ead9b8", "#57482c"), "bad": ("#c4453a", "#e0695f"), "part": ("#d9a441", "#d9a04a"),
    "none": ("#e4e8ec", "#2b3138"),
}
# Colours that are dark by day and bright at night.
DEEP = ("kdl", "offload", "cudart", "opencl", "mlir", "system", "bad")


def on(kind):
    """The class of text that lies on a colour."""
    return "white" if kind in DEEP else "dark" if kind in ("cuda", "part") else "on"



FONT = "font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"


def style():
    light = [f"text{{{FONT};font-size:15px;fill:#1f2328}}", ".back{fill:#fff}", ".soft{fill:#59636e}",
             ".head{font-weight:600;font-size:19px}", ".name{font-weight:600;font-size:16px}",
             ".small{font-size:12px}", ".end{text-anchor:end}", ".mid{text-anchor:middle}", ".grid{stroke:#d1d9e0;fill:none}",
             ".on,.dark{fill:#1f2328}", ".white{fill:#fff}", ".edge{stroke:#fff;stroke-width:.7}"]
    dark = ["text{fill:#e6edf3}", ".back{fill:#0d1117}", ".soft{fill:#9da7b3}", ".grid{stroke:#3d444d}",
            ".on{fill:#e6edf3}", ".white{fill:#0d1117}", ".edge{stroke:#0d1117}"]
    for name, (day, night) in COLOURS.items():
        light.append(f".f-{name}{{fill:{day}}}.s-{name}{{stroke:{day};fill:none;stroke-width:2.4}}")
        dark.append(f".f-{name}{{fill:{night}}}.s-{name}{{stroke:{night}}}")
    return "\n".join(light) + "\n@media (prefers-color-scheme:dark){\n" + "\n".join(dark) + "\n}"


def text_width(words, size=15):
    """About as wide as it will be, in most fonts."""
    narrow = sum(words.count(letter) for letter in "iljtfr.,:;|()[]' ")
    return (len(words) * 0.61 - narrow * 0.24 + sum(letter.isupper() for letter in words) * 0.09) * size


def duration(ns):
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size * 0.9995:
            value = ns / size
            return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"
    return f"{ns:.1f} ns" if ns < 99.95 else f"{ns:.0f} ns"


def round_duration(ns):
    """As duration, for numbers that are round."""
    words, unit = duration(ns).split()
    return f"{float(words):g} {unit}" if ns else "0"


class Drawing:
    def __init__(self, title, words=""):
        self.title, self.words, self.parts, self.y = title, words, [], 30
        self.text(MARGIN, self.y, title, "head")
        for line in wrap(words, WIDTH - 2 * MARGIN):
            self.y += 21
            self.text(MARGIN, self.y, line, "soft")
        self.y += 14

    def add(self, part):
        self.parts.append(part)

    def text(self, x, y, words, kind="", hover=None):
        inner = html.escape(words)
        title = f"<title>{html.escape(hover)}</title>" if hover else ""
        self.add(f'<text x="{x:.1f}" y="{y:.1f}"{f" class={chr(34)}{kind}{chr(34)}" if kind else ""}>{title}{inner}</text>')

    def rect(self, x, y, width, height, kind, hover="", extra=""):
        self.add(f'<rect x="{x:.2f}" y="{y:.1f}" width="{max(width, 0.3):.2f}" height="{height:.1f}" class="f-{kind} {extra}">'
                 f"<title>{html.escape(hover)}</title></rect>")

    def line(self, x1, y1, x2, y2, kind="grid"):
        self.add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def path(self, points, kind, hover=""):
        at = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.add(f'<polyline points="{at}" class="s-{kind}"><title>{html.escape(hover)}</title></polyline>')

    def dot(self, x, y, kind, hover="", radius=4):
        self.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="f-{kind}"><title>{html.escape(hover)}</title></circle>')

    def keys(self, entries):
        """A legend, in as many lines as it takes."""
        x = MARGIN
        self.y += 8
        for kind, words in entries:
            width = 22 + text_width(words) + 16
            if x + width > WIDTH and x > MARGIN:
                x, self.y = MARGIN, self.y + 22
            self.rect(x, self.y - 1, 14, 14, kind)
            self.text(x + 20, self.y + 11, words)
            x += width
        self.y += 26

    def paragraph(self, words):
        for line in wrap(words, WIDTH - 2 * MARGIN):
            self.y += 20
            self.text(MARGIN, self.y, line, "soft")
        self.y += 8

    def finish(self, digest, sources):
        height = self.y + 10
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
                f'height="{height:.0f}" role="img" aria-label="{html.escape(self.title)}">\n'
                f"<!-- made by `make figures` from {', '.join(sources)}; sha256 {digest} -->\n"
                f"<title>{html.escape(self.title)}</title>\n<style>\n{style()}\n</style>\n"
                '<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
                '<rect width="7" height="7" class="f-hidden"/><line x1="0" y1="0" x2="0" y2="7" class="s-cuda" '
                'style="stroke-width:1.6;stroke-opacity:.5"/></pattern></defs>\n'
                f'<rect class="back" width="{WIDTH}" height="{height:.0f}"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def wrap(words, width, size=15):
    lines, line = [], ""
    for word in words.split():
        if line and text_width(f"{line} {word}", size) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return lines + ([line] if line else [])


def ticks(top, count=5):
    """Round numbers from 0 up to `top`."""
    step = 10.0 ** -9
    while top / step > count:
        for factor in (2, 2.5, 2):
            step *= factor
            if top / step <= count:
                break
    return [i * step for i in range(int(top / step + 1e-9) + 1)]
