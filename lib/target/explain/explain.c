/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/target/explain/explain.h"

#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "lib/target/families/gpu.h"
#include "lib/target/features/feature.h"
#include "lib/target/requirements.h"
#include "lib/target/rules/metadata.h"

typedef const kdl_mismatch *mismatch_ref;

static void print_image_arch(mismatch_ref m, kdl_out *out) {
  char room[KDL_TEXT_SHORT + 1];
  kdl_out_printable(out, kdl_text_short(m->image->arch, room));
}

static void print_built_for(mismatch_ref m, kdl_out *out) {
  kdl_out_format(out, "built for ");
  print_image_arch(m, out);
}

static void print_capability(kdl_out *out, uint32_t arch) {
  kdl_out_format(out, "%u.%u", arch >> 8 & 0xff, arch & 0xff);
}

/* For a CPU the base alone: its further features may fill lines. */
static void print_device_arch(mismatch_ref m, kdl_out *out) {
  kdl_string arch = m->device->arch;
  if (kdl_families[m->device->family].features != KDL_CLASS_GPU)
    arch.length = kdl_text_find(arch, 0, "+");
  kdl_out_printable(out, arch);
}

static void print_mismatch_device(mismatch_ref m, kdl_out *out) {
  const kdl_device_desc *device = m->device;
  kdl_amdgcn_id id;
  kdl_out_format(out, "; the device is ");
  if (device->family == KDL_FAMILY_NVPTX)
    print_capability(out, m->device_rule->arch);
  else if (device->family == KDL_FAMILY_AMDGCN && kdl_amdgcn_parse(device->arch, &id, NULL))
    kdl_out_format(out, "%s", id.processor->name);
  else if (device->family != KDL_FAMILY_INTEL || !kdl_out_intel(out, device->arch))
    print_device_arch(m, out);
}

/* ------------------------------------------------------------------------------------------ */
/* What an image is                                                                             */

static void words_container(mismatch_ref m, kdl_out *out) {
  kdl_out_format(out, "it is a container (%s); the images in it are listed on their own",
                 kdl_image_kind_name(m->image->kind));
}

static void words_unknown_arch(mismatch_ref m, kdl_out *out) {
  kdl_string arch = m->image->arch;
  kdl_parse_error error = {0, ""};
  kdl_nvptx_arch nvptx;
  kdl_amdgcn_id amdgcn;
  kdl_intel_ip intel;
  kdl_feature_set set;
  switch ((kdl_target_family)m->image_rule->family) {
  case KDL_FAMILY_NVPTX:
    kdl_nvptx_parse(arch, &nvptx, &error);
    break;
  case KDL_FAMILY_AMDGCN:
    kdl_amdgcn_parse(arch, &amdgcn, &error);
    break;
  case KDL_FAMILY_INTEL:
    kdl_intel_parse(arch, &intel, &error);
    break;
  case KDL_FAMILY_X86_64:
  case KDL_FAMILY_AARCH64:
  case KDL_FAMILY_RISCV:
    kdl_cpu_parse(kdl_families[m->image_rule->family].features, arch, &set, &error);
    break;
  default:
    kdl_out_format(out, "no target is known for the triple ");
    kdl_out_quoted(out, m->image->triple);
    kdl_out_format(out, " and the arch ");
    kdl_out_quoted(out, arch);
    return;
  }
  kdl_out_format(out, "arch ");
  kdl_out_quoted(out, arch);
  kdl_out_format(out, ", ");
  kdl_out_parse_error(out, arch, error);
}

static void words_unknown_kind(mismatch_ref m, kdl_out *out) {
  kdl_out_format(out, "its kind, ");
  for (size_t i = 0; i < m->image->pair_count; ++i) {
    if (kdl_text_is(m->image->pairs[i].key, "kdl.kind")) {
      kdl_out_quoted(out, m->image->pairs[i].value);
      kdl_out_format(out, ", is not known");
      return;
    }
  }
  kdl_out_format(out, "0x%x, is not known", m->image->kind_number);
}

static void words_kind_mismatch(mismatch_ref m, kdl_out *out) {
  kdl_out_format(out, "the image is %s, which contradicts its %s ",
                 kdl_image_kind_name((kdl_image_kind)m->image_rule->kind),
                 m->image->triple.length ? "triple" : "arch");
  kdl_out_quoted(out, m->image->triple.length ? m->image->triple : m->image->arch);
}

static kdl_metadata metadata_of(mismatch_ref m) {
  kdl_metadata metadata;
  kdl_metadata_read(m->image->pairs, m->image->pair_count,
                    kdl_families[m->image_rule->family].features, &metadata);
  return metadata;
}

