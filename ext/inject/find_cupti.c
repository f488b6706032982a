/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/inject/find_cupti.h"

#include "support/system/variables.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"libcupti.so.14", "libcupti.so.13", "libcupti.so.12",
                                    "libcupti.so"};
enum { name_count = sizeof names / sizeof *names };

/* Folders of loaded libraries of CUDA; a few are enough. */
typedef struct {
  char paths[8][PATH_MAX];
  size_t count;
} folder_list;

static int add_folder(struct dl_phdr_info *object, size_t size, void *user) {
  (void)size;
  folder_list *list = user;
  const char *name = object->dlpi_name, *slash = name ? strrchr(name, '/') : NULL;
  if (!slash || list->count == sizeof list->paths / sizeof *list->paths ||
      (strncmp(slash + 1, "libcudart", 9) != 0 && strncmp(slash + 1, "libcublas", 9) != 0 &&
       strncmp(slash + 1, "libnvrtc", 8) != 0))
    return 0;
  snprintf(list->paths[list->count++], PATH_MAX, "%.*s", (int)(slash - name), name);
  return 0;
}

static void *open_in(const char *folder, const char *below) {
  for (size_t i = 0; i < name_count; ++i) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s%s/%s", folder, below, names[i]);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library)
      return library;
  }
  return NULL;
}

static void *open_near_cuda(void) {
  static folder_list list;
  void *library = NULL;
  dl_iterate_phdr(add_folder, &list);
  for (size_t i = 0; i < list.count && !library; ++i) {
    library = open_in(list.paths[i], "");
    if (!library) /* site-packages/nvidia/cuda_runtime/lib */
      library = open_in(list.paths[i], "/../../cuda_cupti/lib");
  }
  return library;
}

static void *open_by_name(int flags) {
  void *library = NULL;
  for (size_t i = 0; i < name_count && !library; ++i)
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | flags);
  return library;
}

static void *open_cupti(void) {
  static const char *const folders[] = {
      "/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64",
      "/usr/local/cuda/targets/x86_64-linux/lib", "/usr/local/cuda/targets/sbsa-linux/lib"};
  const char *given = kdl_environment(KDL_VARIABLE_CUPTI);
  if (given && given[0])
    return dlopen(given, RTLD_NOW | RTLD_LOCAL);
  void *library = open_by_name(RTLD_NOLOAD); /* two in one process do not work */
  if (!library)
    library = open_near_cuda();
  if (!library)
    library = open_by_name(0);
  for (size_t i = 0; i < sizeof folders / sizeof *folders && !library; ++i)
    library = open_in(folders[i], "");
  return library;
}

void *kdl_find_cupti(char *out_path, size_t size) {
  struct link_map *map;
  void *library = open_cupti();
  if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
    snprintf(out_path, size, "%s", map->l_name);
  return library;
}
