/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Describes images in a manifest, so that devices select as they would from the file. The
 * description is tested before it is written: a layer whose candidates do not behave like its
 * images is always fetched. */
#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "pack/oci/candidates.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const cli_input *input;
  kdl_catalog *catalog;
  oci_manifest *manifest;
  uint32_t *image_of; /* the image of each candidate */
  size_t count;
} describer;

static size_t outermost(const kdl_library *lib, size_t index) {
  for (size_t parent; (parent = cli_image_at(lib, index).parent) != KDL_NO_PARENT;)
    index = parent;
  return index;
}

/* ------------------------------------------------------------------------------------------ */
/* Candidates                                                                                   */

static bool has_kernel_index(const kdl_image_info *image) {
  kdl_string name;
  for (size_t i = 0; i < image->pair_count; ++i) {
    if (kdl_kernel_name(image->pairs[i].key, &name))
      return true;
  }
  return false;
}

/* The image's metadata, followed by what the library would read from its bytes. */
static oci_image_header describe_image(describer *d, const kdl_image_info *image) {
  kdl_arena *arena = &d->manifest->arena;
  size_t count = image->pair_count;
  kdl_kernel_names names = {.count = 0};
  if (!has_kernel_index(image))
    names = kdl_catalog_kernels(d->catalog, image->index);
  const kdl_image_traits traits = kdl_catalog_traits(d->catalog, image->index);
  kdl_pair *pairs = xarena_alloc(arena, (count + names.count + 3) * sizeof *pairs);
  if (count)
    memcpy(pairs, image->pairs, count * sizeof *pairs);
  for (size_t i = 0; i < names.count; ++i)
    pairs[count++] =
        (kdl_pair){kdl_text_of(xarena_format(arena, KDL_KERNEL_PREFIX "%s", names.items[i].data)),
                   KDL_TEXT("rev=1")};
  if (names.count && traits.version[0])
    pairs[count++] = (kdl_pair){
        KDL_TEXT("kdl.version"),
        kdl_text_of(xarena_format(arena, "%u.%u", traits.version[0], traits.version[1]))};
  char features[256] = "";
  kdl_out_features(&(kdl_out){features, sizeof features, 0}, KDL_CLASS_GPU,
                   (kdl_feature_set){{traits.capabilities, 0}});
  bool is_said = kdl_find_value(image->pairs, image->pair_count, "requires_features");
  if (names.count && traits.capabilities && !is_said)
    pairs[count++] =
        (kdl_pair){KDL_TEXT("requires_features"), xarena_string(arena, features, strlen(features))};
  return (oci_image_header){kdl_llvm_image_kind(image->kind), image->offload_kind, 0, pairs, count};
}

static size_t count_nested(const describer *d, size_t outer) {
  size_t count = 0;
  for (size_t i = outer; i < kdl_image_count(d->input->lib) && outermost(d->input->lib, i) == outer;
       ++i)
    ++count;
  return count;
}

/* Nested images follow their outermost one in the list. */
static void describe_layer(describer *d, size_t outer, oci_layer *layer) {
  size_t count = count_nested(d, outer), used = 0, first = d->count;
  kdl_image_info image = cli_image_at(d->input->lib, outer);
  layer->choice = image.kind == KDL_IMAGE_SEQUENCE ? OCI_CHOICE_ANY : OCI_CHOICE_DEVICES;
  if (layer->choice == OCI_CHOICE_ANY)
    return;
  bool is_plain = count == 1 && has_kernel_index(&image), is_damaged = image.problem.length;
  oci_image_header *records = xarena_alloc(&d->manifest->arena, count * sizeof *records);
  for (size_t i = outer; i < outer + count; ++i) {
    image = cli_image_at(d->input->lib, i);
    if (cli_image_kind_is_container(image.kind))
      continue;
    d->image_of[d->count++] = (uint32_t)i;
    records[used++] = describe_image(d, &image);
  }
  layer->candidates = is_plain ? &layer->image : records;
  layer->candidate_count = used;
  if (used == 0 || is_damaged) {
    layer->choice = OCI_CHOICE_UNKNOWN;
    d->count = first; /* drops the candidates of this layer */
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Testing the candidates                                                                       */

static bool same_kernels(kdl_catalog *a, size_t i, kdl_catalog *b, size_t k) {
  const kdl_kernel_names names = kdl_catalog_kernels(a, i), others = kdl_catalog_kernels(b, k);
  for (size_t n = 0; n < names.count && n < others.count; ++n) {
    if (!kdl_text_equal(names.items[n], others.items[n]))
      return false;
  }
  return names.count == others.count &&
         (!names.count || names.is_unresolved == others.is_unresolved);
}

static bool same_image(const describer *d, size_t i, const cli_input *other, kdl_catalog *catalog,
                       size_t k) {
  const kdl_image_traits a = kdl_catalog_traits(d->catalog, i), b = kdl_catalog_traits(catalog, k);
  const kdl_image_info one = cli_image_at(d->input->lib, i), two = cli_image_at(other->lib, k);
  return one.kind == two.kind && kdl_text_equal(one.triple, two.triple) &&
         kdl_text_equal(one.arch, two.arch) && a.version[0] == b.version[0] &&
         a.version[1] == b.version[1] && a.generic_version == b.generic_version &&
         a.is_link_input == b.is_link_input && same_kernels(d->catalog, i, catalog, k);
}

static kdl_status verify_candidates(const describer *d) {
  oci_candidates candidates;
  kdl_catalog *catalog = NULL;
  kdl_status status = oci_candidates_open(d->manifest, d->input->name, &candidates);
  if (status == KDL_OK && candidates.input.lib)
    status = kdl_library_catalog(candidates.input.lib, &catalog);
  for (size_t i = 0; catalog && i < kdl_image_count(candidates.input.lib) && status == KDL_OK;
       ++i) {
    if (!same_image(d, d->image_of[i], &candidates.input, catalog, i))
      d->manifest->layers[candidates.layer_of[i]].choice = OCI_CHOICE_UNKNOWN;
  }
  if (status == KDL_OK && (kdl_catalog_memory_failures(d->catalog) ||
                           (catalog && kdl_catalog_memory_failures(catalog))))
    cli_out_of_memory();
  oci_candidates_close(&candidates);
  return status;
}

kdl_status oci_candidates_describe(const cli_input *input, oci_manifest *manifest) {
  describer d = {.input = input, .manifest = manifest};
  size_t layer = 0;
  KDL_TRY(kdl_library_catalog(input->lib, &d.catalog));
  d.image_of = xcalloc(kdl_image_count(input->lib), sizeof *d.image_of);
  for (size_t i = 0; cli_outer_next(input->lib, &i); ++i)
    describe_layer(&d, i, &manifest->layers[layer++]);
  kdl_status status = verify_candidates(&d);
  free(d.image_of);
  return status;
}