static void words_malformed_key(mismatch_ref m, kdl_out *out) {
  kdl_metadata metadata = metadata_of(m);
  const char *join = "";
  for (int key = 0; key < KDL_KEY_COUNT; ++key) {
    kdl_parse_error error;
    if (!(metadata.malformed & 1u << key) || !kdl_keys[key].must_check)
      continue;
    kdl_metadata_check((kdl_key)key, metadata.value[key], &error);
    kdl_out_format(out, "%s%s=", join, kdl_keys[key].name.data);
    kdl_out_quoted(out, metadata.value[key]);
    kdl_out_format(out, ", ");
    kdl_out_parse_error(out, metadata.value[key], error);
    join = "; ";
  }
}

static void words_unknown_feature(mismatch_ref m, kdl_out *out) {
  kdl_metadata metadata = metadata_of(m);
  kdl_target_family family = (kdl_target_family)m->image_rule->family;
  kdl_string list = metadata.value[KDL_KEY_REQUIRES_FEATURES];
  const char *key = kdl_keys[KDL_KEY_REQUIRES_FEATURES].name.data;
  for (size_t i = 0; i < m->image->pair_count && !metadata.requires_unknown; ++i) {
    if (kdl_text_is(m->image->pairs[i].key, KDL_NEEDS_KEY)) {
      key = KDL_NEEDS_KEY;
      list = m->image->pairs[i].value;
    }
  }
  kdl_string token = kdl_metadata_unknown_token(list, kdl_families[family].features);
  kdl_out_format(out, "%s names ", key);
  kdl_out_quoted(out, token);
  if (token.data && kdl_feature_is_known(token))
    kdl_out_format(out, ", which means nothing on this target (%s)", kdl_families[family].name);
  else
    kdl_out_format(out, ", which is no token this version knows");
}

/* ------------------------------------------------------------------------------------------ */
/* Whose it is                                                                                  */

static void words_other_family(mismatch_ref m, kdl_out *out) {
  kdl_target_family family = (kdl_target_family)m->image_rule->family;
  kdl_out_format(out, "built for %ss", kdl_families[family].name);
  if (m->image->arch.length) {
    kdl_out_format(out, " (");
    print_image_arch(m, out);
    kdl_out_format(out, ")");
  }
  kdl_out_format(out, "; the device is %s %s (", m->device->family == KDL_FAMILY_SPIRV ? "a" : "an",
                 kdl_families[m->device->family].name);
  print_device_arch(m, out);
  kdl_out_format(out, ")");
  if (m->image_rule->kind == KDL_IMAGE_PTX)
    kdl_out_format(out, "; PTX is not translated");
}

static void words_wrong_arch(mismatch_ref m, kdl_out *out) {
  if (m->image_rule->family != m->device_rule->family) {
    words_other_family(m, out);
    return;
  }
  print_built_for(m, out);
  print_mismatch_device(m, out);
}

/* ------------------------------------------------------------------------------------------ */
/* NVIDIA                                                                                       */

static void words_other_major(mismatch_ref m, kdl_out *out) {
  print_built_for(m, out);
  kdl_out_format(out, "; a cubin runs on compute capability %u.x only",
                 m->image_rule->arch_lo >> 8 & 0xff);
  print_mismatch_device(m, out);
}

static void words_newer_minor(mismatch_ref m, kdl_out *out) {
  print_built_for(m, out);
  kdl_out_format(out, "; runs on compute capability ");
  print_capability(out, m->image_rule->arch_lo);
  kdl_out_format(out, " and later %u.x only", m->image_rule->arch_lo >> 8 & 0xff);
  print_mismatch_device(m, out);
}

static void words_family(mismatch_ref m, kdl_out *out) {
  print_built_for(m, out);
  kdl_out_format(out, "; runs in its family only, compute capability %u.x from ",
                 m->image_rule->arch_lo >> 8 & 0xff);
  print_capability(out, m->image_rule->arch_lo);
  kdl_out_format(out, " on");
  print_mismatch_device(m, out);
}

static void words_arch_specific(mismatch_ref m, kdl_out *out) {
  print_built_for(m, out);
  kdl_out_format(out, "; runs on compute capability ");
  print_capability(out, m->image_rule->arch_lo);
  kdl_out_format(out, " only");
  print_mismatch_device(m, out);
}

