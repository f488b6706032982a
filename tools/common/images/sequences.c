/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/sequences.h"

#include "support/base/error.h"
#include "tools/common/images/kinds.h"

#include <stdio.h>
#include <string.h>

bool cli_sequence_next(const kdl_library *lib, size_t *image) {
  while (*image < kdl_image_count(lib) && cli_image_at(lib, *image).kind != KDL_IMAGE_SEQUENCE)
    ++*image;
  return *image < kdl_image_count(lib);
}

kdl_status cli_sequence_read(kdl_library *lib, size_t image, cli_sequence *out_sequence) {
  const void *data;
  size_t size;
  *out_sequence = (cli_sequence){.image = image};
  const kdl_string *name = kdl_image_value(lib, image, KDL_SEQUENCE_KEY);
  kdl_status status = kdl_image_bytes(lib, image, &data, &size);
  if (status == KDL_OK)
    status = kdl_seqfile_read(data, size, &out_sequence->saved);
  if (status == KDL_OK)
    out_sequence->name = name ? *name : (kdl_string){"", 0};
  else
    kdl_error_prefix("image %zu", image);
  return status;
}

void cli_sequence_free(cli_sequence *sequence) {
  kdl_seqfile_free(&sequence->saved);
}

const char *cli_slot_name(const kdl_seqfile *saved, kdl_slot slot, char room[CLI_SLOT_ROOM]) {
  kdl_string name = saved->slots[slot - 1].name;
  size_t used = 0;
  if (!name.length)
    snprintf(room, CLI_SLOT_ROOM, "#%u", (unsigned)slot);
  for (size_t i = 0; i < name.length; ++i) {
    unsigned char c = (unsigned char)name.data[i];
    bool is_plain = c >= ' ' && c < 0x7f && !strchr("\"\\<>", c);
    used += (size_t)snprintf(room + used, CLI_SLOT_ROOM - used, is_plain ? "%c" : "<%02x>", c);
  }
  return room;
}
