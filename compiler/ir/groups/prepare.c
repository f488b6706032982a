/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Hides group memory from LLVM's passes: they would take it for a local variable that no other code
 * stores to. A call of an unknown function provides its address instead.
 */
#include "compiler/ir/groups/flow.h"
#include "compiler/ir/llvm_versions.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Attributes                                                                                   */

static unsigned attribute_kind(const char *attribute) {
  return LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));
}

static void add_attribute(LLVMValueRef function, const char *name) {
  LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
  LLVMAddAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES,
                          LLVMCreateEnumAttribute(context, attribute_kind(name), 0));
}

/* Enables optimisation of this function, whatever the source asks for elsewhere. */
static void allow_inlining(LLVMValueRef function) {
  LLVMRemoveEnumAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES, attribute_kind("optnone"));
  LLVMRemoveEnumAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES, attribute_kind("noinline"));
}

static void set_pure(LLVMValueRef function) {
  static const char *const attributes[] = {"memory", "nounwind", "willreturn", "speculatable"};
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; ++i)
    add_attribute(function, attributes[i]);
}

/* ------------------------------------------------------------------------------------------ */
/* Inlining                                                                                     */

static bool is_kernel(LLVMValueRef function, const ir_groups_kernel *kernels, size_t count) {
  kdl_string name = ir_flow_value_name(function);
  for (size_t i = 0; i < count; ++i) {
    if (kdl_text_is(name, kernels[i].name))
      return true;
  }
  return false;
}

/* The name in the source. */
static kdl_string source_name(LLVMValueRef function) {
  static const char prefix[] = "kdl_cc_item_";
  kdl_string name = ir_flow_value_name(function);
  return kdl_text_starts(name, prefix) ? kdl_text_substr(name, sizeof prefix - 1) : name;
}

static const char *location_text(LLVMValueRef instruction, char *buffer, size_t size) {
  unsigned length = 0;
  const char *file = LLVMGetDebugLocFilename(instruction, &length);
  unsigned line = LLVMGetDebugLocLine(instruction);
  if (line)
    snprintf(buffer, size, "%.*s:%u:%u: ", (int)length, file, line,
             LLVMGetDebugLocColumn(instruction));
  else
    buffer[0] = '\0';
  return buffer;
}

/* Inlines every direct and indirect caller of `function` into the kernels. */
static kdl_status inline_callers(LLVMValueRef function, const ir_groups_kernel *kernels,
                                 size_t count, ir_map *seen) {
  char line[512];
  for (LLVMUseRef use = LLVMGetFirstUse(function); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsACallInst(user) || LLVMGetCalledValue(user) != function) {
      kdl_string name = source_name(function);
      return kdl_fail(KDL_BAD_FILE,
                      "%sthe function %.*s waits for the group (__gpu_sync_threads) and is used "
                      "through a pointer: on the CPU such a function is called by its name",
                      LLVMIsAInstruction(user) ? location_text(user, line, sizeof line) : "",
                      (int)name.length, name.data);
    }
    LLVMValueRef caller = LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
    allow_inlining(caller);
    if (is_kernel(caller, kernels, count) || ir_map_get(seen, caller, NULL))
      continue;
    ir_map_set(seen, caller, 1);
    add_attribute(caller, "alwaysinline");
    KDL_TRY(inline_callers(caller, kernels, count, seen));
  }
  return KDL_OK;
}

/* Inlines functions that query the work-item's index, so that the index is a value. */
static void inline_index_callers(LLVMModuleRef module) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    unsigned last = LLVMCountParams(f);
    if (LLVMIsDeclaration(f) || last == 0 ||
        !kdl_text_starts(ir_flow_value_name(LLVMGetParam(f, last - 1)), "kdl.group.") ||
        LLVMGetEnumAttributeAtIndex(f, IR_FUNCTION_ATTRIBUTES, attribute_kind("noinline")))
      continue;
    add_attribute(f, "alwaysinline");
  }
}

/* Runs passes on one function, or on the module if that is NULL. */
static kdl_status run_passes(LLVMModuleRef module, LLVMValueRef function, const char *passes) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = function ? LLVMRunPassesOnFunction(function, passes, NULL, options)
                                : LLVMRunPasses(module, passes, NULL, options);
  LLVMDisposePassBuilderOptions(options);
  if (!error)
    return KDL_OK;
  char *problem = LLVMGetErrorMessage(error);
  kdl_status status = kdl_fail(KDL_BAD_FILE, "LLVM: %s", problem);
  LLVMDisposeErrorMessage(problem);
  return status;
}

