/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <kdl/matmul.h>

#include <string.h>

int main(void) {
  return kdl_matmul_find(NULL, NULL, KDL_MATMUL_F32_F32, 1, NULL) != KDL_BAD_CALL ||
         strcmp(kdl_error_message(), "kdl_matmul_find: found NULL for lib, expected a pointer") !=
             0;
}
