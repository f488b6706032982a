/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Types and constants of the CUDA driver API, as in cuda.h, which is not needed to build. Handles
 * (CUcontext, CUstream, CUlibrary, CUkernel, ...) are void pointers, a CUdevice is an int, a
 * CUdeviceptr a uint64_t. */
#ifndef KDL_LIB_BACKENDS_CUDA_ABI_H
#define KDL_LIB_BACKENDS_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

/* CUresult */
enum {
  KDL_CUDA_SUCCESS = 0,
  KDL_CUDA_ERROR_INVALID_VALUE = 1,
  KDL_CUDA_ERROR_OUT_OF_MEMORY = 2,
  KDL_CUDA_ERROR_NO_DEVICE = 100,
  KDL_CUDA_ERROR_INVALID_CONTEXT = 201,
  KDL_CUDA_ERROR_INVALID_HANDLE = 400,
  KDL_CUDA_ERROR_NOT_FOUND = 500,
  KDL_CUDA_ERROR_NOT_READY = 600,
  KDL_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
};

/* CUdevice_attribute */
enum {
  KDL_CUDA_MAX_THREADS_PER_BLOCK = 1,
  KDL_CUDA_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  KDL_CUDA_WARP_SIZE = 10,
  KDL_CUDA_CLOCK_RATE = 13,
  KDL_CUDA_MULTIPROCESSOR_COUNT = 16,
  KDL_CUDA_INTEGRATED = 18,
  KDL_CUDA_PCI_BUS_ID = 33,
  KDL_CUDA_PCI_DEVICE_ID = 34,
  KDL_CUDA_L2_CACHE_SIZE = 38,
  KDL_CUDA_PCI_DOMAIN_ID = 50,
  KDL_CUDA_COMPUTE_CAPABILITY_MAJOR = 75,
  KDL_CUDA_COMPUTE_CAPABILITY_MINOR = 76,
  KDL_CUDA_COOPERATIVE_LAUNCH = 95,
  KDL_CUDA_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  KDL_CUDA_CLUSTER_LAUNCH = 120,
};

/* CU_MEMHOSTALLOC_PORTABLE: pinned for every context. */
enum { KDL_CUDA_HOST_PORTABLE = 1 };

/* CUstreamCaptureMode, CUstreamCaptureStatus, CUstream_flags */
enum { KDL_CUDA_CAPTURE_MODE_RELAXED = 2 };
enum { KDL_CUDA_CAPTURE_STATUS_NONE = 0 };
enum { KDL_CUDA_STREAM_NON_BLOCKING = 1 };

/* NULL, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD: streams of the current context. Larger values
 * are pointers to a stream of one context. */
enum { KDL_CUDA_STREAM_LAST_SPECIAL = 2 };

/* CUjit_option */
enum {
  KDL_CUDA_JIT_MAX_REGISTERS = 0,
  KDL_CUDA_JIT_INFO_LOG_BUFFER = 3,
  KDL_CUDA_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  KDL_CUDA_JIT_ERROR_LOG_BUFFER = 5,
  KDL_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  KDL_CUDA_JIT_OPTIMIZATION_LEVEL = 7,
  KDL_CUDA_JIT_GENERATE_DEBUG_INFO = 11,
  KDL_CUDA_JIT_LOG_VERBOSE = 12,
  KDL_CUDA_JIT_GENERATE_LINE_INFO = 13,
};

/* CUlibraryOption */
enum { KDL_CUDA_LIBRARY_BINARY_IS_PRESERVED = 1 };

/* CUfunction_attribute */
enum {
  KDL_CUDA_FUNC_SHARED_SIZE_BYTES = 1,
  KDL_CUDA_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  KDL_CUDA_FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
};

/* CUlaunchAttribute and CUlaunchConfig */
enum {
  KDL_CUDA_LAUNCH_COOPERATIVE = 2,
  KDL_CUDA_LAUNCH_CLUSTER_DIMENSION = 4,
  KDL_CUDA_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
};

typedef struct kdl_cuda_launch_attribute {
  int id;
  char pad[4];
  union {
    char pad[64];
    int cooperative, is_early;
    unsigned cluster[3];
  } value;
} kdl_cuda_launch_attribute;

typedef struct kdl_cuda_launch_config {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  void *stream;
  kdl_cuda_launch_attribute *attributes;
  unsigned attribute_count;
} kdl_cuda_launch_config;

/* CUDA_KERNEL_NODE_PARAMS, its first version */
typedef struct kdl_cuda_kernel_node {
  void *function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  void **params;
  void **extra;
} kdl_cuda_kernel_node;

/* CUDA_MEMCPY3D */
enum { KDL_CUDA_MEMORY_HOST = 1, KDL_CUDA_MEMORY_DEVICE = 2 };

typedef struct kdl_cuda_copy_end {
  size_t x, y, z, lod;
  int type;
  void *host;
  uint64_t device;
  void *array;
  void *reserved;
  size_t pitch, height;
} kdl_cuda_copy_end;

typedef struct kdl_cuda_copy_node {
  kdl_cuda_copy_end from, to;
  size_t width, height, depth;
} kdl_cuda_copy_node;

/* CUgraphNodeParams, of a conditional node that repeats its body */
enum { KDL_CUDA_NODE_CONDITIONAL = 13, KDL_CUDA_CONDITION_WHILE = 1 };

typedef struct kdl_cuda_loop_node {
  int type;
  int reserved0[3];
  union {
    long long reserved1[29];
    struct {
      uint64_t handle;
      int type;
      unsigned size;
      void **bodies; /* the driver's own list */
      void *context;
    } conditional;
  } of;
  long long reserved2;
} kdl_cuda_loop_node;

/* CUDA_MEMSET_NODE_PARAMS */
typedef struct kdl_cuda_fill_node {
  uint64_t to;
  size_t pitch;
  unsigned value;
  unsigned element_size;
  size_t width, height;
} kdl_cuda_fill_node;

#endif
