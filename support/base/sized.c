/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/sized.h"

#include "support/base/error.h"

#include <string.h>

/* The alignment of every public struct, and a limit that none will reach. */
enum { alignment = 8, largest = 4096 };

/* Every public struct begins with its size. */
static size_t size_of(const void *given) {
  size_t size;
  memcpy(&size, given, sizeof size);
  return size;
}

static size_t lesser(size_t a, size_t b) {
  return a < b ? a : b;
}

kdl_status kdl_sized_check(kdl_sized what, const void *out) {
  size_t size = size_of(out);
  if (size >= what.first && size <= largest && size % alignment == 0)
    return KDL_OK;
  return kdl_fail(KDL_BAD_CALL, "%s: %s.size is %zu, expected %zu", what.call, what.name, size,
                  what.known);
}

kdl_status kdl_sized_read(kdl_sized what, const void *given, void *out) {
  KDL_TRY(kdl_sized_check(what, given));
  size_t size = size_of(given), copied = lesser(size, what.known);
  if (size == what.known) {
    memcpy(out, given, size);
    return KDL_OK;
  }
  for (size_t i = what.known; i < size; ++i) {
    if (((const unsigned char *)given)[i] != 0)
      return kdl_fail(KDL_BAD_CALL,
                      "%s: %s.size is %zu, expected %zu: this version of libkdl does not know what "
                      "is set at offset %zu",
                      what.call, what.name, size, what.known, i);
  }
  memcpy(out, given, copied);
  memset((unsigned char *)out + copied, 0, what.known - copied);
  memcpy(out, &what.known, sizeof what.known);
  return KDL_OK;
}

void kdl_sized_write(kdl_sized what, const void *made, void *out) {
  size_t size = size_of(out), copied = lesser(size, what.known);
  memcpy(out, made, copied);
  memset((unsigned char *)out + copied, 0, size - copied);
  memcpy(out, &size, sizeof size);
}
