/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/extent.h"

#include "support/base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static kdl_status parse_extent(const char *option, const char *words, uint64_t largest,
                               uint64_t out[3]) {
  const char *at = words;
  for (int i = 0; i < 3; ++i) {
    char *end;
    errno = 0;
    out[i] = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
    if (out[i] == 0 || (*end && *end != 'x'))
      return kdl_fail(KDL_BAD_CALL, "--%s: bad value '%s': use X, XxY or XxYxZ, each at least 1",
                      option, words);
    if (errno || out[i] > largest)
      return kdl_fail(KDL_BAD_CALL, "--%s: '%s' is too large: use numbers of at most %" PRIu64,
                      option, words, largest);
    if (!*end) {
      for (int k = i + 1; k < 3; ++k)
        out[k] = 1;
      return KDL_OK;
    }
    at = end + 1;
  }
  return kdl_fail(KDL_BAD_CALL, "--%s: '%s' has too many numbers: use X, XxY or XxYxZ", option,
                  words);
}

kdl_status cli_extent_parse(const char *option, const char *words, uint64_t out[3]) {
  return parse_extent(option, words, UINT64_MAX, out);
}

kdl_status cli_extent_small(const char *option, const char *words, uint32_t out[3]) {
  uint64_t wide[3];
  KDL_TRY(parse_extent(option, words, UINT32_MAX, wide));
  for (int i = 0; i < 3; ++i)
    out[i] = (uint32_t)wide[i];
  return KDL_OK;
}
