/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/target/explain/explain_parts.h"

#include "lib/inspect/targets.h"
#include "lib/target/families/gpu.h"
#include "lib/target/requirements.h"

void kdl_out_printable(kdl_out *out, kdl_string text) {
  for (size_t i = 0; i < text.length && i < 64; ++i)
    kdl_out_format(out, "%c", text.data[i] >= 0x20 && text.data[i] < 0x7f ? text.data[i] : '?');
}

void kdl_out_version(kdl_out *out, uint32_t number) {
  kdl_out_format(out, "%u.%u", number >> 16, number & 0xffff);
}

uint32_t kdl_mismatch_ptx(const kdl_mismatch *m) {
  uint32_t said = KDL_VERSION_OF(m->image->version_major, m->image->version_minor);
  kdl_nvptx_arch arch;
  uint32_t implied = kdl_nvptx_parse(m->image->arch, &arch, NULL) ? kdl_nvptx_first_ptx(&arch) : 0;
  return said > implied ? said : implied;
}

uint32_t kdl_mismatch_tile_ir(const kdl_mismatch *m) {
  uint32_t version = KDL_VERSION_OF(m->image->version_major, m->image->version_minor);
  uint32_t since = kdl_nvptx_tile_ir_driver(m->device_rule->arch & 0xffff);
  return since && since < version ? version : since;
}

kdl_feature_set kdl_mismatch_tokens(const kdl_mismatch *m, kdl_missing why) {
  const kdl_device_rule *device = m->device_rule;
  kdl_feature_set set = kdl_missing_tokens(m->image_rule, device);
  if (why == KDL_MISSING_OFF)
    return kdl_feature_common(set, device->os_off);
  if (why == KDL_MISSING_REFUSED)
    return kdl_feature_common(set, device->refused);
  for (int i = 0; i < 2; ++i)
    set.word[i] &= ~device->os_off.word[i] & ~device->refused.word[i];
  return set;
}

size_t kdl_reason_write(const kdl_mismatch *m, kdl_reason_writer *writer, const char *plain,
                        char *buffer, size_t size) {
  kdl_out out = {buffer, size, 0};
  if (size)
    buffer[0] = '\0';
  if (writer)
    writer(m, &out);
  else
    kdl_out_format(&out, "%s", plain);
  return out.used;
}
