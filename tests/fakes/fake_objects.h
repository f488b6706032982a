/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the drivers that launch share: objects that are alive, and what kernels do. */
#ifndef KDL_TESTS_FAKES_FAKE_OBJECTS_H
#define KDL_TESTS_FAKES_FAKE_OBJECTS_H

#include "fake.h"

#include <pthread.h>

typedef enum fake_kind {
  FAKE_CONTEXT, /* those up to FAKE_STREAM live as long as the process */
  FAKE_POOL,
  FAKE_POOLED, /* events of a pool */
  FAKE_STREAM,
  FAKE_EVENT,
  FAKE_LIBRARY,
  FAKE_MODULE,
  FAKE_KERNEL,
  FAKE_FUNCTION,
  FAKE_MEMORY,
  FAKE_GRAPH,
  FAKE_NODE, /* of a graph */
  FAKE_KIND_COUNT,
} fake_kind;

typedef struct fake_program fake_program;
typedef struct fake_recorded fake_recorded;

enum { most_loaded_contexts = 16, most_params = 64, fake_name_size = 1024 };

/* One struct for all kinds and vendors: which members count depends on both. */
typedef struct fake_object fake_object;
struct fake_object {
  fake_kind kind;
  uint64_t serial; /* no two objects ever have the same */
  fake_object *next;
  fake_object *context; /* of streams, events, modules, functions, memory */
  fake_object *owner;   /* of kernels, functions and variables: the code they are part of */
  int device;           /* ordinal, of contexts */
  bool primary;
  unsigned retained;
  int sticky; /* error that every further call on the context returns */
  int capture;
  fake_recorded *recorded_launches; /* of streams that are captured, and of graphs */
  bool blocking;                    /* stream that waits for the NULL stream */
  bool recorded;
  double time; /* of events, in ms */
  uint64_t address, size;
  bool borrowed;  /* memory that the program registered and keeps */
  bool is_pinned; /* memory of the host, from the driver */
  bool is_host;   /* memory of the host that devices reach, which backends keep */
  char name[fake_name_size];
  const fake_program *program; /* what a kernel does; NULL: nothing */
  unsigned param_count;
  size_t param_offsets[most_params], param_sizes[most_params];
  bool param_is_value[most_params]; /* no pointer, where the image tells */
  char *text;                       /* of code: its PTX, else NULL */
  int arch;                         /* of code: 90 for sm_90 */
  int per_item;                     /* elements that one work-item handles */
  int max_shared;                   /* bytes that a kernel was promised; 0: what all have */
  bool wide_clusters;
  unsigned max_block;   /* work-items in a group that a kernel was compiled for; 0: any */
  unsigned required[3]; /* the only block that a kernel takes; 0: any */
  fake_object *loaded[most_loaded_contexts]; /* contexts that a kernel was loaded into */
  void *state;                               /* the vendor's own, freed with the object */
};

/* All functions below are called with this held. */
extern pthread_mutex_t fake_lock;

fake_object *fake_new(fake_kind kind, fake_object *context);
void fake_delete(fake_object *object);

/* The object, or NULL where the handle is stale, of another kind, or nonsense. */
fake_object *fake_live(const void *handle, fake_kind kind);
fake_object *fake_next(fake_object *after, fake_kind kind); /* NULL: the first */

/* The allocation that holds the range, or NULL. */
fake_object *fake_memory_at(uint64_t address, uint64_t size);

/* Aligned as drivers do, and full of 0xa5; NULL where there is none. */
fake_object *fake_allocate(fake_object *context, uint64_t size);

/* Bytes of the context's device that are allocated. */
uint64_t fake_memory_used(const fake_object *context);

/* The variable of the code in a context, or NULL where it was not made yet. */
fake_object *fake_find_variable(const fake_object *code, const fake_object *context,
                                const char *name);

/* Makes it, with what the code says of its first bytes. */
fake_object *fake_add_variable(fake_object *code, fake_object *context, const char *name,
                               uint64_t size, const void *bytes, uint64_t byte_count);

/* Deletes code with its kernels, functions and variables. */
void fake_delete_code(fake_object *code);

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

/* With `shared` bytes of dynamic group memory. False where it reaches for memory that is not there,
 * which a device tells later. */
bool fake_program_run(const fake_object *kernel, fake_object *context, const unsigned grid[3],
                      const unsigned block[3], uint64_t shared, void **params);

/* Launches that an object keeps. Running them is as fake_program_run says. */
void fake_recorded_add(fake_object *object, const fake_object *kernel, fake_object *context,
                       const unsigned grid[3], const unsigned block[3], uint64_t shared,
                       void **params);
void fake_recorded_copy(const fake_object *from, fake_object *to);
void fake_recorded_clear(fake_object *object);
bool fake_recorded_run(const fake_object *from);

/* Each vendor's own: a variable of the code in a context, made when it is first asked for; NULL
 * where the code declares none of that name. */
fake_object *fake_variable(fake_object *code, fake_object *context, const char *name);

/* Each vendor's own, where it keeps more: forgets it, for fake_heal and fake_reset. */
void fake_forget(void);

/* The first kind that a program is to give back before it ends. */
fake_kind fake_first_to_release(void);

/* For tests that look inside: objects alive but for contexts and what they keep, and launches since
 * the start. */
FAKE_EXPORT unsigned fake_alive(void);
FAKE_EXPORT unsigned fake_launches(void);
FAKE_EXPORT void fake_heal(void);  /* forgets sticky errors */
FAKE_EXPORT void fake_reset(void); /* gives everything back, but for contexts */

extern unsigned fake_launch_count;

#endif
