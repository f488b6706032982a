/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/toolchain/toolchain.h"

static const kdl_tool_search clang = {.name = "clang",
                                      .package = "clang-22",
                                      .variable = KDL_VARIABLE_CLANG,
                                      .places = {"clang-22", "clang"}};

/* First the one of the LLVM whose objects it links. */
static const kdl_tool_search lld = {
    .name = "ld.lld",
    .package = "lld-" KDL_LLVM,
    .variable = KDL_VARIABLE_LLD,
    .places = {KDL_LLVM_PROGRAMS "/ld.lld", "ld.lld-" KDL_LLVM, "ld.lld"}};

static const kdl_tool_search ptxas = {
    .name = "ptxas",
    .package = "nvidia-cuda-toolkit",
    .variable = KDL_VARIABLE_PTXAS,
    .places = {"$CUDA_HOME/bin/ptxas", "$CUDA_PATH/bin/ptxas", "$CUDA_ROOT/bin/ptxas", "ptxas",
               "/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas", "/usr/lib/cuda/bin/ptxas"}};

static const kdl_tool_search spirv_val = {.name = "spirv-val",
                                          .package = "spirv-tools",
                                          .variable = KDL_VARIABLE_SPIRV_VAL,
                                          .places = {"spirv-val"}};

/* That of the toolkit whose ptxas is used, unless a variable names another. */
static const kdl_tool_search libdevice = {
    .name = "libdevice",
    .package = "nvidia-cuda-toolkit",
    .variable = KDL_VARIABLE_LIBDEVICE,
    .is_file = true,
    .neighbour = &ptxas,
    .places = {
        "$CUDA_HOME/nvvm/libdevice/libdevice.10.bc", "$CUDA_PATH/nvvm/libdevice/libdevice.10.bc",
        "$CUDA_ROOT/nvvm/libdevice/libdevice.10.bc", "../nvvm/libdevice/libdevice.10.bc",
        "/usr/local/cuda/nvvm/libdevice/libdevice.10.bc",
        "/opt/cuda/nvvm/libdevice/libdevice.10.bc", "/usr/lib/cuda/nvvm/libdevice/libdevice.10.bc",
        "/usr/lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc"}};

/* Debian 13 has it among Clang's own files. LLVM reads bitcode of its own version and older ones.
 */
static const kdl_tool_search ocml = {
    .name = "ocml.bc",
    .package = "rocm-device-libs",
    .variable = KDL_VARIABLE_ROCM_DEVICE_LIBS,
    .is_file = true,
    .newest = KDL_LLVM_NUMBER,
    .places = {"$ROCM_PATH/amdgcn/bitcode/ocml.bc", "/opt/rocm/amdgcn/bitcode/ocml.bc",
               "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ocml.bc",
               "/usr/lib/aarch64-linux-gnu/amdgcn/bitcode/ocml.bc",
               "/usr/lib/riscv64-linux-gnu/amdgcn/bitcode/ocml.bc",
               "/usr/lib/amdgcn/bitcode/ocml.bc", "/usr/lib64/amdgcn/bitcode/ocml.bc",
               "/usr/amdgcn/bitcode/ocml.bc",
               "/usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode/ocml.bc"}};

static const kdl_tool_search oclgrind = {.name = "Oclgrind",
                                         .package = "oclgrind",
                                         .variable = KDL_VARIABLE_OCLGRIND,
                                         .is_file = true,
                                         .places = {"/usr/lib/oclgrind/liboclgrind-rt-icd.so",
                                                    "/usr/lib64/oclgrind/liboclgrind-rt-icd.so",
                                                    "/usr/local/lib/oclgrind/liboclgrind-rt-icd.so",
                                                    "/usr/local/lib/liboclgrind-rt-icd.so"}};

const kdl_tool_search *kdl_toolchain_search(kdl_tool tool) {
  static const kdl_tool_search *const tools[] = {
      [KDL_TOOL_CLANG] = &clang,         [KDL_TOOL_LLD] = &lld,
      [KDL_TOOL_PTXAS] = &ptxas,         [KDL_TOOL_LLVM_SPIRV] = &kdl_tool_llvm_spirv,
      [KDL_TOOL_SPIRV_VAL] = &spirv_val, [KDL_TOOL_LIBDEVICE] = &libdevice,
      [KDL_TOOL_OCML] = &ocml,           [KDL_TOOL_OCLGRIND] = &oclgrind,
  };
  _Static_assert(sizeof tools / sizeof *tools == KDL_TOOL_COUNT, "a tool has no row");
  return tools[tool];
}

bool kdl_toolchain_find(kdl_tool tool, char out_path[PATH_MAX]) {
  return kdl_tool_find(kdl_toolchain_search(tool), out_path);
}

const char *kdl_toolchain_cuda_folder(void) {
  static const kdl_variable variables[] = {KDL_VARIABLE_CUDA_HOME, KDL_VARIABLE_CUDA_PATH,
                                           KDL_VARIABLE_CUDA_ROOT};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i) {
    const char *value = kdl_environment(variables[i]);
    if (value)
      return value;
  }
  return NULL;
}
