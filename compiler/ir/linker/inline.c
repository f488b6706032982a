/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/ukernel.h"

#include "compiler/ir/linker/ukernel_passes.h"
#include "support/base/text.h"

#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define UKERNEL_ATTRIBUTE "kdl-ukernel"

static LLVMAttributeRef ukernel_attribute(LLVMValueRef function) {
  return LLVMGetStringAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES, UKERNEL_ATTRIBUTE,
                                       sizeof UKERNEL_ATTRIBUTE - 1);
}

/* The name of the microkernel that defines a function, or NULL. */
static const char *ukernel_of_function(LLVMValueRef function) {
  LLVMAttributeRef attribute = ukernel_attribute(function);
  unsigned length;
  return attribute ? LLVMGetStringAttributeValue(attribute, &length) : NULL;
}

static unsigned attribute_kind(const char *name) {
  return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

static bool has_attribute(LLVMValueRef function, const char *name) {
  return LLVMGetEnumAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES, attribute_kind(name)) !=
         NULL;
}

/* The function of a direct call, or NULL. */
static LLVMValueRef callee_of(LLVMValueRef instruction) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
  if (opcode != LLVMCall && opcode != LLVMInvoke && opcode != LLVMCallBr)
    return NULL;
  LLVMValueRef callee = LLVMGetCalledValue(instruction);
  return LLVMIsAFunction(callee) ? callee : NULL;
}

/* Calls `visit` for every instruction until it returns a reason. */
static const char *visit_instructions(LLVMValueRef function,
                                      const char *(*visit)(LLVMValueRef instruction, void *user),
                                      void *user) {
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
       block = LLVMGetNextBasicBlock(block)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
      const char *reason = visit(i, user);
      if (reason)
        return reason;
    }
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Reasons                                                                                      */

static const char *instruction_obstacle(LLVMValueRef instruction, void *user) {
  (void)user;
  if (LLVMGetInstructionOpcode(instruction) == LLVMIndirectBr)
    return "it jumps to computed labels (indirectbr)";
  LLVMValueRef callee = callee_of(instruction);
  if (!callee)
    return NULL;
  kdl_string name = ir_value_name(callee);
  if (kdl_text_starts(name, "llvm.va_start"))
    return "it takes variable arguments";
  if (kdl_text_starts(name, "llvm.localescape"))
    return "it lets other functions into its frame (llvm.localescape)";
  if (has_attribute(callee, "returns_twice"))
    return "it calls a function that returns twice, as setjmp does";
  return NULL;
}

static bool takes_label(LLVMValueRef function) {
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
       block = LLVMGetNextBasicBlock(block)) {
    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use;
         use = LLVMGetNextUse(use)) {
      if (LLVMIsABlockAddress(LLVMGetUser(use)))
        return true;
    }
  }
  return false;
}

static bool has_address_taken(LLVMValueRef function) {
  for (LLVMUseRef use = LLVMGetFirstUse(function); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsABlockAddress(user))
      continue;
    if (!LLVMIsAInstruction(user) || callee_of(user) != function)
      return true;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(user); ++i) {
      if (LLVMGetOperand(user, i) == function)
        return true;
    }
  }
  return false;
}

/* A search for a cycle of calls through functions of microkernels. */
typedef struct {
  LLVMValueRef goal;
  LLVMValueRef *seen;
  size_t count;
} cycle_search;

static bool reaches(LLVMValueRef from, cycle_search *search);

static const char *visit_callee(LLVMValueRef instruction, void *user) {
  cycle_search *search = user;
  LLVMValueRef callee = callee_of(instruction);
  if (!callee || LLVMIsDeclaration(callee) || !ukernel_attribute(callee))
    return NULL;
  if (callee == search->goal)
    return "it calls itself, directly or through others";
  for (size_t i = 0; i < search->count; ++i) {
    if (search->seen[i] == callee)
      return NULL;
  }
  search->seen[search->count++] = callee;
  return reaches(callee, search) ? "it calls itself, directly or through others" : NULL;
}

static bool reaches(LLVMValueRef from, cycle_search *search) {
  return visit_instructions(from, visit_callee, search) != NULL;
}

static const char *find_inline_obstacle(LLVMValueRef function, LLVMValueRef *seen) {
  if (has_attribute(function, "optnone"))
    return "it was compiled without optimisation; use -O1 or more, with "
           "-Xclang -disable-llvm-passes to leave the optimising to the linker";
  if (has_attribute(function, "noinline"))
    return "it is marked noinline";
  if (has_attribute(function, "naked"))
    return "it is marked naked";
  if (LLVMIsFunctionVarArg(LLVMGlobalGetValueType(function)))
    return "it takes variable arguments";
  if (takes_label(function))
    return "it takes the address of a label";
  if (has_address_taken(function))
    return "its address is taken, so that it may be called from anywhere";
  cycle_search search = {.goal = function, .seen = seen};
  if (reaches(function, &search))
    return "it calls itself, directly or through others";
  return visit_instructions(function, instruction_obstacle, NULL);
}

static void describe_obstacle(LLVMValueRef function, const char *owner, const char *obstacle,
                              ir_reason *why) {
  const char *name = ir_value_name(function).data;
  bool is_itself = strcmp(name, owner) == 0;
  snprintf(why->text, sizeof why->text, "the microkernel '%.128s' cannot be inlined%s%.128s%s: %s",
           owner, is_itself ? "" : ", because of '", is_itself ? "" : name,
           is_itself ? "" : "', which it calls", obstacle);
}

