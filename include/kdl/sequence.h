/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Recorded sequences: the third part of <kdl/kdl.h>, which includes it. Work that is given again
 * and again is recorded once, and run by one call:
 *
 *     kdl_sequence_create(dev, &seq);
 *     kdl_sequence_add_buffer(seq, "x", n * 4, &x);
 *     kdl_sequence_add_scalar(seq, "a", sizeof(float), &a);
 *     kdl_operand args[] = {kdl_operand_slot(a), kdl_operand_slot(x), kdl_operand_buffer(y),
 * KDL_VALUE(&n)}; kdl_sequence_launch_items(seq, saxpy, kdl_operand_items(kdl_extent1(n)), args,
 * 4);
 *     ...
 *     kdl_sequence_finish(seq);
 *
 *     kdl_binding bindings[] = {kdl_bind_buffer(x, buffer), KDL_BIND_SCALAR(a, &two)};
 *     kdl_sequence_run(seq, q, bindings, 2);
 *     kdl_sync(q);
 *
 * A slot stands for what changes between runs: a buffer, a number, a count of work-items, memory of
 * the host. Everything else is as it was recorded. What is recorded runs in that order, unless
 * marks say that branches are independent (kdl_sequence_fork).
 *
 * A run gives the whole to the queue as if its parts had been given one by one, behind what the
 * queue has and before what comes later. How it does that is the backend's: CUDA and HIP graphs,
 * command buffers of OpenCL, a compiled list on the host, else launches (docs/sequences.md).
 *
 * Threads. A sequence is recorded by one thread at a time. Once it is finished, any number of
 * threads may run it at the same time, on different queues, with different bindings.
 */
#ifndef KDL_SEQUENCE_H
#define KDL_SEQUENCE_H

#ifndef KDL_KDL_H
#error "include <kdl/kdl.h>, which includes this header"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kdl_sequence kdl_sequence;

/* An empty sequence of the device. */
KDL_API kdl_status kdl_sequence_create(kdl_device *device, kdl_sequence **out_sequence);

/* No thread may be inside a run; what was given to queues is done nevertheless. NULL is allowed. */
KDL_API void kdl_sequence_destroy(kdl_sequence *sequence);

/* ------------------------------------------------------------------------------------------ */
/* Slots                                                                                        */

/* They are numbered from 1 in the order in which they are made; 0 is none. */
typedef uint32_t kdl_slot;

typedef enum kdl_slot_kind {
  KDL_SLOT_BUFFER = 1, /* a kdl_buffer of the sequence's device */
  KDL_SLOT_SCALAR = 2, /* a value of `bytes` bytes */
  KDL_SLOT_ITEMS = 3,  /* a kdl_extent: how many work-items launches have */
  KDL_SLOT_HOST = 4,   /* memory of the host, for copies */
} kdl_slot_kind;

typedef struct kdl_slot_desc {
  size_t size;      /* sizeof(kdl_slot_desc) */
  const char *name; /* for messages and files; copied; NULL: none. No two have the same */
  kdl_slot_kind kind;
  uint32_t reserved; /* 0 */
  /* Of a scalar, its size: 1 to 4096. Of memory, how much kernels use at least; copies and fills
   * are counted by themselves. */
  uint64_t bytes;
} kdl_slot_desc;

KDL_API kdl_status kdl_sequence_add_slot(kdl_sequence *sequence, const kdl_slot_desc *desc,
                                         kdl_slot *out_slot);

static inline kdl_status kdl_sequence_add_slot_of(kdl_sequence *sequence, kdl_slot_kind kind,
                                                  const char *name, uint64_t bytes,
                                                  kdl_slot *out_slot) {
  kdl_slot_desc desc = {sizeof(kdl_slot_desc), name, kind, 0, bytes};
  return kdl_sequence_add_slot(sequence, &desc, out_slot);
}
static inline kdl_status kdl_sequence_add_buffer(kdl_sequence *sequence, const char *name,
                                                 uint64_t bytes, kdl_slot *out_slot) {
  return kdl_sequence_add_slot_of(sequence, KDL_SLOT_BUFFER, name, bytes, out_slot);
}
static inline kdl_status kdl_sequence_add_scalar(kdl_sequence *sequence, const char *name,
                                                 uint64_t bytes, kdl_slot *out_slot) {
  return kdl_sequence_add_slot_of(sequence, KDL_SLOT_SCALAR, name, bytes, out_slot);
}
static inline kdl_status kdl_sequence_add_items(kdl_sequence *sequence, const char *name,
                                                kdl_slot *out_slot) {
  return kdl_sequence_add_slot_of(sequence, KDL_SLOT_ITEMS, name, 0, out_slot);
}
static inline kdl_status kdl_sequence_add_host(kdl_sequence *sequence, const char *name,
                                               uint64_t bytes, kdl_slot *out_slot) {
  return kdl_sequence_add_slot_of(sequence, KDL_SLOT_HOST, name, bytes, out_slot);
}

