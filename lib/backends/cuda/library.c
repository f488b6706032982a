/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Code without a context: one CUlibrary serves every device that loads the image. */
#include "lib/backends/cuda/objects.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct shared_library shared_library;
struct shared_library {
  kdl_cuda_code code; /* first member: callers hold a pointer to it */
  shared_library *next;
  const void *data;
  size_t users;
  pthread_mutex_t lock; /* held while loading, so that a second device waits for the result */
};

static pthread_mutex_t cuda_libraries_lock = PTHREAD_MUTEX_INITIALIZER;
static shared_library *cuda_libraries;

/* The address of the image's bytes identifies it while it is loaded. */
static shared_library *cuda_find_or_add_library(const void *data) {
  pthread_mutex_lock(&cuda_libraries_lock);
  shared_library *found = cuda_libraries;
  while (found && found->data != data)
    found = found->next;
  if (!found) {
    found = malloc(sizeof *found);
    if (found) {
      *found =
          (shared_library){.data = data, .lock = PTHREAD_MUTEX_INITIALIZER, .next = cuda_libraries};
      cuda_libraries = found;
    }
  }
  if (found)
    ++found->users;
  pthread_mutex_unlock(&cuda_libraries_lock);
  return found;
}

void kdl_cuda_library_release(uint32_t ordinal, kdl_cuda_code *code) {
  shared_library *library = (shared_library *)code;
  pthread_mutex_lock(&cuda_libraries_lock);
  bool last = --library->users == 0;
  shared_library **link = &cuda_libraries;
  while (last && *link != library)
    link = &(*link)->next;
  if (last)
    *link = library->next;
  pthread_mutex_unlock(&cuda_libraries_lock);
  if (!last)
    return;
  if (code->handle) {
    int error = kdl_cuda.library_unload(code->handle);
    if (error != KDL_CUDA_SUCCESS)
      kdl_cuda_log_error(ordinal, error, "cuLibraryUnload");
  }
  kdl_cuda_jit_destroy(code->jit);
  pthread_mutex_destroy(&library->lock);
  free(library);
}

static kdl_status cuda_load_library(uint32_t ordinal, const kdl_backend_image *image,
                                    kdl_cuda_code *code) {
  kdl_cuda_jit_input input;
  KDL_TRY(kdl_cuda_jit_begin(image, &code->jit, &input));
  /* The bytes outlive the library, so the driver need not copy them. */
  int option = KDL_CUDA_LIBRARY_BINARY_IS_PRESERVED;
  void *value = (void *)(intptr_t)1;
  void *handle;
  int error = kdl_cuda.library_load(&handle, input.data, input.options, input.values,
                                    input.option_count, &option, &value, 1);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_code_fail(ordinal, error, "cuLibraryLoadData", code->jit);
  code->handle = handle;
  kdl_cuda_jit_log(code->jit, image->name);
  return KDL_OK;
}

kdl_status kdl_cuda_library_acquire(uint32_t ordinal, const kdl_backend_image *image,
                                    kdl_cuda_code **out_code) {
  shared_library *library = cuda_find_or_add_library(image->data);
  if (!library)
    return kdl_core_services.fail(KDL_NO_MEMORY, 0, "cuda:%u: no memory", ordinal);
  pthread_mutex_lock(&library->lock);
  kdl_status status =
      library->code.handle ? KDL_OK : cuda_load_library(ordinal, image, &library->code);
  pthread_mutex_unlock(&library->lock);
  if (status != KDL_OK) {
    kdl_cuda_library_release(ordinal, &library->code);
    return status;
  }
  *out_code = &library->code;
  return KDL_OK;
}
