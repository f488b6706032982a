/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/source/target.h"

#include "lib/inspect/devices.h"
#include "lib/inspect/targets.h"
#include "support/base/error.h"
#include "support/base/nearest.h"

#include <stdio.h>
#include <string.h>

const char cc_target_names[] = "sm_90, compute_90, gfx942, gfx11-generic, spirv64, opencl-c, "
                               "x86-64-v3, armv8-a, rv64gcv, portable, a CPU as znver4 "
                               "or native, or a device as h200";

/* ------------------------------------------------------------------------------------------ */
/* One function per family: false if the name belongs to another                                */

static cc_target make_target(cc_family family, kdl_feature_class features, const char *triple,
                             const char *vendor, uint16_t offload_kind) {
  return (cc_target){.family = family,
                     .features = features,
                     .packed_triple = triple,
                     .vendor = vendor,
                     .offload_kind = offload_kind};
}

static bool parse_nvidia(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  kdl_nvptx_arch arch;
  if (!kdl_text_starts(name, "sm_") && !kdl_text_starts(name, "compute_"))
    return false;
  *out = make_target(CC_NVIDIA, KDL_CLASS_GPU, "nvptx64-nvidia-cuda", "_nv", KDL_OFFLOAD_CUDA);
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
  *out = make_target(CC_AMD, KDL_CLASS_GPU, "amdgcn-amd-amdhsa", "_amd", KDL_OFFLOAD_HIP);
  if (!kdl_amdgcn_parse(name, &id, out_error))
    return true;
  out->is_generic = !id.processor->version;
  kdl_out_amdgcn(&(kdl_out){out->arch, sizeof out->arch, 0}, &id);
  snprintf(out->cpu, sizeof out->cpu, "%s", out->arch);
  return true;
}

/* OpenCL 2.2 requires version 1.2, and every driver that accepts SPIR-V accepts it. */
static bool parse_spirv(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  if (!kdl_text_starts(name, "spirv64"))
    return false;
  bool is_plain = kdl_text_is(name, "spirv64");
  *out =
      make_target(CC_SPIRV, KDL_CLASS_GPU, "spirv64-unknown-unknown", "_intel", KDL_OFFLOAD_SYCL);
  snprintf(out->arch, sizeof out->arch, "generic");
  snprintf(out->triple, sizeof out->triple, "%.*s%s-unknown-unknown", (int)name.length, name.data,
           is_plain ? "v1.2" : "");
  if (is_plain)
    return true;
  if (name.length != 11 || !kdl_text_starts(name, "spirv64v1.") || name.data[10] < '0' ||
      name.data[10] > '6')
    *out_error = (kdl_parse_error){7, "spirv64, or a version of it: spirv64v1.0 to spirv64v1.6"};
  return true;
}

static bool parse_opencl(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  (void)out_error;
  *out = make_target(CC_OPENCL, KDL_CLASS_GPU, "spir64-unknown-unknown", "", KDL_OFFLOAD_NONE);
  snprintf(out->triple, sizeof out->triple, "spirv64v1.0-unknown-unknown");
  return kdl_text_is(name, "opencl-c");
}

/* Clang's target without a register file or an ABI of its own: pointers of 64 bits, variables and
 * private memory in address space 0. kdl-ld removes its name from the image. */
static bool parse_portable(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  (void)out_error;
  *out = make_target(CC_PORTABLE, KDL_CLASS_GPU, KDL_PORTABLE_TRIPLE, "", KDL_OFFLOAD_NONE);
  snprintf(out->triple, sizeof out->triple, "nvptx64-nvidia-cuda");
  return kdl_text_is(name, "portable");
}

static cc_target make_cpu_target(kdl_feature_class features, const char *triple) {
  return make_target(CC_HOST, features, triple, "", KDL_OFFLOAD_OPENMP);
}

/* The base of a CPU's name is passed to Clang as it is, the remainder as features. False if not
 * even the beginning names such a CPU. */
static bool parse_cpu(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  kdl_parse_error error = {0, NULL};
  bool is_other = kdl_text_is(name, "") || kdl_text_is(name, "generic");
  if (is_other || (!kdl_cpu_parse(out->features, name, &out->available_features, &error) &&
                   error.position == 0))
    return false;
  *out_error = error;
  size_t plus = kdl_text_find(name, 0, "+");
  snprintf(out->arch, sizeof out->arch, "%.*s", (int)name.length, name.data);
  snprintf(out->cpu, sizeof out->cpu, "%.*s", (int)plus, name.data);
  if (plus < name.length)
    kdl_feature_parse(out->features, kdl_text_substr(name, plus + 1), &out->extra_features, NULL);
  return true;
}

