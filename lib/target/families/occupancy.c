/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How many groups of a kernel a compute unit runs at a time, by the limits of architectures.
 *
 * NVIDIA: the rules of allocation are those of cuda_occupancy.h. AMD: LLVM, AMDGPUBaseInfo.cpp
 * (IsaInfo), whose numbers "Occupancy" in the compiler's assembly are.
 */
#include "lib/inspect/images.h"

#include "lib/target/families/gpu.h"
#include "support/base/text.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static uint32_t round_up(uint32_t value, uint32_t unit) {
  uint64_t sum = (uint64_t)value + unit - 1;
  return (uint32_t)((sum - sum % unit) & UINT32_MAX);
}

/* Lowers *groups to `limit`. */
static void apply_limit(kdl_occupancy *occupancy, uint64_t limit, kdl_occupancy_limit by) {
  if (limit >= occupancy->groups)
    return;
  occupancy->groups = (uint32_t)limit;
  occupancy->limit = by;
}

/* ------------------------------------------------------------------------------------------ */
/* NVIDIA                                                                                       */

enum {
  nvidia_registers = 65536, /* of a multiprocessor, and of a group */
  nvidia_register_unit = 256,
  nvidia_warp = 32,
};

static void limit_nvidia(const kdl_nvptx_processor *processor, const kdl_kernel_resources *uses,
                         uint32_t block, uint32_t shared, kdl_occupancy *out) {
  bool is_recent = processor->number >= 80;
  uint32_t warps = (block + nvidia_warp - 1) / nvidia_warp;
  uint32_t partitions = processor->partitions;
  *out = (kdl_occupancy){.groups = processor->groups,
                         .most_subgroups = processor->warps,
                         .limit = KDL_LIMIT_BY_GROUPS};
  apply_limit(out, processor->warps / warps, KDL_LIMIT_BY_SUBGROUPS);
  uint32_t of_warp = round_up(uses->vector_registers * nvidia_warp, nvidia_register_unit);
  if (of_warp) {
    uint32_t most = nvidia_registers / partitions / of_warp * partitions;
    bool fits = (uint64_t)of_warp * round_up(warps, partitions) <= nvidia_registers;
    apply_limit(out, fits ? most / warps : 0, KDL_LIMIT_BY_REGISTERS);
  }
  /* The system has 1 KiB of each group from 8.0 on. Cubins from 9.0 on that use group memory have
   * it in their size. */
  uint32_t reserved = !is_recent || (processor->number >= 90 && shared) ? 0 : 1024;
  uint32_t of_group = round_up(shared + reserved, is_recent ? 128 : 256);
  if (of_group)
    apply_limit(out, processor->shared * UINT32_C(1024) / of_group, KDL_LIMIT_BY_SHARED);
  out->subgroups = out->groups * warps;
}

/* NULL where the limits are not known. */
static const kdl_nvptx_processor *find_nvidia(kdl_string arch) {
  kdl_nvptx_arch parsed;
  if (!kdl_nvptx_parse(arch, &parsed, NULL))
    return NULL;
  const kdl_nvptx_processor *found = kdl_nvptx_find(parsed.major, parsed.minor);
  return found && found->warps ? found : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* AMD                                                                                          */

/* Of a SIMD, by scalar registers, on gfx9. */
static uint32_t subgroups_by_scalars(uint32_t scalars) {
  return scalars <= 80 ? 10 : scalars <= 88 ? 9 : scalars <= 100 ? 8 : 7;
}

static uint32_t subgroups_by_registers(const kdl_amdgcn_simd *simd,
                                       const kdl_kernel_resources *uses) {
  uint32_t scale = uses->subgroup == 32 ? 2 : 1;
  uint32_t used = uses->vector_registers;
  if (simd->has_accumulators && uses->accumulator_registers != KDL_NO_RESOURCE &&
      uses->accumulator_registers > used)
    used = uses->accumulator_registers;
  uint32_t allocated = round_up(used ? used : 1, simd->unit * scale);
  uint32_t fitting = simd->registers * scale / allocated;
  if (simd->limits_scalars && uses->scalar_registers != KDL_NO_RESOURCE &&
      subgroups_by_scalars(uses->scalar_registers) < fitting)
    fitting = subgroups_by_scalars(uses->scalar_registers);
  return fitting < simd->subgroups ? fitting : simd->subgroups;
}

static void limit_amd(const kdl_amdgcn_simd *simd, const kdl_kernel_resources *uses, uint32_t block,
                      uint32_t shared, kdl_occupancy *out) {
  enum { barriers = 16, shared_unit = 512 };
  uint32_t size = uses->subgroup == 32 ? 32 : 64;
  uint32_t subgroups = (block + size - 1) / size;
  uint32_t simds = simd->count;
  *out = (kdl_occupancy){.most_subgroups = (uint32_t)simd->subgroups * simds,
                         .limit = KDL_LIMIT_BY_SUBGROUPS};
  out->groups = out->most_subgroups / subgroups;
  if (subgroups > 1) /* a group with a barrier takes one of these */
    apply_limit(out, barriers, KDL_LIMIT_BY_GROUPS);
  apply_limit(out, subgroups_by_registers(simd, uses) * simds / subgroups, KDL_LIMIT_BY_REGISTERS);
  if (shared)
    apply_limit(out, simd->shared * UINT32_C(1024) / round_up(shared, shared_unit),
                KDL_LIMIT_BY_SHARED);
  out->subgroups = out->groups * subgroups;
}

static const kdl_amdgcn_simd *find_amd(kdl_string arch) {
  kdl_amdgcn_id id;
  return kdl_amdgcn_parse(arch, &id, NULL) ? kdl_amdgcn_simd_of(id.processor) : NULL;
}

bool kdl_occupancy_of(kdl_string arch, const kdl_kernel_resources *uses, uint32_t block,
                      uint32_t dynamic_shared, kdl_occupancy *out_occupancy) {
  enum { largest_block = 1024, most_registers = 1024 };
  uint64_t shared = (uint64_t)(uses->shared == KDL_NO_RESOURCE ? 0 : uses->shared) + dynamic_shared;
  if (uses->vector_registers > most_registers || block == 0 || block > largest_block)
    return false;
  uint32_t bounded = shared < 1 << 30 ? (uint32_t)shared : 1 << 30;
  const kdl_nvptx_processor *nvidia = find_nvidia(arch);
  const kdl_amdgcn_simd *amd = nvidia ? NULL : find_amd(arch);
  if (nvidia)
    limit_nvidia(nvidia, uses, block, bounded, out_occupancy);
  else if (amd)
    limit_amd(amd, uses, block, bounded, out_occupancy);
  else
    return false;
  return true;
}
