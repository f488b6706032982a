/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "objects.h"

#include "peers/peer.h"
#include "support/system/environment.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_object_in(const char *folder, size_t length, const char *below, const char *name,
                         char out_path[PATH_MAX]) {
  int used =
      snprintf(out_path, PATH_MAX, "%.*s%s/kdl_peer_%s.so", (int)length, folder, below, name);
  return used > 0 && used < PATH_MAX && access(out_path, R_OK) == 0;
}

bool suite_object_find(const char *name, char out_path[PATH_MAX]) {
  static const char *const below[] = {"", "/../lib", ("/" KDL_PEER_FOLDER)};
  const char *path = kdl_environment(KDL_VARIABLE_BENCH_PEER_PATH);
  while (path && *path) {
    size_t length = strcspn(path, ":");
    if (is_object_in(path, length, "", name, out_path))
      return true;
    path += length + (path[length] == ':');
  }
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  while (length > 0 && self[length - 1] != '/')
    --length;
  for (size_t i = 0; i < sizeof below / sizeof *below && length > 0; ++i) {
    if (is_object_in(self, (size_t)length - 1, below[i], name, out_path))
      return true;
  }
  return peer_fail(
      "found no kdl_peer_%s.so in the folder of the program or along KDL_BENCH_PEER_PATH", name);
}

const llvm_peer *suite_llvm(void) {
  char path[PATH_MAX];
  if (!suite_object_find("llvm", path))
    return NULL;
  void *symbol = peer_symbol(path, LLVM_PEER_SYMBOL);
  if (!symbol)
    return NULL;
  llvm_peer_function *function;
  memcpy(&function, &symbol, sizeof function);
  return function();
}