bool ir_inline_check(LLVMModuleRef module, ir_reason *why) {
  size_t count = 0;
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    count += ukernel_attribute(f) != NULL;
  LLVMValueRef *seen = calloc(count + 1, sizeof(LLVMValueRef));
  if (!seen) {
    snprintf(why->text, sizeof why->text, "out of memory");
    return false;
  }
  const char *obstacle = NULL;
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f && !obstacle; f = LLVMGetNextFunction(f)) {
    const char *owner = LLVMIsDeclaration(f) ? NULL : ukernel_of_function(f);
    obstacle = owner ? find_inline_obstacle(f, seen) : NULL;
    if (obstacle)
      describe_obstacle(f, owner, obstacle, why);
  }
  free(seen);
  return !obstacle;
}

/* ------------------------------------------------------------------------------------------ */
/* Marking and counting                                                                         */

static bool is_part(LLVMValueRef function, bool keeps_calls) {
  return !LLVMIsDeclaration(function) &&
         !(keeps_calls && !ir_value_is_exported(function) && has_attribute(function, "noinline"));
}

bool ir_inline_mark(LLVMModuleRef module, kdl_string symbol, bool keeps_calls, ir_reason *why) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    kdl_string owner = ir_value_is_exported(f) ? ir_value_name(f) : symbol;
    if (is_part(f, keeps_calls))
      LLVMAddAttributeAtIndex(f, IR_FUNCTION_ATTRIBUTES,
                              LLVMCreateStringAttribute(context, UKERNEL_ATTRIBUTE,
                                                        sizeof UKERNEL_ATTRIBUTE - 1, owner.data,
                                                        (unsigned)owner.length));
  }
  if (!ir_inline_check(module, why))
    return false;
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (is_part(f, keeps_calls))
      LLVMAddAttributeAtIndex(f, IR_FUNCTION_ATTRIBUTES,
                              LLVMCreateEnumAttribute(context, attribute_kind("alwaysinline"), 0));
  }
  return true;
}

#define WIDTH_ATTRIBUTE "min-legal-vector-width"

static LLVMAttributeRef width_attribute(LLVMValueRef function) {
  return LLVMGetStringAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES, WIDTH_ATTRIBUTE,
                                       sizeof WIDTH_ATTRIBUTE - 1);
}

/* ULONG_MAX where nothing limits it. */
static unsigned long vector_width(LLVMValueRef function) {
  LLVMAttributeRef attribute = width_attribute(function);
  unsigned length;
  return attribute ? strtoul(LLVMGetStringAttributeValue(attribute, &length), NULL, 10) : ULONG_MAX;
}

/* Returns a reason if something changed. */
static const char *raise_width(LLVMValueRef instruction, void *user) {
  LLVMValueRef caller = user, callee = callee_of(instruction);
  if (!callee || !has_attribute(callee, "alwaysinline") || !width_attribute(callee) ||
      vector_width(caller) >= vector_width(callee))
    return NULL;
  LLVMAddAttributeAtIndex(caller, IR_FUNCTION_ATTRIBUTES, width_attribute(callee));
  return "raised";
}

/* LLVM 24 inlines no function into one for narrower vectors, even if it is marked to be inlined:
 * callers get the width of such functions, as inlining gives it to them. */
static void raise_width_of_callers(LLVMModuleRef module) {
  for (bool changed = true; changed;) {
    changed = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
      changed |= visit_instructions(f, raise_width, f) != NULL;
  }
}

typedef struct {
  const char *symbol; /* or NULL */
  size_t count;
} call_count;

static const char *count_call(LLVMValueRef instruction, void *user) {
  call_count *calls = user;
  LLVMValueRef callee = callee_of(instruction);
  if (callee && ukernel_attribute(callee) &&
      (!calls->symbol || strcmp(ir_value_name(callee).data, calls->symbol) == 0))
    ++calls->count;
  return NULL;
}

size_t ir_inline_count_calls(LLVMModuleRef module, const char *symbol) {
  call_count calls = {.symbol = symbol};
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    visit_instructions(f, count_call, &calls);
  return calls.count;
}

static const char *find_call(LLVMValueRef instruction, void *user) {
  return callee_of(instruction) == user ? "" : NULL;
}

static const char *caller_of(LLVMModuleRef module, LLVMValueRef callee) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (visit_instructions(f, find_call, callee))
      return ir_value_name(f).data;
  }
  return "no function";
}

static bool is_all_inlined(LLVMModuleRef module, ir_reason *why) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    const char *owner = ukernel_of_function(f);
    if (!owner)
      continue;
    snprintf(why->text, sizeof why->text,
             "the microkernel '%.128s' was not inlined: '%.128s' is still there, called by "
             "'%.128s', and LLVM does not say why",
             owner, ir_value_name(f).data, caller_of(module, f));
    return false;
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Passes                                                                                       */

static bool run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes,
                       ir_reason *why) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(module, passes, machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!error)
    return true;
  char *problem = LLVMGetErrorMessage(error);
  snprintf(why->text, sizeof why->text, "LLVM: %s", problem);
  LLVMDisposeErrorMessage(problem);
  return false;
}

bool ir_inline_run(LLVMModuleRef module, LLVMTargetMachineRef machine, ir_reason *why) {
  raise_width_of_callers(module);
  return run_passes(module, machine, KDL_UKERNEL_INLINE_PASSES, why) && is_all_inlined(module, why);
}

bool ir_inline_optimise(LLVMModuleRef module, LLVMTargetMachineRef machine, ir_reason *why) {
  return run_passes(module, machine, KDL_UKERNEL_OPTIMISE_PASSES, why);
}
