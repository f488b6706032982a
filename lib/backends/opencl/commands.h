/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Support of a device for command buffers; the version decides the functions' parameters. */
#ifndef KDL_LIB_BACKENDS_OPENCL_COMMANDS_H
#define KDL_LIB_BACKENDS_OPENCL_COMMANDS_H

#include "lib/backends/opencl/objects.h"

typedef struct kdl_opencl_commands {
#define KDL_DRIVER_SYMBOL(field, name, result, parameters) result(*field) parameters;
#include "lib/backends/opencl/commands.def"
#undef KDL_DRIVER_SYMBOL
  bool has_properties;     /* 0.9.5 and later: copies and fills take them */
  bool has_svm;            /* 0.9.4 and later */
  bool keeps_arguments;    /* recording a launch captures the arguments of its cl_kernel */
  uint64_t flags;          /* of a new command buffer */
  uint64_t mutable_fields; /* fields of launches that can be updated; 0: none */
} kdl_opencl_commands;

/* KDL_UNSUPPORTED, with the reason, where the device has no known version. */
kdl_status kdl_opencl_commands_find(const kdl_opencl_device *device,
                                    kdl_opencl_commands *out_commands);

/* Record a copy or a fill of the device's kind of memory. KDL_NODE_WRITE and KDL_NODE_READ are
 * copies where memory has addresses. */
bool kdl_opencl_commands_have(const kdl_opencl_commands *commands, const kdl_opencl_device *device,
                              const kdl_backend_node *node);
int32_t kdl_opencl_commands_copy(const kdl_opencl_commands *commands,
                                 const kdl_opencl_device *device, void *buffer,
                                 const kdl_backend_node *node, const char **out_call);
int32_t kdl_opencl_commands_fill(const kdl_opencl_commands *commands,
                                 const kdl_opencl_device *device, void *buffer,
                                 const kdl_backend_node *node, const char **out_call);

#endif
