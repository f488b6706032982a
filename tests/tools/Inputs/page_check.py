# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens a page of `kdl bench --html` in headless Chromium and uses it.

    page_check.py PAGE.html WORK_FOLDER RESULTS.json...

The page must open without a word on the console and without the network; every figure that it shows
must be the JSON's; a click must zoom and a second one go back; a search must mark what it
finds; the differences that it tells must be those of the medians; printed, it must be one sheet of A0;
at 500 pixels, nothing but a table may be wider than its card, and no name be broken letter by letter.
"""

import json
import os
import re
import shutil
import subprocess
import sys

# Runs in the page, and leaves what it saw in an element.
PROBE = """
<script>
addEventListener("load", () => {
  const seen = { zoom: [], found: 0, cells: {}, errors: window.seen_errors };
  const frame = document.querySelector('.frame[data-layer="launch"]');
  const card = frame.closest("[data-mode]");
  const visible = () => [...card.querySelectorAll(".frame")].filter(f => f.style.display !== "none").map(f => f.dataset.layer);
  seen.zoom.push(visible().length);
  frame.click();
  seen.zoom.push([...new Set(visible())].join());
  frame.click();
  seen.zoom.push(visible().length);
  const box = document.getElementById("search");
  box.value = "laun";
  box.dispatchEvent(new Event("input"));
  seen.found = document.querySelectorAll(".frame.found").length;
  seen.wrong = [...document.querySelectorAll(".frame.found")].filter(f => f.dataset.layer !== "launch").length;
  document.querySelectorAll("td[data-name]").forEach(c => { seen.cells[c.dataset.name] = Number(c.dataset.median); });
  seen.differences = [...document.querySelectorAll("#differences tr.total td.delta")].length;
  seen.curves = document.querySelectorAll("#curves svg").length;
  const out = document.createElement("pre");
  out.id = "seen";
  out.textContent = JSON.stringify(seen);
  document.body.append(out);
});
</script>
"""
# What sticks out of the window, of what is not scrolled in a card; and cells in which a word is broken
# into parts of less than 16 letters; at a hyphen it may be.
NARROW = """
<script>
addEventListener("load", () => {
  const seen = { errors: window.seen_errors, window: innerWidth, page: document.documentElement.scrollWidth, out: [], broken: [] };
  for (const e of document.querySelectorAll("header *, .headline *, h2, p, .card, .bar, .frame, .scale, svg, #flame, dl"))
    if (e.getClientRects().length && e.getBoundingClientRect().right > innerWidth + 1)
      seen.out.push(e.className.baseVal ?? (e.className || e.tagName));
  const range = document.createRange();
  for (const cell of document.querySelectorAll("td, th, .peer > span")) {
    const node = [...cell.childNodes].find(n => n.nodeType === Node.TEXT_NODE && n.data.trim());
    for (const word of node ? node.data.matchAll(/[^\\s-]+/g) : []) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top))).size;
      if (lines > 1 && word[0].length / lines < 16) seen.broken.push(word[0]);
    }
  }
  const out = document.createElement("pre");
  out.id = "seen";
  out.textContent = JSON.stringify(seen);
  document.body.append(out);
});
</script>
"""
TRAP = "<script>window.seen_errors = []; addEventListener('error', e => seen_errors.push(e.message));</script>"


def fail(text):
    sys.exit(f"FAILED: {text}")


def chromium(work, *options):
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    return subprocess.run([program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           "--enable-logging=stderr", f"--user-data-dir={work}/profile", "--virtual-time-budget=5000",
                           "--host-resolver-rules=MAP * ~NOTFOUND", *options],
                          capture_output=True, text=True, check=False, timeout=120)


def probe(text, script, work, *options):
    """What `script` saw in the page, which must need no other file and say nothing on the console."""
    if re.search(r"(src|href)=[\"'](?!data:)|@import|url[(]", text):
        fail("the page refers to something outside of it")
    probed = os.path.join(work, "probed.html")
    with open(probed, "w", encoding="utf-8") as file:
        file.write(text.replace("<head>", "<head>" + TRAP, 1).replace("</body>", script + "</body>"))
    ran = chromium(work, *options, "--dump-dom", "file://" + os.path.abspath(probed))
    console = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
    if console:
        fail(f"console: {console}")
    found = re.search(r'<pre id="seen">(.*?)</pre>', ran.stdout, re.DOTALL)
    if not found:
        fail(f"the page did not run: {ran.stderr[-500:]}")
    seen = json.loads(found.group(1).replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    if seen["errors"]:
        fail(f"errors: {seen['errors']}")
    return seen


def check_narrow(text, work):
    seen = probe(text, NARROW, work, "--window-size=500,900")
    if seen["window"] != 500:
        fail(f"the window has {seen['window']} pixels, expected 500")
    if seen["page"] > 500 or seen["out"]:
        fail(f"at 500 pixels the page has {seen['page']}, and beyond the edge are {seen['out'][:10]}")
    if seen["broken"]:
        fail(f"at 500 pixels words are broken: {seen['broken'][:10]}")


def main():
    page, work, *results = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    said = {"figures": [], "curves": []}
    for path in results:
        with open(path, encoding="utf-8") as file:
            for key, items in json.load(file).items():
                if key in said:
                    said[key] += items
    seen = probe(text, PROBE, work)
    before, zoomed, after = seen["zoom"]
    if zoomed != "launch" or before != after or before < 3:
        fail(f"zoom: {seen['zoom']}")
    if not seen["found"] or seen["wrong"]:
        fail(f"search: {seen['found']} found, {seen['wrong']} of them wrong")
    figures = {f["name"]: f["median"] for f in said["figures"] if f["name"].startswith("layers/")}
    if seen["cells"] != figures:
        fail(f"figures: {len(seen['cells'])} shown, {len(figures)} in the JSON, or other numbers")

    if not seen["differences"] or seen["curves"] != len(said["curves"]):
        fail(f"{seen['differences']} differences; {seen['curves']} plots of {len(said['curves'])} curves")

    check_narrow(text, work)
    pdf = os.path.join(work, "poster.pdf")
    chromium(work, f"--print-to-pdf={pdf}", "--no-pdf-header-footer", "file://" + os.path.abspath(page))
    with open(pdf, "rb") as file:
        written = file.read()
    box = re.search(rb"/MediaBox ?\[ ?0 0 ([\d.]+) ([\d.]+)", written)
    sheets = len(re.findall(rb"/Type ?/Page\b", written))
    if sheets != 1:
        fail(f"the poster has {sheets} sheets, expected 1")
    # 841 mm by 1189 mm in points
    if not box or abs(float(box.group(1)) - 2384) > 5 or abs(float(box.group(2)) - 3370) > 5:
        fail(f"the poster has another size: {box and box.groups()}")
    print(f"{len(figures)} figures, {seen['found']} frames found, {seen['curves']} plots")


if __name__ == "__main__":
    main()
