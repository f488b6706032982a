/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Nodes of a sequence that move bytes, by the functions of a backend's table. */
#ifndef KDL_BASE_TRANSFER_H
#define KDL_BASE_TRANSFER_H

#include <kdl/backend.h>

/* Gives a copy, a write, a read or a fill to a queue; other nodes are left out. */
kdl_status kdl_transfer(const kdl_backend_table *table, void *device, void *queue,
                        const kdl_backend_node *node);

#endif
