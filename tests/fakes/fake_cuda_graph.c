/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* CUDA graphs of the fake libcuda: what was captured, to be run again. */
#include "fake_cuda_state.h"

int cuGraphInstantiateWithFlags(void **instance, void *graph, uint64_t flags) {
  (void)flags;
  FAKE_ENTER();
  fake_object *from = fake_live(graph, FAKE_GRAPH);
  if (!from)
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  fake_object *made = fake_new(FAKE_GRAPH, from->context);
  fake_recorded_copy(from, made);
  *instance = made;
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuGraphLaunch(void *instance, void *stream) {
  FAKE_ENTER();
  fake_object *graph = fake_live(instance, FAKE_GRAPH);
  if (!graph || (stream && !fake_live(stream, FAKE_STREAM)))
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  if (!fake_recorded_run(graph))
    graph->context->sticky = illegal_address;
  return fake_leave(graph->context->sticky);
}

int cuGraphDestroy(void *handle) {
  FAKE_ENTER();
  fake_object *graph = fake_live(handle, FAKE_GRAPH);
  if (!graph)
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  fake_delete(graph);
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuGraphExecDestroy(void *instance) {
  return cuGraphDestroy(instance);
}
