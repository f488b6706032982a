/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What programs compiled with #kdl.runtime_select ask of libkdl_mlir_runtime, and the structs that
 * the compiler lays out for it. mlir/lib/RuntimeSelect.cpp writes the same layout.
 *
 * For each gpu.binary the program has one kdl_mlir_library, which a constructor registers and a
 * destructor gives back, and for each of its kernels that is launched a slot and a stub. A launch
 * is what kdl_launch() does inline:
 *
 *     handle = slot->kernel
 *     status = handle->entry(handle, desc, args, stream ? stream->queue : slot->queue)
 *     if (status) kdl_mlir_launch_failed(stub, desc)
 *     if (there is no stream) kdl_mlir_wait()
 *
 * A slot begins with its stub, which looks like a handle and whose entry binds the kernel, puts the
 * real handle into the slot, and launches.
 */
#ifndef KDL_MLIR_H
#define KDL_MLIR_H

#include <kdl/kdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a struct below changes otherwise than by growing at its end. */
enum { KDL_MLIR_ABI = 1 };

typedef enum kdl_mlir_fallback {
  KDL_MLIR_FALLBACK_ERROR = 0, /* the CPU runs kernels only where KDL_DEVICE says so */
  KDL_MLIR_FALLBACK_HOST = 1,  /* it does where no GPU has an image */
} kdl_mlir_fallback;

typedef struct kdl_mlir_library {
  uint32_t abi;      /* KDL_MLIR_ABI */
  uint32_t policy;   /* kdl_policy */
  uint32_t fallback; /* kdl_mlir_fallback */
  uint32_t reserved;
  const char *name; /* of the gpu.binary */
  const void *data; /* an OffloadBinary */
  uint64_t data_size;
  void *state; /* the runtime's; NULL to begin with */
} kdl_mlir_library;

typedef struct kdl_mlir_slot {
  kdl_kernel_head *kernel;
  void *queue; /* where launches without a stream go; NULL until the kernel is bound */
} kdl_mlir_slot;

typedef struct kdl_mlir_stub {
  kdl_kernel_head head; /* its entry is kdl_mlir_bind */
  kdl_mlir_slot *slot;
  kdl_mlir_library *library;
  const char *name; /* of the kernel */
} kdl_mlir_stub;

/* Does no driver work and does not look at the data. */
KDL_API void kdl_mlir_register(kdl_mlir_library *library);
KDL_API void kdl_mlir_unregister(kdl_mlir_library *library);

/* The entry of stubs. */
KDL_API kdl_status kdl_mlir_bind(const kdl_kernel_head *stub, const kdl_launch_desc *desc,
                                 const kdl_args *args, void *queue);

/* Tells the error handler what the last failure on this thread was, unless the launch was of no
 * groups at all: that is nothing to do, not an error. */
KDL_API void kdl_mlir_launch_failed(const kdl_mlir_stub *stub, const kdl_launch_desc *desc);

/* Waits for all launches that were made without a stream. */
KDL_API void kdl_mlir_wait(void);

/* What kdl-lower-parallel-calls calls: kdl_host_parallel, with failures told to the error handler.
 */
KDL_API void kdl_mlir_parallel(uint64_t count, void (*run)(void *context, uint64_t index),
                               void *context);

/* Compiled code has no way to handle an error, so this is called with the whole message, from
 * whichever thread it was; by default it is printed and the process aborts, or goes on where
 * KDL_MLIR_ERRORS=report. A NULL handler goes back to that. A handler that returns lets the program
 * go on without what failed. */
KDL_API void kdl_mlir_set_error_handler(void (*handler)(void *user, const char *message),
                                        void *user);

#ifdef __cplusplus
}
#endif

#endif
