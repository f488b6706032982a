/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What would make an image run. */
#include "lib/target/explain/explain.h"
#include "lib/target/families/cpu.h"
#include "lib/target/families/gpu.h"
#include "lib/target/requirements.h"

typedef const kdl_mismatch *mismatch_ref;

static void fix_xnack(mismatch_ref m, kdl_out *out) {
  bool built_on = kdl_feature_has(m->image_rule->needs, KDL_NEED_XNACK_ON);
  kdl_out_format(out, "rebuild without xnack or run with HSA_XNACK=%d", built_on);
}

static void fix_ptx_isa(mismatch_ref m, kdl_out *out) {
  uint32_t cuda = kdl_nvptx_cuda_of_ptx(kdl_mismatch_ptx(m));
  if (!cuda)
    return;
  kdl_out_format(out, "update the driver to CUDA ");
  kdl_out_version(out, cuda);
  kdl_out_format(out, " or build the PTX with an older toolkit");
}

static void fix_tile_ir(mismatch_ref m, kdl_out *out) {
  uint32_t cuda = kdl_mismatch_tile_ir(m);
  if (!cuda)
    return;
  kdl_out_format(out, "update the driver to CUDA ");
  kdl_out_version(out, cuda);
}

/* Suggests what runs on the device: a cubin for it, or plain PTX. */
static void fix_nvptx(mismatch_ref m, kdl_out *out) {
  uint32_t arch = m->device_rule->arch;
  unsigned number = (arch >> 8 & 0xff) * 10 + (arch & 0xff);
  kdl_out_format(out, "add a cubin for sm_%u or plain PTX for compute_%u or earlier", number,
                 number);
}

static void fix_tegra(mismatch_ref m, kdl_out *out) {
  uint32_t arch = m->device_rule->arch;
  uint32_t since = kdl_nvptx_desktop_driver(arch & 0xffff);
  fix_nvptx(m, out);
  if (since && arch >= m->image_rule->arch_lo) {
    kdl_out_format(out, ", or update the driver to CUDA ");
    kdl_out_version(out, since);
  }
}

static void fix_amdgcn(mismatch_ref m, kdl_out *out) {
  kdl_amdgcn_id device;
  if (!kdl_amdgcn_parse(m->device->arch, &device, NULL))
    return;
  const kdl_amdgcn_processor *generic = kdl_amdgcn_generic(device.processor->generic);
  kdl_out_format(out, "add an image for %s", device.processor->name);
  kdl_out_format(out, generic ? ", %s or amdgcnspirv" : " or amdgcnspirv",
                 generic ? generic->name : "");
}

static void fix_arch(mismatch_ref m, kdl_out *out) {
  if (m->device->family == KDL_FAMILY_AMDGCN && m->image_rule->family == KDL_FAMILY_AMDGCN)
    fix_amdgcn(m, out);
}

static void fix_ip(mismatch_ref m, kdl_out *out) {
  kdl_out_format(out, "add SPIR-V or native code for ");
  kdl_out_printable(out, m->device->arch);
}

static void fix_tokens(mismatch_ref m, kdl_out *out) {
  bool is_cpu_image = kdl_missing_class(m->image_rule, m->device_rule) != KDL_CLASS_GPU;
  if (m->device->family == KDL_FAMILY_X86_64 && is_cpu_image) {
    kdl_feature_set has = {{~m->device_rule->lacks.word[0], ~m->device_rule->lacks.word[1]}};
    unsigned level = kdl_x86_level(has);
    kdl_out_format(
        out, level > 1 ? "add an image for x86-64-v%u or below" : "add an image for x86-64", level);
    return;
  }
  kdl_out_format(out, "add an image that does without ");
  kdl_out_features(out, kdl_missing_class(m->image_rule, m->device_rule),
                   kdl_mismatch_tokens(m, KDL_MISSING_LACKS));
}

/* Only libkdl translates SPIR-V, and only where the device's spec has llvm-spirv. */
static void fix_vendor(mismatch_ref m, kdl_out *out) {
  if (kdl_match_would_translate(m->image_rule, m->device_rule))
    kdl_out_format(out,
                   "load it by libkdl on a machine with llvm-spirv, which translates it; a device "
                   "is described with it by tools=kdl-ld+llvm-spirv");
}

/* A driver of OpenCL that takes sources alone: kdl-ld makes nothing for it. */
static void fix_kind(mismatch_ref m, kdl_out *out) {
  if (m->image_rule->kind == KDL_IMAGE_BITCODE && m->device_rule->family == KDL_FAMILY_SPIRV &&
      !m->device_rule->spirv &&
      !kdl_feature_has(m->device_rule->lacks, kdl_need_kind(KDL_IMAGE_CL)))
    kdl_out_format(out,
                   "add OpenCL C, as by kdl cc --targets=opencl-c: the driver takes no SPIR-V, "
                   "which kdl-ld would make");
}

static void (*const fixes[KDL_REASON_COUNT])(mismatch_ref, kdl_out *) = {
    [KDL_REASON_WRONG_VENDOR] = fix_vendor,       [KDL_REASON_WRONG_ARCH] = fix_arch,
    [KDL_REASON_OTHER_MAJOR] = fix_nvptx,         [KDL_REASON_NEWER_MINOR] = fix_nvptx,
    [KDL_REASON_ARCH_SPECIFIC_EXACT] = fix_nvptx, [KDL_REASON_FAMILY_MISMATCH] = fix_nvptx,
    [KDL_REASON_TEGRA_EXACT] = fix_tegra,         [KDL_REASON_PTX_TOO_NEW_ARCH] = fix_nvptx,
    [KDL_REASON_PTX_ISA_UNKNOWN] = fix_ptx_isa,   [KDL_REASON_TILE_IR_UNKNOWN] = fix_tile_ir,
    [KDL_REASON_NOT_IN_GENERIC] = fix_amdgcn,     [KDL_REASON_GENERIC_VERSION_OLD] = fix_amdgcn,
    [KDL_REASON_XNACK_MISMATCH] = fix_xnack,      [KDL_REASON_IP_VERSION] = fix_ip,
    [KDL_REASON_MISSING_FEATURES] = fix_tokens,   [KDL_REASON_KIND_NOT_LOADABLE] = fix_kind,
};

size_t kdl_reason_fix(const kdl_mismatch *mismatch, unsigned reason, char *buffer, size_t size) {
  const char *plain = reason < KDL_REASON_COUNT ? kdl_reasons[reason].fix : "";
  return kdl_reason_write(mismatch, reason < KDL_REASON_COUNT ? fixes[reason] : NULL, plain, buffer,
                          size);
}
