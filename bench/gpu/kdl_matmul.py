# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libkdl's products (<kdl/matmul_gpu.h>) as a candidate of gpu_matmul.py:

    gpu_matmul.py --candidate=gpu/kdl_matmul.py:libraries=FOLDER:kernels=kdl-matmul.offload[:name=kdl][:tile=0][:parts=1][:epilogue=gelu][:b=rows]

FOLDER has libkdl.so.0 and libkdl_matmul.so.0. With a tile or a number of parts of K, these are taken, else the library chooses; `all=1` runs
every tile as a candidate of its own. `epilogue=bias` or `gelu` (with a bias, too) changes the result, for use with --unchecked. `b=rows` has
B along N in memory, and `b=packed` packs that once.
"""
import ctypes as ct
import os

import torch

TYPES = {"bf16": 0, "s8": 1, "f16": 3, "fp8": 4}  # of kdl_matmul_type
RESULTS = {"bf16": 1, "s8": 0, "f16": 2, "fp8": 1}  # of kdl_matmul_result
RESULT_F32 = 3
WORKSPACE_BYTES = 256 << 20


class Matrix(ct.Structure):
    _fields_ = [("elements", ct.c_void_p), ("row_stride", ct.c_int64), ("column_stride", ct.c_int64)]


class Buffer(ct.Structure):
    _fields_ = [("address", ct.c_uint64), ("size", ct.c_uint64), ("device", ct.c_void_p)]


class Product(ct.Structure):
    _fields_ = [("size", ct.c_size_t), ("m", ct.c_uint32), ("n", ct.c_uint32), ("k", ct.c_uint32), ("batch", ct.c_uint32),
                ("a", Matrix), ("b", Matrix), ("c", Matrix), ("a_batch", ct.c_int64), ("b_batch", ct.c_int64), ("c_batch", ct.c_int64),
                ("result", ct.c_int), ("activation", ct.c_int), ("scale", ct.c_float), ("bias", ct.c_void_p), ("residual", Matrix),
                ("residual_batch", ct.c_int64), ("workspace", Buffer), ("tile", ct.c_uint32), ("parts", ct.c_uint32)]


class Plan(ct.Structure):
    _fields_ = [("tile", ct.c_uint32), ("rows", ct.c_uint32), ("columns", ct.c_uint32), ("parts", ct.c_uint32), ("whole", ct.c_uint32),
                ("cluster", ct.c_uint32), ("stages", ct.c_uint32), ("groups", ct.c_uint32),
                ("workspace", ct.c_uint64)]


class Library:
    """libkdl on torch's device and streams."""

    def __init__(self, folder, kernels):
        self.kdl = ct.CDLL(os.path.join(folder, "libkdl.so.0"), mode=ct.RTLD_GLOBAL)
        self.matmul = ct.CDLL(os.path.join(folder, "libkdl_matmul.so.0"))
        self.kdl.kdl_error_message.restype = ct.c_char_p
        self.device, self.library, self.found, self.queues = ct.c_void_p(), ct.c_void_p(), {}, {}
        self.check(self.kdl.kdl_device_find(f"cuda:{torch.cuda.current_device()}".encode(), ct.byref(self.device)))
        self.check(self.kdl.kdl_open(os.fsencode(os.path.abspath(kernels)), None, ct.byref(self.library)))
        self.workspace = torch.zeros(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")

    def check(self, status):
        if status:
            raise RuntimeError(self.kdl.kdl_error_message().decode())

    def of_type(self, kind):
        if kind not in self.found:
            self.found[kind] = ct.c_void_p()
            self.check(self.matmul.kdl_matmul_gpu_find(self.library, self.device, TYPES[kind], ct.byref(self.found[kind])))
        return self.found[kind]

    def queue(self, stream):
        if stream not in self.queues:
            self.queues[stream] = ct.c_void_p()
            self.check(self.kdl.kdl_queue_adopt(self.device, ct.c_void_p(stream), ct.byref(self.queues[stream])))
        return self.queues[stream]

    def plan(self, kind, product):
        plan = Plan()
        self.check(self.matmul.kdl_matmul_gpu_plan_of(self.of_type(kind), ct.byref(product), ct.byref(plan)))
        return plan

    def pack(self, kind, matrix, packed, n, k):
        matmul, stream = self.of_type(kind), torch.cuda.current_stream().cuda_stream
        self.check(self.matmul.kdl_matmul_gpu_pack(matmul, self.queue(stream), ct.byref(matrix), ct.c_void_p(packed.data_ptr()), n, k))
        self.matmul.kdl_matmul_gpu_packed.restype = Matrix
        return self.matmul.kdl_matmul_gpu_packed(matmul, ct.c_void_p(packed.data_ptr()), k)

    def run(self, kind, product, stream):
        self.check(self.matmul.kdl_matmul_gpu_run(self.of_type(kind), self.queue(stream), ct.byref(product)))


libraries = {}


def products(problem, library, tile, parts, epilogue=None):
    m, n, k = problem.m, problem.n, problem.k
    found = [Product(size=ct.sizeof(Product), m=m, n=n, k=k, batch=problem.batch, a=Matrix(a.data_ptr(), k, 1), b=Matrix(b.data_ptr(), 1, k),
                     c=Matrix(c.data_ptr(), n, 1), a_batch=m * k, b_batch=n * k, c_batch=m * n, result=RESULTS[problem.type], scale=1,
                     workspace=Buffer(library.workspace.data_ptr(), WORKSPACE_BYTES, library.device), tile=tile, parts=parts)
             for a, b, c in problem.sets]
    if epilogue:
        problem.bias = torch.randn(n, device="cuda")
        for product in found:
            product.bias, product.activation = problem.bias.data_ptr(), 2 if epilogue == "gelu" else 0
            product.result = product.result or RESULT_F32
    return found


def lay_by_rows(problem, library, found, is_packed):
    """B along N, or packed from there. The copies live as long as the problem."""
    n, k = problem.n, problem.k
    problem.copies = []
    for product, (_, b, _) in zip(found, problem.sets):
        turned = b.view(torch.int8 if b.element_size() == 1 else torch.int16).transpose(1, 2).contiguous()
        product.b, product.b_batch = Matrix(turned.data_ptr(), n, 1), n * k
        problem.copies.append(turned)
        if is_packed:
            packed = torch.empty(n * (k * b.element_size() + 64), dtype=torch.uint8, device="cuda")
            product.b = library.pack(problem.type, product.b, packed, n, k)
            problem.copies.append(packed)
    torch.cuda.synchronize()


def offers(problem, options):
    key = options["libraries"], options["kernels"]
    if key not in libraries:
        libraries[key] = Library(*key)
    library, name = libraries[key], options.get("name", "kdl")
    tiles = range(1, 9) if "all" in options else [int(options["tile"]) + 1 if "tile" in options else 0]
    found = {}
    for tile in tiles:
        mine = products(problem, library, tile, int(options.get("parts", 0)), options.get("epilogue"))
        if "b" in options:
            lay_by_rows(problem, library, mine, options["b"] == "packed")
        try:
            plan = library.plan(problem.type, mine[0])
        except RuntimeError:  # no tile of this size
            continue
        label = f"{name} {plan.rows}x{plan.columns}" + (f"/{plan.parts}" if plan.parts > 1 else "")

        def run(i, stream, mine=mine):
            library.run(problem.type, mine[i], stream)
        run.note = f"{plan.rows}x{plan.columns}, {plan.parts} parts, {plan.stages} stages, {plan.groups} groups" + \
                   (f", {plan.cluster} in a cluster" if plan.cluster > 1 else "") + (f", {plan.whole} tiles whole" if plan.whole else "")
        found[label if "all" in options else name] = run
    return found
