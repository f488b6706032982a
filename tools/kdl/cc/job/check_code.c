/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a kernel's code cannot have, on a target or on all. LLVM IR has a function's calls on lines
 * of their own:
 *
 *     define internal i32 @f(i32 %0) #0 !dbg !12 {
 *       %5 = call i32 @f(i32 noundef %4), !dbg !15
 */
#include "base/error.h"
#include "cc/job/checks.h"
#include "cc/job/examine.h"
#include "cc/job/job_steps.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  size_t from;   /* a function's index */
  size_t callee; /* another's; SIZE_MAX where it is not defined here */
  kdl_string to;
  kdl_string line;
} call;

typedef struct {
  kdl_string name;
  bool is_leaving; /* it calls itself in no way */
  bool stays;      /* while that is found out */
} function;

typedef struct {
  kdl_arena *arena;
  kdl_string ir;
  function *functions;
  size_t function_count, function_room;
  call *calls;
  size_t call_count, call_room;
} graph;

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

static void *room_for(kdl_arena *arena, void *items, size_t count, size_t *room, size_t size) {
  if (count < *room)
    return items;
  size_t wanted = *room ? *room * 2 : 64;
  void *made = kdl_arena_alloc(arena, wanted * size);
  if (made && count)
    memcpy(made, items, count * size);
  *room = made ? wanted : *room;
  return made;
}

/* Behind '@', up to what a name cannot have. */
static kdl_string name_at(kdl_string line, size_t at) {
  return (kdl_string){line.data + at, kdl_text_find(line, at, "(, )\n") - at};
}

static bool add_function(graph *g, kdl_string name) {
  function *functions =
      room_for(g->arena, g->functions, g->function_count, &g->function_room, sizeof *functions);
  if (!functions)
    return false;
  g->functions = functions;
  g->functions[g->function_count++] = (function){.name = name};
  return true;
}

static bool add_call(graph *g, kdl_string to, kdl_string line) {
  call *calls = room_for(g->arena, g->calls, g->call_count, &g->call_room, sizeof *calls);
  if (!calls)
    return false;
  g->calls = calls;
  g->calls[g->call_count++] = (call){g->function_count - 1, SIZE_MAX, to, line};
  return true;
}

static bool read_line(graph *g, kdl_string line) {
  size_t at = kdl_text_find(line, 0, "@") + 1;
  if (kdl_text_starts(line, "define "))
    return add_function(g, name_at(line, at));
  bool calls = kdl_text_contains(line, "call ") && at < line.length && g->function_count > 0;
  return !calls || add_call(g, name_at(line, at), line);
}

static bool read_graph(graph *g) {
  for (size_t at = 0, end; at < g->ir.length; at = end + 1) {
    end = kdl_text_find(g->ir, at, "\n");
    if (!read_line(g, (kdl_string){g->ir.data + at, end - at}))
      return false;
  }
  return true;
}

static size_t index_of(const graph *g, kdl_string name) {
  for (size_t i = 0; i < g->function_count; ++i) {
    if (kdl_text_equal(g->functions[i].name, name))
      return i;
  }
  return SIZE_MAX;
}

/* ------------------------------------------------------------------------------------------ */
/* Recursion                                                                                    */

static bool is_inner(const graph *g, const call *c) {
  return c->callee != SIZE_MAX && !g->functions[c->callee].is_leaving;
}

/* Functions that call none but such as leave. What is left over calls itself, or calls one that
 * does. */
static void find_leaving(graph *g) {
  for (size_t i = 0; i < g->call_count; ++i)
    g->calls[i].callee = index_of(g, g->calls[i].to);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < g->function_count; ++i)
      g->functions[i].stays = false;
    for (size_t i = 0; i < g->call_count; ++i)
      g->functions[g->calls[i].from].stays |= is_inner(g, &g->calls[i]);
    for (size_t i = 0; i < g->function_count; ++i) {
      changed |= !g->functions[i].stays && !g->functions[i].is_leaving;
      g->functions[i].is_leaving |= !g->functions[i].stays;
    }
  }
}

/* Follows calls among those that are left over, until it must go round. */
static const call *find_circle(const graph *g) {
  const call *last = NULL;
  size_t from = 0;
  while (from < g->function_count && g->functions[from].is_leaving)
    ++from;
  for (size_t steps = 0; from < g->function_count && steps <= g->function_count; ++steps) {
    size_t k = 0;
    while (g->calls[k].from != from || !is_inner(g, &g->calls[k]))
      ++k;
    last = &g->calls[k];
    from = last->callee;
  }
  return last;
}

/* SPIR-V forbids it, and so does OpenCL C; their drivers crash, inline for ever or compute
 * something. */
