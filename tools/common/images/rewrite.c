/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/rewrite.h"

#include "lib/inspect/libraries.h"
#include "lib/inspect/trust.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"
#include "tools/common/report.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

kdl_status cli_format_parse(const char *text, int otherwise, int *out_format) {
  static const struct {
    const char *name;
    int format;
  } formats[] = {
      {"v1", KDL_FORMAT_V1},
      {"v2", KDL_FORMAT_V2},
      {"v3", KDL_FORMAT_V3},
      {"v3-zstd", KDL_FORMAT_V3 | KDL_FORMAT_ZSTD},
      {"v3-zlib", KDL_FORMAT_V3 | KDL_FORMAT_ZLIB},
  };
  *out_format = otherwise;
  if (!text)
    return KDL_OK;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
    if (strcmp(text, formats[i].name) == 0) {
      *out_format = formats[i].format;
      return KDL_OK;
    }
  }
  return kdl_fail(KDL_BAD_CALL,
                  "--format: bad value '%s': use v1 (every LLVM reads it), v2 (LLVM 23 and "
                  "later), v3, v3-zstd or v3-zlib (LLVM's main branch)",
                  text);
}

int cli_image_format(const kdl_image_info *image) {
  static const char prefix[] = "offload-binary v";
  if (strncmp(image->container.data, prefix, sizeof prefix - 1) != 0)
    return 0;
  return (int)strtol(image->container.data + sizeof prefix - 1, NULL, 10);
}

bool cli_image_is_bare(const kdl_image_info *image) {
  return cli_image_format(image) && !strstr(image->container.data, " in ");
}

int cli_library_format(const kdl_library *lib) {
  for (size_t i = 0; cli_outer_next(lib, &i); ++i) {
    kdl_image_info image = cli_image_at(lib, i);
    if (cli_image_format(&image) > 1)
      return KDL_FORMAT_V2;
  }
  return KDL_FORMAT_V1;
}

/* Only OffloadBinary flags are copied: other formats use that field differently. From version 2 on,
 * bit 0 means "metadata only"; an image with bytes must not get it. */
static uint32_t flags_for(const kdl_image_info *image, int format) {
  if (cli_image_format(image) == 0)
    return 0;
  if (format >= KDL_FORMAT_V2 && image->byte_count)
    return image->flags & ~1u;
  return image->flags;
}

kdl_writer_image cli_image_describe(const cli_input *input, size_t index, int format) {
  kdl_image_info info = cli_image_at(input->lib, index);
  return (kdl_writer_image){
      .size = sizeof(kdl_writer_image),
      .declared_kind =
          cli_image_format(&info) ? info.declared_kind : kdl_llvm_image_kind(info.kind),
      .offload_kind = info.offload_kind,
      .flags = flags_for(&info, format),
      .pairs = info.pairs,
      .pair_count = info.pair_count,
      .data_size = (size_t)info.byte_count,
  };
}

kdl_status cli_image_add(const cli_input *input, size_t index, const kdl_writer_image *image,
                         bool digest, kdl_writer *writer) {
  kdl_status status = kdl_writer_add_copy(writer, image, input->lib, (uint32_t)index, digest);
  if (status == KDL_BAD_CALL)
    kdl_error_prefix("%s", input->name);
  return status;
}

kdl_status cli_image_copy(const cli_input *input, size_t index, int format, kdl_writer *writer) {
  const kdl_writer_image image = cli_image_describe(input, index, format);
  return cli_image_add(input, index, &image, false, writer);
}

void cli_signature_drop(const char *output, size_t index, kdl_pair *pairs, size_t *count) {
  size_t kept = 0;
  for (size_t i = 0; i < *count; ++i) {
    if (!kdl_text_is(pairs[i].key, KDL_SIGNATURE_KEY))
      pairs[kept++] = pairs[i];
  }
  if (kept < *count)
    cli_warning("%s: image %zu is not signed any more: its metadata changed, which is signed too; "
                "sign it again: kdl sign %s --key=SECKEY",
                output, index, output);
  *count = kept;
}

void cli_signature_check_beside(const char *output) {
  char beside[PATH_MAX]; /* the file is written: nothing may fail any more */
  int length = snprintf(beside, sizeof beside, "%s.minisig", output);
  if (length < (int)sizeof beside && access(beside, F_OK) == 0)
    cli_warning("%s is not a signature of %s any more, which changed; sign it again: kdl sign %s "
                "--detached --key=SECKEY",
                beside, output, output);
}

kdl_status cli_image_check_digest(const cli_input *input, size_t index, const kdl_pair *pairs,
                                  size_t count) {
  const void *data;
  size_t size;
  KDL_TRY(kdl_library_acquire_bytes(input->lib, index, &data, &size));
  kdl_status status = kdl_digest_check(pairs, count, data, size);
  kdl_library_release_bytes(input->lib, index);
  if (status != KDL_OK)
    kdl_error_prefix("%s: image %zu", input->name, index);
  return status;
}

kdl_status cli_image_copy_digested(const cli_input *input, size_t index, int format,
                                   kdl_writer *writer) {
  const kdl_writer_image image = cli_image_describe(input, index, format);
  bool has_one = kdl_find_value(image.pairs, image.pair_count, KDL_DIGEST_KEY) != NULL;
  if (has_one)
    KDL_TRY(cli_image_check_digest(input, index, image.pairs, image.pair_count));
  return cli_image_add(input, index, &image, !has_one, writer);
}

kdl_status cli_library_check_rewritable(const cli_input *input) {
  for (size_t i = 0; cli_outer_next(input->lib, &i); ++i) {
    kdl_image_info image = cli_image_at(input->lib, i);
    if (!cli_image_is_bare(&image))
      return kdl_fail(KDL_BAD_CALL,
                      "%s: image %zu is in a container that cannot be changed: found %s, expected "
                      "an OffloadBinary file; make one with: kdl merge -o OUT %s",
                      input->name, i, image.container.data, input->name);
    if (cli_image_format(&image) > KDL_FORMAT_V2) {
      cli_note("%s: found version %d, which is written as version 2, uncompressed", input->name,
               cli_image_format(&image));
      return KDL_OK;
    }
  }
  return KDL_OK;
}
