/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/job_steps.h"
#include "compiler/toolchain/toolchain.h"

#include <string.h>

bool cc_is_vendor_language(const cc_job *job) {
  return job->source->language == CC_CUDA || job->source->language == CC_HIP;
}

const char *cc_vendor_unsupported_reason(const cc_job *job) {
  cc_language language = job->source->language;
  if (language == CC_CUDA && job->target->family != CC_NVIDIA)
    return "CUDA is for NVIDIA's targets, as sm_90; C and C++ that include <kdl/kernel.h> are for "
           "all";
  if (language == CC_HIP && job->target->family != CC_AMD)
    return "HIP is for AMD's targets, as gfx942; C and C++ that include <kdl/kernel.h> are for all";
  return NULL;
}

/* Clang knows CUDA's default folder, and that of a ptxas on PATH. */
static void add_cuda(kdl_string_list *words, const cc_job *job) {
  const char *home = kdl_toolchain_cuda_folder();
  kdl_string_list_append(words, "-xcuda");
  kdl_string_list_append_format(words, "--offload-arch=%s", job->target->cpu);
  kdl_string_list_append(words, "-Wno-unknown-cuda-version");
  if (home)
    kdl_string_list_append_format(words, "--cuda-path=%s", home);
}

/* Debian installs AMD's device libraries where Clang does not look. */
static void add_hip(kdl_string_list *words, const cc_job *job) {
  const char *ocml = job->plan->tools.math.ocml;
  const char *slash = ocml ? strrchr(ocml, '/') : NULL;
  kdl_string_list_append(words, "-xhip");
  kdl_string_list_append_format(words, "--offload-arch=%s", job->target->cpu);
  kdl_string_list_append(words, job->target->is_generic ? "-mcode-object-version=6"
                                                        : "-mcode-object-version=5");
  kdl_string_list_append(words, "--no-gpu-bundle-output");
  if (slash)
    kdl_string_list_append_format(words, "--rocm-device-lib-path=%.*s", (int)(slash - ocml), ocml);
}

void cc_vendor_add_flags(kdl_string_list *words, const cc_job *job) {
  if (job->source->language == CC_CUDA)
    add_cuda(words, job);
  else
    add_hip(words, job);
  /* -Qunused-arguments: not every step links. */
  cc_add_words(words, CC_WORDS("--offload-device-only", "-std=gnu++17", "-Qunused-arguments"));
}
