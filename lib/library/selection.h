/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ranked images of a kernel on one route of a device: what loading goes through in order. */
#ifndef KDL_LIBRARY_SELECTION_H
#define KDL_LIBRARY_SELECTION_H

#include "lib/library/library.h"
#include "lib/registry/device.h"
#include "lib/select/coverage.h"

/* The options with those filled in that a caller does not know yet; what NULL means is the
 * environment's to say. KDL_BAD_CALL where they are of no known size. */
kdl_status kdl_select_opts_read(const kdl_select_opts *given, kdl_select_opts *out_opts);

/* The ranking on that route alone, which is remembered; NULL where no image fits. Permission for
 * what the best image needs has been asked for. */
kdl_status kdl_library_rank(kdl_library *lib, kdl_device *device, size_t route, const char *kernel,
                            const kdl_select_opts *opts, const kdl_ranking **out_ranking);

/* Records why no image of the library fits the route, and returns KDL_NO_MATCH. */
kdl_status kdl_library_fail_no_match(kdl_library *lib, kdl_device *device, size_t route,
                                     const char *kernel, const kdl_select_opts *opts);

#endif
