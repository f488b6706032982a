/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where the C API of LLVM 22, 23 and 24 differs. */
#ifndef KDL_COMPILER_IR_LLVM_VERSIONS_H
#define KDL_COMPILER_IR_LLVM_VERSIONS_H

#include <llvm-c/Core.h>
#include <llvm/Config/llvm-config.h>

#include <stdbool.h>

/* Whether AMD's settings xnack and sramecc are flags of a module, not features of functions. */
enum { ir_amd_settings_are_flags = LLVM_VERSION_MAJOR >= 24 };

/* Whether Clang omits the size of wavefronts that is a processor's default: 32 from gfx10 on. */
enum { ir_amd_wavefront_is_implied = LLVM_VERSION_MAJOR >= 23 };

/* Fast-math flags that LLVM's passes add to operations for which they have proven them. */
#define IR_INFERRED_FLAGS                                                                          \
  (LLVMFastMathFlags)(LLVM_VERSION_MAJOR < 23 ? LLVMFastMathNone : LLVMFastMathNoNaNs)

/* Whether LLVM evaluates calls of its intrinsics with constants in spite of `nobuiltin`. */
enum { ir_intrinsics_are_evaluated = LLVM_VERSION_MAJOR >= 24 };

/* Whether the time in which loops are vectorised is exponential: see ir_limit_vectoriser. */
enum { ir_vectoriser_is_exponential = LLVM_VERSION_MAJOR == 23 };

/* The name of the feature AMX-TF32; "" where LLVM does not have it. */
#define IR_AMX_TF32 (LLVM_VERSION_MAJOR < 23 ? "amx-tf32" : "")

static inline bool ir_is_branch(LLVMValueRef instruction) {
#if LLVM_VERSION_MAJOR < 23
  return LLVMIsABranchInst(instruction);
#else
  return LLVMIsAUncondBrInst(instruction) || LLVMIsACondBrInst(instruction);
#endif
}

static inline LLVMBuilderRef ir_create_builder(LLVMModuleRef module) {
#if LLVM_VERSION_MAJOR < 24
  return LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
#else
  return LLVMCreateBuilderForModule(module);
#endif
}

#endif
