/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Metadata: the input is lines of key=value. The five keys are read and told apart, every value is
 * tried as a kernel's key, and an image with all of them is matched and explained. */
#include "../unit/support/kernel_key_text.h"
#include "lib/target/explain/explain.h"
#include "lib/target/kernel_key.h"
#include "lib/target/rules/metadata.h"

#include <stdlib.h>

static void require(bool held) {
  if (!held)
    abort();
}

static void try_kernel(kdl_string value) {
  kdl_kernel_key key;
  kdl_kernel_key again;
  kdl_parse_error error;
  static char buffer[8192];
  kdl_out out = {buffer, sizeof buffer, 0};
  if (!kdl_kernel_parse(value, &key, &error)) {
    require(error.position <= value.length && error.expected);
    return;
  }
  out_kernel_key(&out, &key);
  if (out.used + 1 == sizeof buffer)
    return; /* cut */
  require(kdl_kernel_parse((kdl_string){buffer, out.used}, &again, NULL));
  require(kdl_kernel_is_variant(&key, &again) && key.present == again.present);
  require(key.shared == again.shared && key.min_memory == again.min_memory);
  static char second[8192];
  kdl_out other = {second, sizeof second, 0};
  out_kernel_key(&other, &again);
  require(kdl_text_equal((kdl_string){buffer, out.used}, (kdl_string){second, other.used}));
  char words[128];
  kdl_device_limits limits = {1024, {1024, 1024, 64}, 49152, 8, 1000};
  kdl_device_rule device = {.family = KDL_FAMILY_NVPTX};
  uint64_t reasons = kdl_kernel_reasons(&key, &device, &limits);
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (reasons >> bit & 1)
      require(kdl_kernel_reason_words(&key, &limits, bit, words, sizeof words) > 0);
  }
}

static void try_value(kdl_pair pair) {
  kdl_parse_error error;
  kdl_string name;
  for (int key = 0; key < KDL_KEY_COUNT; ++key) {
    if (!kdl_metadata_check((kdl_key)key, pair.value, &error))
      require(error.position <= pair.value.length && error.expected);
  }
  if (kdl_kernel_name(pair.key, &name))
    require(name.length + 11 == pair.key.length);
  try_kernel(pair.value);
}

static void try_image(kdl_image_kind kind, const char *arch, kdl_target_family family,
                      const char *device_arch, const kdl_pair *pairs, size_t count) {
  kdl_image_desc image = {.kind = kind,
                          .triple = {"", 0},
                          .arch = kdl_text_of(arch),
                          .pairs = pairs,
                          .pair_count = count};
  kdl_device_desc device = {.family = family,
                            .arch = kdl_text_of(device_arch),
                            .features = {"", 0},
                            .os_off = {"", 0},
                            .refused = {"", 0}};
  kdl_image_rule image_rule;
  kdl_device_rule device_rule;
  char words[256];
  kdl_image_compile(&image, &image_rule);
  require(kdl_device_compile(&device, &device_rule, NULL));
  kdl_match_result result = kdl_match(&image_rule, &device_rule);
  require((result.reasons == 0) == (result.rank != 0));
  kdl_mismatch mismatch = {&image, &image_rule, &device, &device_rule};
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (result.reasons >> bit & 1)
      require(kdl_reason_words(&mismatch, bit, words, sizeof words) > 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { most = 16 };
  kdl_pair pairs[most];
  size_t count = 0;
  const char *text = (const char *)data;
  for (size_t at = 0; at < size && count < most;) {
    size_t end = at;
    while (end < size && text[end] != '\n')
      ++end;
    size_t equals = at;
    while (equals < end && text[equals] != '=')
      ++equals;
    size_t value = equals < end ? equals + 1 : end;
    pairs[count++] = (kdl_pair){{text + at, equals - at}, {text + value, end - value}};
    at = end + 1;
  }
  for (size_t i = 0; i < count; ++i)
    try_value(pairs[i]);
  try_image(KDL_IMAGE_PTX, "sm_75", KDL_FAMILY_NVPTX, "sm_86", pairs, count);
  try_image(KDL_IMAGE_HSACO, "gfx90a", KDL_FAMILY_AMDGCN, "gfx90a", pairs, count);
  try_image(KDL_IMAGE_OBJECT, "x86-64-v3", KDL_FAMILY_X86_64, "x86-64-v3", pairs, count);
  try_image(KDL_IMAGE_OBJECT, "armv8-a", KDL_FAMILY_AARCH64, "neoverse-n1", pairs, count);
  return 0;
}
