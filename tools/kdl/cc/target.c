/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/target.h"

#include "base/error.h"
#include "base/nearest.h"
#include "target/families/aarch64.h"
#include "target/families/amdgcn.h"
#include "target/families/nvptx.h"
#include "target/families/x86.h"

#include <stdio.h>
#include <string.h>

const char cc_target_names[] =
    "sm_90, compute_90, gfx942, gfx11-generic, spirv64, opencl-c, x86-64-v3, a CPU as znver4, or "
    "armv8-a";

/* ------------------------------------------------------------------------------------------ */
/* One function per family: false where the name is another's                                   */

static bool parse_nvidia(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  kdl_nvptx_arch arch;
  if (!kdl_text_starts(name, "sm_") && !kdl_text_starts(name, "compute_"))
    return false;
  *out = (cc_target){.family = CC_NVIDIA,
                     .features = KDL_CLASS_GPU,
                     .packed_triple = "nvptx64-nvidia-cuda",
                     .vendor = "_nv",
                     .offload_kind = KDL_OFFLOAD_CUDA};
  if (!kdl_nvptx_parse(name, &arch, out_error))
    return true;
  uint32_t first = kdl_nvptx_first_ptx(&arch);
  if (!first) {
    *out_error = (kdl_parse_error){0, "an architecture that this version knows"};
    return true;
  }
  out->is_virtual = arch.is_virtual;
  out->ptx = (first >> 16) * 10 + (first & 0xffff);
  out->capability = arch.major * 10u + arch.minor;
  snprintf(out->cpu, sizeof out->cpu, "sm_%u%.*s", arch.number, arch.suffix != 0, &arch.suffix);
  snprintf(out->arch, sizeof out->arch, "%s", out->cpu);
  return true;
}

static bool parse_amd(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  kdl_amdgcn_id id;
  if (!kdl_text_starts(name, "gfx"))
    return false;
  *out = (cc_target){.family = CC_AMD,
                     .features = KDL_CLASS_GPU,
                     .packed_triple = "amdgcn-amd-amdhsa",
                     .vendor = "_amd",
                     .offload_kind = KDL_OFFLOAD_HIP};
  if (!kdl_amdgcn_parse(name, &id, out_error))
    return true;
  out->is_generic = kdl_amdgcn_is_generic(id.processor);
  kdl_out_amdgcn(&(kdl_out){out->arch, sizeof out->arch, 0}, &id);
  snprintf(out->cpu, sizeof out->cpu, "%s", out->arch);
  return true;
}

/* Version 1.2 is what OpenCL 2.2 asks for, and every driver that takes SPIR-V at all takes it. */
static bool parse_spirv(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  if (!kdl_text_starts(name, "spirv64"))
    return false;
  *out = (cc_target){.family = CC_SPIRV,
                     .features = KDL_CLASS_GPU,
                     .arch = "generic",
                     .triple = "spirv64v1.2-unknown-unknown",
                     .packed_triple = "spirv64-unknown-unknown",
                     .vendor = "_intel",
                     .offload_kind = KDL_OFFLOAD_SYCL};
  if (kdl_text_is(name, "spirv64"))
    return true;
  if (name.length != 11 || !kdl_text_starts(name, "spirv64v1.") || name.data[10] < '0' ||
      name.data[10] > '6')
    *out_error = (kdl_parse_error){7, "spirv64, or a version of it: spirv64v1.0 to spirv64v1.6"};
  snprintf(out->triple, sizeof out->triple, "%.*s-unknown-unknown", (int)name.length, name.data);
  return true;
}

static bool parse_opencl(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  (void)out_error;
  *out = (cc_target){.family = CC_OPENCL,
                     .features = KDL_CLASS_GPU,
                     .triple = "spirv64v1.0-unknown-unknown",
                     .packed_triple = "spir64-unknown-unknown",
                     .vendor = "",
                     .offload_kind = KDL_OFFLOAD_NONE};
  return kdl_text_is(name, "opencl-c");
}

/* The base of a CPU's name goes to Clang as it is, what follows as features. */
static void split_cpu(kdl_string name, cc_target *out) {
  size_t plus = kdl_text_find(name, 0, "+");
  snprintf(out->arch, sizeof out->arch, "%.*s", (int)name.length, name.data);
  snprintf(out->cpu, sizeof out->cpu, "%.*s", (int)plus, name.data);
  if (plus < name.length)
    kdl_feature_parse(out->features, kdl_text_from(name, plus + 1), &out->plus, NULL);
}

