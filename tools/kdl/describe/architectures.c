/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The table of NVIDIA's architectures of docs/targets.md: what libkdl makes of each row of
 * lib/inspect/nvptx.def. */
#include "lib/inspect/devices.h"
#include "lib/inspect/images.h"
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "support/base/text.h"
#include "tools/kdl/describe/describe.h"

#include <stdbool.h>
#include <stdio.h>

/* By row, the names that completions offer. */
static const char *const offered[] = {
#define KDL_NVPTX(number, plain, a, f, tile_ir, part, warps, groups, shared, partitions, offered)  \
  "" DESCRIBE_OFFER_##offered(number, " "),
#include "lib/inspect/nvptx.def"
};

static kdl_device_spec device_of(const kdl_nvptx_processor *processor) {
  kdl_device_spec spec = {.backend = KDL_BACKEND_CUDA};
  snprintf(spec.arch, sizeof spec.arch, "sm_%u", processor->number);
  return spec;
}

/* " 7.8" for 78, or nothing for 0. */
static void print_version(const char *before, unsigned version) {
  if (version)
    printf("%s %u.%u", before, version / 10, version % 10);
}

static void print_desktop(const kdl_nvptx_processor *processor) {
#define KDL_NVPTX_TAKES_DESKTOP(sm, since)                                                         \
  if (processor->number == (sm))                                                                   \
    print_version(", as desktop from CUDA", since);
#include "lib/inspect/nvptx.def"
}

/* The architectures whose devices run a cubin for this one. */
static void print_runs_on(const kdl_nvptx_processor *processor) {
  kdl_device_spec own = device_of(processor);
  const kdl_image_claim claim = {.kind = KDL_IMAGE_CUBIN,
                                 .triple = KDL_TEXT("nvptx64-nvidia-cuda"),
                                 .arch = kdl_text_of(own.arch)};
  for (size_t i = 0; i < KDL_NVPTX_COUNT; ++i) {
    kdl_device_spec spec = device_of(&kdl_nvptx_processors[i]);
    kdl_claim_match match;
    if (kdl_claim_fit(&claim, &spec, &match) == KDL_OK && match.fit)
      printf(" %s", spec.arch);
  }
}

/* How many groups run at a time: of 32 work-items, of 256 with 64 registers, with 32 KiB. */
static void print_groups(const kdl_nvptx_processor *processor) {
  static const struct {
    uint32_t block, registers, shared;
  } kernels[] = {{32, 16, 0}, {256, 64, 0}, {256, 16, 32 << 10}};
  kdl_device_spec spec = device_of(processor);
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
    const kdl_kernel_resources uses = {.vector_registers = kernels[i].registers,
                                       .scalar_registers = KDL_NO_RESOURCE,
                                       .accumulator_registers = KDL_NO_RESOURCE,
                                       .shared = kernels[i].shared,
                                       .subgroup = 32};
    kdl_occupancy found;
    if (kdl_occupancy_of(kdl_text_of(spec.arch), &uses, kernels[i].block, 0, &found))
      printf("%s %u", i ? "," : "", found.groups);
  }
}

static const char *part_name(const kdl_nvptx_processor *processor) {
  static const char *const names[] = {[KDL_NVPTX_DESKTOP] = "desktop",
                                      [KDL_NVPTX_ARM] = "desktop, Arm",
                                      [KDL_NVPTX_TEGRA] = "Tegra"};
  return names[processor->part];
}

void describe_nvidia(void) {
  puts("| architecture | PTX from | Tile IR from CUDA | part | a cubin runs on | KiB of a group | "
       "groups at a time | completions offer |\n|---|---|---|---|---|---|---|---|");
  for (size_t i = 0; i < KDL_NVPTX_COUNT; ++i) {
    const kdl_nvptx_processor *processor = &kdl_nvptx_processors[i];
    printf("| sm_%u |", processor->number);
    print_version("", processor->ptx);
    print_version(", `a`", processor->ptx_a);
    print_version(", `f`", processor->ptx_f);
    printf(" |");
    print_version("", processor->tile_ir);
    printf(" | %s", part_name(processor));
    print_desktop(processor);
    printf(" |");
    print_runs_on(processor);
    printf(" | %u |", processor->group);
    print_groups(processor);
    printf(" | %s|\n", offered[i]);
  }
}