/* ------------------------------------------------------------------------------------------ */
/* Operands                                                                                     */

typedef enum kdl_operand_kind {
  KDL_OPERAND_VALUE = 1,  /* `bytes` bytes at `of.value`, which are copied when it is recorded */
  KDL_OPERAND_BUFFER = 2, /* `of.buffer`, from `offset` on */
  KDL_OPERAND_ITEMS = 3,  /* `of.items` */
  KDL_OPERAND_HOST = 4,   /* memory of the host at `of.host`, which stays there; read or written
                             whenever the sequence runs */
  KDL_OPERAND_SLOT = 5,   /* what `slot` is bound to; of memory, from `offset` on */
} kdl_operand_kind;

/* What a recorded call is given. Start from the functions below. */
typedef struct kdl_operand {
  kdl_operand_kind kind;
  kdl_slot slot;
  uint64_t offset;
  uint64_t bytes;
  union {
    const void *value;
    kdl_buffer buffer;
    kdl_extent items;
    void *host;
  } of;
} kdl_operand;

static inline kdl_operand kdl_operand_of(kdl_operand_kind kind) {
  kdl_operand operand;
  operand.kind = kind;
  operand.slot = 0;
  operand.offset = 0;
  operand.bytes = 0;
  operand.of.items = kdl_extent3(0, 0, 0);
  return operand;
}
static inline kdl_operand kdl_operand_value(const void *value, size_t bytes) {
  kdl_operand operand = kdl_operand_of(KDL_OPERAND_VALUE);
  operand.of.value = value;
  operand.bytes = bytes;
  return operand;
}
/* KDL_VALUE(&n): a typed pointer. */
#define KDL_VALUE(pointer) kdl_operand_value((pointer), sizeof *(pointer))

static inline kdl_operand kdl_operand_buffer_offset(kdl_buffer buffer, uint64_t offset) {
  kdl_operand operand = kdl_operand_of(KDL_OPERAND_BUFFER);
  operand.of.buffer = buffer;
  operand.offset = offset;
  return operand;
}
static inline kdl_operand kdl_operand_buffer(kdl_buffer buffer) {
  return kdl_operand_buffer_offset(buffer, 0);
}
static inline kdl_operand kdl_operand_slot_offset(kdl_slot slot, uint64_t offset) {
  kdl_operand operand = kdl_operand_of(KDL_OPERAND_SLOT);
  operand.slot = slot;
  operand.offset = offset;
  return operand;
}
static inline kdl_operand kdl_operand_slot(kdl_slot slot) {
  return kdl_operand_slot_offset(slot, 0);
}
static inline kdl_operand kdl_operand_host(void *host) {
  kdl_operand operand = kdl_operand_of(KDL_OPERAND_HOST);
  operand.of.host = host;
  return operand;
}
static inline kdl_operand kdl_operand_items(kdl_extent items) {
  kdl_operand operand = kdl_operand_of(KDL_OPERAND_ITEMS);
  operand.of.items = items;
  return operand;
}

/* ------------------------------------------------------------------------------------------ */
/* Recording                                                                                    */

/* A call that fails records nothing. Kernels are loaded when their launch is recorded, which keeps
 * their library open as long as the sequence, and checks arguments against what the image takes. */

/* As kdl_launch_items; `items` is kdl_operand_items() or an items slot. */
KDL_API kdl_status kdl_sequence_launch_items(kdl_sequence *sequence, kdl_kernel *kernel,
                                             kdl_operand items, const kdl_operand *args,
                                             size_t arg_count);

/* As kdl_launch, with a grid of the caller's making. */
KDL_API kdl_status kdl_sequence_launch(kdl_sequence *sequence, kdl_kernel *kernel,
                                       const kdl_launch_desc *desc, const kdl_operand *args,
                                       size_t arg_count);

/* From and to buffers of the device, or one of both being memory of the host. Ranges of one buffer
 * must not overlap. */
KDL_API kdl_status kdl_sequence_copy(kdl_sequence *sequence, kdl_operand to, kdl_operand from,
                                     uint64_t size);

/* As kdl_fill. */
KDL_API kdl_status kdl_sequence_fill(kdl_sequence *sequence, kdl_operand to, uint64_t size,
                                     const void *pattern, size_t pattern_size);

