/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the backend keeps of devices, queues, modules and kernels. Events are the driver's own
 * CUevent, and memory its own addresses. */
#ifndef KDL_BACKENDS_CUDA_OBJECTS_H
#define KDL_BACKENDS_CUDA_OBJECTS_H

#include "lib/backends/common/arguments/params.h"
#include "lib/backends/common/launch.h"
#include "lib/backends/cuda/driver.h"

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): a declaration says what a
 * handle is of; the definition takes a handle and makes that of it. */

/* The functions of the table. */
#define KDL_BACKEND_FUNCTION(result, name, parameters) result kdl_cuda_##name parameters;
#define KDL_BACKEND_STREAMS KDL_BACKEND_FUNCTION
#include "lib/backends/common/functions.def"

/* ------------------------------------------------------------------------------------------ */
/* Devices and contexts                                                                         */

typedef struct kdl_cuda_device {
  void *context; /* the primary one, which PyTorch and the CUDA runtime use too, or the caller's */
  void *adopted; /* the caller's; NULL where it gave none */
  uint32_t ordinal;
  int number; /* the CUdevice */
  /* A thread without a context keeps this device's: it is the only device, and the CUDA runtime
   * would give the thread the same one. */
  bool keeps_context;
} kdl_cuda_device;

/* A stretch in which one context is current on this thread. */
typedef struct kdl_cuda_scope {
  kdl_status status; /* why it was not entered */
  uint32_t ordinal;
  int capture_mode; /* to go back to; -1: it was not changed */
  bool pushed;
} kdl_cuda_scope;

/* Makes the context current where it is not; a thread may keep it: see is_kept. */
kdl_status kdl_cuda_enter(const kdl_cuda_device *device, void *context, kdl_cuda_scope *out_scope);

/* The same with the device's own context. */
kdl_status kdl_cuda_enter_own(const kdl_cuda_device *device, kdl_cuda_scope *out_scope);

/* The same for calls that may allocate: they would break every capture in the process that was
 * begun in the usual, global, mode, unless the thread declares that it knows. */
kdl_status kdl_cuda_enter_relaxed(const kdl_cuda_device *device, kdl_cuda_scope *out_scope);

/* Brings back what was current, and tells what was called where `error` is one. */
kdl_status kdl_cuda_leave(const kdl_cuda_scope *scope, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses the caller's context, or that of its stream, where it is one of another device. */
kdl_status kdl_cuda_check_context(const kdl_cuda_device *device, void *context, const char *what);

/* ------------------------------------------------------------------------------------------ */
/* Modules                                                                                      */

/* What the driver's compiler is told and what it says; lives as long as the code, since the driver
 * may compile when a kernel is first needed. */
typedef struct kdl_cuda_jit kdl_cuda_jit;

/* What the driver is given: machine code as it is, or PTX ended by a NUL, with options. */
typedef struct kdl_cuda_jit_input {
  const void *data;
  unsigned option_count;
  int *options;
  void **values;
} kdl_cuda_jit_input;

/* Makes *jit where the image is PTX and there is none. Fails where a KDL_CUDA_JIT_ variable makes
 * no sense. */
kdl_status kdl_cuda_jit_begin(const kdl_backend_image *image, kdl_cuda_jit **jit,
                              kdl_cuda_jit_input *out_input);
void kdl_cuda_jit_destroy(kdl_cuda_jit *jit);

/* What the compiler complained of, its lines joined by "; "; "" where it did not. */
void kdl_cuda_jit_errors(const kdl_cuda_jit *jit, char *text, size_t size);

/* Its remarks, to KDL_DEBUG=load. */
void kdl_cuda_jit_log(const kdl_cuda_jit *jit, const char *image);

/* An image as the driver holds it: a CUlibrary that all devices share, or a CUmodule of one. */
typedef struct kdl_cuda_code {
  void *handle;
  kdl_cuda_jit *jit; /* NULL for machine code */
} kdl_cuda_code;

typedef struct kdl_cuda_kernel kdl_cuda_kernel;

typedef struct kdl_cuda_module {
  kdl_cuda_code *code; /* shared, or its own */
  kdl_cuda_code own;
  kdl_module_image image;
  uint32_t launched;                /* 1 once one of its kernels was */
  kdl_cuda_kernel *_Atomic kernels; /* found so far, to be freed with the module */
} kdl_cuda_module;

/* CUlibrary objects, one per image however many devices load it. Called with a context current. */
kdl_status kdl_cuda_library_acquire(uint32_t ordinal, const kdl_backend_image *image,
                                    kdl_cuda_code **out_code);
void kdl_cuda_library_release(uint32_t ordinal, kdl_cuda_code *code);

/* Tells why loading failed, with what the compiler said. */
kdl_status kdl_cuda_code_fail(uint32_t ordinal, int error, const char *call,
                              const kdl_cuda_jit *jit);

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

/* The streams that CUDA programs name by small numbers belong to whichever context is current. */
static inline bool kdl_cuda_is_special(const void *stream) {
  return (uintptr_t)stream <= KDL_CUDA_STREAM_LAST_SPECIAL;
}

/* Where launches on a queue have their context from. */
enum {
  KDL_CUDA_FROM_THREAD = 0, /* it is current: the CUfunction is launched */
  KDL_CUDA_FROM_STREAM = 1, /* it may not be: the CUkernel is, and the driver asks the stream */
  KDL_CUDA_FROM_QUEUE = 2,  /* it is made current: there is no CUkernel, or the stream knows none */
};

typedef struct kdl_cuda_queue {
  void *stream;
  void *context;
  _Atomic uint64_t context_from; /* learnt from what the driver refuses */
  bool owned;
  /* The program may capture it: it is its own, or it was told the stream, or the stream waits for
   * an event that may be of a capture. */
  _Atomic bool may_be_captured;
} kdl_cuda_queue;

struct kdl_cuda_kernel {
  kdl_launch_head head;          /* of the CUfunction, for where the device's context is current */
  _Atomic uint32_t shared_ready; /* so many bytes of dynamic group memory need no preparation */
  const kdl_cuda_device *device;
  void *free; /* the CUkernel, for anywhere else; NULL where code is loaded into the context */
  _Atomic bool wide_clusters; /* clusters of more than eight blocks were allowed */
  kdl_cuda_kernel *next;
  kdl_params params;
};

void kdl_cuda_kernel_free(kdl_cuda_kernel *kernel);

/* Prepares the kernel for so much dynamic group memory. */
kdl_status kdl_cuda_kernel_allow_shared(kdl_cuda_kernel *kernel, uint64_t size);

/* Prepares it for clusters that not every device takes. */
kdl_status kdl_cuda_kernel_allow_wide_clusters(kdl_cuda_kernel *kernel);

/* Settles group memory, clusters and cooperation before they are asked for. */
kdl_status kdl_cuda_kernel_prepare(kdl_cuda_kernel *kernel, const kdl_launch_desc *desc);

/* What kernels are launched by, and the three ways that it goes on. */
kdl_launch_entry kdl_cuda_launch;
__attribute__((noinline)) kdl_launch_entry kdl_cuda_launch_desc_block;
__attribute__((noinline)) kdl_launch_entry kdl_cuda_launch_kernel_block;
__attribute__((noinline)) kdl_launch_entry kdl_cuda_launch_slow;

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

#endif
