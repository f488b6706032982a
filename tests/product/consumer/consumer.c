/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Valid as C99, C17 and C++17: a program that lists the library it carries. */
#include <kdl/kdl.h>

#include <stdio.h>

#ifdef EMBEDDED_BY_CMAKE
KDL_EMBED_DECLARE(two_offload);
#else
KDL_EMBED(two_offload, TWO_OFFLOAD);
#endif

int main(void) {
  kdl_library *lib;
  if (kdl_open_memory(two_offload, KDL_EMBED_SIZE(two_offload), NULL, &lib) != KDL_OK) {
    fprintf(stderr, "%s\n", kdl_error_message());
    return 1;
  }
  printf("version=%s images=%d arch=", kdl_version(), (int)kdl_image_count(lib));
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    kdl_image_info info;
    info.size = sizeof info;
    if (kdl_image_get(lib, i, &info) != KDL_OK)
      return 1;
    printf("%s%s", i ? "," : "", info.arch.data);
  }
  puts("");
  kdl_close(lib);
  return 0;
}
