#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of docs/metadata.md against libkdl's own: keys, kernel fields, families, tokens.

A table stands between `<!-- table NAME -->` and `<!-- end -->`. Every column comes from the tables
in lib/target, but for what a CPU's token means, which only the document says and --update keeps.

    tables.py --source . --program build/bin/rfc_print_tables [--update]
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

STATES = {"0": "", "6": "AVX", "e6": "AVX-512", "60000": "AMX", "80000": "APX"}


def read_facts(program):
    facts = collections.defaultdict(list)
    for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines():
        kind, *fields = line.split("\t")
        facts[kind].append(fields)
    return facts


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(cell or "-" for cell in row) + " |" for row in rows]


def code(words):
    return " ".join(f"`{word}`" for word in words)


def direct(implied):
    """Of what each token implies, what no other of them implies in turn."""
    return {token: [other for other in others if not any(other in implied[third] for third in others)]
            for token, others in implied.items()}


def capability_text(numbers):
    """Compute capabilities from 2.0 to 13.9 in words."""
    if not numbers:
        return ""
    first, last = min(numbers), max(numbers)
    if len(numbers) != last - first + 1:
        sys.exit(f"tables: compute capabilities with a gap: {numbers}")
    dotted = f"{first // 10}.{first % 10}"
    if last == 139:
        return "all" if first == 20 else f"{dotted} and later"
    if first == last:
        return f"{dotted} only"
    return f"{first // 10}.x to {last // 10}.x" if last % 10 == 9 else f"{dotted} to {last // 10}.{last % 10}"


def family_text(having, families, processors):
    """Processors as families where all of a family have it."""
    if having == processors:
        return "all"
    if having and having == processors[-len(having):]:
        return f"{having[0]} and up"
    words = []
    for line, count in (("gcn", 0), ("cdna", 4), ("rdna", 4)):
        whole = []
        for family in [f"{line}{n + 1}" for n in range(count)] or [line]:
            some = [name for name in families[family] if name in having]
            if some == families[family]:
                whole.append(family)
            else:
                words += some
        words += [f"{whole[0]} to {whole[-1]}"] if len(whole) > 2 else whole
    return ", ".join(words + [name for name in families[""] if name in having])


def release_text(having, releases):
    """Runs of known releases."""
    if having == releases:
        return "all"
    runs = []
    for place, release in enumerate(releases):
        if release in having:
            if runs and runs[-1][1] == place - 1:
                runs[-1][1] = place
            else:
                runs.append([place, place])
    text = [f"{releases[a]} and later" if b == len(releases) - 1 else
            releases[a] if a == b else f"{releases[a]} to {releases[b]}" for a, b in runs]
    return ", ".join(text)


def gpu_rows(facts):
    families = collections.defaultdict(list)
    for name, family in facts["family"]:
        families[family].append(name)
    releases = [row[0] for row in facts["release"]]
    processors = [name for name, _ in facts["family"]]

    def having(vendor, token):
        return [place for name, place in facts[vendor] if name == token]
    for token, meaning, _ in facts["gpu"]:
        yield [f"`{token}`", meaning,
               capability_text([int(number) for number in having("nvidia", token)]),
               family_text(having("amd", token), families, processors),
               release_text(having("intel", token), releases)]


def family_rows(facts):
    families = collections.defaultdict(list)
    for name, family in facts["family"]:
        families[family or "none"].append(name)
    order = ["gcn"] + [f"{line}{n}" for line in ("cdna", "rdna") for n in range(1, 5)] + ["none"]
    if set(order) != set(families):
        sys.exit(f"tables: families: found {sorted(families)}, expected {sorted(order)}")
    return [[f"`{family}`" if family != "none" else family, " ".join(families[family])]
            for family in order]


def cpu_rows(facts, which, detection, meanings):
    implied = direct({name: rest.split("+") if rest else [] for name, _, rest in facts[which]})
    return [[f"`{name}`", meanings.get(f"`{name}`", ""), detection[name], code(implied[name])]
            for name, *_ in facts[which]]


def x86_detection(facts):
    return {name: where + (f", {STATES[state]} state" if STATES[state] else "")
            for name, where, state in facts["x86_probe"]}


def aarch64_detection(facts):
    vectors = {"0": "PR_SVE_GET_VL", "1": "HWCAP", "2": "HWCAP2"}
    return {name: vectors[vector] + (f" bit {bit}" if vector != "0" else "")
            for name, vector, bit in facts["aarch64_probe"]}


def riscv_detection(facts):
    return {name: f"IMA_EXT_0 bit {bit}" for name, bit in facts["riscv_probe"]}


