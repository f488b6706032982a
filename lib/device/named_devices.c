/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/device/named_devices.h"

#include "lib/inspect/images.h"
#include "lib/target/families/gpu.h"

#include <stdio.h>
#include <string.h>

enum kind {
  NVIDIA,
  SPARK,
  TEGRA,
  GCN,
  GCN_APU,
  CDNA,
  CDNA_APU,
  RDNA,
  RDNA_APU,
  GEN9,
  GEN12,
  DG1,
  XE,
  XE_IGPU,
  PVC,
  XE2,
  XE2_IGPU,
  CPU,
};

static const kdl_named_device devices[] = {
#define KDL_TYPICAL(name, kind, arch, product, memory, units)                                      \
  {name, product, arch, kind, true, memory, units, 0, 0},
#define KDL_NAMED(name, kind, arch, product) {name, product, arch, kind, false, 0, 0, 0, 0},
#define KDL_CPU(name, arch, product, l1d, l2) {name, product, arch, CPU, true, 0, 0, l1d, l2},
#include "lib/device/named_devices.def"
#undef KDL_TYPICAL
#undef KDL_NAMED
#undef KDL_CPU
};
enum { device_count = sizeof devices / sizeof *devices };

#define GPU_TOKENS "int64_atomics+subgroups+generic_pointer+int64"

/* What the devices of a kind share. `opencl` is the platform of the OpenCL driver that the vendor
 * ships with its own. Jetson has none, and CPUs are not assumed to have one. NVIDIA's platform
 * takes PTX, so its arch is that of the device; features follow from it. */
static const struct {
  kdl_backend backend;
  kdl_device_class device_class;
  uint32_t subgroups;
  uint32_t max_block;
  uint32_t shared_k; /* KiB */
  const char *opencl;
  const char *features;
} kinds[] = {
#define NV_CL "NVIDIA CUDA", ""
#define AMD_CL "AMD Accelerated Parallel Processing"
#define INTEL_CL "Intel(R) OpenCL Graphics"
    [NVIDIA] = {KDL_BACKEND_CUDA, KDL_DEVICE_DISCRETE, 32, 1024, 48, NV_CL},
    [SPARK] = {KDL_BACKEND_CUDA, KDL_DEVICE_INTEGRATED, 32, 1024, 48, NV_CL},
    [TEGRA] = {KDL_BACKEND_CUDA, KDL_DEVICE_INTEGRATED, 32, 1024, 48, NULL, NULL},
#define AMD KDL_BACKEND_HIP
    [GCN] = {AMD, KDL_DEVICE_DISCRETE, 64, 1024, 64, AMD_CL, "fp64+images+" GPU_TOKENS},
    [GCN_APU] = {AMD, KDL_DEVICE_INTEGRATED, 64, 1024, 64, AMD_CL, "fp64+images+" GPU_TOKENS},
    [CDNA] = {AMD, KDL_DEVICE_DISCRETE, 64, 1024, 64, AMD_CL, "fp16+fp64+" GPU_TOKENS},
    [CDNA_APU] = {AMD, KDL_DEVICE_INTEGRATED, 64, 1024, 64, AMD_CL, "fp16+fp64+" GPU_TOKENS},
    [RDNA] = {AMD, KDL_DEVICE_DISCRETE, 32 + 64, 1024, 64, AMD_CL, "fp16+fp64+images+" GPU_TOKENS},
    [RDNA_APU] = {AMD, KDL_DEVICE_INTEGRATED, 32 + 64, 1024, 64, AMD_CL,
                  "fp16+fp64+images+" GPU_TOKENS},
#undef AMD
#define ZE KDL_BACKEND_LEVEL_ZERO
    [GEN9] = {ZE, KDL_DEVICE_INTEGRATED, 8 + 16 + 32, 0, 64, INTEL_CL,
              "fp16+fp64+images+" GPU_TOKENS},
    [GEN12] = {ZE, KDL_DEVICE_INTEGRATED, 8 + 16 + 32, 0, 64, INTEL_CL, "fp16+images+" GPU_TOKENS},
    [DG1] = {ZE, KDL_DEVICE_DISCRETE, 8 + 16 + 32, 0, 64, INTEL_CL, "fp16+images+" GPU_TOKENS},
    [XE] = {ZE, KDL_DEVICE_DISCRETE, 8 + 16 + 32, 1024, 64, INTEL_CL, "fp16+images+" GPU_TOKENS},
    [XE_IGPU] = {ZE, KDL_DEVICE_INTEGRATED, 8 + 16 + 32, 1024, 64, INTEL_CL,
                 "fp16+images+" GPU_TOKENS},
    [PVC] = {ZE, KDL_DEVICE_DISCRETE, 16 + 32, 1024, 128, INTEL_CL, "fp16+fp64+" GPU_TOKENS},
    [XE2] = {ZE, KDL_DEVICE_DISCRETE, 16 + 32, 1024, 0, INTEL_CL, "fp16+fp64+images+" GPU_TOKENS},
    [XE2_IGPU] = {ZE, KDL_DEVICE_INTEGRATED, 16 + 32, 1024, 0, INTEL_CL,
                  "fp16+fp64+images+" GPU_TOKENS},
#undef ZE
    [CPU] = {KDL_BACKEND_HOST, KDL_DEVICE_CPU, 0, 0, 0, NULL, NULL},
};

