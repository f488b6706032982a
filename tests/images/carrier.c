/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A plug-in that carries a library, and opens it through the kdl_open that it is handed. */
#include <kdl/kdl.h>

KDL_EMBED(carried, CARRIED);

typedef kdl_status open_function(const char *, const kdl_open_opts *, kdl_library **);

KDL_API kdl_status carrier_open(open_function *open, const char *name, kdl_library **out_lib);
KDL_API kdl_status carrier_open(open_function *open, const char *name, kdl_library **out_lib) {
  volatile kdl_status status =
      open(name, NULL, out_lib); /* no tail call: it would hide who calls */
  return status;
}
