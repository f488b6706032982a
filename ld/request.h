/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The command line of kdl-ld, checked. docs/linking.md describes it. */
#ifndef KDL_LD_REQUEST_H
#define KDL_LD_REQUEST_H

#include "compiler/ir/linker/request.h"
#include "tools/common/options.h"

/* The request points into `args` and into the arena, which must outlive the link. The caller frees
 * `device`, also after a failure. */
kdl_status ld_request_read(const cli_args *args, kdl_arena *arena, ir_request *out_request);

#endif