static bool parse_x86(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  *out = make_cpu_target(KDL_CLASS_X86, "x86_64-unknown-linux-gnu");
  return parse_cpu(name, out, out_error);
}

static bool parse_aarch64(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  *out = make_cpu_target(KDL_CLASS_AARCH64, "aarch64-unknown-linux-gnu");
  if (!parse_cpu(name, out, out_error))
    return false;
  out->is_cpu = strncmp(out->cpu, "armv", 4) != 0;
  if (strcmp(out->cpu, "aarch64") == 0)
    out->is_cpu = snprintf(out->cpu, sizeof out->cpu, "armv8-a") < 0;
  return true;
}

static bool parse_riscv(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  *out = make_cpu_target(KDL_CLASS_RISCV, "riscv64-unknown-linux-gnu");
  if (!kdl_text_starts(name, "rv64") && !kdl_text_starts(name, "rva2") &&
      !kdl_text_is(name, "riscv64"))
    return false;
  if (!kdl_cpu_parse(out->features, name, &out->available_features, out_error))
    return true;
  kdl_out_cpu(&(kdl_out){out->cpu, sizeof out->cpu, 0}, out->features, out->available_features);
  snprintf(out->arch, sizeof out->arch, "%s", out->cpu);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Parsing                                                                                      */

static bool parse_arch(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  static bool (*const parsers[])(kdl_string, cc_target *, kdl_parse_error *) = {
      parse_nvidia,   parse_amd, parse_spirv,   parse_opencl,
      parse_portable, parse_x86, parse_aarch64, parse_riscv};
  for (size_t i = 0; i < sizeof parsers / sizeof *parsers; ++i) {
    if (parsers[i](name, out, out_error))
      return true;
  }
  return false;
}

/* The architecture to compile for a device: its processor, without its settings. Intel's GPUs take
 * SPIR-V. */
static kdl_string arch_of(const kdl_device_spec *spec) {
  kdl_string arch = kdl_text_of(spec->arch);
  switch (kdl_device_spec_family(spec)) {
  case KDL_FAMILY_AMDGCN:
    return (kdl_string){arch.data, kdl_text_find(arch, 0, ":")};
  case KDL_FAMILY_SPIRV:
  case KDL_FAMILY_INTEL:
    return KDL_TEXT("spirv64");
  default:
    return arch;
  }
}

/* Drops the length of vectors, which is not part of a target: code for SVE runs with any. */
static void drop_vector_lengths(char *arch) {
  for (char *at; (at = strstr(arch, "+sve_vl_"));) {
    const char *rest = at + 1 + strcspn(at + 1, "+");
    memmove(at, rest, strlen(rest) + 1);
  }
}

/* A name or a spec of a device, as `kdl explain` accepts it, or this CPU. */
static bool find_target_device(kdl_string name, kdl_device_spec *out_spec) {
  char text[CC_TARGET_NAME_SIZE];
  kdl_device_routes routes;
  if (kdl_text_is(name, "native"))
    return kdl_cpu_describe(out_spec) == KDL_OK;
  if (name.length >= sizeof text || name.length == 0 || name.data[0] == '@')
    return false;
  snprintf(text, sizeof text, "%.*s", (int)name.length, name.data);
  if (kdl_device_routes_resolve(text, &routes) != KDL_OK)
    return false;
  *out_spec = routes.specs[0];
  return true;
}

static bool parse_device(kdl_string name, cc_target *out, kdl_parse_error *out_error) {
  kdl_device_spec spec = {.backend = KDL_BACKEND_HOST};
  if (!find_target_device(name, &spec))
    return false;
  drop_vector_lengths(spec.arch);
  kdl_string arch = arch_of(&spec);
  if (!parse_arch(arch, out, out_error))
    return false;
  kdl_string shown = kdl_text_is(name, "native") ? name : arch;
  snprintf(out->name, sizeof out->name, "%.*s", (int)shown.length, shown.data);
  return true;
}

static kdl_status fail_unknown_target(kdl_string name) {
  static const char *const examples[] = {
      "sm_75",    "sm_80",     "sm_90",     "gfx90a",    "gfx942",  "gfx1100",  "spirv64",
      "opencl-c", "x86-64-v2", "x86-64-v3", "x86-64-v4", "armv8-a", "portable", "native"};
  kdl_nearest nearest = kdl_nearest_to(name);
  for (size_t i = 0; i < sizeof examples / sizeof *examples; ++i)
    kdl_nearest_add(&nearest, examples[i]);
  const char *meant = kdl_named_device_suggest(name);
  if (!meant)
    meant = nearest.best;
  return kdl_fail(KDL_BAD_CALL, "--targets: bad value '%.*s'%s%s%s: use names as %s",
                  (int)name.length, name.data, meant ? " (did you mean '" : "", meant ? meant : "",
                  meant ? "'?)" : "", cc_target_names);
}

kdl_status cc_target_parse(kdl_string name, cc_target *out_target) {
  kdl_parse_error error = {0, NULL};
  cc_target target;
  if (name.length >= CC_TARGET_NAME_SIZE ||
      (!parse_arch(name, &target, &error) && !parse_device(name, &target, &error)))
    return kdl_text_is(name, "native") ? kdl_error_status() : fail_unknown_target(name);
  if (error.expected) {
    char words[256];
    kdl_out_parse_error(&(kdl_out){words, sizeof words, 0}, name, error);
    return kdl_fail(KDL_BAD_CALL, "--targets: '%.*s': %s", (int)name.length, name.data, words);
  }
  if (!target.name[0])
    snprintf(target.name, sizeof target.name, "%.*s", (int)name.length, name.data);
  if (!target.triple[0])
    snprintf(target.triple, sizeof target.triple, "%s", target.packed_triple);
  target.spelling = name;
  *out_target = target;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Features                                                                                     */

/* x86-64's tokens have '_' where LLVM has nothing; AArch64's are Arm's names, with these
 * exceptions. */
void cc_target_feature_name(kdl_feature_class which, unsigned bit, char *out_name, size_t room) {
  static const char *const x86[][2] = {
      {"sse4_1", "sse4.1"},     {"sse4_2", "sse4.2"},     {"avx10_1", "avx10.1"},
      {"avx10_2", "avx10.2"},   {"amx_tile", "amx-tile"}, {"amx_int8", "amx-int8"},
      {"amx_bf16", "amx-bf16"}, {"amx_fp16", "amx-fp16"}, {"amx_complex", "amx-complex"},
      {"amx_fp8", "amx-fp8"},   {"amx_tf32", "amx-tf32"}, {"amx_avx512", "amx-avx512"},
      {"cmpxchg16b", "cx16"},   {"lahf_sahf", "sahf"},    {"fpu", "x87"},
      {"bmi1", "bmi"},          {"apx_f", "apxf"},        {NULL, NULL},
  };
  static const char *const aarch64[][2] = {
      {"rng", "rand"},       {"flagm2", "altnzcv"},  {"fp", "fp-armv8"},  {"simd", "neon"},
      {"fp16", "fullfp16"},  {"dpb", "ccpp"},        {"dpb2", "ccdp"},    {"jscvt", "jsconv"},
      {"fcma", "complxnum"}, {"rcpc2", "rcpc-immo"}, {"memtag", "mte"},   {"frintts", "fptoint"},
      {"sve_vl_256", ""},    {"sve_vl_512", ""},     {"sve_vl_1024", ""}, {"sve_vl_2048", ""},
      {NULL, NULL},
  };
  const char *token = kdl_feature_name(which, bit);
  size_t used = 0;
  if (which == KDL_CLASS_RISCV) {
    snprintf(out_name, room, "%s", bit == KDL_RISCV_V ? "v" : token);
    return;
  }
  for (const char *const(*row)[2] = which == KDL_CLASS_X86 ? x86 : aarch64; (*row)[0]; ++row) {
    if (strcmp(token, (*row)[0]) == 0) {
      snprintf(out_name, room, "%s", (*row)[1]);
      return;
    }
  }
  for (; *token && used + 1 < room; ++token) {
    if (*token != '_' || which != KDL_CLASS_X86)
      out_name[used++] = *token;
  }
  out_name[used] = '\0';
}
