#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every link from a Markdown page to a file, a heading or a picture of this tree leads there, every figure
is shown by a page, and every cell of docs/comparison.md has its source.

    links.py SOURCE_FOLDER
"""
import pathlib
import re
import subprocess
import sys

FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[`~]*\s*$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
NAMED = re.compile(r"^\[([^\]^]+)\]:\s+(\S+)", re.MULTILINE)
USED = re.compile(r"\]\[([^\]]+)\]")
TAG = re.compile(r"(?:src|srcset|href)=\"([^\"]+)\"")


def pages_of(source):
    listed = subprocess.run(["git", "-C", str(source), "ls-files", "-co", "--exclude-standard", "*.md"],
                            capture_output=True, text=True, check=False).stdout.split()
    return [source / name for name in listed if (source / name).exists()] or sorted(source.glob("docs/*.md"))


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def anchors_of(page):
    """As GitHub makes them of headings: lower case, no punctuation, hyphens for spaces."""
    found, seen = set(re.findall(r"<a id=\"([^\"]+)\"", page.read_text(encoding="utf-8"))), {}
    for line in FENCE.sub("", page.read_text(encoding="utf-8")).splitlines():
        heading = re.match(r"#{1,6}\s+(.*)", line)
        if not heading:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        found.add(f"{anchor}-{count}" if count else anchor)
    return found


def check_page(page, source, wrong, shown):
    text = without_code(page.read_text(encoding="utf-8"))
    named = dict(NAMED.findall(text))
    where = page.relative_to(source)
    if named:  # else what looks like one is text
        wrong += [f"{where}: no link is named [{name}]" for name in USED.findall(text) if name not in named]
    for target in INLINE.findall(text) + list(named.values()) + TAG.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        shown.add(file)
        if not file.exists():
            wrong.append(f"{where}: {target} is not there")
        elif anchor and file.suffix == ".md" and anchor not in anchors_of(file):
            wrong.append(f"{where}: {target}: no such heading")


def check_cells(page, wrong):
    """In the table of systems, everything but the first column and the head is a link."""
    part = page.read_text(encoding="utf-8").split("## The table")[1].split("\n## ")[0]
    rows = [line for line in part.splitlines() if line.startswith("|")][2:]
    for row in rows:
        name, *cells = [cell.strip() for cell in row.strip("|").split("|")]
        wrong += [f"{page.name}: {name}: '{cell}' has no source" for cell in cells
                  if not re.fullmatch(r"\[[^\]]+\]\[[^\]]+\]", cell)]
    return sum(len(row.strip("|").split("|")) - 1 for row in rows)


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    wrong, shown = [], set()
    pages = pages_of(source)
    for page in pages:
        check_page(page, source, wrong, shown)
    cells = check_cells(source / "docs" / "comparison.md", wrong)
    wrong += [f"{figure.relative_to(source)}: no page shows it"
              for figure in sorted((source / "docs" / "figures").glob("*.svg")) if figure not in shown]
    for line in wrong:
        print("links:", line, file=sys.stderr)
    if not wrong:
        print(f"links: {len(pages)} pages, {cells} cells with their sources")
    return 1 if wrong else 0


sys.exit(main())
