/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs a sequence by single launches, where the backend's own form cannot be used. */
#ifndef KDL_LIB_BACKENDS_COMMON_REPLAY_H
#define KDL_LIB_BACKENDS_COMMON_REPLAY_H

#include <kdl/backend.h>

/* Enqueues a copy, a write, a read or a fill; ignores other nodes. */
kdl_status kdl_transfer_node(const kdl_backend_table *table, void *device, void *queue,
                             const kdl_backend_node *node);

/* Enqueues launches, copies and fills on a queue, which is in order; ignores other nodes. */
kdl_status kdl_replay_nodes(const kdl_backend_table *table, void *device, void *queue,
                            const kdl_backend_node *const *nodes, size_t count);

#endif
