/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/program_folder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool cli_program_folder(char out_folder[PATH_MAX]) {
  ssize_t length = readlink("/proc/self/exe", out_folder, PATH_MAX - 1);
  char *slash = length > 0 ? memrchr(out_folder, '/', (size_t)length) : NULL;
  if (slash)
    *slash = '\0';
  return slash != NULL;
}

bool cli_program_file(const char *name, char out_path[PATH_MAX]) {
  if (!cli_program_folder(out_path))
    return false;
  size_t length = strlen(out_path);
  int used = snprintf(out_path + length, PATH_MAX - length, "/%s", name);
  return used > 0 && (size_t)used < PATH_MAX - length;
}
