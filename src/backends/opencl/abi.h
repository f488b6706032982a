/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The numbers of OpenCL that launching uses, from cl.h and cl_ext.h, beside those of
 * device/opencl_abi.h. */
#ifndef KDL_BACKENDS_OPENCL_ABI_H
#define KDL_BACKENDS_OPENCL_ABI_H

#include "device/opencl_abi.h"

#include <stddef.h>

/* Every error of the core and of the extensions used here, with its name. */
enum {
#define KDL_CL_ERROR(name, number) KDL_CL_##name = (number),
#include "backends/opencl/errors.def"
#undef KDL_CL_ERROR
};

enum { KDL_CL_FALSE = 0, KDL_CL_TRUE = 1 };

enum { KDL_CL_CONTEXT_DEVICES = 0x1081, KDL_CL_CONTEXT_PLATFORM = 0x1084 };

/* cl_device_info */
enum {
  KDL_CL_DEVICE_SVM_CAPABILITIES = 0x1053,
  KDL_CL_DEVICE_USM_CAPABILITIES = 0x4191, /* CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL */
};
enum { KDL_CL_SVM_COARSE_GRAIN_BUFFER = 1, KDL_CL_USM_ACCESS = 1 };

/* cl_command_queue_info, which are also the names of a new queue's properties */
enum {
  KDL_CL_QUEUE_CONTEXT = 0x1090,
  KDL_CL_QUEUE_DEVICE = 0x1091,
  KDL_CL_QUEUE_PROPERTIES = 0x1093,
  KDL_CL_QUEUE_PRIORITY = 0x1096, /* cl_khr_priority_hints */
};
enum { KDL_CL_QUEUE_OUT_OF_ORDER = 1, KDL_CL_QUEUE_PROFILING = 2 };
enum { KDL_CL_PRIORITY_HIGH = 1, KDL_CL_PRIORITY_LOW = 4 };

enum { KDL_CL_PROGRAM_BUILD_LOG = 0x1183 };

enum { KDL_CL_KERNEL_NUM_ARGS = 0x1191 };

/* cl_kernel_work_group_info */
enum {
  KDL_CL_KERNEL_WORK_GROUP_SIZE = 0x11b0,
  KDL_CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11b1,
  KDL_CL_KERNEL_PREFERRED_MULTIPLE = 0x11b3,
};

/* cl_kernel_arg_info */
enum {
  KDL_CL_ARG_ADDRESS_QUALIFIER = 0x1196,
  KDL_CL_ARG_ACCESS_QUALIFIER = 0x1197,
  KDL_CL_ARG_TYPE_NAME = 0x1198,
};
enum {
  KDL_CL_ADDRESS_GLOBAL = 0x119b,
  KDL_CL_ADDRESS_LOCAL = 0x119c,
  KDL_CL_ADDRESS_CONSTANT = 0x119d,
  KDL_CL_ADDRESS_PRIVATE = 0x119e,
  KDL_CL_ACCESS_NONE = 0x11a3, /* whatever is no image */
};

enum { KDL_CL_MEM_READ_WRITE = 1 };

enum { KDL_CL_PROFILING_COMMAND_END = 0x1283 };

/* What a context tells of, from any thread. */
typedef void kdl_cl_notify(const char *words, const void *data, size_t size, void *user);

#endif
