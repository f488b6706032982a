/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/transfer.h"

kdl_status kdl_transfer(const kdl_backend_table *table, void *device, void *queue,
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
