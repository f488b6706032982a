#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The poster, the slides, the abstract and the answers, with their numbers from bench/results.

    build.py [--check] [OUT]

In the sources {{name}} is a number of numbers.py, and {{figure:NAME|TEXT}} a picture of docs/figures. Times and
shares that are written out by hand are an error. PDFs are printed by Chromium; without one the pages are made all
the same, and the exit code is 1. --check makes nothing.
"""
import argparse
import html
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from numbers_of_results import Numbers

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FIGURE = re.compile(r"(?<![\w.\-–#{])\d+(?:\.\d+)? ?(?:ns|µs|ms|%)(?!\w)")
PAGES = {"poster.html": True, "slides.html": True, "abstract.html": True, "questions.html": False}
# What early documents claimed, quoted as such, and sizes that are no measurement.
QUOTED = ["3–6 ns", "36 µs", "90%", "4.1 µs", "0.0001%", "10 ms", "95%", "100%"]


def without_layout(text):
    """No style sheets and scripts, in which lengths are no measurements."""
    return re.sub(r"<(style|script)\b.*?</\1>|style=\"[^\"]*\"", "", text, flags=re.DOTALL)


def check_source(name, text, wrong):
    bare = without_layout(text)
    for quoted in QUOTED:
        bare = bare.replace(quoted, "")
    wrong += [f"{name}: {found.group(0)} is written by hand, expected {{{{name}}}}" for found in FIGURE.finditer(bare)]


def fill(name, text, numbers, figures, wrong):
    def number(found):
        try:
            return numbers.get(found.group(1))
        except (KeyError, OSError) as error:
            wrong.append(f"{name}: {error}")
            return "?"

    def figure(found):
        path, caption = ROOT / "docs" / "figures" / f"{found.group(1)}.svg", found.group(2)
        if not path.exists():
            wrong.append(f"{name}: docs/figures/{path.name} is not there (make figures)")
        figures.add(path)
        alt = html.escape(re.sub(r"<[^>]*>", "", caption) or found.group(1), quote=True)
        return f'<figure><img src="figures/{path.name}" alt="{alt}"><figcaption>{caption}</figcaption></figure>'

    # Captions have numbers in them.
    return re.sub(r"\{\{figure:([\w-]+)\|(.*?)\}\}", figure, re.sub(r"\{\{([\w-]+)\}\}", number, text), flags=re.DOTALL)


def read_sources():
    """name -> text, with the style sheet that all share."""
    style = (HERE / "style.css").read_text(encoding="utf-8")
    pages = {}
    for name in PAGES:
        text = (HERE / name).read_text(encoding="utf-8")
        pages[name] = text.replace("<!-- style.css -->", f"<style>\n{style}</style>")
    return pages


def find_chromium():
    return next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)


def print_pdf(chromium, page, wrong):
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                               "--no-pdf-header-footer", f"--print-to-pdf={page.with_suffix('.pdf')}", page.as_uri()],
                              capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0 or not page.with_suffix(".pdf").exists():
        wrong.append(f"{page.name}: Chromium printed nothing: {done.stderr.strip()[-300:]}")


def pdf_pages(path):
    return len(re.findall(rb"/Type\s*/Page\b", path.read_bytes()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("out", nargs="?", type=pathlib.Path, default=ROOT / "build" / "poster")
    options = parser.parse_args()
    wrong, figures, numbers = [], set(), Numbers(ROOT)
    pages = read_sources()
    for name, text in pages.items():
        check_source(name, text, wrong)
        pages[name] = fill(name, text, numbers, figures, wrong)
    if not options.check:
        out = options.out.resolve()
        (out / "figures").mkdir(parents=True, exist_ok=True)
        for path in figures:
            if path.exists():
                shutil.copy(path, out / "figures")
        for name, text in pages.items():
            (out / name).write_text(text, encoding="utf-8")
        listed = "".join(f"{name}\t{source}\n" for name, source in sorted(numbers.sources.items()))
        (out / "sources.tsv").write_text(listed, encoding="utf-8")
        chromium = find_chromium()
        if not chromium:
            wrong.append("Chromium not found (Debian: chromium): the pages are made, no PDF")
        for name in (name for name, is_printed in PAGES.items() if is_printed and chromium):
            print_pdf(chromium, out / name, wrong)
        for name, count in (("poster", 1), ("slides", 12), ("abstract", 2)):
            pdf = out / f"{name}.pdf"
            if chromium and pdf.exists() and pdf_pages(pdf) != count:
                wrong.append(f"{pdf.name} has {pdf_pages(pdf)} pages, expected {count}")
        print(f"poster: {out}: " + " ".join(sorted(path.name for path in out.iterdir() if path.suffix in (".html", ".pdf"))))
    for line in wrong:
        print("poster:", line, file=sys.stderr)
    if not wrong:
        print(f"poster: {len(numbers.sources)} numbers are those of their sources, {len(figures)} figures")
    return 1 if wrong else 0


sys.exit(main())
