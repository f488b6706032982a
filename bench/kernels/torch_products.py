# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch_products.py CHANNEL THREADS KERNEL=TYPE...: products of squares by PyTorch, as a process of `kdl bench`: the structs that it reads and
writes are those of bench/suites/kernels/kernels.h."""
import os
import struct
import sys
import time

COMMAND, REPLY = struct.Struct("=IIIxxxxQ"), struct.Struct("=?7xd312s")


def reply(channel, text, ns=0.0, good=True):
    os.write(channel, REPLY.pack(good, ns, text.encode()[:311]))


def main():
    channel, threads = int(sys.argv[1]), int(sys.argv[2])
    kinds = dict(word.split("=") for word in sys.argv[3:])
    try:
        import torch
    except ImportError as error:
        reply(channel, str(error), good=False)
        return
    torch.set_num_threads(threads)
    reply(channel, f"PyTorch {torch.__version__}")
    call = None
    while len(data := os.read(0, COMMAND.size)) == COMMAND.size:
        _, kernel, n, repeats = COMMAND.unpack(data)
        with torch.inference_mode():
            if repeats:
                call()
                start = time.perf_counter_ns()
                for _ in range(repeats):
                    call()
                reply(channel, "", float(time.perf_counter_ns() - start))
                continue
            dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[kinds[str(kernel)]]
            a, b = (torch.randint(0, 4, (n, n)).to(dtype) for _ in range(2))
            out = torch.empty(n, n, dtype=dtype)
            call = lambda: torch.mm(a, b, out=out)
            call()
            exact = (a[:4].double() @ b.double()).to(dtype)
            reply(channel, "" if torch.equal(out[:4], exact) else "its result is wrong", good=torch.equal(out[:4], exact))


main()
