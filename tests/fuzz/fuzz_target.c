/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Names of architectures and descriptions of devices. The input is lines: the image's kind and
 * versions as characters, its triple, its arch, then the device's family as a character, its arch,
 * features, what the system has off and what it refused.
 */
#include "lib/inspect/targets.h"
#include "lib/target/explain/explain.h"
#include "lib/target/families/cpu.h"
#include "lib/target/families/gpu.h"

#include <stdlib.h>

static kdl_string next_line(const uint8_t *data, size_t size, size_t *at) {
  if (*at > size)
    return (kdl_string){"", 0};
  size_t start = *at;
  size_t end = start;
  while (end < size && data[end] != '\n')
    ++end;
  *at = end + 1;
  return (kdl_string){(const char *)data + start, end - start};
}

static uint8_t character(kdl_string line, size_t index) {
  return index < line.length ? (uint8_t)line.data[index] : 0;
}

static void require(bool held) {
  if (!held)
    abort();
}

static void check_error(kdl_string text, kdl_parse_error error) {
  require(error.position <= text.length && error.expected);
}

/* Whatever is read can be written, and read again as the same. */
static void round_trips(kdl_string arch) {
  char buffer[2048];
  kdl_out out = {buffer, sizeof buffer, 0};
  kdl_parse_error error;
  kdl_feature_set set;
  kdl_feature_set again;
  kdl_amdgcn_id id;
  kdl_amdgcn_id same;
  if (kdl_x86_parse(arch, &set, &error)) {
    kdl_out_x86(&out, set);
    require(kdl_x86_parse((kdl_string){buffer, out.used}, &again, NULL));
    require(set.word[0] == again.word[0] && set.word[1] == again.word[1]);
  } else {
    check_error(arch, error);
  }
  out.used = 0;
  if (kdl_aarch64_parse(arch, &set, &error)) {
    kdl_out_aarch64(&out, set);
    require(kdl_aarch64_parse((kdl_string){buffer, out.used}, &again, NULL));
    require(set.word[0] == again.word[0] && set.word[1] == again.word[1]);
  } else {
    check_error(arch, error);
  }
  out.used = 0;
  if (kdl_amdgcn_parse(arch, &id, &error)) {
    kdl_out_amdgcn(&out, &id);
    require(kdl_amdgcn_parse((kdl_string){buffer, out.used}, &same, NULL));
    require(id.processor == same.processor && id.xnack == same.xnack && id.sramecc == same.sramecc);
  } else {
    check_error(arch, error);
  }
}

static void names(kdl_string arch) {
  kdl_parse_error error;
  kdl_nvptx_arch nvptx;
  kdl_intel_ip ip;
  const kdl_amdgcn_processor *processor;
  if (kdl_nvptx_parse(arch, &nvptx, &error))
    require(nvptx.major > 0 && nvptx.minor < 10);
  else
    check_error(arch, error);
  if (kdl_intel_parse(arch, &ip, &error))
    require(ip.revision < 64);
  else
    check_error(arch, error);
  if (!kdl_amdgcn_parse_min(arch, &processor, &error))
    check_error(arch, error);
}

static void explain(const kdl_mismatch *mismatch, uint64_t reasons) {
  char buffer[96]; /* shorter than some: cutting is part of it */
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (!(reasons >> bit & 1))
      continue;
    require(bit < KDL_REASON_COUNT);
    size_t length = kdl_reason_words(mismatch, bit, buffer, sizeof buffer);
    require(length > 0 && length < sizeof buffer && buffer[length] == '\0');
    length = kdl_reason_fix(mismatch, bit, buffer, sizeof buffer);
    require(length < sizeof buffer && buffer[length] == '\0');
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t at = 0;
  kdl_string head = next_line(data, size, &at);
  kdl_image_desc image = {.kind = (kdl_image_kind)(character(head, 0) % (KDL_IMAGE_CL + 1)),
                          .version_major = character(head, 1) & 15,
                          .version_minor = character(head, 2) & 15,
                          .generic_version = character(head, 3) & 15};
  image.triple = next_line(data, size, &at);
  image.arch = next_line(data, size, &at);
  kdl_image_rule image_rule;
  kdl_image_compile(&image, &image_rule);
  require(image_rule.rank > 0 && image_rule.rank >> 53 == 0);
  names(image.arch);
  round_trips(image.arch);

  head = next_line(data, size, &at);
  kdl_device_desc device = {.family = (kdl_target_family)(character(head, 0) % KDL_FAMILY_COUNT),
                            .driver =
                                KDL_VERSION_OF(character(head, 1) & 15, character(head, 2) & 15),
                            .ptx = character(head, 3) & 1 ? KDL_VERSION_OF(8, 4) : 0,
                            .spirv = character(head, 4) & 1 ? KDL_VERSION_OF(1, 2) : 0,
                            .loads = character(head, 5)};
  device.arch = next_line(data, size, &at);
  device.features = next_line(data, size, &at);
  device.os_off = next_line(data, size, &at);
  device.refused = next_line(data, size, &at);
  kdl_device_rule device_rule;
  kdl_device_error error;
  if (!kdl_device_compile(&device, &device_rule, &error)) {
    check_error(error.text, error.parse);
    return 0;
  }
  kdl_match_result result = kdl_match(&image_rule, &device_rule);
  require((result.reasons == 0) == (result.rank != 0));
  explain(&(kdl_mismatch){&image, &image_rule, &device, &device_rule}, result.reasons);
  return 0;
}
