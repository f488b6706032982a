/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/math.h"

#include "cc/job/job_steps.h"
#include "support/base/error.h"
#include "tools/common/memory.h"
#include "tools/common/program_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Finding the libraries                                                                        */

/* FOLDER/FILE if it is readable; else NULL. */
static const char *find_file(kdl_arena *arena, const char *folder, const char *file) {
  const char *path = folder && *folder ? xarena_format(arena, "%s/%s", folder, file) : NULL;
  return path && access(path, R_OK) == 0 ? path : NULL;
}

/* Relative to the program's. */
const char *cc_math_folder(kdl_arena *arena) {
  char own[PATH_MAX];
  return cli_program_file(CC_MATH_FOLDER, own) ? xarena_format(arena, "%s", own) : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* For a target                                                                                 */

/* libclc's functions for the target; NULL if there are none. */
static const char *libclc_path(const cc_job *job, kdl_arena *arena) {
  const cc_target *target = job->target;
  const char *folder = job->plan->tools.math.folder;
  char file[64];
  if (target->family != CC_HOST && target->family != CC_NVIDIA)
    return NULL;
  snprintf(file, sizeof file, "math-%.*s.bc", (int)strcspn(target->triple, "-"), target->triple);
  return find_file(arena, folder, file);
}

void cc_math_define(kdl_string_list *words, const cc_job *job) {
  const cc_math_libraries *libraries = &job->plan->tools.math;
  if (libclc_path(job, words->arena))
    kdl_string_list_append(words, "-DKDL_MATH_CLC");
  if (job->target->family == CC_NVIDIA && libraries->libdevice)
    kdl_string_list_append(words, "-DKDL_MATH_LIBDEVICE");
  if (job->target->family == CC_AMD && libraries->ocml)
    kdl_string_list_append(words, "-DKDL_MATH_OCML");
}

bool cc_math_is_libm(kdl_string name) {
  static const char *const names[] = {"tgammaf", "tgamma", "lgammaf", "lgamma"};
  return KDL_TEXT_AMONG(name, names);
}

bool cc_math_has(const cc_target *target, kdl_string name) {
  switch (target->family) {
  case CC_NVIDIA:
    return kdl_text_starts(name, "__nv_") || kdl_text_starts(name, "kdl_math_");
  case CC_AMD:
    return kdl_text_starts(name, "__ocml_");
  case CC_HOST:
    return kdl_text_starts(name, "kdl_math_") || cc_math_is_libm(name);
  case CC_SPIRV: /* "_Z15__spirv_ocl_sinf" is an instruction */
    return kdl_text_starts(name, "_Z") && kdl_text_contains(name, "__spirv_ocl_");
  case CC_PORTABLE:
    return kdl_text_starts(name, "kdl_math_");
  case CC_OPENCL:
    break;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Linking                                                                                      */

static unsigned hex_digit(char c) {
  return kdl_is_digit(c) ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* ocml's number of a processor: gfx90a is 9010, gfx1030 is 10300, gfx11-generic 11000. */
static unsigned ocml_isa_version(const cc_target *target) {
  const char *digits = target->cpu + strlen("gfx");
  size_t length = strcspn(digits, ":-");
  char *end;
  if (target->is_generic) {
    unsigned long major = strtoul(digits, &end, 10);
    return (unsigned)(major * 1000 +
                      (kdl_is_digit(end[0] ? end[1] : '\0') ? hex_digit(end[1]) * 100 : 0));
  }
  if (length < 3)
    return 0;
  unsigned major = 0;
  for (size_t i = 0; i + 2 < length; ++i)
    major = major * 10 + hex_digit(digits[i]);
  return major * 1000 + hex_digit(digits[length - 2]) * 100 + hex_digit(digits[length - 1]);
}

kdl_status cc_math_prepare(cc_job *job) {
  if (job->target->family != CC_AMD || !job->calls_math || !job->plan->tools.math.ocml)
    return KDL_OK;
  const char *source = xarena_format(&job->arena, "%s/kdl/math/oclc.h", job->plan->tools.include);
  unsigned isa = ocml_isa_version(job->target);
  job->math_constants = cc_temp_path(job, "oclc.bc");
  return cc_compile(job, source,
                    CC_WORDS(xarena_format(&job->arena, "-DKDL_OCLC_ISA=%u", isa),
                             isa < 10000 ? "-DKDL_OCLC_WAVE64=1" : "-DKDL_OCLC_WAVE64=0", "-c",
                             "-emit-llvm"),
                    job->math_constants);
}

static void add_library(kdl_string_list *words, const char *path) {
  if (!path)
    return;
  cc_add_words(words, CC_WORDS("-Xclang", "-mlink-builtin-bitcode", "-Xclang", path));
}

void cc_math_link(kdl_string_list *words, const cc_job *job) {
  const cc_math_libraries *libraries = &job->plan->tools.math;
  if (!job->calls_math)
    return;
  if (job->target->family == CC_AMD) {
    add_library(words, libraries->ocml);
    add_library(words, job->math_constants);
  }
  if (job->target->family == CC_NVIDIA)
    add_library(words, libraries->libdevice);
  add_library(words, libclc_path(job, words->arena));
}
