/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The backend's devices, queues, loaded images and kernels. Events are the driver's CUevent, and
 * memory its addresses. */
#ifndef KDL_LIB_BACKENDS_CUDA_OBJECTS_H
#define KDL_LIB_BACKENDS_CUDA_OBJECTS_H

#include "lib/backends/common/arguments/params.h"
#include "lib/backends/common/launch.h"
#include "lib/backends/cuda/driver.h"

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): declarations name the object;
 * definitions take a `handle` and cast it. */

/* The functions of the table. */
#define KDL_BACKEND_FUNCTION(result, name, parameters) result kdl_cuda_##name parameters;
#define KDL_BACKEND_STREAMS KDL_BACKEND_FUNCTION
#include "lib/backends/common/functions.def"

/* ------------------------------------------------------------------------------------------ */
/* Devices and contexts                                                                         */

typedef struct kdl_cuda_device {
  void *context; /* the primary one, which PyTorch and the CUDA runtime use too, or the caller's */
  void *adopted; /* of kdl_device_adopt; NULL: none */
  uint32_t ordinal;
  int number; /* the CUdevice */
  /* A thread without a context keeps this device's: it is the only device, and the CUDA runtime
   * would use the same context. */
  bool keeps_context;
} kdl_cuda_device;

/* A scope in which one context is current on this thread. */
typedef struct kdl_cuda_scope {
  kdl_status status; /* why entering failed */
  uint32_t ordinal;
  int capture_mode; /* the mode to restore; -1: unchanged */
  bool pushed;
} kdl_cuda_scope;

/* Makes the context current unless it is; a thread may keep it: see keeps_context. */
kdl_status kdl_cuda_enter(const kdl_cuda_device *device, void *context, kdl_cuda_scope *out_scope);

/* The same with the device's own context. */
kdl_status kdl_cuda_enter_own(const kdl_cuda_device *device, kdl_cuda_scope *out_scope);

/* The same for calls that may allocate. They would break every capture of the process in the
 * default, global mode, unless the thread selects the relaxed mode. */
kdl_status kdl_cuda_enter_relaxed(const kdl_cuda_device *device, kdl_cuda_scope *out_scope);

/* Restores the previous context, and records the call if `error` is not 0. */
kdl_status kdl_cuda_leave(const kdl_cuda_scope *scope, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses a context of the caller, or of its stream, that belongs to another device. */
kdl_status kdl_cuda_check_context(const kdl_cuda_device *device, void *context, const char *what);

/* ------------------------------------------------------------------------------------------ */
/* Loaded images                                                                              */

/* Options and messages of the driver's compiler; lives as long as the code, because the driver may
 * compile when a kernel is first needed. */
typedef struct kdl_cuda_jit kdl_cuda_jit;

/* The driver's input: machine code unchanged, or PTX with a final NUL and options. */
typedef struct kdl_cuda_jit_input {
  const void *data;
  unsigned option_count;
  int *options;
  void **values;
} kdl_cuda_jit_input;

/* Creates *jit for PTX, unless it exists. Fails where a KDL_CUDA_JIT_ variable is invalid. */
kdl_status kdl_cuda_jit_begin(const kdl_backend_image *image, kdl_cuda_jit **jit,
                              kdl_cuda_jit_input *out_input);
void kdl_cuda_jit_destroy(kdl_cuda_jit *jit);

/* The compiler's errors, joined by "; "; "" without any. */
void kdl_cuda_jit_errors(const kdl_cuda_jit *jit, char *text, size_t size);

/* Logs its remarks to KDL_DEBUG=load. */
void kdl_cuda_jit_log(const kdl_cuda_jit *jit, const char *image);

/* A loaded image: a CUlibrary that all devices share, or a CUmodule of one. */
typedef struct kdl_cuda_code {
  void *handle;
  kdl_cuda_jit *jit; /* NULL for machine code */
} kdl_cuda_code;

typedef struct kdl_cuda_kernel kdl_cuda_kernel;

typedef struct kdl_cuda_loaded_image {
  kdl_cuda_code *code; /* shared, or its own */
  kdl_cuda_code own;
  kdl_image_reference image;
  uint32_t launched;                /* 1 once one of its kernels was launched */
  kdl_cuda_kernel *_Atomic kernels; /* freed with the loaded image */
} kdl_cuda_loaded_image;

/* CUlibrary objects, one per image for all devices. Call with a context current. */
kdl_status kdl_cuda_library_acquire(uint32_t ordinal, const kdl_backend_image *image,
                                    kdl_cuda_code **out_code);
void kdl_cuda_library_release(uint32_t ordinal, kdl_cuda_code *code);

/* Records why loading failed, with the compiler's messages. */
kdl_status kdl_cuda_code_fail(uint32_t ordinal, int error, const char *call,
                              const kdl_cuda_jit *jit);

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

/* Streams with small numbers as handles belong to the current context. */
static inline bool kdl_cuda_is_special(const void *stream) {
  return (uintptr_t)stream <= KDL_CUDA_STREAM_LAST_SPECIAL;
}

/* Where launches on a queue get their context from. */
enum {
  KDL_CUDA_FROM_THREAD = 0, /* it is current: launches the CUfunction */
  KDL_CUDA_FROM_STREAM = 1, /* it may not be: launches the CUkernel in the stream's context */
  KDL_CUDA_FROM_QUEUE = 2, /* it is made current: no CUkernel, or a stream of the current context */
};

typedef struct kdl_cuda_queue {
  void *stream;
  void *context;
  _Atomic uint64_t context_from; /* changed when the driver refuses */
  bool owned;
  /* The program may capture the stream: it is the caller's, or its native handle was given out, or
   * it waits for an event that may be part of a capture. */
  _Atomic bool may_be_captured;
} kdl_cuda_queue;

struct kdl_cuda_kernel {
  kdl_launch_head head;          /* for the CUfunction, if the device's context is current */
  _Atomic uint32_t shared_ready; /* bytes of dynamic group memory that are prepared */
  const kdl_cuda_device *device;
  void *free; /* the CUkernel, for other contexts; NULL where code is loaded into the context */
  _Atomic bool wide_clusters; /* clusters of more than eight blocks are enabled */
  kdl_cuda_kernel *next;
  kdl_params params;
};

void kdl_cuda_kernel_free(kdl_cuda_kernel *kernel);

/* Prepares the kernel for `size` bytes of dynamic group memory. */
kdl_status kdl_cuda_kernel_allow_shared(kdl_cuda_kernel *kernel, uint64_t size);

/* Prepares it for clusters that not every device supports. */
kdl_status kdl_cuda_kernel_allow_wide_clusters(kdl_cuda_kernel *kernel);

/* Prepares group memory, clusters and cooperative launches. */
kdl_status kdl_cuda_kernel_prepare(kdl_cuda_kernel *kernel, const kdl_launch_desc *desc);

/* The launch entry, and its three slow paths. */
kdl_launch_entry kdl_cuda_launch;
__attribute__((noinline)) kdl_launch_entry kdl_cuda_launch_desc_block;
__attribute__((noinline)) kdl_launch_entry kdl_cuda_launch_kernel_block;
__attribute__((noinline)) kdl_launch_entry kdl_cuda_launch_slow;

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

#endif
