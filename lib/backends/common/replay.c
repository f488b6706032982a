/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/replay.h"

#include "support/base/error.h"

kdl_status kdl_transfer_node(const kdl_backend_table *table, void *device, void *queue,
                             const kdl_backend_node *node) {
  switch (node->kind) {
  case KDL_NODE_COPY:
    return table->copy(device, queue, node->to, node->to_offset, node->from, node->from_offset,
                       node->bytes);
  case KDL_NODE_WRITE:
    return table->write(device, queue, node->to, node->to_offset, node->host, node->bytes);
  case KDL_NODE_READ:
    return table->read(device, queue, node->host, node->from, node->from_offset, node->bytes);
  case KDL_NODE_FILL:
    return table->fill(device, queue, node->to, node->to_offset, node->bytes, node->pattern,
                       node->pattern_size);
  default:
    return KDL_OK;
  }
}

static kdl_status replay_backend_node(const kdl_backend_table *table, void *device, void *queue,
                                      const kdl_backend_node *node) {
  if (node->kind != KDL_NODE_LAUNCH)
    return kdl_transfer_node(table, device, queue, node);
  return node->is_skipped ? KDL_OK : node->launch(node->kernel, &node->desc, &node->args, queue);
}

kdl_status kdl_replay_nodes(const kdl_backend_table *table, void *device, void *queue,
                            const kdl_backend_node *const *nodes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    KDL_TRY(replay_backend_node(table, device, queue, nodes[i]));
  return KDL_OK;
}