/* A function with a barrier that is still called is recursive. */
static kdl_status check_inlined(LLVMValueRef barrier, const ir_groups_kernel *kernels,
                                size_t count) {
  char line[512];
  for (LLVMUseRef use = LLVMGetFirstUse(barrier); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
    kdl_string name = source_name(function);
    for (LLVMUseRef call = LLVMGetFirstUse(function); !is_kernel(function, kernels, count) && call;
         call = LLVMGetNextUse(call)) {
      LLVMValueRef caller = LLVMGetBasicBlockParent(LLVMGetInstructionParent(LLVMGetUser(call)));
      if (caller == function || is_kernel(caller, kernels, count))
        return kdl_fail(KDL_BAD_FILE,
                        "%sthe function %.*s waits for the group (__gpu_sync_threads) and calls "
                        "itself, which it cannot on the CPU",
                        location_text(user, line, sizeof line), (int)name.length, name.data);
    }
  }
  return KDL_OK;
}

kdl_status ir_groups_inline(kdl_arena *arena, LLVMModuleRef module, const ir_groups_kernel *kernels,
                            size_t count) {
  LLVMValueRef barrier = LLVMGetNamedFunction(module, IR_GROUPS_BARRIER);
  LLVMValueRef thread = LLVMGetNamedFunction(module, IR_GROUPS_THREAD);
  if (thread)
    set_pure(thread);
  if (!barrier)
    return KDL_OK;
  add_attribute(barrier, "convergent");
  add_attribute(barrier, "noduplicate");
  add_attribute(barrier, "nomerge");
  KDL_TRY(inline_callers(barrier, kernels, count, &(ir_map){.arena = arena}));
  inline_index_callers(module);
  KDL_TRY(run_passes(module, NULL, "always-inline"));
  return check_inlined(barrier, kernels, count);
}

/* ------------------------------------------------------------------------------------------ */
/* Group memory                                                                                 */

static bool is_group_memory(LLVMValueRef instruction) {
  if (!LLVMIsAAllocaInst(instruction) ||
      !kdl_text_starts(ir_flow_value_name(instruction), "kdl.group."))
    return false;
  LLVMTypeRef type = LLVMGetAllocatedType(instruction);
  const char *name = LLVMGetTypeKind(type) == LLVMStructTypeKind ? LLVMGetStructName(type) : NULL;
  return !name || strcmp(name, "struct.kdl_item") != 0;
}

static void hide_memory(ir_flow *flow, LLVMBuilderRef builder, ir_group_memory **out_memory,
                        size_t *out_count) {
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(flow->function);
  size_t count = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(entry); i; i = LLVMGetNextInstruction(i))
    count += is_group_memory(i);
  *out_memory = ir_zeroed_alloc(flow->arena, count, sizeof **out_memory);
  *out_count = 0;
  LLVMTypeRef pointer = LLVMPointerTypeInContext(flow->context, 0);
  LLVMTypeRef type = LLVMFunctionType(pointer, NULL, 0, false);
  for (LLVMValueRef i = LLVMGetFirstInstruction(entry), next; i; i = next) {
    next = LLVMGetNextInstruction(i);
    if (!is_group_memory(i))
      continue;
    char name[64];
    snprintf(name, sizeof name, "kdl.local.%zu", *out_count);
    ir_group_memory *memory = &(*out_memory)[(*out_count)++];
    *memory = (ir_group_memory){LLVMAddFunction(flow->module, name, type), LLVMGetAllocatedType(i),
                                LLVMGetAlignment(i)};
    set_pure(memory->function);
    LLVMPositionBuilderBefore(builder, i);
    LLVMReplaceAllUsesWith(i, LLVMBuildCall2(builder, type, memory->function, NULL, 0, ""));
    LLVMInstructionEraseFromParent(i);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Normal form                                                                                  */

/* Lifetimes and alias scopes hold for the variables and pointers of one work-item only. */
static void drop_lifetimes_and_scopes(const ir_flow *flow) {
  static const char *const kinds[] = {"alias.scope", "noalias"};
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(flow->function); b;
       b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
      next = LLVMGetNextInstruction(i);
      for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
        LLVMSetMetadata(
            i, LLVMGetMDKindIDInContext(flow->context, kinds[k], (unsigned)strlen(kinds[k])), NULL);
      if (!LLVMIsACallInst(i))
        continue;
      kdl_string name = ir_flow_value_name(LLVMGetCalledValue(i));
      if (kdl_text_starts(name, "llvm.lifetime.") || kdl_text_starts(name, "llvm.assume") ||
          kdl_text_starts(name, "llvm.experimental.noalias."))
        LLVMInstructionEraseFromParent(i);
    }
  }
}

static void move_tail(LLVMBuilderRef builder, LLVMValueRef from, LLVMBasicBlockRef to) {
  for (LLVMValueRef next; from; from = next) {
    next = LLVMGetNextInstruction(from);
    LLVMInstructionRemoveFromParent(from);
    LLVMPositionBuilderAtEnd(builder, to);
    LLVMInsertIntoBuilder(builder, from);
  }
}

