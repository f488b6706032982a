/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A kernel that no image holds: what may have been meant. */
#include "base/error.h"
#include "base/text.h"
#include "explain/explain.h"
#include "library/library.h"
#include "select/absent.h"

kdl_status cli_kernel_check(const cli_input *input, const char *kernel) {
  kdl_catalog *catalog;
  kdl_status status = kdl_library_catalog(input->lib, &catalog);
  if (status == KDL_OK)
    status = kdl_kernel_absent(catalog, kdl_text_of(kernel));
  if (status != KDL_OK)
    kdl_error_prefix("%s", input->name);
  return status;
}
