/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the fake libcuda keeps beyond its objects: which context is current, and captures. */
#ifndef KDL_TESTS_FAKES_FAKE_CUDA_STATE_H
#define KDL_TESTS_FAKES_FAKE_CUDA_STATE_H

#include "fake_code.h"
#include "lib/backends/cuda/abi.h"

#define KDL_CUDA_SYMBOL(need, field, name, version, parameters) FAKE_EXPORT int name parameters;
#include "lib/backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL

/* CUresult values that only a driver returns */
enum {
  invalid_device = 101,
  invalid_image = 200,
  no_binary_for_gpu = 209,
  invalid_ptx = 218,
  illegal_address = 700,
  not_supported = 801,
  capture_unsupported = 900,
  capture_invalidated = 901,
};

/* The context that is current on this thread; NULL for none. */
fake_object *fake_current(void);

/* For calls that a capture in global mode forbids: breaks every capture, unless the thread is
 * relaxed. */
int fake_unsafe(void);

/* 48 KiB, unless the kernel was promised more. */
static inline int fake_cuda_max_shared(const fake_object *kernel) {
  return kernel->max_shared ? kernel->max_shared : 48 << 10;
}

/* Whether the kernel may be launched so; the stream does not count. */
int fake_cuda_check_launch(const fake_object *kernel, const kdl_cuda_launch_config *config,
                           void **params);

/* For tests that look inside: how often a node of an instance was set. */
FAKE_EXPORT unsigned fake_cuda_nodes_set(void);

/* For tests that look inside: how many contexts lie on this thread's stack; and fake_reset for them
 * too. */
FAKE_EXPORT unsigned fake_cuda_depth(void);
FAKE_EXPORT void fake_cuda_reset(void);

/* What tests need of the real interface beyond what libkdl uses. */
FAKE_EXPORT int cuCtxCreate_v2(void **context, unsigned flags, int device);
FAKE_EXPORT int cuCtxDestroy_v2(void *context);
FAKE_EXPORT int cuCtxSetCurrent(void *context);
FAKE_EXPORT int cuStreamBeginCapture_v2(void *stream, int mode);
FAKE_EXPORT int cuStreamEndCapture(void *stream, void **graph);
FAKE_EXPORT int cuGraphExecUpdate_v2(void *instance, void *graph, void *result);
FAKE_EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                                    int *outcome);

#endif
