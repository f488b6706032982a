/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/commands/link.h"
#include "lib/inspect/devices.h"
#include "lib/inspect/images.h"
#include "lib/inspect/selection.h"
#include "support/base/error.h"
#include "tools/common/images/name_set.h"

#include <stdlib.h>
#include <string.h>

static bool is_bitcode(const kdl_catalog *catalog, size_t image) {
  return kdl_catalog_traits(catalog, image).kind == KDL_IMAGE_BITCODE;
}

/* SPIR-V is translated for devices whose driver does not take it. */
static bool is_linked(const kdl_catalog *catalog, const kdl_candidate *candidate) {
  return candidate->is_translated || is_bitcode(catalog, candidate->image);
}

/* Images with kernels are callers; the others contain microkernels. */
static kdl_status list_kernels(const kdl_library *lib, kdl_catalog *catalog,
                               cli_name_set *kernels) {
  size_t memory_failures = kdl_catalog_memory_failures(catalog);
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    kdl_kernel_names names = {.count = 0};
    if (is_bitcode(catalog, i) || kdl_catalog_traits(catalog, i).kind == KDL_IMAGE_SPIRV)
      names = kdl_catalog_kernels(catalog, i);
    for (size_t k = 0; k < names.count; ++k)
      cli_name_set_add(kernels, names.items[k].data, names.items[k].length);
  }
  return kdl_catalog_memory_failures(catalog) == memory_failures
             ? KDL_OK
             : kdl_fail(KDL_NO_MEMORY, "out of memory for kernel names");
}

static const kdl_candidate *first_bitcode(const kdl_catalog *catalog, const kdl_ranking *ranking) {
  const kdl_candidate *candidate;
  for (size_t i = 0; (candidate = kdl_ranking_at(ranking, i)); ++i) {
    if (is_linked(catalog, candidate))
      break;
  }
  return candidate;
}

static kdl_status fail_no_bitcode(kdl_catalog *catalog, kdl_device *device, kdl_query query,
                                  const cli_name_set *kernels) {
  kdl_ranking *ranking;
  if (!kernels->count)
    return kdl_fail(KDL_NO_MATCH, "found no bitcode with kernels, expected some to link");
  query.kernel = (kdl_string){NULL, 0};
  KDL_TRY(kdl_rank(catalog, &query, &ranking));
  kdl_explanation nearest;
  const kdl_candidate *candidate = first_bitcode(catalog, ranking);
  if (!candidate) /* SPIR-V alone */
    candidate = kdl_ranking_at(ranking, 0);
  kdl_explain_candidate(ranking, candidate, &nearest);
  char label[KDL_SPEC_ARCH + KDL_SPEC_NAME];
  kdl_out out = {label, sizeof label, 0};
  kdl_device_spec_label(kdl_device_route_spec(device, 0), &out);
  kdl_status status =
      kdl_fail(KDL_NO_MATCH, "no bitcode of it is for %s; the nearest is image %u: %s", label,
               candidate->image,
               nearest.reason_count                    ? nearest.reasons[0].words
               : is_bitcode(catalog, candidate->image) ? "it does not tell its kernels"
                                                       : "the driver takes it as it is");
  free(ranking);
  return status;
}

kdl_status cli_link_choose(const cli_input *input, kdl_device *device, bool *chosen) {
  kdl_catalog *catalog;
  kdl_select_device *described = NULL;
  cli_name_set kernels = {.count = 0};
  kdl_status status = kdl_library_catalog(input->lib, &catalog);
  if (status == KDL_OK)
    status = kdl_select_device_create(kdl_device_route_spec(device, 0), &described, NULL);
  if (status == KDL_OK)
    status = list_kernels(input->lib, catalog, &kernels);
  bool found = false;
  kdl_query query = {.device = described, .policy = KDL_POLICY_BEST, .scope = KDL_RANK_ALL};
  for (size_t i = 0; i < kernels.count && status == KDL_OK; ++i) {
    kdl_ranking *ranking;
    query.kernel = kernels.items[i];
    status = kdl_rank(catalog, &query, &ranking);
    if (status != KDL_OK)
      break;
    const kdl_candidate *best = first_bitcode(catalog, ranking);
    if (best && best->eligible)
      found = chosen[best->image] = true;
    free(ranking);
  }
  if (status == KDL_OK && !found)
    status = fail_no_bitcode(catalog, device, query, &kernels);
  cli_name_set_free(&kernels);
  free(described);
  if (status != KDL_OK)
    kdl_error_prefix("%s", input->name);
  return status;
}
