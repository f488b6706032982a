#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""General and specialized kernels of bench/specialize: times, the time of a link, instructions.

    bench/specialize.py BUILD [--device=host] [--targets=native] [--no-instructions] [--file=FILE]

Compiles the kernels to bitcode, runs bench_specialize with an empty cache, links each kernel once more to measure kdl-ld, and counts
instructions: on the host those that callgrind sees in a launch of code for x86-64-v3, for sm_90 those of the machine code, by nvdisasm. `pays`
is the number of launches after which the time that specialized ones save exceeds the time of the link, which a program does not wait for."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS = ["pose_count,ligand_atoms,protein_atoms,cutoff,hardness,has_charges,block", "rate,beta1,beta2,epsilon,scale,steps,mode,block",
          "least_energy,least_pressure,energy_cut,pressure_cut,least_volume,most_volume,density,repetitions",
          "width,height,across,down,scale,block", "a,b,c,d,block", "n,degree,terms,block"]


def run(words, **settings):
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **settings})
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def compile_kernels(build, targets, out):
    run([f"{build}/bin/kdl", "cc", f"{HERE}/specialize/kernels.c", "--emit=bitcode", f"--targets={targets}",
         *(f"--field=specialize={field}" for field in FIELDS), "-o", out])


def measure(build, file, device, cache):
    rows = {}
    text = run([f"{build}/bin/bench_specialize", file, device], KDL_CACHE_DIR=cache, KDL_DEBUG="link")
    for line in text.splitlines():
        words = line.split()
        if " general_us " in line:
            rows[words[0]] = dict(zip(words[1::2], map(float, words[2::2])), **rows.get(words[0], {}))
        found = re.search(r"kdl: link: (\w+): specialized for (.*) in ([\d.]+) ms", line)
        if found:
            rows.setdefault(found.group(1), {})["link_ms"] = float(found.group(3))
    return rows


def count_instructions(build, rows, work):
    """Of one launch, without those of the launch itself: callgrind counts what the images do in the groups."""
    file, cache = f"{work}/v3.offload", f"{work}/v3"
    compile_kernels(build, "x86-64-v3", file)
    # valgrind has no AVX-512
    run([f"{build}/bin/bench_specialize", file, "host"], KDL_CACHE_DIR=cache, KDL_CPU="x86-64-v3")
    for kernel, row in rows.items():
        for mode in ("off", "auto"):
            counts = []
            for launches in (1, 3):
                text = run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={work}/out", f"{build}/bin/bench_specialize", file,
                            f"--count={kernel}", str(launches)], KDL_CACHE_DIR=cache, KDL_CPU="x86-64-v3", KDL_SPECIALIZE=mode, KDL_HOST_THREADS="1")
                if f"{int(mode == 'auto')} images" not in text:
                    sys.exit(f"{kernel}: {mode}: another image ran\n{text}")
                counts.append(int(re.search(r"Collected : (\d+)", text).group(1)))
            row[f"instructions_{mode}"] = (counts[1] - counts[0]) // 2


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("build")
    options.add_argument("--device", default="host")
    options.add_argument("--targets", default="native")
    options.add_argument("--no-instructions", action="store_true")
    options.add_argument("--file", help="compiled before")
    given = options.parse_args()
    work = tempfile.mkdtemp()
    try:
        file = given.file or f"{work}/kernels.offload"
        if not given.file:
            compile_kernels(given.build, given.targets, file)
        rows = measure(given.build, file, given.device, f"{work}/cache")
        if not given.no_instructions and shutil.which("valgrind"):
            count_instructions(given.build, rows, work)
        print(f"{'kernel':10}{'general us':>12}{'special us':>12}{'speedup':>9}{'equal bits':>12}{'link ms':>9}{'pays':>9}  instructions (x86-64-v3)")
        for kernel, row in rows.items():
            saved = row["general_us"] - row["special_us"]
            pays = f"{row['link_ms'] * 1000 / saved:.0f}" if saved > 0.02 * row["general_us"] else "never"
            counts = f"{row['instructions_off']:>12,} {row['instructions_auto']:>12,}" if "instructions_off" in row else ""
            print(f"{kernel:10}{row['general_us']:12.1f}{row['special_us']:12.1f}{row['speedup']:9.2f}{'yes' if row['equal'] else 'NO':>12}"
                  f"{row['link_ms']:9.1f}{pays:>9}  {counts}")
    finally:
        shutil.rmtree(work)


main()
