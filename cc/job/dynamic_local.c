/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * KDL_LOCAL_DYNAMIC as a parameter of the kernel: in OpenCL C and SPIR-V a launch gives the size of
 * group memory by an argument. This adds the parameter to each kernel that uses it, in the
 * preprocessed source, where a kernel's declaration is `void NAME(` whatever macros it came from.
 */
#include "cc/job/job_steps.h"
#include "support/base/error.h"

static const char dynamic_parameter[] =
    "__attribute__((address_space(3))) unsigned char *kdl_dynamic";
/* Drivers align it as its element type: NVIDIA's puts bytes at an odd address. */
static const char dynamic_parameter_in_opencl[] = "__local ulong2 *kdl_dynamic";

/* Skips white space. */
static size_t skip_space(kdl_string text, size_t at) {
  while (at < text.length &&
         (text.data[at] == ' ' || text.data[at] == '\t' || text.data[at] == '\n'))
    ++at;
  return at;
}

/* Skips the word at `at` and the white space after it; 0 if the word is not there. */
static size_t skip_word(kdl_string text, size_t at, const char *word) {
  return cli_word_is_at(text, at, word) ? skip_space(text, at + strlen(word)) : 0;
}

/* The offset after the parenthesis of a declaration that begins with `void` at `at`; else 0. */
static size_t kernel_parameters_at(const cc_kernels *kernels, kdl_string text, size_t at) {
  size_t name = text.data[at] == 'v' ? skip_word(text, at, "void") : 0;
  for (size_t i = 0; name && i < kernels->count; ++i) {
    size_t open =
        kernels->items[i].has_dynamic_local ? skip_word(text, name, kernels->items[i].function) : 0;
    if (open && open < text.length && text.data[open] == '(')
      return open + 1;
  }
  return 0;
}

/* The parenthesis that closes the one opened before `at`. */
static size_t closing_parenthesis(kdl_string text, size_t at) {
  for (int depth = 1; at < text.length; ++at) {
    depth += (text.data[at] == '(') - (text.data[at] == ')');
    if (depth == 0)
      break;
  }
  return at;
}

static void write_code_with_parameters(FILE *out, const cc_job *job) {
  kdl_string text = job->preprocessed;
  const char *added =
      job->target->family == CC_OPENCL ? dynamic_parameter_in_opencl : dynamic_parameter;
  size_t done = 0;
  for (size_t at = 0; at < text.length; ++at) {
    size_t first = kernel_parameters_at(&job->kernels, text, at);
    if (!first)
      continue;
    size_t end = closing_parenthesis(text, first), only = skip_space(text, first);
    bool is_empty = only == end || skip_word(text, only, "void") == end;
    fwrite(text.data + done, 1, (is_empty ? first : end) - done, out);
    fprintf(out, "%s%s", is_empty ? "" : ", ", added);
    done = at = end;
  }
  fwrite(text.data + done, 1, text.length - done, out);
}

kdl_status cc_prepare_code(cc_job *job) {
  bool is_dynamic = false;
  bool is_parameter = job->target->family == CC_OPENCL || job->target->family == CC_SPIRV;
  for (size_t i = 0; i < job->kernels.count; ++i)
    is_dynamic |= job->kernels.items[i].has_dynamic_local;
  job->code = job->source->path;
  if (!is_dynamic || !is_parameter)
    return KDL_OK;
  const char *plain = cc_temp_path(job, "dynamic.i"), *path = cc_temp_path(job, "dynamic.c");
  KDL_TRY(cc_compile_text(job, job->source->path,
                          CC_WORDS("-E", job->target->family == CC_OPENCL ? "-cl-no-stdinc" : NULL),
                          plain, &job->preprocessed));
  job->code = path;
  return cc_write_file(job, path, false, write_code_with_parameters);
}