static bool parse_x86(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  *out = (cc_target){.family = CC_HOST,
                     .features = KDL_CLASS_X86,
                     .packed_triple = "x86_64-unknown-linux-gnu",
                     .vendor = "",
                     .offload_kind = KDL_OFFLOAD_OPENMP};
  kdl_parse_error error = {0, NULL};
  bool is_other = kdl_text_is(name, "") || kdl_text_is(name, "generic");
  if (is_other || (!kdl_x86_parse(name, &out->has, &error) && error.position == 0))
    return false;
  *out_error = error;
  split_cpu(name, out);
  return true;
}

static bool parse_aarch64(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  *out = (cc_target){.family = CC_HOST,
                     .features = KDL_CLASS_AARCH64,
                     .packed_triple = "aarch64-unknown-linux-gnu",
                     .vendor = "",
                     .offload_kind = KDL_OFFLOAD_OPENMP};
  kdl_parse_error error = {0, NULL};
  bool is_other = kdl_text_is(name, "") || kdl_text_is(name, "generic");
  if (is_other || (!kdl_aarch64_parse(name, &out->has, &error) && error.position == 0))
    return false;
  *out_error = error;
  split_cpu(name, out);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Parsing                                                                                      */

static kdl_status unknown_target(kdl_string name) {
  static const char *const examples[] = {"sm_75",     "sm_80",     "sm_90",     "gfx90a",
                                         "gfx942",    "gfx1100",   "spirv64",   "opencl-c",
                                         "x86-64-v2", "x86-64-v3", "x86-64-v4", "armv8-a"};
  kdl_nearest nearest = kdl_nearest_to(name);
  for (size_t i = 0; i < sizeof examples / sizeof *examples; ++i)
    kdl_nearest_offer(&nearest, examples[i]);
  return kdl_fail(KDL_BAD_CALL, "--targets: found '%.*s'%s%s%s, expected names as %s",
                  (int)name.length, name.data, nearest.best ? " (did you mean '" : "",
                  nearest.best ? nearest.best : "", nearest.best ? "'?)" : "", cc_target_names);
}

kdl_status cc_target_parse(kdl_string name, cc_target *out_target) {
  static bool (*const parsers[])(kdl_string, cc_target *, kdl_parse_error *) = {
      parse_nvidia, parse_amd, parse_spirv, parse_opencl, parse_x86, parse_aarch64};
  kdl_parse_error error = {0, NULL};
  cc_target target;
  size_t i = 0;
  while (i < sizeof parsers / sizeof *parsers && !parsers[i](name, &target, &error))
    ++i;
  if (i == sizeof parsers / sizeof *parsers || name.length >= CC_TARGET_ROOM)
    return unknown_target(name);
  if (error.expected) {
    char words[256];
    kdl_out_parse_error(&(kdl_out){words, sizeof words, 0}, name, error);
    return kdl_fail(KDL_BAD_CALL, "--targets: '%.*s': %s", (int)name.length, name.data, words);
  }
  snprintf(target.name, sizeof target.name, "%.*s", (int)name.length, name.data);
  if (!target.triple[0])
    snprintf(target.triple, sizeof target.triple, "%s", target.packed_triple);
  *out_target = target;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Features                                                                                     */

/* Tokens are written with '_' where LLVM writes nothing, except for these. */
void cc_target_feature_name(kdl_feature_class which, unsigned bit, char *out_name, size_t room) {
  static const char *const other[][2] = {
      {"sse4_1", "sse4.1"},     {"sse4_2", "sse4.2"},     {"avx10_1", "avx10.1"},
      {"avx10_2", "avx10.2"},   {"amx_tile", "amx-tile"}, {"amx_int8", "amx-int8"},
      {"amx_bf16", "amx-bf16"}, {"amx_fp16", "amx-fp16"}, {"amx_complex", "amx-complex"},
      {"amx_fp8", "amx-fp8"},   {"amx_tf32", "amx-tf32"}, {"amx_avx512", "amx-avx512"},
      {"cmpxchg16b", "cx16"},   {"lahf_sahf", "sahf"},    {"fpu", "x87"},
      {"bmi1", "bmi"},          {"apx_f", "apxf"},
  };
  const char *token = kdl_feature_name(which, bit);
  size_t used = 0;
  for (size_t i = 0; i < sizeof other / sizeof *other && which == KDL_CLASS_X86; ++i) {
    if (strcmp(token, other[i][0]) == 0) {
      snprintf(out_name, room, "%s", other[i][1]);
      return;
    }
  }
  for (; *token && used + 1 < room; ++token) {
    if (*token != '_' || which != KDL_CLASS_X86)
      out_name[used++] = *token;
  }
  out_name[used] = '\0';
}
