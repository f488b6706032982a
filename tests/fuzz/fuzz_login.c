/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* WWW-Authenticate of any registry: each part that is read is whole, and Bearer has a realm. */
#include "pack/registry/login.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  challenge found;
  char *text = malloc(size + 1);
  if (!text)
    return 0;
  if (size)
    memcpy(text, data, size);
  text[size] = '\0';
  if (challenge_parse(text, &found)) {
    if (strlen(found.realm) >= sizeof found.realm ||
        strlen(found.service) >= sizeof found.service ||
        strlen(found.scope) >= sizeof found.scope || (found.is_bearer && !found.realm[0]))
      abort();
  }
  free(text);
  return 0;
}
