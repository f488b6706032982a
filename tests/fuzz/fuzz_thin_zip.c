/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Zip archives, read and written again with fewer images: what is made is read as one with the same
 * members, but for signatures. */
#include "pack/thin/command.h"
#include "pack/thin/zip/zip.h"

#include <kdl/kdl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void tell(void *user, const char *member, const thin_selection *choice,
                 const thin_report *report, const char *left) {
  (void)user;
  if (!member || (!choice || !report) == !left)
    abort();
}

static size_t count_members(const uint8_t *data, size_t size) {
  zip_archive archive;
  if (zip_read(data, size, "zip", &archive) != KDL_OK)
    abort();
  size_t count = 0;
  for (size_t i = 0; i < archive.count; ++i) {
    kdl_string name = archive.members[i].entry.name;
    bool is_signature = name.length > 4 && (memcmp(name.data + name.length - 4, ".jws", 4) == 0 ||
                                            memcmp(name.data + name.length - 4, ".p7s", 4) == 0);
    count += !is_signature;
  }
  zip_free(&archive);
  return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool is_quiet;
  if (!is_quiet && !(stderr = fopen("/dev/null", "we")))
    abort();
  is_quiet = true;
  if (thin_sniff(data, size) != THIN_KIND_ZIP)
    return 0;
  cli_args args = {.setting_count = 0};
  cli_devices devices = {.count = 0};
  thin_rules rules = {.devices = &devices, .args = &args}; /* nothing stays */
  thin_input input = {.data = data, .size = size, .name = "zip", .fd = -1};
  thin_report report;
  thin_output out = {.count = 0};
  if (thin_zip(&rules, &input, tell, NULL, &report, &out) == KDL_OK) {
    uint8_t *made = malloc((size_t)out.size + 1);
    if (made) {
      thin_output_read(&out, 0, made, (size_t)out.size);
      if (count_members(made, (size_t)out.size) != count_members(data, size))
        abort();
    }
    free(made);
  } else if (kdl_error_message()[0] == '\0') {
    abort();
  }
  thin_output_free(&out);
  return 0;
}
