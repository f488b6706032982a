# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step of a small transformer, and single small operations, with CUPTI's callbacks and without by turns.

    KDL_CUPTI=cupti_switch.so CUPTI_SWITCH=libcupti.so.13 kdl trace -- python3 torch_loop.py
"""
import ctypes
import gc
import os
import time

import torch

turn = ctypes.CDLL(os.environ["KDL_CUPTI"]).cupti_switch
x = torch.zeros(1024, device="cuda")
gc.disable()


def make_step(width, layers, batch, length):
    model = torch.nn.Sequential(*[torch.nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True) for _ in range(layers)]).cuda().bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    data = torch.randn(batch, length, width, device="cuda", dtype=torch.bfloat16)

    def step():
        optimizer.zero_grad()
        model(data).float().square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()

    return step


def operations():
    for _ in range(300):
        x.add_(1)


def repeated(function, count):
    def run():
        for _ in range(count):
            function()

    return run


def measure(name, function, pairs, inner):
    off, on, ratios = [], [], []
    for i in range(pairs + 2):
        times = {}
        for traced in ((0, 1) if i % 2 else (1, 0)):
            turn(traced)
            torch.cuda.synchronize()
            begin = time.perf_counter_ns()
            function()
            times[traced] = (time.perf_counter_ns() - begin) / inner
            torch.cuda.synchronize()
        if i >= 2:
            off.append(times[0])
            on.append(times[1])
            ratios.append(times[1] / times[0])
    ratios.sort()
    half, reach = pairs // 2, int(0.98 * pairs**0.5)
    print(f"{name}: off {sorted(off)[half]:.1f} us, on {sorted(on)[half]:.1f} us; "
          f"ratio {ratios[half]:.4f} [{ratios[half - reach]:.4f}, {ratios[half + reach]:.4f}]", flush=True)


measure("add_ of 1,024 numbers", operations, 200, 300e3)
measure("training step, 4 layers of 512, 4,096 tokens", repeated(make_step(512, 4, 16, 256), 4), 150, 4e3)
measure("training step, 8 layers of 1,024, 32,768 tokens", make_step(1024, 8, 64, 512), 60, 1e3)
