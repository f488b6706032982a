/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The tools of other projects that kdl, kdl-ld and the MLIR plugin use. docs/linking.md has the
 * table of their variables and places. */
#ifndef KDL_COMPILER_TOOLCHAIN_TOOLCHAIN_H
#define KDL_COMPILER_TOOLCHAIN_TOOLCHAIN_H

#include "support/system/tool_search.h"

#include <limits.h>
#include <stdbool.h>

typedef enum kdl_tool {
  KDL_TOOL_CLANG,
  KDL_TOOL_LLD,
  KDL_TOOL_PTXAS,
  KDL_TOOL_LLVM_SPIRV,
  KDL_TOOL_SPIRV_VAL,
  KDL_TOOL_LIBDEVICE, /* CUDA's math functions, a file of bitcode */
  KDL_TOOL_OCML,      /* ROCm's; the other device libraries are in its folder */
  KDL_TOOL_OCLGRIND,  /* its OpenCL platform */
  KDL_TOOL_COUNT,
} kdl_tool;

const kdl_tool_search *kdl_toolchain_search(kdl_tool tool);

/* The path of a tool; false where there is none. */
bool kdl_toolchain_find(kdl_tool tool, char out_path[PATH_MAX]);

/* The folder that the first of CUDA_HOME, CUDA_PATH and CUDA_ROOT names; NULL where none is set. */
const char *kdl_toolchain_cuda_folder(void);

#endif
