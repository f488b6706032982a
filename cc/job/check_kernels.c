/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Refuses kernels that cannot be launched, or not on every target. */
#include "cc/job/examine.h"
#include "cc/job/job_steps.h"
#include "support/base/error.h"

static kdl_status check_pointers(cc_job *job, const cc_kernel *kernel) {
  for (size_t i = 0; i < kernel->param_count; ++i) {
    const cc_param *param = &kernel->params[i];
    if (!param->is_pointer || param->is_global)
      continue;
    if (strstr(param->canonical_type, "__gpu_local") || strstr(param->canonical_type, "__local"))
      return cc_error_at(
          job, param->location,
          "kernel %s: parameter %zu (%s) is a pointer to group memory, which no launch can give; "
          "declare the memory in the kernel: KDL_LOCAL(float, name[256]), or "
          "KDL_LOCAL_DYNAMIC(float, name)",
          kernel->name, i, param->name);
    if (strchr(param->canonical_type, '*') != strrchr(param->canonical_type, '*'))
      return cc_error_at(job, param->location,
                         "kernel %s: parameter %zu (%s) is a pointer to pointers, '%s'; expected "
                         "__gpu_global memory of numbers or structures: OpenCL has no other",
                         kernel->name, i, param->name, param->type);
    if (strstr(param->canonical_type, "__gpu_constant"))
      return cc_error_at(job, param->location,
                         "kernel %s: parameter %zu (%s) is a pointer to constant memory, '%s'; "
                         "expected const __gpu_global, which all targets have",
                         kernel->name, i, param->name, param->type);
    return cc_error_at(job, param->location,
                       "kernel %s: parameter %zu (%s) is a plain pointer, '%s'; expected "
                       "__gpu_global before what it points to: OpenCL forbids others, and to "
                       "SPIR-V a plain one is a pointer into the function's own memory",
                       kernel->name, i, param->name, param->type);
  }
  return KDL_OK;
}

/* Names of functions that compilers call and the wrapper defines; and barriers. */
static kdl_status check_on_cpu(cc_job *job, const cc_kernel *kernel) {
  static const char *const names[] = {"memcpy", "memmove", "memset"};
  if (KDL_TEXT_AMONG(kdl_text_of(kernel->name), names))
    return cc_error_reserved_name(job, kernel);
  if (!kernel->is_group_function || !cc_kernel_has_barrier(kernel))
    return KDL_OK;
  return cc_error_at(job, kernel->location,
                     "kernel %s does a whole group in one call (KDL_KERNEL), where no work-item "
                     "waits for another: found a call of __gpu_sync_threads, expected none",
                     kernel->name);
}

/* C++ mangles a function's symbol, which no launch would name. */
static kdl_status check_linkage(cc_job *job, const cc_kernel *kernel) {
  if (job->source->language == CC_C || job->source->language == CC_OPENCL_C || kernel->has_c_name ||
      kernel->is_group_function)
    return KDL_OK;
  return cc_error_at(job, kernel->location,
                     "kernel %s has C++'s linkage, and no name that a launch could give; expected "
                     "extern \"C\" before it, or the __gpu_kernel of <kdl/kernel.h>",
                     kernel->name);
}

/* A launch passes values. */
static kdl_status check_references(cc_job *job, const cc_kernel *kernel) {
  for (size_t k = 0; k < kernel->param_count; ++k) {
    const cc_param *param = &kernel->params[k];
    if (*param->canonical_type && param->canonical_type[strlen(param->canonical_type) - 1] == '&')
      return cc_error_at(job, param->location,
                         "kernel %s: parameter %zu (%s) is a reference, '%s', which no launch "
                         "can give; expected a value, or a pointer",
                         kernel->name, k, param->name, param->type);
  }
  return KDL_OK;
}

/* On some targets Clang knows that it is a kernel, and reports these itself. */
static kdl_status check_function(cc_job *job, const cc_kernel *kernel) {
  if (kernel->returns.length && !kdl_text_is(kernel->returns, "void"))
    return cc_error_at(job, kernel->location,
                       "kernel %s returns '%.*s', which no launch could take; expected void",
                       kernel->name, CLI_STRING_ARGS(kernel->returns));
  if (kernel->is_static && !kernel->is_group_function)
    return cc_error_at(job, kernel->location,
                       "kernel %s is static, and no name that a launch could give; expected a "
                       "function that others see",
                       kernel->name);
  return KDL_OK;
}

/* Checks the values of KDL_BLOCK and the other macros. */
static kdl_status check_annotations(cc_job *job, const cc_kernel *kernel) {
  static const struct {
    cc_field field;
    const char *name;
  } rows[] = {{CC_BLOCK, "KDL_BLOCK"}, {CC_TILE, "KDL_TILE"}, {CC_SUBGROUP, "KDL_SUBGROUP"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const uint32_t *values = kernel->values[rows[i].field];
    bool is_one = rows[i].field == CC_SUBGROUP;
    if (!(cc_kernel_has(kernel, rows[i].field)))
      continue;
    if (kernel->excess_fields >> rows[i].field & 1)
      return cc_error_at(job, kernel->location,
                         "kernel %s: %s has more than three numbers; expected x, y and z",
                         kernel->name, rows[i].name);
    if (!values[0] || (!is_one && (!values[1] || !values[2])))
      return cc_error_at(job, kernel->location, "kernel %s: %s has a 0; expected at least 1",
                         kernel->name, rows[i].name);
  }
  return KDL_OK;
}

kdl_status cc_check_declarations(cc_job *job) {
  for (size_t i = 0; i < job->kernels.count; ++i) {
    const cc_kernel *kernel = &job->kernels.items[i];
    KDL_TRY(check_function(job, kernel));
    KDL_TRY(check_annotations(job, kernel));
    KDL_TRY(check_references(job, kernel));
  }
  return KDL_OK;
}

kdl_status cc_check_kernels(cc_job *job) {
  bool is_host = job->target->family == CC_HOST;
  for (size_t i = 0; i < job->kernels.count; ++i) {
    const cc_kernel *kernel = &job->kernels.items[i];
    KDL_TRY(check_linkage(job, kernel));
    KDL_TRY(is_host                      ? check_on_cpu(job, kernel)
            : cc_is_vendor_language(job) ? KDL_OK /* its pointers have no address space */
                                         : check_pointers(job, kernel));
  }
  return KDL_OK;
}

/* Names in OpenCL C are ASCII; other images may have any. */
static kdl_status check_ascii_name(cc_job *job, const cc_kernel *kernel) {
  for (const char *c = kernel->name; job->target->family == CC_OPENCL && *c; ++c) {
    if ((unsigned char)*c >= 0x80)
      return cc_error_at(job, kernel->location,
                         "kernel %s: OpenCL C's names have letters of ASCII, digits and '_'",
                         kernel->name);
  }
  return KDL_OK;
}

kdl_status cc_check_image(cc_job *job) {
  for (size_t i = 0; i < job->kernels.count; ++i)
    KDL_TRY(check_ascii_name(job, &job->kernels.items[i]));
  return cc_examine_kernels(job->kind, job->image, &job->kernels);
}
