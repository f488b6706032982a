/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/system_package.h"

#include <string.h>

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
