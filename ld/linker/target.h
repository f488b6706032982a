/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The device as LLVM's code generator wants it described. */
#ifndef KDL_LD_TARGET_H
#define KDL_LD_TARGET_H

#include "ld/linker/module.h"
#include "ld/linker/request.h"
#include "lib/inspect/targets.h"

typedef struct ld_target {
  kdl_target_family family;
  const char *triple;
  char cpu[64];
  char tune[64]; /* "" for LLVM's default */
  char features[4096];
  char arch[KDL_SPEC_ARCH]; /* what an image made for it says in its metadata */

  /* What modules bring along, taken up by ld_target_admit. */
  char suffix;        /* NVIDIA: 'a' or 'f' where a module was compiled so */
  uint32_t ptx;       /* NVIDIA: the newest PTX version that one was compiled for */
  uint32_t wavefront; /* AMD: 32 or 64; 0 = as the processor has it */

  LLVMTargetMachineRef machine; /* made by ld_target_finish */
} ld_target;

/* Fails with KDL_UNSUPPORTED where no image can be made for such a device. */
kdl_status ld_target_init(const ld_request *request, ld_target *out_target);
void ld_target_free(ld_target *target);

/* Checks that a module can be compiled for the device, as far as its functions say what they were
 * compiled for, and remembers what of that must be kept. */
kdl_status ld_target_admit(ld_target *target, const ld_request *request, LLVMModuleRef module,
                           const char *name);

/* When every module was admitted: completes cpu, features and arch, and makes the machine. */
kdl_status ld_target_finish(ld_target *target, const ld_request *request);

/* Makes the device's cpu and features those of every function, in the place of what compilers wrote
 * there, and its triple and layout those of the module. */
void ld_target_apply(const ld_target *target, LLVMModuleRef module);

#endif
