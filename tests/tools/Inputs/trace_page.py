# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens a page of `kdl trace report --html` in headless Chromium and uses it.

    trace_page.py PAGE.html REPORT.json WORK_FOLDER

The page must open without a word on the console and without the network; the figures in its tables
must be the JSON's; a click must zoom and a second one go back; a search must mark what it finds; at
500 pixels nothing sticks out, and no name is broken letter by letter.
"""

import json
import sys

from page_check import check_narrow, fail, probe

# Runs in the page, and leaves what it saw in an element.
PROBE = """
<script>
addEventListener("load", () => {
  const seen = { zoom: [], found: 0, wrong: 0, tables: {}, errors: window.seen_errors };
  const flame = document.getElementById("flame");
  const visible = () => [...flame.querySelectorAll(".frame")].filter(f => f.style.display !== "none").length;
  const frame = [...flame.querySelectorAll('.frame[data-name="launch"]')][0];
  seen.zoom.push(visible());
  frame.click();
  seen.zoom.push(flame.dataset.zoomed, frame.style.width);
  document.getElementById("reset").click();
  seen.zoom.push(visible());
  const box = document.getElementById("search");
  box.value = "laun";
  box.dispatchEvent(new Event("input"));
  const marked = [...document.querySelectorAll(".frame.found")];
  seen.found = marked.length;
  seen.wrong = marked.filter(f => f.dataset.name !== "launch").length;
  for (const table of document.querySelectorAll("table[data-table]"))
    seen.tables[table.dataset.table] = [...table.querySelectorAll("tbody tr")].map(row => ({ name: row.dataset.name,
      ...Object.fromEntries([...row.querySelectorAll("td[data-value]")].map(c => [c.dataset.column, Number(c.dataset.value)])) }));
  const out = document.createElement("pre");
  out.id = "seen";
  out.textContent = JSON.stringify(seen);
  document.body.append(out);
});
</script>
"""


def main():
    page, report, work = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    with open(report, encoding="utf-8") as file:
        said = json.load(file)
    seen = probe(text, PROBE, work)
    before, zoomed, width, after = seen["zoom"]
    if zoomed != "launch" or width != "100%" or before != after or before < 5:
        fail(f"zoom: {seen['zoom']}")
    if not seen["found"] or seen["wrong"]:
        fail(f"search: {seen['found']} found, {seen['wrong']} of them wrong")
    layers = {l["name"]: (l["count"], l["total"], l["median"], l["p95"]) for l in said["layers"]}
    shown = {r["name"]: (r["count"], r["total"], r["median"], r["p95"]) for r in seen["tables"]["layers"]}
    if layers != shown:
        fail(f"layers: {shown}, expected {layers}")
    kernels = [(k["name"], k["launches"]["count"], k["launches"]["total"]) for k in said["kernels"]]
    shown = [(r["name"], r["launches"], r["total"]) for r in seen["tables"]["kernels"]]
    if kernels != shown:
        fail(f"kernels: {shown}, expected {kernels}")
    check_narrow(text, work)
    # C++ names have no end, and no place to break at.
    check_narrow(text.replace(f'"{kernels[0][0]}"', '"' + "_ZN7cutlass6KernelINS_4gemm" * 8 + '"'), work)
    print(f"{len(layers)} layers, {len(kernels)} kernels, {seen['found']} frames found")


if __name__ == "__main__":
    main()
