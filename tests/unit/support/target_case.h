/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Images and devices in one line each, for tests that are tables.
 */
#ifndef KDL_TESTS_UNIT_TARGET_CASE_H
#define KDL_TESTS_UNIT_TARGET_CASE_H

#include "lib/inspect/kinds.h"
#include "lib/target/explain/explain.h"
#include "lib/target/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char text[640]; /* the words, each NUL-terminated: what the descriptions point into */
  kdl_image_desc desc;
  kdl_image_rule rule;
  kdl_pair pairs[8];
} image_case;

typedef struct {
  char text[640];
  kdl_device_desc desc;
  kdl_device_rule rule;
} device_case;

static inline uint32_t case_version(const char *text) {
  char *rest;
  unsigned long major = strtoul(text, &rest, 10);
  assert_int_equal(*rest, '.');
  return KDL_VERSION_OF(major, strtoul(rest + 1, NULL, 10));
}

static inline kdl_image_kind case_kind(const char *name) {
  for (int kind = 0; kind < KDL_IMAGE_KIND_COUNT; ++kind) {
    if (strcmp(name, kdl_image_kind_name((kdl_image_kind)kind)) == 0)
      return (kdl_image_kind)kind;
  }
  fail_msg("no such kind: %s", name);
  return KDL_IMAGE_UNKNOWN;
}

/* The value where `word` is `key=value`, else NULL. */
static inline const char *case_value(const char *word, const char *key) {
  size_t length = strlen(key);
  return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

static inline void case_image_word(image_case *image, char *word) {
  const char *value;
  char *equals = strchr(word, '=');
  if (strcmp(word, "relocatable") == 0) {
    image->desc.is_link_input = true;
  } else if ((value = case_value(word, "triple"))) {
    image->desc.triple = kdl_text_of(value);
  } else if (equals) {
    image->desc.is_unknown_kind |= case_value(word, "kdl.kind") != NULL;
    *equals = '\0';
    assert_true(image->desc.pair_count < 8);
    image->pairs[image->desc.pair_count++] = (kdl_pair){kdl_text_of(word), kdl_text_of(equals + 1)};
  } else if (word[0] == 'v') {
    uint32_t version = case_version(word + 1);
    image->desc.version_major = (uint16_t)(version >> 16);
    image->desc.version_minor = (uint16_t)version;
  } else {
    assert_int_equal(word[0], 'g');
    image->desc.generic_version = (uint8_t)atoi(word + 1);
  }
}

static inline void case_image(image_case *image, const char *line) {
  memset(image, 0, sizeof *image);
  assert_true(strlen(line) < sizeof image->text);
  strcpy(image->text, line);
  image->desc = (kdl_image_desc){.triple = {"", 0}, .arch = {"", 0}, .pairs = image->pairs};
  int number = 0;
  char *state;
  for (char *word = strtok_r(image->text, " ", &state); word;
       word = strtok_r(NULL, " ", &state), ++number) {
    if (number == 0)
      image->desc.kind = case_kind(word);
    else if (number == 1)
      image->desc.arch = strcmp(word, "-") == 0 ? (kdl_string){"", 0} : kdl_text_of(word);
    else
      case_image_word(image, word);
  }
  kdl_image_compile(&image->desc, &image->rule);
}

static inline kdl_target_family case_family(const char *backend, const char *arch) {
  static const struct {
    const char *backend;
    kdl_target_family family;
  } backends[] = {{"cuda", KDL_FAMILY_NVPTX},
                  {"hip", KDL_FAMILY_AMDGCN},
                  {"level_zero", KDL_FAMILY_INTEL},
                  {"opencl", KDL_FAMILY_SPIRV}};
  for (size_t i = 0; i < sizeof backends / sizeof *backends; ++i) {
    if (strcmp(backend, backends[i].backend) == 0)
      return backends[i].family;
  }
  assert_string_equal(backend, "host");
  return strncmp(arch, "arm", 3) == 0 || strncmp(arch, "neo", 3) == 0 ||
                 strncmp(arch, "a64fx", 5) == 0
             ? KDL_FAMILY_AARCH64
             : KDL_FAMILY_X86_64;
}

static inline void case_device_word(kdl_device_desc *desc, const char *word) {
  const char *value;
  if ((value = case_value(word, "driver")))
    desc->driver = case_version(value);
  else if ((value = case_value(word, "spirv")))
    desc->spirv = case_version(value);
  else if ((value = case_value(word, "ptx")))
    desc->ptx = case_version(value);
  else if ((value = case_value(word, "features")))
    desc->features = kdl_text_of(value);
  else if ((value = case_value(word, "off")))
    desc->os_off = kdl_text_of(value);
  else if ((value = case_value(word, "refused")))
    desc->refused = kdl_text_of(value);
  else if ((value = case_value(word, "loads")))
    desc->loads |= 1u << case_kind(value);
  else
    fail_msg("no such attribute: %s", word);
}

/* False where the description is refused, with the message in `out_error`. */
static inline bool case_device_try(device_case *device, const char *line,
                                   kdl_device_error *out_error) {
  memset(device, 0, sizeof *device);
  assert_true(strlen(line) < sizeof device->text);
  strcpy(device->text, line);
  device->desc = (kdl_device_desc){
      .arch = {"", 0}, .features = {"", 0}, .os_off = {"", 0}, .refused = {"", 0}};
  char *state;
  const char *backend = strtok_r(device->text, " ", &state);
  const char *arch = strtok_r(NULL, " ", &state);
  assert_non_null(arch);
  device->desc.family = case_family(backend, arch);
  device->desc.arch = kdl_text_of(arch);
  for (char *word = strtok_r(NULL, " ", &state); word; word = strtok_r(NULL, " ", &state))
    case_device_word(&device->desc, word);
  return kdl_device_compile(&device->desc, &device->rule, out_error);
}

static inline void case_device(device_case *device, const char *line) {
  kdl_device_error error;
  if (!case_device_try(device, line, &error))
    fail_msg("%s: %s: position %zu: expected %s", line, error.field, error.parse.position,
             error.parse.expected);
}

/* "runs", or the codes of the reasons joined by '+'. */
static inline const char *case_codes(uint64_t reasons, char *buffer, size_t size) {
  kdl_out out = {buffer, size, 0};
  buffer[0] = '\0';
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (reasons >> bit & 1)
      kdl_out_format(&out, "%s%s", out.used ? "+" : "", kdl_reasons[bit].code);
  }
  return out.used ? buffer : "runs";
}

