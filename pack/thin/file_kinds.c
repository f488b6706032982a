/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/thin/file_kinds.h"

#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "pack/zip/directory.h"
#include "support/base/error.h"
#include "tools/common/images/kinds.h"

#include <stdlib.h>
#include <string.h>

void thin_report_add_retained(thin_report *report, const thin_input *input, size_t index,
                              thin_retain_reason why) {
  const kdl_stored_image *image = &cli_stored_images(input->lib)[index];
  kdl_source_info source = kdl_source_read(image->source);
  uint64_t bytes = image->stored_size;
  if (image->is_packed && source.size) /* its share of the compressed data */
    bytes = (uint64_t)((double)source.packed_size * (double)bytes / (double)source.size);
  ++report->retained[why].images;
  report->retained[why].bytes += bytes;
}

thin_retained thin_report_total_retained(const thin_report *report) {
  thin_retained all = {.images = 0};
  for (size_t i = 0; i < THIN_RETAIN_REASON_COUNT; ++i) {
    all.images += report->retained[i].images;
    all.bytes += report->retained[i].bytes;
  }
  return all;
}

thin_kind thin_sniff(const uint8_t *data, uint64_t size) {
  enum { container_header = 16, offload_header = 32 };
  _Static_assert((int)THIN_SNIFF_SIZE == (int)KDL_SNIFF_SIZE, "as libkdl");
  kdl_image_kind kind;
  switch (kdl_file_sniff(data, size < THIN_SNIFF_SIZE ? (size_t)size : THIN_SNIFF_SIZE, &kind)) {
  case KDL_FILE_LINKED:
    return THIN_KIND_LINKED;
  case KDL_FILE_OBJECT:
    return THIN_KIND_OBJECT;
  case KDL_FILE_ARCHIVE:
  case KDL_FILE_THIN_ARCHIVE:
    return THIN_KIND_ARCHIVE;
  case KDL_FILE_ZIP:
    return size >= ZIP_END_SIZE ? THIN_KIND_ZIP : THIN_KIND_OTHER;
  default:
    break;
  }
  if (kind == KDL_IMAGE_OFFLOAD && size >= offload_header)
    return THIN_KIND_OFFLOAD;
  bool is_container = kind == KDL_IMAGE_FATBIN || kind == KDL_IMAGE_BUNDLE;
  return is_container && size >= container_header ? THIN_KIND_CONTAINER : THIN_KIND_OTHER;
}

uint64_t thin_image_offset(const kdl_stored_image *image) {
  uint64_t at = image->header_offset;
  kdl_source_info source = kdl_source_read(image->source);
  for (; source.outer; source = kdl_source_read(source.outer))
    at = source.packed_offset;
  return at;
}

bool thin_has_device_code(const thin_input *input) {
  const kdl_stored_image *images = cli_stored_images(input->lib);
  return kdl_image_count(input->lib) != 1 || images[0].offset != 0 ||
         images[0].stored_size != input->size;
}

static bool is_output_identical(const thin_input *input, const thin_output *out) {
  if (out->size != input->size)
    return false;
  static const uint8_t zeros[4096];
  for (size_t i = 0; i < out->count; ++i) {
    const thin_piece *piece = &out->pieces[i];
    const uint8_t *old = input->data + piece->at;
    if (piece->bytes == old)
      continue;
    for (uint64_t at = 0, step; at < piece->size; at += step) {
      step = piece->size - at < sizeof zeros ? piece->size - at : sizeof zeros;
      if (memcmp(old + at, piece->bytes ? piece->bytes + at : zeros, (size_t)step) != 0)
        return false;
    }
  }
  return true;
}

static thin_retain_reason retain_reason(const thin_context *context, uint32_t index) {
  const thin_container_list *list = &context->containers;
  if (context->report->unmoved)
    return THIN_RETAINED_OBJECT;
  for (size_t i = 0; i < list->count; ++i) {
    if (index - list->items[i].first < list->items[i].count)
      return THIN_RETAINED_LAST;
  }
  return cli_stored_images(context->input->lib)[index].is_packed ? THIN_RETAINED_COMPRESSED
                                                                 : THIN_RETAINED_BARE;
}

/* Nested images are removed with their container; retained ones are counted. */
static void report_nested(const thin_context *context, const thin_selection *selection,
                          thin_report *report) {
  const kdl_stored_image *images = cli_stored_images(context->input->lib);
  for (uint32_t i = 0; i < kdl_image_count(context->input->lib); ++i) {
    if (images[i].parent != KDL_NO_PARENT)
      report->is_removed[i] = report->is_removed[images[i].parent];
    if (selection->kept[i] || report->is_removed[i])
      continue;
    thin_report_add_retained(report, context->input, i, retain_reason(context, i));
  }
}

static kdl_status thin_unmapped(const thin_input *input, const thin_selection *selection,
                                thin_report *report, thin_output *out) {
  thin_context context;
  thin_range all = {0, input->size};
  thin_kind kind = thin_sniff(input->data, input->size);
  kdl_status status = thin_context_init(input, selection, report, &context);
  report->containers = context.containers.count;
  if (status != KDL_OK)
    goto end;
  if (kind == THIN_KIND_OBJECT)
    status = thin_object(&context, all, out);
  else if (kind == THIN_KIND_ARCHIVE)
    status = thin_archive(&context, out);
  else if (kind == THIN_KIND_OFFLOAD)
    status = thin_offload_binaries(&context, all, NULL, out);
  else if (kind == THIN_KIND_CONTAINER)
    status = thin_container_range(&context, all, NULL, out);
  else
    status = kdl_fail(KDL_UNSUPPORTED,
                      "%s: found a kind of file that is not rewritten, expected an ELF file, a "
                      "static archive, a fatbin, a Clang offload bundle or an OffloadBinary",
                      input->name);
  if (kind != THIN_KIND_OBJECT && kind != THIN_KIND_ARCHIVE)
    thin_report_removed(&context, all);
  report_nested(&context, selection, report);
end:
  thin_context_destroy(&context);
  return status;
}

kdl_status thin_file(const thin_input *input, const thin_selection *selection,
                     const thin_layout_opts *layout_opts, thin_report *out_report,
                     thin_output *out) {
  if (thin_sniff(input->data, input->size) == THIN_KIND_LINKED)
    return thin_elf(input, selection, layout_opts, out_report, out);
  if (layout_opts->sparse)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: --sparse cannot be used with a file that nothing maps: use a shared "
                    "object or executable: others become shorter without it",
                    input->name);
  *out_report =
      (thin_report){.old_size = input->size,
                    .is_removed = xcalloc(selection->count, sizeof *out_report->is_removed)};
  kdl_status status = thin_unmapped(input, selection, out_report, out);
  out_report->new_size = out->size;
  out_report->is_changed = status == KDL_OK && !is_output_identical(input, out);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Packages of Linux distributions                                                              */

const char *pack_system_package(const void *head, size_t size) {
  static const struct {
    const char *magic, *words;
  } rows[] = {
      {"!<arch>\ndebian-binary",
       "is a Debian package, which is not opened: unpack it with dpkg -x, and use the folder"},
      {"\xed\xab\xee\xdb",
       "is an RPM package, which is not opened: unpack it with rpm2cpio and cpio, and use the "
       "folder"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    size_t length = strlen(rows[i].magic);
    if (size >= length && memcmp(head, rows[i].magic, length) == 0)
      return rows[i].words;
  }
  return NULL;
}
