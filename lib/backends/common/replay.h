/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A run of a sequence by launches, where what a backend made of it cannot be used now. */
#ifndef KDL_BACKENDS_COMMON_REPLAY_H
#define KDL_BACKENDS_COMMON_REPLAY_H

#include <kdl/backend.h>

/* Gives a copy, a write, a read or a fill to a queue; other nodes are left out. */
kdl_status kdl_transfer_node(const kdl_backend_table *table, void *device, void *queue,
                             const kdl_backend_node *node);

/* Gives launches, copies and fills to a queue, which keeps their order; other nodes are left out.
 */
kdl_status kdl_replay_nodes(const kdl_backend_table *table, void *device, void *queue,
                            const kdl_backend_node *const *nodes, size_t count);

#endif
