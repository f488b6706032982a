/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Prints, for each file named, the status and the story that opening it and reading every image
 * gives: a line of bad/EXPECTED. Built by hand, where make_bad.py is run:
 *
 *     cc -I include tests/golden/probe.c build/lib/libkdl.a -o /tmp/probe
 */
#include <kdl/kdl.h>

#include <stdio.h>

static kdl_status read_all(const char *name) {
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .name = name, .flags = KDL_OPEN_FILE};
  kdl_status status = kdl_open(name, &opts, &lib);
  if (status != KDL_OK)
    return status;
  for (size_t i = 0; status == KDL_OK && i < kdl_image_count(lib); ++i) {
    const void *data;
    size_t size;
    status = kdl_image_bytes(lib, i, &data, &size);
  }
  kdl_close(lib);
  return status;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    kdl_status status = read_all(argv[i]);
    printf("%s\t%d\t%s\n", argv[i], (int)status, status ? kdl_error_message() : "accepted");
  }
  return 0;
}
