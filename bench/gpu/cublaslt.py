# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuBLASLt, called directly: every algorithm that its heuristics offer for a product, as a function to launch it."""
import ctypes as ct

import torch

WORKSPACE_BYTES = 64 << 20

# values of cublasLt.h, cublas_api.h and library_types.h
R_32F, R_16F, R_8I, R_32I, R_16BF, R_8F_E4M3 = 0, 2, 3, 10, 14, 28
COMPUTE_32F, COMPUTE_32I = 68, 72
DESC_TRANSA, DESC_TRANSB, DESC_FAST_ACCUM = 3, 4, 25
LAYOUT_BATCH_COUNT, LAYOUT_BATCH_STRIDE = 5, 6
PREFERENCE_WORKSPACE = 1
OP_T, OP_N = 1, 0

# operands, result, sums, scale factors
TYPES = {"bf16": (R_16BF, R_16BF, COMPUTE_32F, R_32F), "f16": (R_16F, R_16F, COMPUTE_32F, R_32F),
         "s8": (R_8I, R_32I, COMPUTE_32I, R_32I), "fp8": (R_8F_E4M3, R_16BF, COMPUTE_32F, R_32F)}


class Heuristic(ct.Structure):
    _fields_ = [("algo", ct.c_uint64 * 8), ("workspace", ct.c_size_t), ("status", ct.c_int), ("waves", ct.c_float), ("reserved", ct.c_int * 4)]


def check(status, what):
    if status:
        raise RuntimeError(f"cuBLASLt: {what}: status {status}")


class CublasLt:
    def __init__(self):
        self.lib = ct.CDLL(f"libcublasLt.so.{torch.version.cuda.split('.')[0]}")  # torch has opened it
        self.lib.cublasLtGetVersion.restype = ct.c_size_t
        self.handle = ct.c_void_p()
        check(self.lib.cublasLtCreate(ct.byref(self.handle)), "create")
        self.workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")

    def version(self):
        return self.lib.cublasLtGetVersion()

    def layout(self, kind, rows, columns, distance, batch, stride):
        handle = ct.c_void_p()
        check(self.lib.cublasLtMatrixLayoutCreate(ct.byref(handle), kind, ct.c_uint64(rows), ct.c_uint64(columns), ct.c_int64(distance)), "layout")
        for key, value in ((LAYOUT_BATCH_COUNT, ct.c_int32(batch)), (LAYOUT_BATCH_STRIDE, ct.c_int64(stride))):
            check(self.lib.cublasLtMatrixLayoutSetAttribute(handle, key, ct.byref(value), ct.sizeof(value)), "layout attribute")
        return handle

    def describe(self, kind, fast_sums):
        _, _, compute, scale = TYPES[kind]
        handle = ct.c_void_p()
        check(self.lib.cublasLtMatmulDescCreate(ct.byref(handle), compute, scale), "description")
        values = [(DESC_TRANSA, ct.c_int32(OP_T)), (DESC_TRANSB, ct.c_int32(OP_N))]
        if kind == "fp8":
            values.append((DESC_FAST_ACCUM, ct.c_int8(fast_sums)))
        for key, value in values:
            check(self.lib.cublasLtMatmulDescSetAttribute(handle, key, ct.byref(value), ct.sizeof(value)), "attribute")
        return handle

    def offers(self, problem, count, fast_sums=True):
        """Functions run(set, stream), one for each algorithm, the first is cuBLASLt's own choice.

        It stores by columns, so that our C is its transpose: C^T = B A^T. `fast_sums`: fp8 is summed as the instruction does it.
        """
        kind, result, _, scale = TYPES[problem.type]
        b, m, n, k = problem.batch, problem.m, problem.n, problem.k
        desc = self.describe(problem.type, fast_sums)
        left, right = self.layout(kind, k, n, k, b, n * k), self.layout(kind, k, m, k, b, m * k)
        out = self.layout(result, n, m, n, b, m * n)
        preference, size = ct.c_void_p(), ct.c_uint64(WORKSPACE_BYTES)
        check(self.lib.cublasLtMatmulPreferenceCreate(ct.byref(preference)), "preference")
        check(self.lib.cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_WORKSPACE, ct.byref(size), 8), "workspace")
        found, returned = (Heuristic * count)(), ct.c_int()
        check(self.lib.cublasLtMatmulAlgoGetHeuristic(self.handle, desc, left, right, out, out, preference, count, found, ct.byref(returned)),
              f"heuristics for {problem.type} {problem.shape}")
        alpha, beta = (ct.c_int32(1), ct.c_int32(0)) if scale == R_32I else (ct.c_float(1), ct.c_float(0))

        def bound(offer):
            calls = [(self.handle, desc, ct.byref(alpha), ct.c_void_p(y.data_ptr()), left, ct.c_void_p(x.data_ptr()), right, ct.byref(beta),
                      ct.c_void_p(c.data_ptr()), out, ct.c_void_p(c.data_ptr()), out, ct.byref(offer.algo),
                      ct.c_void_p(self.workspace.data_ptr()), ct.c_size_t(WORKSPACE_BYTES)) for x, y, c in problem.sets]
            return lambda i, stream: check(self.lib.cublasLtMatmul(*calls[i], ct.c_void_p(stream)), "matmul")

        return [bound(offer) for offer in found[:returned.value] if offer.status == 0]