static void words_tegra(mismatch_ref m, kdl_out *out) {
  print_built_for(m, out);
  if (m->image_rule->arch_lo == m->image_rule->arch_hi) {
    kdl_out_format(out, ", a Tegra part, whose cubins run nowhere else");
    print_mismatch_device(m, out);
    return;
  }
  print_mismatch_device(m, out);
  kdl_out_format(out, ", a Tegra part, which runs cubins built for it only");
  if (kdl_nvptx_desktop_driver(m->device_rule->arch & 0xffff)) {
    kdl_out_format(out, " before CUDA ");
    kdl_out_version(out, kdl_nvptx_desktop_driver(m->device_rule->arch & 0xffff));
  }
}

static void words_ptx_arch(mismatch_ref m, kdl_out *out) {
  print_built_for(m, out);
  kdl_out_format(out, "; runs on compute capability ");
  print_capability(out, m->image_rule->arch_lo);
  kdl_out_format(out, " and later");
  print_mismatch_device(m, out);
}

static void words_ptx_isa(mismatch_ref m, kdl_out *out) {
  uint32_t cuda = kdl_nvptx_cuda_of_ptx(kdl_mismatch_ptx(m));
  kdl_out_format(out, "PTX ISA ");
  kdl_out_version(out, kdl_mismatch_ptx(m));
  if (cuda) {
    kdl_out_format(out, " needs a driver of CUDA ");
    kdl_out_version(out, cuda);
    kdl_out_format(out, " or later");
  }
  kdl_out_format(out, "; the driver");
  if (m->device_rule->driver) {
    kdl_out_format(out, ", of CUDA ");
    kdl_out_version(out, m->device_rule->driver);
    kdl_out_format(out, ",");
  }
  kdl_out_format(out, " knows PTX ISA up to ");
  kdl_out_version(out, m->device_rule->ptx);
}

static void words_tile_ir(mismatch_ref m, kdl_out *out) {
  uint32_t since = kdl_mismatch_tile_ir(m);
  kdl_out_format(out, "Tile IR ");
  kdl_out_version(out, KDL_VERSION_OF(m->image->version_major, m->image->version_minor));
  if (!since) {
    kdl_out_format(out, " is compiled for compute capability 8.0 and later");
    print_mismatch_device(m, out);
    return;
  }
  kdl_out_format(out, " needs a driver of CUDA ");
  kdl_out_version(out, since);
  kdl_out_format(out, " or later for compute capability ");
  print_capability(out, m->device_rule->arch);
  kdl_out_format(out, "; the driver is of CUDA ");
  kdl_out_version(out, m->device_rule->driver);
}

static void words_min_sm(mismatch_ref m, kdl_out *out) {
  kdl_out_format(out, "min_sm=");
  kdl_out_printable(out, metadata_of(m).value[KDL_KEY_MIN_SM]);
  kdl_out_format(out, " asks for compute capability ");
  print_capability(out, m->image_rule->min_lo);
  kdl_out_format(out, " or later");
  print_mismatch_device(m, out);
}

/* ------------------------------------------------------------------------------------------ */
/* AMD                                                                                          */

static void words_not_in_generic(mismatch_ref m, kdl_out *out) {
  kdl_amdgcn_id image;
  kdl_amdgcn_id device;
  if (!kdl_amdgcn_parse(m->image->arch, &image, NULL) ||
      !kdl_amdgcn_parse(m->device->arch, &device, NULL))
    return;
  kdl_out_format(out, "built for %s, which covers", image.processor->name);
  const kdl_amdgcn_processor *row;
  for (size_t i = 0; (row = kdl_amdgcn_at(i)) && !kdl_amdgcn_is_generic(row); ++i) {
    if (row->generic == image.processor->generic)
      kdl_out_format(out, " %s", row->name);
  }
  print_mismatch_device(m, out);
  const kdl_amdgcn_processor *generic = kdl_amdgcn_generic(device.processor->generic);
  kdl_out_format(out, ", which belongs to %s", generic ? generic->name : "no generic processor");
}

static void words_generic_version(mismatch_ref m, kdl_out *out) {
  kdl_amdgcn_id device;
  if (!kdl_amdgcn_parse(m->device->arch, &device, NULL))
    return;
  print_built_for(m, out);
  kdl_out_format(out, " version %u; %s needs version %u or later",
                 m->image->generic_version ? m->image->generic_version : 1u, device.processor->name,
                 device.processor->generic_version);
}

static void words_code_object(mismatch_ref m, kdl_out *out) {
  print_built_for(m, out);
  kdl_out_format(out, ", which needs code object version 6; the image has version %u",
                 m->image->version_major);
}

static void words_setting(mismatch_ref m, kdl_out *out, const char *name, unsigned device_on) {
  bool on = !kdl_feature_has(m->device_rule->lacks, device_on);
  kdl_out_format(out, "needs %s%c; ", name, on ? '+' : '-');
  print_built_for(m, out);
}