def alias_rows(facts, source):
    text = (source / "lib/target/features/feature.c").read_text()
    tokens = {re.sub("[-_.]", "", name): name for name, *_ in facts["gpu"]}
    for name, bits in re.findall(r'{"([^"]+)", ((?:LOW\(KDL_GPU_\w+\)(?: \| )?)+)}', text):
        identifiers = re.findall(r"KDL_GPU_(\w+)", bits)
        yield ["AMD GPU" if any(end.endswith("_AMD") for end in identifiers) else "NVIDIA GPU", f"`{name}`",
               " ".join(f"`{tokens[end.lower().replace('_', '')]}`" for end in identifiers)]
    for which, place in (("x86", "x86-64"), ("aarch64", "AArch64"), ("riscv", "RISC-V")):
        body = re.search(rf"{which}_aliases\[\] = {{(.*?)}};", text, re.DOTALL).group(1)
        names = {re.sub("[-_.]", "", name): name for name, *_ in facts[which]}
        found = re.findall(rf'{{\s*"([^"]+)",\s*"",\s*KDL_{which.upper()}_(\w+)\s*}}', body)
        if len(found) != body.count("{"):
            sys.exit(f"tables: cannot read {which}_aliases in feature.c")
        for alias, identifier in found:
            token = identifier.lower().replace("_", "")
            yield [place, f"`{alias}`", f"`{names['rvv' if token == 'v' else token]}`"]


def old_meanings(block):
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in block[2:]]
    return {row[0].strip(): row[1] for row in cells if len(row) > 1}


def check_names(document, heading, expected, source_of):
    """The first column of the first table under a heading names exactly these."""
    found = re.search(rf"^{heading}\n.*?^\|---[^\n]*\n((?:\|[^\n]*\n)+)", document,
                      re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| `([^`|]+)` \|", found.group(1), re.MULTILINE) if found else []
    if rows != expected:
        sys.exit(f"tables: '{heading}' lists {rows}, {source_of} has {expected}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    source, page = options.source, options.source / "docs/metadata.md"
    facts, document = read_facts(options.program), page.read_text()
    if len(facts["gpu"]) < 20 or len(facts["x86"]) < 80 or len(facts["aarch64"]) < 50:
        sys.exit("tables: the program printed too few tokens")

    check_names(document, "## The five keys", [name for name, _ in facts["key"]], "metadata.c")
    for name, tier in facts["key"]:
        if not re.search(rf"^\| `{name}` \| {tier} \|", document, re.MULTILINE):
            sys.exit(f"tables: {name} is not said to be {tier}")
    fields = re.findall(r'\[KDL_KERNEL_\w+\]\s*=\s*{\s*KDL_TEXT_ROW\("(\w+)"',
                        (source / "lib/target/kernel_key.c").read_text())
    check_names(document, "### Fields", fields, "kernel_key.c")
    reasons = {row[0] for row in facts["reason"]}
    named = re.findall(r"^\| `(\w+)` \| (?:an|a|the) ", document.split("## Reasons")[1]
                       .split("\n## ")[0], re.MULTILINE)
    if not named or set(named) - reasons:
        sys.exit(f"tables: reasons that libkdl does not have: {sorted(set(named) - reasons)}")

    def make(name, block):
        if name == "families":
            return table(["family", "processors"], family_rows(facts))
        if name == "gpu":
            return table(["token", "meaning", "NVIDIA", "AMD", "Intel"], gpu_rows(facts))
        if name == "aliases":
            return table(["target", "other name", "token"], alias_rows(facts, source))
        detection = {"x86": x86_detection, "aarch64": aarch64_detection, "riscv": riscv_detection}[name](facts)
        how = {"x86": "CPUID, and state in XCR0", "aarch64": "auxiliary vector", "riscv": "riscv_hwprobe"}[name]
        return table(["token", "meaning", how, "implies"],
                     cpu_rows(facts, name, detection, old_meanings(block)))

    stale = []

    def replace(match):
        name, old = match.group(1), match.group(2).strip("\n").split("\n")
        new = make(name, old)
        for before, after in zip(old + [""] * len(new), new):
            if before != after:
                stale.append(f"table {name}: found    {before}\n{' ' * (7 + len(name))}expected {after}")
        if len(old) > len(new):
            stale.append(f"table {name}: {len(old) - len(new)} lines too many")
        return f"<!-- table {name} -->\n" + "\n".join(new) + "\n<!-- end -->"

    updated, count = re.subn(r"<!-- table (\w+) -->\n(.*?)<!-- end -->", replace, document,
                             flags=re.DOTALL)
    if count != 6:
        sys.exit(f"tables: found {count} tables in {page}, expected 6")
    unexplained = re.findall(r"^\| `([^`]+)` \| - \|", updated, re.MULTILINE)
    if unexplained and not options.update:
        sys.exit(f"tables: tokens without a meaning: {unexplained}")
    if options.update:
        page.write_text(updated)
    elif stale:
        sys.exit("tables: docs/metadata.md differs from lib/target "
                 "(tables.py --update rewrites it)\n" + "\n".join(stale[:10]))
    print(f"tables: {count} tables, {len(facts['gpu'])} GPU, {len(facts['x86'])} x86-64 and "
          f"{len(facts['aarch64'])} AArch64 tokens")


main()
