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
model = torch.nn.Sequential(*[torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True) for _ in range(4)]).cuda().bfloat16()
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
data = torch.randn(16, 256, 512, device="cuda", dtype=torch.bfloat16)


def operations():
    for _ in range(300):
        x.add_(1)


def step():
    optimizer.zero_grad()
    model(data).float().square().mean().backward()
    optimizer.step()
    torch.cuda.synchronize()


def steps():
    for _ in range(4):
        step()


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


measure("add_ of 1,024 numbers", operations, 400, 300e3)
measure("training step", steps, 250, 4e3)