static void words_xnack(mismatch_ref m, kdl_out *out) {
  words_setting(m, out, "xnack", KDL_NEED_XNACK_ON);
}

static void words_sramecc(mismatch_ref m, kdl_out *out) {
  words_setting(m, out, "sramecc", KDL_NEED_SRAMECC_ON);
}

static void words_driver(mismatch_ref m, kdl_out *out) {
  kdl_out_format(out, "%s needs ROCm 6.4 or later; the driver is of ROCm ",
                 m->image_rule->form == KDL_FORM_AMDGCNSPIRV ? "amdgcnspirv"
                                                             : "a generic processor");
  kdl_out_version(out, m->device_rule->driver);
}

static void words_min_gfx(mismatch_ref m, kdl_out *out) {
  kdl_amdgcn_id device;
  kdl_out_format(out, "min_gfx=");
  kdl_out_printable(out, metadata_of(m).value[KDL_KEY_MIN_GFX]);
  print_mismatch_device(m, out);
  if (kdl_amdgcn_parse(m->device->arch, &device, NULL) && device.processor->line[0]) {
    kdl_out_format(out, ":%s", device.processor->line);
    if (device.processor->generation)
      kdl_out_format(out, "%u", device.processor->generation);
  }
}

static void words_min_gfx_family(mismatch_ref m, kdl_out *out) {
  words_min_gfx(m, out);
  kdl_out_format(out, ", of another family");
}

/* ------------------------------------------------------------------------------------------ */
/* SPIR-V, Intel, and what any device may lack                                                   */

static void words_ip(mismatch_ref m, kdl_out *out) {
  kdl_out_format(out, "built for IP version ");
  kdl_out_intel(out, m->image->arch);
  print_mismatch_device(m, out);
}

static void words_spirv_version(mismatch_ref m, kdl_out *out) {
  kdl_out_format(out, "SPIR-V");
  if (m->image->version_major)
    kdl_out_format(out, " %u.%u", m->image->version_major, m->image->version_minor);
  if (m->device_rule->spirv) {
    kdl_out_format(out, "; the driver takes SPIR-V up to ");
    kdl_out_version(out, m->device_rule->spirv);
  } else {
    kdl_out_format(out, "; the driver takes no SPIR-V");
  }
}

static void words_spirv_environment(mismatch_ref m, kdl_out *out) {
  kdl_feature_set needs = m->image_rule->needs;
  if (kdl_feature_has(needs, KDL_NEED_SHADER))
    kdl_out_format(out, "it is a shader for a graphics interface; the driver runs kernels");
  else
    kdl_out_format(out, "it has %d-bit addresses; the device is ",
                   kdl_feature_has(needs, KDL_NEED_ADDRESS_32) ? 32 : 64);
  if (!kdl_feature_has(needs, KDL_NEED_SHADER))
    kdl_out_printable(out, m->device->arch);
}

static void words_kind(mismatch_ref m, kdl_out *out) {
  const char *join = "";
  kdl_out_format(out, "the image is %s; the device's driver loads ",
                 kdl_image_kind_name((kdl_image_kind)m->image_rule->kind));
  for (unsigned kind = 1; kind < KDL_IMAGE_KIND_COUNT; ++kind) {
    if (kind != KDL_IMAGE_BITCODE && /* no driver loads it */
        (kind != KDL_IMAGE_SPIRV || m->device_rule->spirv) &&
        !kdl_feature_has(m->device_rule->lacks, kdl_need_kind((kdl_image_kind)kind))) {
      kdl_out_format(out, "%s%s", join, kdl_image_kind_name((kdl_image_kind)kind));
      join = ", ";
    }
  }
  if (!*join)
    kdl_out_format(out, "none");
}

/* Prints only the first few: a CPU's name may imply fifty. */
static void needs_tokens(mismatch_ref m, kdl_out *out, kdl_missing why) {
  enum { shown = 8 };
  kdl_feature_set all = kdl_mismatch_tokens(m, why);
  kdl_feature_set first = {{0, 0}};
  unsigned count = 0;
  for (unsigned bit = 0; bit < 128; ++bit) {
    if (kdl_feature_has(all, bit) && count++ < shown)
      kdl_feature_add(&first, bit);
  }
  kdl_out_format(out, "needs ");
  kdl_out_features(out, kdl_missing_class(m->image_rule, m->device_rule), first);
  if (count > shown)
    kdl_out_format(out, " and %u more", count - shown);
}

