/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Code that a kernel must not contain, on one target or on any. */
#include "cc/ir/ir_text.h"
#include "cc/job/examine.h"
#include "cc/job/job_steps.h"
#include "support/base/error.h"

/* ------------------------------------------------------------------------------------------ */
/* Recursion                                                                                    */

typedef struct {
  const cc_ir_uses *uses;
  size_t *callees;       /* by use: the callee's index; SIZE_MAX if it is not defined here */
  bool *is_nonrecursive; /* by function: it does not call itself, directly or indirectly */
} call_graph;

static bool calls_recursive_function(const call_graph *g, size_t use) {
  return g->callees[use] != SIZE_MAX && !g->is_nonrecursive[g->callees[use]];
}

/* Finds functions that call only nonrecursive ones, until none is added. The remaining ones are
 * recursive, or call a recursive one. */
static void find_nonrecursive(call_graph *g, bool *stays) {
  for (bool changed = true; changed;) {
    changed = false;
    memset(stays, 0, g->uses->function_count);
    for (size_t i = 0; i < g->uses->count; ++i)
      stays[g->uses->items[i].user] |= calls_recursive_function(g, i);
    for (size_t i = 0; i < g->uses->function_count; ++i) {
      changed |= !stays[i] && !g->is_nonrecursive[i];
      g->is_nonrecursive[i] |= !stays[i];
    }
  }
}

/* Follows calls among the remaining functions until one repeats. */
static const cc_ir_use *find_cycle(const call_graph *g) {
  const cc_ir_use *last = NULL;
  size_t from = 0, count = g->uses->function_count;
  while (from < count && g->is_nonrecursive[from])
    ++from;
  for (size_t steps = 0; from < count && steps <= count; ++steps) {
    size_t k = 0;
    while (g->uses->items[k].user != from || !calls_recursive_function(g, k))
      ++k;
    last = &g->uses->items[k];
    from = g->callees[k];
  }
  return last;
}