static void branch_instead(LLVMBuilderRef builder, LLVMBasicBlockRef block, LLVMBasicBlockRef to) {
  LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(block));
  LLVMPositionBuilderAtEnd(builder, block);
  LLVMBuildBr(builder, to);
}

static void split_at(ir_flow *flow, LLVMBuilderRef builder, LLVMValueRef barrier) {
  LLVMContextRef context = flow->context;
  LLVMBasicBlockRef before = LLVMGetInstructionParent(barrier);
  LLVMBasicBlockRef waits = LLVMAppendBasicBlockInContext(context, flow->function, "kdl.barrier");
  LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(context, flow->function, "kdl.behind");
  move_tail(builder, LLVMGetNextInstruction(barrier), behind);
  move_tail(builder, barrier, waits);
  LLVMPositionBuilderAtEnd(builder, waits);
  LLVMBuildBr(builder, behind);
  LLVMPositionBuilderAtEnd(builder, before);
  LLVMBuildBr(builder, waits);
}

static void split_blocks(ir_flow *flow, LLVMBuilderRef builder) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(flow->function); b;
       b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      bool is_alone = i == LLVMGetFirstInstruction(b) &&
                      LLVMGetNextInstruction(i) == LLVMGetLastInstruction(b) &&
                      b != LLVMGetEntryBasicBlock(flow->function);
      if (ir_flow_calls(i, flow->barrier) && !is_alone) {
        split_at(flow, builder, i);
        break;
      }
    }
  }
}

/* One block returns, and one is never reached, as LLVM's pass mergereturn had it until LLVM 24. */
static void merge_ends(ir_flow *flow, LLVMBuilderRef builder, LLVMOpcode opcode) {
  LLVMBasicBlockRef first = NULL, merged = NULL;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(flow->function); b && b != merged;
       b = LLVMGetNextBasicBlock(b)) {
    if (LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(b)) != opcode)
      continue;
    if (!first) {
      first = b;
      continue;
    }
    if (!merged) {
      merged = LLVMAppendBasicBlockInContext(flow->context, flow->function, "kdl.end");
      LLVMPositionBuilderAtEnd(builder, merged);
      if (opcode == LLVMRet)
        LLVMBuildRetVoid(builder);
      else
        LLVMBuildUnreachable(builder);
      branch_instead(builder, first, merged);
    }
    branch_instead(builder, b, merged);
  }
}

kdl_status ir_groups_hide_memory(ir_flow *flow, ir_group_memory **out_memory, size_t *out_count) {
  LLVMBuilderRef builder = ir_create_builder(flow->module);
  hide_memory(flow, builder, out_memory, out_count);
  LLVMDisposeBuilder(builder);
  KDL_TRY(run_passes(flow->module, flow->function,
                     "sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,sroa,early-cse,"
                     "simplifycfg,instcombine<no-verify-fixpoint>"));
  builder = ir_create_builder(flow->module);
  merge_ends(flow, builder, LLVMRet);
  merge_ends(flow, builder, LLVMUnreachable);
  LLVMDisposeBuilder(builder);
  return KDL_OK;
}

kdl_status ir_groups_simplify(ir_flow *flow, ir_group_memory **out_memory, size_t *out_count) {
  KDL_TRY(ir_groups_hide_memory(flow, out_memory, out_count));
  drop_lifetimes_and_scopes(flow);
  KDL_TRY(run_passes(flow->module, flow->function, "reg2mem"));
  LLVMBuilderRef builder = ir_create_builder(flow->module);
  split_blocks(flow, builder);
  LLVMDisposeBuilder(builder);
  return run_passes(flow->module, flow->function, "reg2mem");
}

void ir_groups_restore_memory(ir_flow *flow, const ir_group_memory *memory, size_t count) {
  LLVMBuilderRef builder = ir_create_builder(flow->module);
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(flow->function);
  for (size_t i = 0; i < count; ++i) {
    LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(entry));
    LLVMValueRef place = LLVMBuildAlloca(builder, memory[i].type, "kdl.local");
    LLVMSetAlignment(place, memory[i].align);
    for (LLVMUseRef use; (use = LLVMGetFirstUse(memory[i].function));) {
      LLVMReplaceAllUsesWith(LLVMGetUser(use), place);
      LLVMInstructionEraseFromParent(LLVMGetUser(use));
    }
    LLVMDeleteFunction(memory[i].function);
  }
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(flow->function); b;
       b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
      next = LLVMGetNextInstruction(i);
      if (ir_flow_calls(i, flow->barrier))
        LLVMInstructionEraseFromParent(i);
    }
  }
  LLVMDisposeBuilder(builder);
}
