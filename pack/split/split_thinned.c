/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes a file without the images of missing parts. */
#include "lib/inspect/libraries.h"
#include "pack/split/split.h"
#include "pack/thin/file_kinds.h"
#include "support/base/error.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"

#include <stdlib.h>
#include <string.h>

/* Missing images of a compressed bundle are zeros too. */
static kdl_status look_inside(kdl_library *lib, size_t index, bool *out_there) {
  const void *data;
  size_t size;
  KDL_TRY(kdl_library_acquire_bytes(lib, index, &data, &size));
  *out_there = !split_is_zero(data, size);
  kdl_library_release_bytes(lib, index);
  return KDL_OK;
}

/* Keeps images that are not all zeros, and their containers. */
static kdl_status select_nonzero_images(kdl_library *lib, const uint8_t *data, size_t size,
                                        thin_selection *out_selection) {
  const kdl_stored_image *images = cli_stored_images(lib);
  size_t count = kdl_image_count(lib);
  *out_selection = (thin_selection){.lib = lib,
                                    .count = count,
                                    .kept = xcalloc(count, sizeof(bool)),
                                    .why = xcalloc(count, sizeof(char *))};
  for (size_t i = count; i-- > 0;) {
    const kdl_stored_image *image = &images[i];
    bool is_there = image->is_packed || image->stored_size > size - image->offset ||
                    !split_is_zero(data + image->offset, image->stored_size);
    if (image->is_packed)
      KDL_TRY(look_inside(lib, i, &is_there));
    if (!is_there)
      continue;
    out_selection->kept[i] = true;
    if (image->parent != KDL_NO_PARENT)
      out_selection->kept[image->parent] = true;
  }
  return KDL_OK;
}

typedef struct {
  const thin_output *out;
  const thin_input *input;
  const char *path;
} thinned_file;

static kdl_status write_thinned_output(void *user, int fd) {
  const thinned_file *w = user;
  thin_mapped from = {w->input->data, w->input->size, -1};
  return thin_output_write(w->out, &from, fd, false, w->path);
}

kdl_status split_save_thinned(const uint8_t *data, size_t size, const char *name,
                              const char *output) {
  thin_input input = {.data = data, .size = size, .name = name, .fd = -1};
  kdl_open_opts opts = {.size = sizeof opts, .name = name};
  KDL_TRY(kdl_open_memory(data, size, &opts, &input.lib));
  thin_selection choice;
  thin_report report = {.is_removed = NULL};
  thin_output out = {.count = 0};
  kdl_status status = select_nonzero_images(input.lib, data, size, &choice);
  if (status == KDL_OK)
    status = thin_file(&input, &choice, &(thin_layout_opts){.sparse = false}, &report, &out);
  if (status == KDL_OK)
    status =
        cli_output_save_by(output, write_thinned_output, &(thinned_file){&out, &input, output});
  thin_output_free(&out);
  free(report.is_removed);
  thin_selection_free(&choice);
  kdl_close(input.lib);
  return status;
}