/* SPIR-V and OpenCL C forbid it; their drivers crash, inline for ever or compute something. */
static kdl_status check_recursion(cc_job *job, kdl_string ir, const cc_ir_uses *uses) {
  size_t count = uses->function_count;
  if ((job->target->family != CC_SPIRV && job->target->family != CC_OPENCL) || count == 0)
    return KDL_OK;
  bool *leaves = xarena_alloc(&job->arena, 2 * count);
  memset(leaves, 0, count);
  call_graph g = {uses, xarena_alloc(&job->arena, (uses->count + 1) * sizeof *g.callees), leaves};
  for (size_t i = 0; i < uses->count; ++i) {
    size_t callee = 0;
    while (callee < count && !kdl_text_equal(uses->functions[callee], uses->items[i].name))
      ++callee;
    g.callees[i] = uses->items[i].is_call && callee < count ? callee : SIZE_MAX;
  }
  find_nonrecursive(&g, leaves + count);
  const cc_ir_use *again = find_cycle(&g);
  return again ? cc_error_at(job, cc_ir_location_of_line(ir, again->line),
                             "%.*s is called by itself, or by what it calls: OpenCL has no "
                             "recursion",
                             CLI_STRING_ARGS(again->name))
               : KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Calls                                                                                        */

/* OpenCL emits two functions per kernel, of which one has the code. */
static bool is_kernel(const cc_job *job, kdl_string name) {
  static const char code[] = "__clang_ocl_kern_imp_";
  if (kdl_text_starts(name, code))
    name = kdl_text_substr(name, sizeof code - 1);
  for (size_t i = 0; i < job->kernels.count; ++i) {
    if (kdl_text_is(name, job->kernels.items[i].function))
      return true;
  }
  return false;
}

/* On these targets it is a parameter, which only kernels have. */
static kdl_status check_dynamic(cc_job *job, kdl_string ir, const cc_ir_uses *uses) {
  for (size_t i = 0; i < uses->count && job->target->family != CC_HOST; ++i) {
    const cc_ir_use *use = &uses->items[i];
    kdl_string user = uses->functions[use->user];
    if (use->is_call && kdl_text_is(use->name, "kdl_local_dynamic") && !is_kernel(job, user))
      return cc_error_at(
          job, cc_ir_location_of_line(ir, use->line),
          "KDL_LOCAL_DYNAMIC stands in %.*s, which is no kernel; expected it in the kernel, which "
          "hands the pointer on",
          CLI_STRING_ARGS(user));
  }
  return KDL_OK;
}

/* Linkers and drivers would report it, each in its own way; LLVM's SPIR-V backend crashes. */
static kdl_status check_defined(cc_job *job, kdl_string ir) {
  static const char *const allocators[] = {"malloc", "calloc", "realloc", "free",    "_Znwm",
                                           "_Znam",  "_ZdlPv", "_ZdaPv",  "_ZdlPvm", "_ZdaPvm"};
  kdl_string name = cc_examine_undefined(ir, job->target);
  if (name.length == 0)
    return KDL_OK;
  cc_location location = cc_ir_location_of_use(ir, name);
  if (kdl_text_is(name, "printf"))
    return cc_error_at(
        job, location,
        "printf writes nowhere here: of kernels, those of opencl-c and of CUDA files "
        "have it, from their drivers");
  if (KDL_TEXT_AMONG(name, allocators))
    return cc_error_at(job, location,
                       "%s allocates nothing here: a kernel has the memory that its launch gives, "
                       "KDL_LOCAL, and variables",
                       kdl_text_starts(name, "_Z")
                           ? "new"
                           : xarena_format(&job->arena, "%.*s", CLI_STRING_ARGS(name)));
  return cc_error_at(job, location,
                     "%.*s is called and not defined; --emit=bitcode leaves it to a later link",
                     CLI_STRING_ARGS(name));
}

/* ------------------------------------------------------------------------------------------ */
/* Variables                                                                                    */

/* The name of the first global variable whose line contains `mark`; empty if there is none. */
static kdl_string find_global(kdl_string ir, const char *mark) {
  kdl_string line;
  while (cli_next_line(&ir, &line)) {
    if (kdl_text_starts(line, "@") && kdl_text_contains(line, mark))
      return cli_text_until(kdl_text_substr(line, 1), "(, )");
  }
  return (kdl_string){"", 0};
}

/* Clang refuses them on some targets, and the lowering of group variables on CPUs
 * (ir/ir_text.h). */
static kdl_status check_thread_locals(cc_job *job, kdl_string ir) {
  kdl_string name = find_global(ir, " thread_local ");
  if (job->target->family == CC_HOST || name.length == 0)
    return KDL_OK;
  return cc_error_at(job, cc_ir_location_of_use(ir, name),
                     "the variable %.*s is _Thread_local, which no device has; KDL_LOCAL declares "
                     "memory of the group",
                     CLI_STRING_ARGS(name));
}

/* C++: a static variable of a function whose initialiser runs on first use. */
static kdl_status check_statics(cc_job *job, kdl_string ir) {
  kdl_string guard = find_global(ir, "@_ZGV");
  if (guard.length == 0)
    return KDL_OK;
  return cc_error_at(job, cc_ir_location_of_use(ir, guard),
                     "a static variable has an initialiser that runs: work-items would race for "
                     "it; expected a constant, or a variable that is not static");
}

/* 1ull counts, and so does a comparison with it. */
static kdl_status check_int64(cc_job *job, kdl_string ir) {
  cc_location location = cc_ir_location_of_type(ir, " i128");
  if (job->target->family != CC_OPENCL || !location.line)
    return KDL_OK;
  return cc_error_at(
      job, location,
      "long long has 128 bits in OpenCL C, which no driver has; expected uint64_t or "
      "int64_t, and numbers without LL behind them");
}

kdl_status cc_check_code(cc_job *job, kdl_string ir) {
  kdl_string assembly; /* "%2 = call i32 asm sideeffect "rdtsc", ... !dbg !15" */
  cc_ir_uses uses = cc_ir_read_uses(&job->arena, ir);
  cli_text_after(ir, " asm ", &assembly);
  job->assembly = cc_ir_location_of_line(ir, cli_text_until(assembly, "\n"));
  KDL_TRY(check_thread_locals(job, ir));
  KDL_TRY(check_int64(job, ir));
  KDL_TRY(check_statics(job, ir));
  KDL_TRY(check_dynamic(job, ir, &uses));
  KDL_TRY(check_recursion(job, ir, &uses));
  return check_defined(job, ir);
}