static kdl_status check_recursion(cc_job *job, graph *g) {
  if (job->target->family != CC_SPIRV && job->target->family != CC_OPENCL)
    return KDL_OK;
  find_leaving(g);
  const call *again = find_circle(g);
  return again ? cc_refuse_at(job, cc_examine_line(g->ir, again->line),
                              "%.*s is called by itself, or by what it calls: OpenCL has no "
                              "recursion",
                              (int)again->to.length, again->to.data)
               : KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* What is called                                                                               */

/* OpenCL's kernels are two functions, of which one has the code. */
static bool is_kernel(const cc_job *job, kdl_string name) {
  static const char code[] = "__clang_ocl_kern_imp_";
  if (kdl_text_starts(name, code))
    name = kdl_text_from(name, sizeof code - 1);
  for (size_t i = 0; i < job->kernels.count; ++i) {
    if (kdl_text_is(name, job->kernels.items[i].function))
      return true;
  }
  return false;
}

/* There it is a parameter, of kernels alone. */
static kdl_status check_dynamic(cc_job *job, const graph *g) {
  for (size_t i = 0; i < g->call_count; ++i) {
    const call *at = &g->calls[i];
    if (kdl_text_is(at->to, "kdl_local_dynamic") && job->target->family != CC_HOST &&
        !is_kernel(job, g->functions[at->from].name))
      return cc_refuse_at(
          job, cc_examine_line(g->ir, at->line),
          "KDL_LOCAL_DYNAMIC stands in %.*s, which is no kernel; expected it in the "
          "kernel, which hands the pointer on",
          (int)g->functions[at->from].name.length, g->functions[at->from].name.data);
  }
  return KDL_OK;
}

static bool allocates(kdl_string name) {
  static const char *const names[] = {"malloc", "calloc", "realloc", "free",    "_Znwm",
                                      "_Znam",  "_ZdlPv", "_ZdaPv",  "_ZdlPvm", "_ZdaPvm"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (kdl_text_is(name, names[i]))
      return true;
  }
  return false;
}

/* Every linker and driver would notice, each in its own way, and LLVM's SPIR-V backend by dying. */
static kdl_status check_defined(cc_job *job, kdl_string ir) {
  kdl_string name = cc_examine_undefined(ir, job->target);
  if (name.length == 0)
    return KDL_OK;
  cc_place place = cc_examine_use(ir, name);
  if (kdl_text_is(name, "printf"))
    return cc_refuse_at(
        job, place,
        "printf writes nowhere here: of kernels, those of opencl-c and of CUDA files "
        "have it, from their drivers");
  if (allocates(name))
    return cc_refuse_at(job, place,
                        "%s allocates nothing here: a kernel has the memory that its launch gives, "
                        "KDL_LOCAL, and variables",
                        kdl_text_starts(name, "_Z")
                            ? "new"
                            : kdl_arena_format(&job->arena, "%.*s", (int)name.length, name.data));
  return cc_refuse_at(job, place,
                      "%.*s is called and not defined; --emit=bitcode leaves it to a later link",
                      (int)name.length, name.data);
}

/* ------------------------------------------------------------------------------------------ */
/* Variables                                                                                    */

/* The name of the first global variable whose line has `mark`; empty where there is none. */
static kdl_string find_variable(kdl_string ir, const char *mark) {
  for (size_t at = 0, end; at < ir.length; at = end + 1) {
    end = kdl_text_find(ir, at, "\n");
    kdl_string line = {ir.data + at, end - at};
    if (line.length && line.data[0] == '@' && kdl_text_contains(line, mark))
      return name_at(line, 1);
  }
  return (kdl_string){"", 0};
}

/* Clang refuses them on some targets, and kdl's group variables on CPUs (group_variables.h). */
static kdl_status check_threads(cc_job *job, kdl_string ir) {
  kdl_string name = find_variable(ir, " thread_local ");
  if (job->target->family == CC_HOST || name.length == 0)
    return KDL_OK;
  return cc_refuse_at(job, cc_examine_use(ir, name),
                      "the variable %.*s is _Thread_local, which no device has; KDL_LOCAL declares "
                      "memory of the group",
                      (int)name.length, name.data);
}

/* C++: a static variable of a function whose initialiser runs when the first comes by. */
static kdl_status check_statics(cc_job *job, kdl_string ir) {
  kdl_string guard = find_variable(ir, "@_ZGV");
  if (guard.length == 0)
    return KDL_OK;
  return cc_refuse_at(job, cc_examine_use(ir, guard),
                      "a static variable has an initialiser that runs: work-items would race for "
                      "it; expected a constant, or a variable that is not static");
}

/* 1ull is one, and so is a comparison with it. */
static kdl_status check_wide(cc_job *job, kdl_string ir) {
  cc_place place = cc_examine_type(ir, " i128");
  if (job->target->family != CC_OPENCL || !place.line)
    return KDL_OK;
  return cc_refuse_at(
      job, place,
      "long long has 128 bits in OpenCL C, which no driver has; expected uint64_t or "
      "int64_t, and numbers without LL behind them");
}

/* Where the first assembly stands: "%2 = call i32 asm sideeffect "rdtsc", ... !dbg !15" */
static cc_place find_assembly(kdl_string ir) {
  static const char mark[] = " asm ";
  const char *found = memmem(ir.data, ir.length, mark, sizeof mark - 1);
  kdl_string rest = found ? kdl_text_from(ir, (size_t)(found - ir.data)) : (kdl_string){"", 0};
  return cc_examine_line(ir, (kdl_string){rest.data, kdl_text_find(rest, 0, "\n")});
}

kdl_status cc_check_code(cc_job *job, kdl_string ir) {
  graph g = {.arena = &job->arena, .ir = ir};
  job->assembly = find_assembly(ir);
  if (!read_graph(&g))
    return cc_no_memory(job);
  kdl_status status = check_threads(job, ir);
  if (status == KDL_OK)
    status = check_wide(job, ir);
  if (status == KDL_OK)
    status = check_statics(job, ir);
  if (status == KDL_OK)
    status = check_dynamic(job, &g);
  if (status == KDL_OK)
    status = check_recursion(job, &g);
  return status == KDL_OK ? check_defined(job, ir) : status;
}