static inline const char *case_match(const image_case *image, const device_case *device,
                                     char *buffer, size_t size) {
  kdl_match_result result = kdl_match(&image->rule, &device->rule);
  assert_true((result.reasons == 0) == (result.rank != 0));
  return case_codes(result.reasons, buffer, size);
}

static inline const char *case_words(const image_case *image, const device_case *device,
                                     unsigned reason, char *buffer, size_t size) {
  kdl_mismatch mismatch = {&image->desc, &image->rule, &device->desc, &device->rule};
  size_t length = kdl_reason_words(&mismatch, reason, buffer, size);
  assert_int_equal(length, strlen(buffer));
  return buffer;
}

static inline const char *case_fix(const image_case *image, const device_case *device,
                                   unsigned reason, char *buffer, size_t size) {
  kdl_mismatch mismatch = {&image->desc, &image->rule, &device->desc, &device->rule};
  size_t length = kdl_reason_fix(&mismatch, reason, buffer, size);
  assert_int_equal(length, strlen(buffer));
  return buffer;
}

/* The best of `count` images on a device, or -1: what a selector without priorities would take. */
static inline int case_best(const char *const *lines, int count, const char *device_line) {
  static device_case device;
  static image_case image;
  case_device(&device, device_line);
  int best = -1;
  uint64_t best_rank = 0;
  for (int i = 0; i < count; ++i) {
    case_image(&image, lines[i]);
    uint64_t rank = kdl_match(&image.rule, &device.rule).rank;
    if (rank > best_rank) {
      best = i;
      best_rank = rank;
    }
  }
  return best;
}

#endif
