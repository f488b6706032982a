/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device specs from lines: what is accepted prints to a line that means the same, in text and in
 * JSON; what is refused has a message. */
#include "../unit/support/same_spec.h"
#include "lib/device/named_devices.h"
#include "lib/device/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const kdl_device_spec *spec) {
  char line[KDL_SPEC_LINE];
  kdl_device_spec again;
  kdl_device_spec_print(spec, &(kdl_out){line, sizeof line, 0});
  if (kdl_device_spec_parse(line, &again) != KDL_OK || !is_same_spec(spec, &again))
    abort();
}

static void check_json(const kdl_device_spec *spec) {
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  if (!file)
    return;
  kdl_device_spec_write_json(spec, 0, file);
  if (fclose(file) != 0)
    abort();
  kdl_device_routes again;
  size_t count;
  if (kdl_device_routes_read_json("spec", text, size, 0, &again, &count) != KDL_OK ||
      !is_same_spec(spec, &again.specs[0]))
    abort();
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *line = malloc(size + 1);
  if (!line)
    return 0;
  memcpy(line, data, size);
  line[size] = '\0';
  kdl_device_routes routes;
  /* '@' names a file, which is no business of a fuzzer. */
  if (line[strspn(line, " \t")] == '@') {
    free(line);
    return 0;
  }
  if (kdl_device_routes_resolve(line, &routes) == KDL_OK) {
    for (size_t i = 0; i < routes.count; ++i) {
      check_text(&routes.specs[i]);
      check_json(&routes.specs[i]);
    }
  } else if (kdl_error_message()[0] == '\0') {
    abort();
  }
  free(line);
  return 0;
}
