/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What libkdl's tables say about the vocabulary, one tab-separated line per fact, for tables.py,
 * which compares docs/metadata.md with it. */
#include "lib/target/families/gpu.h"
#include "lib/target/features/feature.h"
#include "lib/target/rules/metadata.h"
#include "lib/target/target.h"

#include <stdio.h>

typedef struct {
  kdl_target_family family;
  char arch[32];
} device;

static bool has_token(const device *which, unsigned token) {
  kdl_device_rule rule;
  kdl_device_desc desc = {.family = which->family, .arch = kdl_text_of(which->arch)};
  return kdl_device_compile(&desc, &rule, NULL) && !kdl_feature_has(rule.lacks, token);
}

static void print_has(const char *vendor, const device *which, const char *place) {
  const char *name;
  for (unsigned token = 0; (name = kdl_feature_name(KDL_CLASS_GPU, token)); ++token) {
    if (has_token(which, token))
      printf("%s\t%s\t%s\n", vendor, name, place);
  }
}

static void print_nvidia(void) {
  for (unsigned number = 20; number < 140; ++number) {
    device which = {.family = KDL_FAMILY_NVPTX};
    snprintf(which.arch, sizeof which.arch, "sm_%u", number);
    print_has("nvidia", &which, which.arch + 3);
  }
}

static void print_amd(void) {
  const kdl_amdgcn_processor *row;
  for (size_t i = 0; (row = kdl_amdgcn_at(i)) && !kdl_amdgcn_is_generic(row); ++i) {
    device which = {.family = KDL_FAMILY_AMDGCN};
    snprintf(which.arch, sizeof which.arch, "%s", row->name);
    printf("family\t%s\t%s", row->name, row->line);
    if (row->generation)
      printf("%u", row->generation);
    putchar('\n');
    print_has("amd", &which, row->name);
  }
}

/* Releases of which a product is known. */
static void print_intel(void) {
  for (uint32_t release = 12 << 8; release < 36 << 8; ++release) {
    kdl_intel_ip ip = {(uint8_t)(release >> 8), (uint8_t)(release & 0xff), 0};
    while (!kdl_intel_acronym(ip) && ip.revision < 63)
      ++ip.revision;
    if (!kdl_intel_acronym(ip))
      continue;
    device which = {.family = KDL_FAMILY_INTEL};
    snprintf(which.arch, sizeof which.arch, "%u.%u.%u", ip.architecture, ip.release, ip.revision);
    char place[16];
    snprintf(place, sizeof place, "%u.%u", ip.architecture, ip.release);
    printf("release\t%s\n", place);
    print_has("intel", &which, place);
  }
}

static void print_tokens(kdl_feature_class which, const char *name_of_class) {
  for (unsigned token = 0; token < 128; ++token) {
    const char *name = kdl_feature_name(which, token);
    if (!name)
      continue;
    char implied[1024] = "";
    kdl_out out = {implied, sizeof implied, 0};
    kdl_feature_set set = {{0, 0}};
    kdl_feature_add(&set, token);
    kdl_feature_close(which, &set);
    set.word[token / 64] &= ~((uint64_t)1 << (token % 64));
    kdl_out_features(&out, which, set);
    printf("%s\t%s\t%s\t%s\n", name_of_class, name, kdl_feature_meaning(which, token), implied);
  }
}

static void print_detection(void) {
  size_t count;
  const kdl_x86_probe *x86 = kdl_x86_probes(&count);
  for (size_t i = 0; i < count; ++i)
    printf("x86_probe\t%s\t%x.%u E%cX[%u]\t%x\n", kdl_feature_name(KDL_CLASS_X86, x86[i].feature),
           x86[i].leaf, x86[i].subleaf, x86[i].reg - 'a' + 'A', x86[i].bit, x86[i].xcr0);
  const kdl_aarch64_probe *aarch64 = kdl_aarch64_probes(&count);
  for (size_t i = 0; i < count; ++i)
    printf("aarch64_probe\t%s\t%u\t%u\n", kdl_feature_name(KDL_CLASS_AARCH64, aarch64[i].feature),
           aarch64[i].hwcap, aarch64[i].bit);
  for (unsigned bit = 0; bit < 64; ++bit) {
    kdl_feature_set set = kdl_riscv_probed((uint64_t)1 << bit);
    for (unsigned token = 0; token < KDL_RISCV_FEATURE_COUNT; ++token) {
      if (kdl_feature_has(set, token))
        printf("riscv_probe\t%s\t%u\n", kdl_feature_name(KDL_CLASS_RISCV, token), bit);
    }
  }
}

static void print_reasons(void) {
  for (unsigned bit = 0; bit < KDL_REASON_COUNT; ++bit)
    printf("reason\t%s\n", kdl_reasons[bit].code);
}

int main(void) {
  for (int key = 0; key < KDL_KEY_COUNT; ++key)
    printf("key\t%s\t%s\n", kdl_keys[key].name.data,
           kdl_keys[key].must_check ? "must-check" : "may-use");
  print_tokens(KDL_CLASS_GPU, "gpu");
  print_tokens(KDL_CLASS_X86, "x86");
  print_tokens(KDL_CLASS_AARCH64, "aarch64");
  print_tokens(KDL_CLASS_RISCV, "riscv");
  print_detection();
  print_reasons();
  print_nvidia();
  print_amd();
  print_intel();
  return 0;
}
