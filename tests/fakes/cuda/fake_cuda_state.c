/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Contexts and captures of the fake libcuda. */
#include "fake_cuda_state.h"

/* ------------------------------------------------------------------------------------------ */
/* Contexts                                                                                     */

enum { stack_depth = 64 };
static _Thread_local fake_object *stack[stack_depth];
static _Thread_local unsigned depth;

/* A context that was destroyed while it lay on a stack is not current anywhere. */
fake_object *fake_current(void) {
  return depth ? fake_live(stack[depth - 1], FAKE_CONTEXT) : NULL;
}

static int device_ordinal(int device) {
  return device >= 100 && fake_device((size_t)device - 100) ? device - 100 : -1;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  FAKE_ENTER();
  int ordinal = device_ordinal(device);
  if (ordinal < 0)
    return fake_leave(invalid_device);
  fake_object *found = fake_next(NULL, FAKE_CONTEXT);
  while (found && !(found->primary && found->device == ordinal))
    found = fake_next(found, FAKE_CONTEXT);
  if (!found) {
    found = fake_new(FAKE_CONTEXT, NULL);
    found->primary = true;
    found->device = ordinal;
  }
  ++found->retained;
  *context = found;
  return fake_leave(found->sticky);
}

int cuCtxCreate_v2(void **context, unsigned flags, int device) {
  (void)flags;
  FAKE_ENTER();
  int ordinal = device_ordinal(device);
  if (ordinal < 0 || depth == stack_depth)
    return fake_leave(invalid_device);
  fake_object *made = fake_new(FAKE_CONTEXT, NULL);
  made->device = ordinal;
  stack[depth++] = made;
  *context = made;
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuCtxDestroy_v2(void *context) {
  FAKE_ENTER();
  fake_object *object = fake_live(context, FAKE_CONTEXT);
  if (!object || object->primary)
    return fake_leave(KDL_CUDA_ERROR_INVALID_CONTEXT);
  if (depth && stack[depth - 1] == object)
    --depth;
  fake_delete(object);
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuCtxGetCurrent(void **context) {
  FAKE_ENTER();
  *context = fake_current();
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuCtxSetCurrent(void *context) {
  FAKE_ENTER();
  depth = depth ? depth - 1 : 0;
  if (context)
    stack[depth++] = context;
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuCtxPushCurrent_v2(void *context) {
  FAKE_ENTER();
  if (!fake_live(context, FAKE_CONTEXT) || depth == stack_depth)
    return fake_leave(KDL_CUDA_ERROR_INVALID_CONTEXT);
  stack[depth++] = context;
  return fake_leave(KDL_CUDA_SUCCESS);
}

/* Like what destroys, it does its work also where it reports an error of earlier. */
int cuCtxPopCurrent_v2(void **context) {
  int fault = fake_enter(__func__);
  if (!depth)
    return KDL_CUDA_ERROR_INVALID_CONTEXT;
  *context = stack[--depth];
  return fault;
}

int cuCtxGetDevice(int *device) {
  FAKE_ENTER();
  fake_object *current = fake_current();
  if (!current)
    return fake_leave(KDL_CUDA_ERROR_INVALID_CONTEXT);
  *device = current->device + 100;
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuCtxSynchronize(void) {
  FAKE_ENTER();
  fake_object *current = fake_current();
  if (!current)
    return fake_leave(KDL_CUDA_ERROR_INVALID_CONTEXT);
  int error = fake_unsafe();
  return fake_leave(error ? error : current->sticky);
}

/* ------------------------------------------------------------------------------------------ */
/* Captures                                                                                     */

int cuThreadExchangeStreamCaptureMode(int *mode) {
  FAKE_ENTER();
  *mode = fake_capture_mode(*mode);
  return fake_leave(KDL_CUDA_SUCCESS);
}

int fake_unsafe(void) {
  return fake_capture_break() ? capture_unsupported : KDL_CUDA_SUCCESS;
}

int cuStreamBeginCapture_v2(void *handle, int mode) {
  (void)mode;
  FAKE_ENTER();
  fake_object *stream = fake_live(handle, FAKE_STREAM);
  if (!stream)
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  fake_capture_begin(stream);
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuStreamEndCapture(void *handle, void **graph) {
  FAKE_ENTER();
  fake_object *stream = fake_live(handle, FAKE_STREAM);
  if (!stream)
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  *graph = fake_capture_end(stream);
  return fake_leave(*graph ? KDL_CUDA_SUCCESS : capture_invalidated);
}

/* ------------------------------------------------------------------------------------------ */
/* Looking inside                                                                               */

unsigned fake_cuda_depth(void) {
  return depth;
}

void fake_cuda_reset(void) {
  fake_reset();
  depth = 0;
}
