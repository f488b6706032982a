#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""two_processes.py --loop=matmul_loop.so --library=kdl-matmul.offload: one process, and two at the same time, with half of the CPUs each.

A block of products by one process, a block by the other, and a block by both take turns. RATIO is the time of the slower of the two over that of the
same process alone, by medians; at most 1.1 where neither has a thread too many. bench/matmul_scale.py says what the two files are.
"""
import argparse
import os
import statistics

from matmul_scale import Worker


def measure(pair, way, count, blocks):
    """Seconds of a product, of each process alone and of both at once: two lists of pairs."""
    alone, together = [], []
    for _ in range(blocks):
        alone.append([worker.seconds(way, count)[0] for worker in pair])
        for worker in pair:
            worker.send(way, count)
        together.append([float(worker.answer()[0]) for worker in pair])
    return alone, together


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loop", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--types", default="f32,bf16,int8")
    parser.add_argument("--shape", default="2048x2048x2048")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)) // 2 or 1)
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--block-ms", type=float, default=50)
    arguments = parser.parse_args()
    pair = [Worker("kdl", arguments.threads, arguments, is_bound=False) for _ in range(2)]
    print(f"{arguments.shape}, packed weights, {arguments.threads} threads in each process; ms of a product\n{'TYPE':6} {'ALONE':>8} {'TOGETHER':>8} {'RATIO':>6}")
    for kind in arguments.types.split(","):
        for worker in pair:
            worker.ask("prepare", kind, *arguments.shape.split("x"))
        first = max(worker.seconds("packed", 2)[0] for worker in pair)
        alone, together = measure(pair, "packed", max(2, int(arguments.block_ms / 1e3 / first)), arguments.blocks)
        ratios = [max(both[i] / one[i] for i in range(2)) for one, both in zip(alone, together)]
        print(f"{kind:6} {1e3 * statistics.median(map(max, alone)):8.2f} {1e3 * statistics.median(map(max, together)):8.2f} "
              f"{statistics.median(ratios):6.2f}", flush=True)
    for worker in pair:
        worker.end()


if __name__ == "__main__":
    main()