/* As kdl_event_record and kdl_event_wait, in each run. The event outlives the sequence. */
KDL_API kdl_status kdl_sequence_event_record(kdl_sequence *sequence, kdl_event *event);
KDL_API kdl_status kdl_sequence_event_wait(kdl_sequence *sequence, kdl_event *event);

/* Everything that `inner`, a finished sequence of the same device, has recorded, which need not
 * live on. `slots` has an operand for each of its slots, in their order: of this sequence, or
 * constant. */
KDL_API kdl_status kdl_sequence_nest(kdl_sequence *sequence, const kdl_sequence *inner,
                                     const kdl_operand *slots, size_t slot_count);

/* Branches that do not wait for each other:
 *
 *     kdl_sequence_fork(seq);    what follows is the first branch
 *     kdl_sequence_branch(seq);  what follows is another one, which begins where the first did
 *     kdl_sequence_join(seq);    what follows waits for all of them
 *
 * Branches may fork again, 64 deep. They must not write what another one reads or writes. */
KDL_API kdl_status kdl_sequence_fork(kdl_sequence *sequence);
KDL_API kdl_status kdl_sequence_branch(kdl_sequence *sequence);
KDL_API kdl_status kdl_sequence_join(kdl_sequence *sequence);

/* What is recorded up to kdl_sequence_end_while is repeated for as long as the 32-bit number at
 * `condition`, which is memory of the device at a multiple of 4, is not 0; it is looked at before
 * each pass. Loops may lie in loops, 8 deep, and forks in loops, but no loop in a branch. On the
 * host the number is read where it is; elsewhere the run waits for the queue before each pass. */
KDL_API kdl_status kdl_sequence_while(kdl_sequence *sequence, kdl_operand condition);
KDL_API kdl_status kdl_sequence_end_while(kdl_sequence *sequence);

/* Ends the recording: every fork must be joined, and every loop ended. */
KDL_API kdl_status kdl_sequence_finish(kdl_sequence *sequence);

typedef struct kdl_sequence_info {
  size_t size;       /* set to sizeof(kdl_sequence_info) before the call */
  size_t slot_count; /* and so many bindings a run has */
  size_t node_count; /* whatever was recorded, with what was nested */
  size_t launch_count;
  const char *replay; /* how it runs: "graph", "commands", "list", "launches"; NULL before that is
                         known, which may be its first run */
} kdl_sequence_info;

KDL_API kdl_status kdl_sequence_get(const kdl_sequence *sequence, kdl_sequence_info *out_info);

/* The device that it runs on: what kdl_sequence_open chose where it was given none. */
KDL_API kdl_status kdl_sequence_device(const kdl_sequence *sequence, kdl_device **out_device);

/* What a slot is: its name, "" where it has none, its kind, and how many bytes a binding has at
 * least. The name lives as long as the sequence. */
KDL_API kdl_status kdl_sequence_slot_get(const kdl_sequence *sequence, kdl_slot slot,
                                         kdl_slot_desc *out_desc);

/* The slot of that name; KDL_NO_MATCH where there is none. */
KDL_API kdl_status kdl_sequence_slot_find(const kdl_sequence *sequence, const char *name,
                                          kdl_slot *out_slot);

/* What launches give a slot to, one at a time in their order: the type of the parameter in its
 * kernel's signature, as "ptr<f32>". `*at` is 0 for the first and is moved on; an empty type is the
 * end. Kernels without a signature are left out. The text lives as long as the sequence. */
KDL_API kdl_status kdl_sequence_slot_type(const kdl_sequence *sequence, kdl_slot slot, uint64_t *at,
                                          kdl_string *out_type);

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

typedef struct kdl_sequence_save_opts {
  size_t size;       /* sizeof(kdl_sequence_save_opts) */
  const char *name;  /* what it is called there, up to 255 bytes; NULL: "sequence" */
  uint32_t flags;    /* KDL_SEQUENCE_ */
  uint32_t reserved; /* 0 */
} kdl_sequence_save_opts;

enum {
  KDL_SEQUENCE_NO_IMAGES =
      1, /* without the images of its kernels: they come from other libraries */
};

/* Writes a finished sequence as an OffloadBinary: the recording with the names of its kernels, and
 * every image of their libraries that holds one of them, for whatever device. `opts` may be NULL.
 *
 * Work-items, values and patterns are carried. Memory is not: a buffer, memory of the host or an
 * event that is no slot is KDL_UNSUPPORTED, and the message names the node. So is a name that two
 * libraries have, unless they are left out. */
KDL_API kdl_status kdl_sequence_save(const kdl_sequence *sequence, const char *path,
                                     const kdl_sequence_save_opts *opts);

