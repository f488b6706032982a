/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A run by single launches: for backends without sequences, and where a backend's cannot be used.
 * Nodes may run in the order of recording. */
#include "lib/backends/common/replay.h"
#include "lib/sequence/state.h"
#include "support/base/error.h"

/* With a trace, launches through the kernel's entry, which also adds hidden arguments. */
static kdl_status replay_launch(const kdl_backend_node *node, void *queue) {
  const kdl_kernel *kernel = kdl_kernel_of(node->kernel);
  if (!kernel->trace_subject)
    return node->launch(node->kernel, &node->desc, &node->args, queue);
  const kdl_args args = {.count = node->args.count - kernel->key.hidden,
                         .pointers = node->args.pointers};
  return atomic_load_explicit(&kernel->grid_entry, memory_order_acquire)(node->kernel, &node->desc,
                                                                         &args, queue);
}

static kdl_status replay_state_node(const kdl_runtime *runtime, const kdl_backend_node *node,
                                    void *queue) {
  const kdl_backend_table *table = runtime->table;
  void *device = runtime->handle;
  switch (node->kind) {
  case KDL_NODE_LAUNCH:
    return node->is_skipped ? KDL_OK : replay_launch(node, queue);
  case KDL_NODE_RECORD:
    return table->event_record(device, node->event, queue);
  case KDL_NODE_WAIT:
    return table->event_wait(device, node->event, queue);
  default: /* joins need nothing: a queue is in order */
    return kdl_transfer_node(table, device, queue, node);
  }
}

/* At WHILE or END: jumps to the other end of the loop if needed. Waits for the queue. */
static kdl_status replay_loop_end(const kdl_state *state, void *queue, const kdl_runtime *runtime,
                                  size_t *at) {
  const kdl_backend_table *table = runtime->table;
  const kdl_backend_node *node = &state->nodes[*at];
  const kdl_backend_node *loop = node->kind == KDL_NODE_END ? &state->nodes[node->other] : node;
  uint32_t number = 0;
  KDL_TRY(
      table->read(runtime->handle, queue, &number, loop->from, loop->from_offset, sizeof number));
  KDL_TRY(table->queue_sync(runtime->handle, queue));
  if ((number != 0) == (node->kind == KDL_NODE_END))
    *at = node->other;
  return KDL_OK;
}

kdl_status kdl_state_replay(const kdl_plan *plan, const kdl_state *state, void *queue) {
  const kdl_runtime *runtime = plan->recording->runtime;
  for (size_t i = 0; i < plan->node_count; ++i) {
    const kdl_backend_node *node = &state->nodes[i];
    bool is_loop = node->kind == KDL_NODE_WHILE || node->kind == KDL_NODE_END;
    kdl_status status = is_loop ? replay_loop_end(state, queue, runtime, &i)
                                : replay_state_node(runtime, node, queue);
    if (status != KDL_OK) {
      kdl_error_prefix("node %zu", i);
      return status;
    }
  }
  return KDL_OK;
}
