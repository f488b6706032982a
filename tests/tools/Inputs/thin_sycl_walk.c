/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Loads a library of thin_sycl_images.py and writes what its descriptors lead to, as a runtime
 * would see it: to the files that its other arguments name. */
#include <dlfcn.h>
#include <stdio.h>

struct descriptor {
  void *head;
  const char *start, *end;
  void *tail;
};

int main(int argc, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library)
    return printf("%s\n", dlerror()), 1;
  const struct descriptor *all = dlsym(library, "descriptors");
  for (int i = 2; i < argc; ++i) {
    FILE *file = fopen(argv[i], "w");
    const struct descriptor *one = &all[i - 2];
    if (!file || fwrite(one->start, 1, (size_t)(one->end - one->start), file) !=
                     (size_t)(one->end - one->start))
      return 1;
    fclose(file);
    printf("%s %td%s\n", argv[i], one->end - one->start,
           (unsigned long)one->start % 8 ? " not aligned" : "");
  }
  return 0;
}
