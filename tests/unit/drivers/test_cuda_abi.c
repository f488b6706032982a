/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The numbers, structs and versions that the CUDA backend uses, against NVIDIA's own headers. */
#if KDL_HAVE_CUDA_H
#include <cuda.h>
#define HAVE_CUDA_H 1
#endif

#include "lib/backends/cuda/abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CUDA_H

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(KDL_CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(KDL_CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(KDL_CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME(KDL_CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME(KDL_CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME(KDL_CUDA_ERROR_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(KDL_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(KDL_CUDA_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(KDL_CUDA_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(KDL_CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(KDL_CUDA_JIT_MAX_REGISTERS, CU_JIT_MAX_REGISTERS);
SAME(KDL_CUDA_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER);
SAME(KDL_CUDA_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME(KDL_CUDA_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER);
SAME(KDL_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(KDL_CUDA_JIT_OPTIMIZATION_LEVEL, CU_JIT_OPTIMIZATION_LEVEL);
SAME(KDL_CUDA_JIT_GENERATE_DEBUG_INFO, CU_JIT_GENERATE_DEBUG_INFO);
SAME(KDL_CUDA_JIT_LOG_VERBOSE, CU_JIT_LOG_VERBOSE);
SAME(KDL_CUDA_JIT_GENERATE_LINE_INFO, CU_JIT_GENERATE_LINE_INFO);
SAME(KDL_CUDA_LIBRARY_BINARY_IS_PRESERVED, CU_LIBRARY_BINARY_IS_PRESERVED);
SAME(KDL_CUDA_FUNC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(KDL_CUDA_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(KDL_CUDA_FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
     CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
SAME(KDL_CUDA_LAUNCH_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME(KDL_CUDA_LAUNCH_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);

#define PLACED(ours, theirs)                                                                       \
  SAME(offsetof(kdl_cuda_launch_config, ours), offsetof(CUlaunchConfig, theirs))
PLACED(grid, gridDimX);
PLACED(block, blockDimX);
PLACED(shared, sharedMemBytes);
PLACED(stream, hStream);
PLACED(attributes, attrs);
PLACED(attribute_count, numAttrs);
SAME(sizeof(kdl_cuda_launch_config), sizeof(CUlaunchConfig));
SAME(offsetof(kdl_cuda_launch_attribute, value), offsetof(CUlaunchAttribute, value));
SAME(sizeof(kdl_cuda_launch_attribute), sizeof(CUlaunchAttribute));
SAME(sizeof(CUdeviceptr), sizeof(uint64_t));

#define NODE(type, ours, other, theirs) SAME(offsetof(type, ours), offsetof(other, theirs))
NODE(kdl_cuda_kernel_node, function, CUDA_KERNEL_NODE_PARAMS_v1, func);
NODE(kdl_cuda_kernel_node, grid, CUDA_KERNEL_NODE_PARAMS_v1, gridDimX);
NODE(kdl_cuda_kernel_node, block, CUDA_KERNEL_NODE_PARAMS_v1, blockDimX);
NODE(kdl_cuda_kernel_node, shared, CUDA_KERNEL_NODE_PARAMS_v1, sharedMemBytes);
NODE(kdl_cuda_kernel_node, params, CUDA_KERNEL_NODE_PARAMS_v1, kernelParams);
NODE(kdl_cuda_kernel_node, extra, CUDA_KERNEL_NODE_PARAMS_v1, extra);
SAME(sizeof(kdl_cuda_kernel_node), sizeof(CUDA_KERNEL_NODE_PARAMS_v1));
NODE(kdl_cuda_copy_node, from.type, CUDA_MEMCPY3D, srcMemoryType);
NODE(kdl_cuda_copy_node, from.host, CUDA_MEMCPY3D, srcHost);
NODE(kdl_cuda_copy_node, from.device, CUDA_MEMCPY3D, srcDevice);
NODE(kdl_cuda_copy_node, from.height, CUDA_MEMCPY3D, srcHeight);
NODE(kdl_cuda_copy_node, to.type, CUDA_MEMCPY3D, dstMemoryType);
NODE(kdl_cuda_copy_node, to.host, CUDA_MEMCPY3D, dstHost);
NODE(kdl_cuda_copy_node, to.device, CUDA_MEMCPY3D, dstDevice);
NODE(kdl_cuda_copy_node, width, CUDA_MEMCPY3D, WidthInBytes);
SAME(sizeof(kdl_cuda_copy_node), sizeof(CUDA_MEMCPY3D));
NODE(kdl_cuda_fill_node, to, CUDA_MEMSET_NODE_PARAMS, dst);
NODE(kdl_cuda_fill_node, pitch, CUDA_MEMSET_NODE_PARAMS, pitch);
NODE(kdl_cuda_fill_node, value, CUDA_MEMSET_NODE_PARAMS, value);
NODE(kdl_cuda_fill_node, element_size, CUDA_MEMSET_NODE_PARAMS, elementSize);
NODE(kdl_cuda_fill_node, width, CUDA_MEMSET_NODE_PARAMS, width);
NODE(kdl_cuda_fill_node, height, CUDA_MEMSET_NODE_PARAMS, height);
SAME(sizeof(kdl_cuda_fill_node), sizeof(CUDA_MEMSET_NODE_PARAMS));
SAME(KDL_CUDA_MEMORY_HOST, CU_MEMORYTYPE_HOST);
SAME(KDL_CUDA_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE);

/* CU_STREAM_LEGACY and CU_STREAM_PER_THREAD are the numbers 1 and 2 as pointers. */
static int compare_streams(void) {
  return (uintptr_t)CU_STREAM_LEGACY == 1 &&
         (uintptr_t)CU_STREAM_PER_THREAD == KDL_CUDA_STREAM_LAST_SPECIAL;
}

static const struct {
  const char *name;
  int version;
  const char *parameters;
} rows[] = {
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters) {#name, version, #parameters},
#include "lib/backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
};

static unsigned count_commas(const char *text, size_t length) {
  unsigned count = 0;
  for (size_t i = 0; i < length; ++i)
    count += text[i] == ',';
  return count;
}

/* cudaTypedefs.h has a line for each function in each version that it came in:
 * typedef CUresult (CUDAAPI *PFN_cuMemAlloc_v3020)(CUdeviceptr_v2 *dptr, size_t bytesize); */
static int compare_row(size_t row, const char *header) {
  char wanted[128];
  size_t length = strlen(rows[row].name);
  if (length > 3 && strcmp(rows[row].name + length - 3, "_v2") == 0)
    length -= 3;
  snprintf(wanted, sizeof wanted, "PFN_%.*s_v%d)(", (int)length, rows[row].name, rows[row].version);
  const char *found = strstr(header, wanted);
  if (!found) {
    printf("%s: found no %s\n", rows[row].name, wanted);
    return 1;
  }
  const char *list = found + strlen(wanted);
  unsigned theirs = count_commas(list, strcspn(list, ";"));
  unsigned ours = count_commas(rows[row].parameters, strlen(rows[row].parameters));
  if (theirs != ours)
    printf("%s: %u parameters, expected %u\n", rows[row].name, ours + 1, theirs + 1);
  return theirs != ours;
}

static char *read_header(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file)
    return NULL;
  size_t room = 1 << 20;
  char *text = calloc(1, room + 1);
  size_t size = text ? fread(text, 1, room, file) : 0;
  fclose(file);
  return size ? text : NULL;
}

int main(void) {
  char *header = read_header("/usr/local/cuda/include/cudaTypedefs.h");
  header = header ? header : read_header("/usr/include/cudaTypedefs.h");
  if (!header) {
    puts("skipped: cudaTypedefs.h not where it is looked for");
    return 77;
  }
  int wrong = !compare_streams();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    wrong += compare_row(i, header);
  free(header);
  printf("compared %zu functions with CUDA %d.%d\n", sizeof rows / sizeof *rows,
         CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
  return wrong != 0;
}

#else

int main(void) {
  puts("skipped: cuda.h not found (NVIDIA's CUDA toolkit)");
  return 77;
}

#endif
