/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/error.h"
#include "support/base/text.h"

#include <string.h>

kdl_status kdl_size_parse(const char *text, uint64_t *out_size) {
  static const char units[] = "KMGT";
  uint64_t size = 0;
  const char *at = text;
  bool fits = *at >= '0' && *at <= '9';
  for (; fits && *at >= '0' && *at <= '9'; ++at) {
    fits = size <= (UINT64_MAX - 9) / 10;
    size = size * 10 + (uint64_t)(*at - '0');
  }
  const char *unit = fits && *at ? strchr(units, *at) : NULL;
  if (unit) {
    unsigned shift = 10 * (unsigned)(unit - units + 1);
    fits = size <= UINT64_MAX >> shift;
    size <<= shift;
    ++at;
  }
  if (!fits || *at)
    return kdl_fail(KDL_BAD_CALL,
                    "found \"%s\", expected a number of bytes, as 536870912, 512M or 2G", text);
  *out_size = size;
  return KDL_OK;
}
