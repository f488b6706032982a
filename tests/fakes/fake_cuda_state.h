/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the fake libcuda keeps: objects that are alive, and which context is current. */
#ifndef KDL_TESTS_FAKES_FAKE_CUDA_STATE_H
#define KDL_TESTS_FAKES_FAKE_CUDA_STATE_H

#include "backends/cuda/abi.h"
#include "fake.h"

#include <pthread.h>

#define KDL_CUDA_SYMBOL(need, field, name, version, parameters) FAKE_EXPORT int name parameters;
#include "backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL

/* CUresult values that only a driver returns */
enum {
  invalid_device = 101,
  invalid_image = 200,
  no_binary_for_gpu = 209,
  invalid_ptx = 218,
  illegal_address = 700,
  not_supported = 801,
  capture_unsupported = 900,
  capture_invalidated = 901,
};

/* CUstreamCaptureStatus and the modes of capturing */
enum { capture_none, capture_active, capture_broken };
enum { mode_global, mode_thread_local, mode_relaxed };

typedef enum fake_kind {
  FAKE_CONTEXT,
  FAKE_STREAM,
  FAKE_EVENT,
  FAKE_LIBRARY,
  FAKE_MODULE,
  FAKE_KERNEL,
  FAKE_FUNCTION,
  FAKE_MEMORY,
  FAKE_GRAPH,
  FAKE_KIND_COUNT,
} fake_kind;

typedef struct fake_program fake_program;

enum { most_loaded_contexts = 16, most_params = 16 };

/* One struct for all kinds: which members count depends on the kind. */
typedef struct fake_object fake_object;
struct fake_object {
  fake_kind kind;
  fake_object *next;
  fake_object *context; /* of streams, events, modules, functions, memory */
  fake_object *owner;   /* of kernels, functions and variables: the code they are part of */
  int device;           /* ordinal, of contexts */
  bool primary;
  unsigned retained;
  int sticky; /* error that every further call on the context returns */
  int capture;
  unsigned captured; /* launches */
  bool blocking;     /* stream that waits for the NULL stream */
  bool recorded;
  double time; /* of events, in ms */
  uint64_t address, size;
  char name[128];
  const fake_program *program; /* what a kernel does; NULL: nothing */
  unsigned param_count;
  size_t param_offsets[most_params], param_sizes[most_params];
  char *text;   /* of code: its PTX, else NULL */
  int arch;     /* of code: 90 for sm_90 */
  int per_item; /* elements that one work-item handles */
  int max_shared;
  bool wide_clusters;
  fake_object *loaded[most_loaded_contexts]; /* contexts that a kernel was loaded into */
};

/* All functions below are called with this held. */
extern pthread_mutex_t fake_lock;

fake_object *fake_new(fake_kind kind, fake_object *context);
void fake_delete(fake_object *object);

/* The object, or NULL where the handle is stale, of another kind, or nonsense. */
fake_object *fake_live(const void *handle, fake_kind kind);
fake_object *fake_next(fake_object *after, fake_kind kind); /* NULL: the first */

/* The context that is current on this thread; NULL for none. */
fake_object *fake_current(void);

/* The allocation that holds the range, or NULL. */
fake_object *fake_memory_at(uint64_t address, uint64_t size);

/* For calls that a capture in global mode forbids: breaks every capture, unless the thread is
 * relaxed. */
int fake_unsafe(void);

/* What every function begins with: FAKE_ENTER returns the injected error, or takes the lock. */
#define FAKE_ENTER()                                                                               \
  do {                                                                                             \
    int fault_ = fake_enter(__func__);                                                             \
    if (fault_)                                                                                    \
      return fault_;                                                                               \
    pthread_mutex_lock(&fake_lock);                                                                \
  } while (0)

static inline int fake_leave(int error) {
  pthread_mutex_unlock(&fake_lock);
  return error;
}

/* What a kernel of that name with such parameters does; NULL where that is not known. */
const fake_program *fake_program_find(const fake_object *kernel);
/* Returns an error that strikes later, such as an illegal address; 0 for none. */
int fake_program_run(const fake_object *kernel, fake_object *context, const unsigned grid[3],
                     const unsigned block[3], void **params);

/* A variable of the code in a context, made when it is first asked for; NULL where the code
 * declares none of that name. */
fake_object *fake_variable(fake_object *code, fake_object *context, const char *name);

/* For tests that look inside: objects alive but for contexts, how many contexts lie on this
 * thread's stack, and launches since the start. */
FAKE_EXPORT unsigned fake_cuda_live(void);
FAKE_EXPORT unsigned fake_cuda_depth(void);
FAKE_EXPORT unsigned fake_cuda_launches(void);
FAKE_EXPORT void fake_cuda_heal(void);  /* forgets sticky errors */
FAKE_EXPORT void fake_cuda_reset(void); /* gives everything back, but for contexts */

extern unsigned fake_launch_count;

/* What tests need of the real interface beyond what libkdl uses. */
FAKE_EXPORT int cuCtxCreate_v2(void **context, unsigned flags, int device);
FAKE_EXPORT int cuCtxDestroy_v2(void *context);
FAKE_EXPORT int cuCtxSetCurrent(void *context);
FAKE_EXPORT int cuStreamBeginCapture_v2(void *stream, int mode);
FAKE_EXPORT int cuStreamEndCapture(void *stream, void **graph);
FAKE_EXPORT int cuGraphDestroy(void *graph);
FAKE_EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                                    int *outcome);

#endif