const kdl_named_device *kdl_named_device_at(size_t index) {
  return index < device_count ? &devices[index] : NULL;
}

bool kdl_known_device_at(size_t index, kdl_known_device *out_device) {
  const kdl_named_device *row = kdl_named_device_at(index);
  if (row)
    *out_device = (kdl_known_device){row->name, row->arch, row->product, row->is_typical};
  return row != NULL;
}

bool kdl_named_device_same_target(const kdl_named_device *a, const kdl_named_device *b) {
  return kinds[a->kind].backend == kinds[b->kind].backend && strcmp(a->arch, b->arch) == 0;
}

static void describe_cuda(kdl_device_spec *spec) {
  kdl_nvptx_arch arch;
  if (!kdl_nvptx_parse(kdl_text_of(spec->arch), &arch, NULL))
    return;
  const kdl_nvptx_processor *processor = kdl_nvptx_find(arch.major, arch.minor);
  spec->shared_optin = processor ? (uint64_t)processor->group << 10 : spec->shared;
  spec->cooperative = arch.major >= 6;
  spec->cluster = arch.major >= 9 ? 8 : 0;
}

static void describe_hip(kdl_device_spec *spec) {
  kdl_amdgcn_id id;
  const kdl_amdgcn_simd *simd = NULL;
  if (kdl_amdgcn_parse(kdl_text_of(spec->arch), &id, NULL))
    simd = kdl_amdgcn_simd_of(id.processor);
  if (simd)
    spec->shared = simd->shared * UINT64_C(1024);
}

static kdl_device_spec opencl_route(const kdl_named_device *row, const kdl_device_spec *from) {
  kdl_device_spec spec = {
      .backend = KDL_BACKEND_OPENCL,
      .device_class = from->device_class,
      .memory = from->memory,
      .units = from->units,
      .subgroups = from->subgroups,
      .max_block = from->max_block,
      .shared = from->shared,
      /* Intel's drivers take SPIR-V; this is the version that all of them take. */
      .il = from->backend == KDL_BACKEND_LEVEL_ZERO ? KDL_VERSION_OF(1, 2) : 0,
  };
  bool takes_ptx = from->backend == KDL_BACKEND_CUDA;
  snprintf(spec.arch, sizeof spec.arch, "%s", takes_ptx ? row->arch : "spirv64");
  snprintf(spec.name, sizeof spec.name, "%s", row->product);
  snprintf(spec.platform, sizeof spec.platform, "%s", kinds[row->kind].opencl);
  snprintf(spec.features, sizeof spec.features, "%s", kinds[row->kind].features);
  return spec;
}

void kdl_named_device_describe(const kdl_named_device *row, kdl_device_routes *out_routes) {
  kdl_device_spec *spec = &out_routes->specs[0];
  *spec = (kdl_device_spec){
      .backend = kinds[row->kind].backend,
      .device_class = row->kind == CPU ? KDL_DEVICE_CLASS_UNKNOWN : kinds[row->kind].device_class,
      .memory = (uint64_t)row->memory * 1000000000,
      .units = row->units,
      .subgroups = kinds[row->kind].subgroups,
      .max_block = kinds[row->kind].max_block,
      .shared = (uint64_t)kinds[row->kind].shared_k << 10,
      .cooperative =
          kinds[row->kind].backend == KDL_BACKEND_HIP && row->arch[3] != '7' && row->arch[3] != '8',
      .l1d = (uint64_t)row->l1d_k << 10,
      .l2 = (uint64_t)row->l2_k << 10,
  };
  snprintf(spec->arch, sizeof spec->arch, "%s", row->arch);
  snprintf(spec->name, sizeof spec->name, "%s", row->product);
  if (spec->backend == KDL_BACKEND_CUDA)
    describe_cuda(spec);
  if (spec->backend == KDL_BACKEND_HIP)
    describe_hip(spec);
  out_routes->count = 1;
  if (kinds[row->kind].opencl)
    out_routes->specs[out_routes->count++] = opencl_route(row, spec);
}
