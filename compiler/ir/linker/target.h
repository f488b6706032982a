/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The device, described for LLVM's code generator. */
#ifndef KDL_COMPILER_IR_LINKER_TARGET_H
#define KDL_COMPILER_IR_LINKER_TARGET_H

#include "compiler/ir/linker/module.h"
#include "compiler/ir/linker/request.h"
#include "lib/inspect/targets.h"

typedef struct ir_target {
  kdl_target_family family;
  const char *triple;
  char cpu[64];
  char tune[64]; /* "" for LLVM's default */
  char features[4096];
  char arch[KDL_SPEC_ARCH]; /* the architecture for the image's metadata */
  uint32_t sve_bits;        /* AArch64: the least length of SVE's vectors; 0 = unknown */

  /* Collected from the modules by ir_target_admit. */
  char suffix;        /* NVIDIA: 'a' or 'f' where a module was compiled for it */
  uint32_t ptx;       /* NVIDIA: the newest PTX version of a module */
  uint32_t wavefront; /* AMD: 32 or 64; 0 = the processor's default */

  LLVMTargetMachineRef machine; /* created by ir_target_finish */
} ir_target;

/* KDL_UNSUPPORTED where kdl-ld cannot make an image for such a device. */
kdl_status ir_target_init(const ir_request *request, ir_target *out_target);
void ir_target_free(ir_target *target);

/* Checks that a module can be compiled for the device, by the targets that its functions name, and
 * records what the result must keep of them. */
kdl_status ir_target_admit(ir_target *target, const ir_request *request, LLVMModuleRef module,
                           const char *name);

/* After all modules were admitted: completes cpu, features and arch, and creates the machine. */
kdl_status ir_target_finish(ir_target *target, const ir_request *request);

/* Sets the triple and data layout of the device's family, for a module that has none. */
kdl_status ir_target_set_layout(const ir_target *target, LLVMModuleRef module);

/* Replaces the cpu and features of every function by the device's, and the triple and data layout
 * of the module. */
void ir_target_apply(const ir_target *target, LLVMModuleRef module);

#endif
