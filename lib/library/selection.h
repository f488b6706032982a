/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ranked images of a kernel on one route of a device, which loading tries in order. */
#ifndef KDL_LIB_LIBRARY_SELECTION_H
#define KDL_LIB_LIBRARY_SELECTION_H

#include "lib/library/library.h"
#include "lib/registry/device.h"
#include "lib/select/ranking.h"

/* Copies the caller's options and sets members that the caller's version lacks. With NULL, the
 * environment decides. KDL_BAD_CALL where the size is unknown. */
kdl_status kdl_select_opts_read(const kdl_select_opts *given, kdl_select_opts *out_opts);

/* The cached ranking on that route; NULL where no image fits. Has requested the permission that the
 * best image needs. */
kdl_status kdl_library_rank(kdl_library *lib, kdl_device *device, size_t route, const char *kernel,
                            const kdl_select_opts *opts, const kdl_ranking **out_ranking);

/* Records why no image of the library fits the route, and returns KDL_NO_MATCH. */
kdl_status kdl_library_fail_no_match(kdl_library *lib, kdl_device *device, size_t route,
                                     const char *kernel, const kdl_select_opts *opts);

#endif
