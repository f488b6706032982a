/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The target `portable`: Clang's IR, from which kdl-ld removes all that names a target
 * (docs/portable.md). */
#include "cc/job/job_steps.h"
#include "cc/source/wrapper.h"
#include "support/base/error.h"
#include "support/system/loader.h"

/* What a launch needs to know of a kernel, and metadata has as well: the block, the tile, and the
 * parameter that a check `i < n` is about. */
static void add_kernel(kdl_string_list *words, const cc_kernel *kernel) {
  const uint32_t *block = kernel->values[CC_BLOCK];
  const uint32_t *tile = kernel->values[cc_kernel_has(kernel, CC_TILE) ? CC_TILE : CC_BLOCK];
  kdl_string_list_append_format(words, "--kernel=%s=%u,%u,%u,%u,%u,%u,%d", kernel->name, block[0],
                                block[1], block[2], tile[0], tile[1], tile[2],
                                cc_wrapper_bound_parameter(kernel));
}

kdl_status cc_make_portable(cc_job *job) {
  const char *ir = cc_temp_path(job, "portable.bc"), *image = cc_temp_path(job, "bc");
  char program[PATH_MAX];
  if (!kdl_linker_path(program))
    return cc_error(job,
                    "%s: portable images need kdl-ld: found none in the folder of this "
                    "program, in KDL_LD or where it is installed; " KDL_LINKER_HOW,
                    job->source->path);
  KDL_TRY(cc_compile(job, job->code,
                     CC_WORDS("-c", "-emit-llvm", "-Xclang", "-disable-llvm-passes",
                              "-gline-tables-only", "-fdebug-compilation-dir=."),
                     ir));
  kdl_string_list words = {.arena = &job->arena};
  cc_add_words(&words, CC_WORDS(program, "--portable"));
  kdl_string_list_append_format(&words, "--caller=%s", ir);
  kdl_string_list_append_format(&words, "--output=%s", image);
  for (size_t i = 0; i < job->kernels.count; ++i)
    add_kernel(&words, &job->kernels.items[i]);
  KDL_TRY(cc_restate_linker_error(job, cc_run_step(job, &words, NULL)));
  job->kind = KDL_IMAGE_BITCODE;
  return cc_read_file(job, image, &job->image);
}
