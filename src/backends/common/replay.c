/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "backends/common/replay.h"

#include "base/error.h"
#include "base/transfer.h"

static kdl_status replay_node(const kdl_backend_table *table, void *device, void *queue,
                              const kdl_backend_node *node) {
  if (node->kind != KDL_NODE_LAUNCH)
    return kdl_transfer(table, device, queue, node);
  return node->is_skipped ? KDL_OK : node->launch(node->kernel, &node->desc, &node->args, queue);
}

kdl_status kdl_replay_nodes(const kdl_backend_table *table, void *device, void *queue,
                            const kdl_backend_node *const *nodes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    KDL_TRY(replay_node(table, device, queue, nodes[i]));
  return KDL_OK;
}
