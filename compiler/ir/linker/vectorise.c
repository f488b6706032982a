/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/ukernel_passes.h"

#include "compiler/ir/llvm_versions.h"
#include "tools/common/memory.h"

#include <llvm-c/Support.h>

#include <stdlib.h>

/* LLVM leaves most ways early: it follows sin, cos and tan, with up to 3e9 of them, in no time, pow
 * with 1e16 in 3 s, and a kernel with all of them, and exp, not in minutes. */
static const double most_ways = 1e10;

typedef struct {
  LLVMValueRef instruction;
  size_t place; /* in the function's text */
} placed;

typedef struct {
  placed *sorted;   /* by their addresses */
  double *ways;     /* from an instruction of that place on */
  bool *is_in_loop; /* by place */
  size_t count;
} function_ways;

static int compare_placed(const void *left, const void *right) {
  uintptr_t l = (uintptr_t)((const placed *)left)->instruction;
  uintptr_t r = (uintptr_t)((const placed *)right)->instruction;
  return (l > r) - (l < r);
}

static size_t place_of(const function_ways *w, LLVMValueRef instruction) {
  placed key = {.instruction = instruction};
  const placed *found = bsearch(&key, w->sorted, w->count, sizeof key, compare_placed);
  return found ? found->place : w->count;
}

/* What lies between a block and a branch back to it. */
static void mark_loops(const function_ways *w, LLVMValueRef function) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    LLVMValueRef last = LLVMGetBasicBlockTerminator(b);
    size_t end = place_of(w, last);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); ++i) {
      size_t start = place_of(w, LLVMGetFirstInstruction(LLVMGetSuccessor(last, i)));
      for (size_t k = start; k <= end; ++k)
        w->is_in_loop[k] = true;
    }
  }
}

/* Uses on the way back, which are at a loop's start, end a way. */
static double ways_from(const function_ways *w, size_t place, LLVMValueRef instruction) {
  double ways = 1;
  for (LLVMUseRef use = LLVMGetFirstUse(instruction); use; use = LLVMGetNextUse(use)) {
    size_t user = place_of(w, LLVMGetUser(use));
    if (user > place && user < w->count && w->is_in_loop[user])
      ways += w->ways[user];
  }
  return ways;
}

static size_t count_instructions(LLVMValueRef function) {
  size_t count = 0;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
      ++count;
  }
  return count;
}

static double ways_in_function(LLVMValueRef function) {
  size_t count = count_instructions(function), place = 0;
  function_ways w = {xmalloc((count + 1) * sizeof(placed)), xcalloc(count + 1, sizeof(double)),
                     xcalloc(count + 1, sizeof(bool)), count};
  double most = 0;
  LLVMValueRef *text = xmalloc((count + 1) * sizeof(LLVMValueRef));
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      text[place] = i;
      w.sorted[place] = (placed){i, place};
      ++place;
    }
  }
  qsort(w.sorted, count, sizeof *w.sorted, compare_placed);
  mark_loops(&w, function);
  while (place-- > 0) {
    w.ways[place] = w.is_in_loop[place] ? ways_from(&w, place, text[place]) : 0;
    most = w.ways[place] > most ? w.ways[place] : most;
  }
  free(text);
  free(w.is_in_loop);
  free(w.ways);
  free(w.sorted);
  return most;
}

static bool has_few_ways(LLVMModuleRef module) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (!LLVMIsDeclaration(f) && ways_in_function(f) > most_ways)
      return false;
  }
  return true;
}

/* A loop that asks to be vectorised is, whatever else is said. Only all hints can be dropped. */
static void drop_hints(LLVMModuleRef module) {
  static const char name[] = "llvm.loop";
  unsigned kind = LLVMGetMDKindIDInContext(LLVMGetModuleContext(module), name, sizeof name - 1);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      LLVMSetMetadata(LLVMGetBasicBlockTerminator(b), kind, NULL);
  }
}

/* For all modules of this process from here on: LLVM 23 ignores LLVMPassBuilderOptions in this. */
static void stop_vectorising(void) {
  static const char *const words[] = {"kdl-ld", "-vectorize-loops=false"};
  static bool is_stopped;
  if (!is_stopped)
    LLVMParseCommandLineOptions(2, words, NULL);
  is_stopped = true;
}

kdl_status ir_limit_vectoriser(const ir_linker *linker) {
  kdl_target_family family = linker->target.family;
  bool is_gpu = /* LLVM does not vectorise their loops */
      family == KDL_FAMILY_NVPTX || family == KDL_FAMILY_AMDGCN || family == KDL_FAMILY_SPIRV;
  if (!ir_vectoriser_is_exponential || is_gpu || has_few_ways(linker->module))
    return KDL_OK;
  /* Nearer to what would be vectorised. */
  LLVMModuleRef simplified = LLVMCloneModule(linker->module);
  kdl_status status = ir_module_run_passes(simplified, linker->target.machine,
                                           KDL_UKERNEL_SIMPLIFY_PASSES, linker->request->caller);
  if (status == KDL_OK && !has_few_ways(simplified)) {
    drop_hints(linker->module);
    stop_vectorising();
  }
  LLVMDisposeModule(simplified);
  return status;
}
