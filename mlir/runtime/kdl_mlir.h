/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The interface between programs compiled with #kdl.runtime_select and libkdl_mlir_runtime, and its
 * structs. mlir/lib/RuntimeSelect.cpp emits the same layout.
 *
 * A program has one kdl_mlir_library per gpu.binary, which a constructor registers and a destructor
 * unregisters, and a slot and a stub per launched kernel. A launch does what kdl_launch() does
 * inline:
 *
 *     handle = slot->kernel
 *     status = handle->entry(handle, desc, args, stream ? stream->queue : slot->queue)
 *     if (status) kdl_mlir_launch_failed(stub, desc)
 *     if (there is no stream) kdl_mlir_wait()
 *
 * A slot initially points to its stub, which has the layout of a handle. The stub's entry binds the
 * kernel, stores the real handle in the slot, and launches.
 */
#ifndef KDL_MLIR_RUNTIME_KDL_MLIR_H
#define KDL_MLIR_RUNTIME_KDL_MLIR_H

#include <kdl/kdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a struct below changes, except by growing at its end. */
enum { KDL_MLIR_ABI = 1 };

typedef enum kdl_mlir_fallback {
  KDL_MLIR_FALLBACK_ERROR = 0, /* the CPU runs kernels only if KDL_DEVICE selects it */
  KDL_MLIR_FALLBACK_HOST = 1,  /* the CPU runs kernels if no GPU has an image */
} kdl_mlir_fallback;

typedef struct kdl_mlir_library {
  uint32_t abi;      /* KDL_MLIR_ABI */
  uint32_t policy;   /* kdl_policy */
  uint32_t fallback; /* kdl_mlir_fallback */
  uint32_t reserved;
  const char *name; /* of the gpu.binary */
  const void *data; /* an OffloadBinary */
  uint64_t data_size;
  void *state; /* for the runtime; initially NULL */
} kdl_mlir_library;

typedef struct kdl_mlir_slot {
  kdl_kernel_head *kernel;
  void *queue; /* the queue of launches without a stream; NULL until the kernel is bound */
} kdl_mlir_slot;

typedef struct kdl_mlir_stub {
  kdl_kernel_head head; /* its entry is kdl_mlir_bind */
  kdl_mlir_slot *slot;
  kdl_mlir_library *library;
  const char *name; /* of the kernel */
} kdl_mlir_stub;

/* The launch of a product of matrices, @kdl_contraction_TYPE of a binary with kernels of the matmul
 * library: C = activation(scale * A B + bias + residual), as in <kdl/matmul_gpu.h>. The numbers of
 * its arguments, all int64_t but for the scale, a float. A matrix is an address, the distances of
 * rows and of columns, and that of the matrices of a batch. */
#define KDL_MLIR_CONTRACTION "kdl_contraction_"
enum {
  KDL_MLIR_CONTRACTION_A = 0,
  KDL_MLIR_CONTRACTION_B = 4,
  KDL_MLIR_CONTRACTION_C = 8,
  KDL_MLIR_CONTRACTION_RESIDUAL = 12, /* address 0: none */
  KDL_MLIR_CONTRACTION_M = 16,
  KDL_MLIR_CONTRACTION_N = 17,
  KDL_MLIR_CONTRACTION_K = 18,
  KDL_MLIR_CONTRACTION_BATCH = 19,
  KDL_MLIR_CONTRACTION_BIAS = 20,       /* an address of floats, or 0 */
  KDL_MLIR_CONTRACTION_RESULT = 21,     /* kdl_matmul_result */
  KDL_MLIR_CONTRACTION_ACTIVATION = 22, /* kdl_matmul_activation */
  KDL_MLIR_CONTRACTION_ON_HOST = 23,    /* 1: operands that mgpuMemAlloc did not allocate are in the
                                           host's memory */
  KDL_MLIR_CONTRACTION_SCALE = 24,
  KDL_MLIR_CONTRACTION_ARGS = 25,
};

/* Does not call a driver or read the data. */
KDL_API void kdl_mlir_register(kdl_mlir_library *library);
KDL_API void kdl_mlir_unregister(kdl_mlir_library *library);

/* The entry of stubs. */
KDL_API kdl_status kdl_mlir_bind(const kdl_kernel_head *stub, const kdl_launch_desc *desc,
                                 const kdl_args *args, void *queue);

/* Reports the last failure on this thread to the error handler, unless the launch had zero groups:
 * that is a no-op, not an error. */
KDL_API void kdl_mlir_launch_failed(const kdl_mlir_stub *stub, const kdl_launch_desc *desc);

/* Waits for all launches that were made without a stream. */
KDL_API void kdl_mlir_wait(void);

/* Called by code of kdl-lower-parallel-calls: kdl_host_parallel, with failures reported to the
 * error handler. */
KDL_API void kdl_mlir_parallel(uint64_t count, void (*run)(void *context, uint64_t index),
                               void *context);

/* Compiled code cannot handle an error, so the runtime calls this handler with the message, on the
 * failing thread. The default, also for NULL, prints it and aborts, or continues if
 * KDL_MLIR_ERRORS=report. If a handler returns, the program continues without what failed. */
KDL_API void kdl_mlir_set_error_handler(void (*handler)(void *user, const char *message),
                                        void *user);

#ifdef __cplusplus
}
#endif

#endif
