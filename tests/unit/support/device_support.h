/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Helpers for tests of devices: specs from lines and at random. */
#ifndef KDL_TESTS_UNIT_DEVICE_SUPPORT_H
#define KDL_TESTS_UNIT_DEVICE_SUPPORT_H

#include "support.h"

#include "lib/device/spec.h"
#include "lib/device/spec_values.h"

static inline kdl_device_spec spec_of(const char *line) {
  kdl_device_spec spec;
  assert_ok(kdl_device_spec_parse(line, &spec));
  return spec;
}

/* The spec's line; valid until the next call but one. */
static inline const char *line_of(const kdl_device_spec *spec) {
  static char lines[2][KDL_SPEC_LINE];
  static unsigned turn;
  char *line = lines[turn++ % 2];
  kdl_device_spec_print(spec, &(kdl_out){line, KDL_SPEC_LINE, 0});
  return line;
}

static inline uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static inline void random_text(uint64_t *state, char *text, size_t size) {
  static const char *const parts[] = {"NVIDIA", " ",  "\"", "\\",   "=", ";",
                                      "é",      "漢", "x",  "=a b", "'"};
  size_t used = 0;
  for (size_t i = next_random(state) % 8 + 1; i > 0; --i) {
    const char *part = parts[next_random(state) % (sizeof parts / sizeof *parts)];
    if (used + strlen(part) < size)
      used += (size_t)snprintf(text + used, size - used, "%s", part);
  }
}

/* A value as it would stand in a line, for any key of a device of the backend. */
static inline void random_value(uint64_t *state, const kdl_spec_key *key, const char *tokens,
                                char *text, size_t size) {
  static const char *const classes[] = {"discrete", "integrated", "accelerator", "cpu"};
  static const char *const tools[] = {"kdl-ld", "none", "kdl-ld+llvm-spirv"};
  static const uint64_t factors[] = {1, 1000, 1024, 1000000, 1 << 20, 1000000000, 1 << 30};
  uint64_t number = next_random(state);
  switch (key->kind) {
  case KDL_SPEC_KIND_TEXT:
    if (strcmp(key->name, "driver") == 0)
      snprintf(text, size, "%u.%u", (unsigned)number % 30, (unsigned)(number >> 32) % 100);
    else
      random_text(state, text, size);
    return;
  case KDL_SPEC_KIND_TOKENS:
    snprintf(text, size, "%s", tokens);
    return;
  case KDL_SPEC_KIND_CLASS:
    snprintf(text, size, "%s", classes[number % 4]);
    return;
  case KDL_SPEC_KIND_TOOLS:
    snprintf(text, size, "%s", tools[number % 3]);
    return;
  case KDL_SPEC_KIND_UUID:
    snprintf(text, size, "%016llx%016llx", (unsigned long long)number,
             (unsigned long long)next_random(state));
    return;
  case KDL_SPEC_KIND_PCI:
    snprintf(text, size, "%x:%x:%x.%x", (unsigned)number, (unsigned)(number >> 32) & 0xff,
             (unsigned)(number >> 40) & 0x1f, (unsigned)(number >> 48) & 7);
    return;
  case KDL_SPEC_KIND_BYTES:
    snprintf(text, size, "%llu", (unsigned long long)(number % 4096) * factors[number >> 32 & 6]);
    return;
  case KDL_SPEC_KIND_COUNT:
  case KDL_SPEC_KIND_ORDINAL:
    snprintf(text, size, "%u", (unsigned)number);
    return;
  case KDL_SPEC_KIND_VERSION:
    snprintf(text, size, "%u.%u", (unsigned)number & 0xff, (unsigned)(number >> 32) & 0xff);
    return;
  case KDL_SPEC_KIND_SIZES:
    snprintf(text, size, "%u+%u", 1u << (number & 15), 1u << (number >> 8 & 31));
    return;
  case KDL_SPEC_KIND_FLAG:
    snprintf(text, size, "%s", number & 1 ? "yes" : "no");
    return;
  }
}

/* A spec whose keys are known or not as chance has it. */
static inline kdl_device_spec random_spec(uint64_t *state) {
  static const struct {
    kdl_backend backend;
    const char *arch;
    const char *tokens;
  } kinds[] = {
      {KDL_BACKEND_HOST, "x86-64-v4+avx512_bf16+amx_tile", "avx_vnni+sha"},
      {KDL_BACKEND_HOST, "neoverse-v1", "sve_vl_256+i8mm"},
      {KDL_BACKEND_CUDA, "sm_90", "fp8+tma_nv"},
      {KDL_BACKEND_HIP, "gfx90a:sramecc+:xnack-", "mfma_amd"},
      {KDL_BACKEND_LEVEL_ZERO, "12.60.7", "fp64+xmx_intel"},
      {KDL_BACKEND_LEVEL_ZERO, "pvc", "fp64"},
      {KDL_BACKEND_OPENCL, "spirv64", "fp64+subgroups+images"},
  };
  size_t kind = next_random(state) % (sizeof kinds / sizeof *kinds);
  kdl_device_spec spec = {.backend = kinds[kind].backend};
  snprintf(spec.arch, sizeof spec.arch, "%s", kinds[kind].arch);
  size_t count;
  const kdl_spec_key *keys = kdl_spec_keys(&count);
  for (size_t i = 0; i < count; ++i) {
    if (next_random(state) & 1)
      continue;
    char text[KDL_SPEC_DRIVER];
    kdl_parse_error error;
    random_value(state, &keys[i], kinds[kind].tokens, text, sizeof text);
    if (!kdl_spec_value_parse(&spec, &keys[i], kdl_text_of(text), &error))
      fail_msg("%s=%s: %s", keys[i].name, text, error.expected);
  }
  return spec;
}

#endif
