/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A CPU for LLVM's code generator, as kdl-ld describes it. */
#ifndef KDL_MLIR_TOOL_CPU_TARGET_H
#define KDL_MLIR_TOOL_CPU_TARGET_H

#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cpu_target cpu_target;

/* NULL after an error, which kdl_error_message has. */
cpu_target *cpu_target_create(const char *name);
void cpu_target_free(cpu_target *target);

/* "x86-64-v4+avx512_bf16" */
const char *cpu_target_arch(const cpu_target *target);
LLVMTargetMachineRef cpu_target_machine(const cpu_target *target);

/* Compiles all functions of a module for the CPU. */
void cpu_target_apply(const cpu_target *target, LLVMModuleRef module);

#ifdef __cplusplus
}
#endif

#endif
