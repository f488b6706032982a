/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Thinning of files that nothing maps: objects, archives, containers, OffloadBinaries. The last
 * byte says which images stay. What is made must open, and hold the images that are said to stay,
 * as they were; thinned again, with all that is left, it does not change.
 */
#include "lib/library/library.h"
#include "pack/thin/file_kinds.h"

#include <kdl/kdl.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
  uint8_t *data;
  size_t size;
} bytes;

static bool make_choice(kdl_library *lib, uint8_t mask, thin_selection *out) {
  size_t count = kdl_image_count(lib);
  const kdl_image *images = lib->container->images;
  *out = (thin_selection){.lib = lib,
                          .count = count,
                          .kept = calloc(count + 1, sizeof *out->kept),
                          .why = calloc(count + 1, sizeof *out->why)};
  if (!out->kept || !out->why)
    return false;
  for (size_t i = 0; i < count; ++i)
    out->kept[i] = mask >> i % 8 & 1;
  for (size_t i = count; i-- > 0;) {
    if (out->kept[i] && images[i].parent != KDL_PARENT_NONE)
      out->kept[images[i].parent] = true;
  }
  return true;
}

/* Images that stay, but for those in others, whose number the bytes of these settle. */
static size_t count_left(const kdl_library *lib, const bool *went) {
  size_t left = 0;
  for (uint32_t i = 0; i < lib->container->count; ++i)
    left += lib->container->images[i].parent == KDL_PARENT_NONE && !(went && went[i]);
  return left;
}

static bool thin(const bytes *from, uint8_t mask, bytes *out_made, size_t *out_left) {
  thin_input input = {.data = from->data, .size = from->size, .name = "in", .fd = -1};
  if (kdl_open_memory(from->data, from->size, NULL, &input.lib) != KDL_OK)
    return false;
  thin_selection choice;
  thin_report report = {.is_removed = NULL};
  thin_output out = {.count = 0};
  bool is_made =
      make_choice(input.lib, mask, &choice) &&
      thin_file(&input, &choice, &(thin_layout_opts){.sparse = false}, &report, &out) == KDL_OK;
  out_made->data = is_made ? malloc((size_t)out.size + 1) : NULL;
  if (out_made->data) {
    thin_output_read(&out, 0, out_made->data, (size_t)out.size);
    out_made->size = (size_t)out.size;
    *out_left = count_left(input.lib, report.is_removed);
    bool is_same = out.size == from->size && memcmp(out_made->data, from->data, from->size) == 0;
    if (is_same == report.is_changed || out.size != report.new_size)
      abort();
  }
  thin_output_free(&out);
  free(report.is_removed);
  thin_selection_free(&choice);
  kdl_close(input.lib);
  return out_made->data != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  thin_kind kind = size < 2 ? THIN_KIND_OTHER : thin_sniff(data, size - 1);
  if (kind == THIN_KIND_OTHER || kind == THIN_KIND_LINKED || kind == THIN_KIND_ZIP)
    return 0;
  bytes in = {malloc(size), size - 1}, made = {NULL, 0}, again = {NULL, 0};
  size_t left, left_again;
  if (!in.data)
    return 0;
  memcpy(in.data, data, size - 1);
  if (thin(&in, data[size - 1], &made, &left) && made.size) {
    kdl_library *lib;
    if (left && kdl_open_memory(made.data, made.size, NULL, &lib) != KDL_OK)
      abort();
    if (left) {
      if (count_left(lib, NULL) != left)
        abort();
      kdl_close(lib);
    }
    if (left && thin(&made, 0xff, &again, &left_again) &&
        (again.size != made.size || memcmp(again.data, made.data, made.size) != 0))
      abort();
  }
  free(in.data);
  free(made.data);
  free(again.data);
  return 0;
}