static bool is_host_image(mismatch_ref m) {
  return kdl_families[m->device->family].features != KDL_CLASS_GPU;
}

static void words_missing(mismatch_ref m, kdl_out *out) {
  if (is_host_image(m) && m->image->arch.length) {
    print_built_for(m, out);
    kdl_out_format(out, "; ");
  }
  needs_tokens(m, out, KDL_MISSING_LACKS);
  kdl_out_format(out, ", which the device lacks");
}

static void words_os_disabled(mismatch_ref m, kdl_out *out) {
  needs_tokens(m, out, KDL_MISSING_OFF);
  kdl_out_format(out, ", which the CPU has and the operating system does not enable");
}

static void words_amx(mismatch_ref m, kdl_out *out) {
  needs_tokens(m, out, KDL_MISSING_REFUSED);
  kdl_out_format(out, "; the kernel refused permission (arch_prctl ARCH_REQ_XCOMP_PERM)");
}

static void (*const words[KDL_REASON_COUNT])(mismatch_ref, kdl_out *) = {
    [KDL_REASON_CONTAINER] = words_container,
    [KDL_REASON_UNKNOWN_ARCH] = words_unknown_arch,
    [KDL_REASON_UNKNOWN_KIND] = words_unknown_kind,
    [KDL_REASON_KIND_MISMATCH] = words_kind_mismatch,
    [KDL_REASON_MALFORMED_KEY] = words_malformed_key,
    [KDL_REASON_UNKNOWN_FEATURE] = words_unknown_feature,
    [KDL_REASON_WRONG_VENDOR] = words_other_family,
    [KDL_REASON_WRONG_ARCH] = words_wrong_arch,
    [KDL_REASON_OTHER_MAJOR] = words_other_major,
    [KDL_REASON_NEWER_MINOR] = words_newer_minor,
    [KDL_REASON_ARCH_SPECIFIC_EXACT] = words_arch_specific,
    [KDL_REASON_FAMILY_MISMATCH] = words_family,
    [KDL_REASON_TEGRA_EXACT] = words_tegra,
    [KDL_REASON_PTX_TOO_NEW_ARCH] = words_ptx_arch,
    [KDL_REASON_PTX_ISA_UNKNOWN] = words_ptx_isa,
    [KDL_REASON_TILE_IR_UNKNOWN] = words_tile_ir,
    [KDL_REASON_NOT_IN_GENERIC] = words_not_in_generic,
    [KDL_REASON_GENERIC_VERSION_OLD] = words_generic_version,
    [KDL_REASON_CODE_OBJECT_VERSION] = words_code_object,
    [KDL_REASON_XNACK_MISMATCH] = words_xnack,
    [KDL_REASON_SRAMECC_MISMATCH] = words_sramecc,
    [KDL_REASON_DRIVER_TOO_OLD] = words_driver,
    [KDL_REASON_IP_VERSION] = words_ip,
    [KDL_REASON_SPIRV_VERSION] = words_spirv_version,
    [KDL_REASON_SPIRV_ENVIRONMENT] = words_spirv_environment,
    [KDL_REASON_KIND_NOT_LOADABLE] = words_kind,
    [KDL_REASON_MIN_SM] = words_min_sm,
    [KDL_REASON_MIN_GFX_FAMILY] = words_min_gfx_family,
    [KDL_REASON_MIN_GFX_OLDER] = words_min_gfx,
    [KDL_REASON_MISSING_FEATURES] = words_missing,
    [KDL_REASON_OS_DISABLED] = words_os_disabled,
    [KDL_REASON_AMX_PERMISSION] = words_amx,
};

size_t kdl_reason_words(const kdl_mismatch *mismatch, unsigned reason, char *buffer, size_t size) {
  const char *plain = reason < KDL_REASON_COUNT ? kdl_reasons[reason].words : "";
  return kdl_reason_write(mismatch, reason < KDL_REASON_COUNT ? words[reason] : NULL, plain, buffer,
                          size);
}

bool kdl_image_fault_words(const kdl_image_desc *image, const kdl_image_rule *rule, char *buffer,
                           size_t size) {
  kdl_device_desc device = {.family = (kdl_target_family)rule->family, .arch = image->arch};
  kdl_device_rule none = {.family = rule->family};
  kdl_mismatch mismatch = {image, rule, &device, &none};
  unsigned bit = 0;
  while (bit < KDL_REASON_COUNT && !(rule->faults >> bit & 1))
    ++bit;
  if (bit == KDL_REASON_COUNT)
    return false;
  kdl_reason_words(&mismatch, bit, buffer, size);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Shared with fixes                                                                            */

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