/* The same into memory that the caller frees with free(). */
KDL_API kdl_status kdl_sequence_save_memory(const kdl_sequence *sequence,
                                            const kdl_sequence_save_opts *opts, void **out_data,
                                            size_t *out_size);

typedef struct kdl_sequence_open_opts {
  size_t size;      /* sizeof(kdl_sequence_open_opts) */
  const char *name; /* which sequence of the library; NULL: the only one */
  const kdl_select_opts
      *select; /* how images are chosen; NULL: as ever. Constants are the file's */
  kdl_library *const *libraries; /* for kernels that are not in the library itself, in this order;
                                    then those that are open with KDL_OPEN_GLOBAL */
  size_t library_count;
} kdl_sequence_open_opts;

/* A finished sequence out of a library that was opened from a file or from memory, for any device.
 * Its kernels are found by name and bound as by kdl_sym, and work-items are made grids for the
 * images that were chosen. `device` may be NULL: the best one for the first kernel. `opts` may be
 * NULL. KDL_NO_MATCH where a kernel is in no library, takes something else than was recorded, or
 * was recorded with a grid for another block or tile. */
KDL_API kdl_status kdl_sequence_open(kdl_library *lib, kdl_device *device,
                                     const kdl_sequence_open_opts *opts,
                                     kdl_sequence **out_sequence);

/* ------------------------------------------------------------------------------------------ */
/* Capturing                                                                                    */

/* From here to kdl_capture_end, launches, copies, fills and events that are given to the queue are
 * recorded and not done, and runs of sequences are nested; kdl_sync is refused. Calls on other
 * queues are as ever. Other threads must not use the queue while a capture begins or ends.
 * KDL_UNSUPPORTED where a backend does not tell its queues apart.
 *
 * Values of arguments are recorded as they are. Host memory that a copy names is used whenever the
 * sequence runs. A launch is captured where the image tells what it takes. */
KDL_API kdl_status kdl_capture_begin(kdl_queue *queue);

/* Makes the buffer a slot of what is being captured: whatever names memory of it from now on is
 * recorded as the slot with an offset. KDL_BAD_CALL where another slot has a part of its memory. */
KDL_API kdl_status kdl_capture_add_slot(kdl_queue *queue, const kdl_buffer *buffer,
                                        const char *name, kdl_slot *out_slot);

/* Ends the capture; the sequence is finished. Where that fails, there is none, and the capture has
 * ended all the same. */
KDL_API kdl_status kdl_capture_end(kdl_queue *queue, kdl_sequence **out_sequence);

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

/* What a slot is in one run. */
typedef struct kdl_binding {
  kdl_slot slot;
  uint32_t reserved; /* 0 */
  union {
    kdl_buffer buffer;
    kdl_extent items;
    struct {
      const void *data;
      uint64_t bytes;
    } value; /* of a scalar, which is read before the run returns */
    struct {
      void *data;
      uint64_t bytes;
    } host;
  } to;
} kdl_binding;

static inline kdl_binding kdl_bind_items(kdl_slot slot, kdl_extent items) {
  kdl_binding binding;
  binding.slot = slot;
  binding.reserved = 0;
  binding.to.items = items;
  return binding;
}
static inline kdl_binding kdl_bind_buffer(kdl_slot slot, kdl_buffer buffer) {
  kdl_binding binding = kdl_bind_items(slot, kdl_extent3(0, 0, 0));
  binding.to.buffer = buffer;
  return binding;
}
static inline kdl_binding kdl_bind_scalar(kdl_slot slot, const void *data, size_t bytes) {
  kdl_binding binding = kdl_bind_items(slot, kdl_extent3(0, 0, 0));
  binding.to.value.data = data;
  binding.to.value.bytes = bytes;
  return binding;
}
static inline kdl_binding kdl_bind_host(kdl_slot slot, void *data, size_t bytes) {
  kdl_binding binding = kdl_bind_items(slot, kdl_extent3(0, 0, 0));
  binding.to.host.data = data;
  binding.to.host.bytes = bytes;
  return binding;
}
/* KDL_BIND_SCALAR(a, &two): a typed pointer. */
#define KDL_BIND_SCALAR(slot, pointer) kdl_bind_scalar((slot), (pointer), sizeof *(pointer))

/* Runs a finished sequence once. Every slot must be bound exactly once; in the order of the slots
 * it costs least. `queue` may be NULL: the device's own. What is wrong with the bindings is told
 * before anything runs: a slot that is not bound, a buffer of another device, memory that is too
 * small, a scalar of another size. */
KDL_API kdl_status kdl_sequence_run(kdl_sequence *sequence, kdl_queue *queue,
                                    const kdl_binding *bindings, size_t binding_count);

#ifdef __cplusplus
}
#endif

#endif
