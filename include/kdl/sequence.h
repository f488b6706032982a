/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Recorded sequences, on top of <kdl/kdl.h>. A program records work once and then runs it many
 * times, each time by one call:
 *
 *     kdl_sequence_create(dev, &seq);
 *     kdl_sequence_add_buffer(seq, "x", n * 4, &x);
 *     kdl_sequence_add_scalar(seq, "a", sizeof(float), &a);
 *     kdl_operand items = kdl_operand_items(kdl_extent1(n));
 *     kdl_operand args[] = {kdl_operand_slot(a), kdl_operand_slot(x), kdl_operand_buffer(y),
 *                           KDL_VALUE(&n)};
 *     kdl_sequence_launch_items(seq, saxpy, items, args, 4);
 *     kdl_sequence_finish(seq);
 *
 *     kdl_binding bindings[] = {kdl_bind_buffer(x, buffer), KDL_BIND_SCALAR(a, &two)};
 *     kdl_sequence_run(seq, q, bindings, 2);
 *     kdl_sync(q);
 *
 * A slot is a placeholder that each run binds: a buffer, a scalar, a number of work-items, or host
 * memory. Everything else is constant. Recorded calls run in the order of recording, except in
 * branches that are marked as independent (kdl_sequence_fork).
 *
 * A run enqueues all recorded calls, with the same effect as enqueueing them one by one. The
 * backend decides how: by a CUDA or HIP graph, an OpenCL command buffer, a Level Zero command list,
 * a compiled list on the host, else by single launches (docs/sequences.md).
 *
 * Threads. A sequence is recorded by one thread at a time. Once it is finished, any number of
 * threads may run it at the same time, on different queues, with different bindings.
 */
#ifndef KDL_SEQUENCE_H
#define KDL_SEQUENCE_H

#include <kdl/kdl.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kdl_sequence kdl_sequence;

/* Creates an empty sequence for the device. */
KDL_API kdl_status kdl_sequence_create(kdl_device *device, kdl_sequence **out_sequence);

/* No thread may be in kdl_sequence_run. Work that is already on a queue still runs. */
KDL_API void kdl_sequence_destroy(kdl_sequence *sequence);

/* ------------------------------------------------------------------------------------------ */
/* Slots                                                                                        */

/* Slots are numbered from 1 in the order of their creation; 0 is none. */
typedef uint32_t kdl_slot;

typedef enum kdl_slot_kind {
  KDL_SLOT_BUFFER = 1, /* a kdl_buffer of the sequence's device */
  KDL_SLOT_SCALAR = 2, /* a value of `bytes` bytes */
  KDL_SLOT_ITEMS = 3,  /* a kdl_extent: the number of work-items of launches */
  KDL_SLOT_HOST = 4,   /* host memory, for copies */
} kdl_slot_kind;

typedef struct kdl_slot_desc {
  size_t size;      /* sizeof(kdl_slot_desc) */
  const char *name; /* for messages and files; copied; unique in the sequence; NULL: none */
  kdl_slot_kind kind;
  uint32_t reserved; /* 0 */
  /* Scalar: its size, 1 to 4096. Memory: how many bytes kernels use at least; libkdl adds what
   * copies and fills use. */
  uint64_t bytes;
} kdl_slot_desc;

KDL_API kdl_status kdl_sequence_add_slot(kdl_sequence *sequence, const kdl_slot_desc *desc,
                                         kdl_slot *out_slot);

static inline kdl_status kdl_sequence_add_buffer(kdl_sequence *sequence, const char *name,
                                                 uint64_t bytes, kdl_slot *out_slot) {
  kdl_slot_desc desc = {sizeof(kdl_slot_desc), name, KDL_SLOT_BUFFER, 0, bytes};
  return kdl_sequence_add_slot(sequence, &desc, out_slot);
}
static inline kdl_status kdl_sequence_add_scalar(kdl_sequence *sequence, const char *name,
                                                 uint64_t bytes, kdl_slot *out_slot) {
  kdl_slot_desc desc = {sizeof(kdl_slot_desc), name, KDL_SLOT_SCALAR, 0, bytes};
  return kdl_sequence_add_slot(sequence, &desc, out_slot);
}
static inline kdl_status kdl_sequence_add_items(kdl_sequence *sequence, const char *name,
                                                kdl_slot *out_slot) {
  kdl_slot_desc desc = {sizeof(kdl_slot_desc), name, KDL_SLOT_ITEMS, 0, 0};
  return kdl_sequence_add_slot(sequence, &desc, out_slot);
}
static inline kdl_status kdl_sequence_add_host(kdl_sequence *sequence, const char *name,
                                               uint64_t bytes, kdl_slot *out_slot) {
  kdl_slot_desc desc = {sizeof(kdl_slot_desc), name, KDL_SLOT_HOST, 0, bytes};
  return kdl_sequence_add_slot(sequence, &desc, out_slot);
}

/* ------------------------------------------------------------------------------------------ */
/* Operands                                                                                     */

typedef enum kdl_operand_kind {
  KDL_OPERAND_VALUE = 1,  /* `bytes` bytes at `of.value`, copied by the recording call */
  KDL_OPERAND_BUFFER = 2, /* `of.buffer`, starting at `offset` */
  KDL_OPERAND_ITEMS = 3,  /* `of.items` */
  KDL_OPERAND_HOST = 4,   /* host memory at `of.host`, read or written by each run; it must outlive
                             the sequence */
  KDL_OPERAND_SLOT = 5,   /* what `slot` is bound to; memory starts at `offset` */
} kdl_operand_kind;

/* An operand of a recorded call. The functions below create one. */
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

static inline kdl_operand kdl_operand_value(const void *value, size_t bytes) {
  kdl_operand operand = {KDL_OPERAND_VALUE, 0, 0, bytes, {value}};
  return operand;
}
/* KDL_VALUE(&n): the value that a typed pointer points to. */
#define KDL_VALUE(pointer) kdl_operand_value((pointer), sizeof *(pointer))

static inline kdl_operand kdl_operand_buffer_offset(kdl_buffer buffer, uint64_t offset) {
  kdl_operand operand = {KDL_OPERAND_BUFFER, 0, offset, 0, {NULL}};
  operand.of.buffer = buffer;
  return operand;
}
static inline kdl_operand kdl_operand_buffer(kdl_buffer buffer) {
  return kdl_operand_buffer_offset(buffer, 0);
}
static inline kdl_operand kdl_operand_slot_offset(kdl_slot slot, uint64_t offset) {
  kdl_operand operand = {KDL_OPERAND_SLOT, slot, offset, 0, {NULL}};
  return operand;
}
static inline kdl_operand kdl_operand_slot(kdl_slot slot) {
  return kdl_operand_slot_offset(slot, 0);
}
static inline kdl_operand kdl_operand_host(void *host) {
  kdl_operand operand = {KDL_OPERAND_HOST, 0, 0, 0, {NULL}};
  operand.of.host = host;
  return operand;
}
static inline kdl_operand kdl_operand_items(kdl_extent items) {
  kdl_operand operand = {KDL_OPERAND_ITEMS, 0, 0, 0, {NULL}};
  operand.of.items = items;
  return operand;
}

/* ------------------------------------------------------------------------------------------ */
/* Recording                                                                                    */

/* A call that fails records nothing. Recording a launch loads the kernel, checks the arguments
 * against the image's parameters, and keeps the kernel's library open as long as the sequence. */

/* Records kdl_launch_items. `items` is kdl_operand_items() or an items slot. */
KDL_API kdl_status kdl_sequence_launch_items(kdl_sequence *sequence, kdl_kernel *kernel,
                                             kdl_operand items, const kdl_operand *args,
                                             size_t arg_count);

/* Records kdl_launch. */
KDL_API kdl_status kdl_sequence_launch(kdl_sequence *sequence, kdl_kernel *kernel,
                                       const kdl_launch_desc *desc, const kdl_operand *args,
                                       size_t arg_count);

/* Records a copy between buffers of the device, or between a buffer and host memory. Ranges of one
 * buffer must not overlap. */
KDL_API kdl_status kdl_sequence_copy(kdl_sequence *sequence, kdl_operand to, kdl_operand from,
                                     uint64_t size);

/* Records kdl_fill. */
KDL_API kdl_status kdl_sequence_fill(kdl_sequence *sequence, kdl_operand to, uint64_t size,
                                     const void *pattern, size_t pattern_size);

/* Record kdl_event_record and kdl_event_wait. The event must outlive the sequence. */
KDL_API kdl_status kdl_sequence_event_record(kdl_sequence *sequence, kdl_event *event);
KDL_API kdl_status kdl_sequence_event_wait(kdl_sequence *sequence, kdl_event *event);

/* Records all calls of `inner`, a finished sequence of the same device, which may be destroyed
 * afterwards. `slots` has one operand for each of its slots, in their order: a constant, or a slot
 * of this sequence. */
KDL_API kdl_status kdl_sequence_nest(kdl_sequence *sequence, const kdl_sequence *inner,
                                     const kdl_operand *slots, size_t slot_count);

/* Branches that do not wait for each other:
 *
 *     kdl_sequence_fork(seq);    begins the first branch
 *     kdl_sequence_branch(seq);  begins another branch, which starts where the first one did
 *     kdl_sequence_join(seq);    ends the branches; later calls wait for all of them
 *
 * Branches may fork again, 64 deep. A branch must not write what another one reads or writes. */
KDL_API kdl_status kdl_sequence_fork(kdl_sequence *sequence);
KDL_API kdl_status kdl_sequence_branch(kdl_sequence *sequence);
KDL_API kdl_status kdl_sequence_join(kdl_sequence *sequence);

/* Begins a loop, which kdl_sequence_end_while ends. Its calls repeat while the 32-bit number at
 * `condition`, device memory aligned to 4, is not 0; the number is tested before each pass. A loop
 * may contain loops, 8 deep, and forks; a branch may not contain a loop. The host and CUDA 12.3
 * test the number on the device; elsewhere the run waits for the queue before each pass. */
KDL_API kdl_status kdl_sequence_while(kdl_sequence *sequence, kdl_operand condition);
KDL_API kdl_status kdl_sequence_end_while(kdl_sequence *sequence);

/* Ends the recording: every fork must be joined, and every loop ended. */
KDL_API kdl_status kdl_sequence_finish(kdl_sequence *sequence);

typedef struct kdl_sequence_info {
  size_t size;       /* set to sizeof(kdl_sequence_info) before the call */
  size_t slot_count; /* also the number of bindings of a run */
  size_t node_count; /* recorded calls, with those of nested sequences */
  size_t launch_count;
  const char *replay; /* how it runs: "graph", "commands", "list", "launches"; NULL while that is
                         unknown, which may be until the first run */
} kdl_sequence_info;

KDL_API kdl_status kdl_sequence_get(const kdl_sequence *sequence, kdl_sequence_info *out_info);

/* The device that the sequence runs on: where kdl_sequence_open got NULL, the one it selected. */
KDL_API kdl_status kdl_sequence_device(const kdl_sequence *sequence, kdl_device **out_device);

/* Describes a slot: its name, or "", its kind, and the least number of bytes of a binding. The name
 * lives as long as the sequence. */
KDL_API kdl_status kdl_sequence_slot_get(const kdl_sequence *sequence, kdl_slot slot,
                                         kdl_slot_desc *out_desc);

/* The slot of that name; KDL_NO_MATCH where there is none. */
KDL_API kdl_status kdl_sequence_slot_find(const kdl_sequence *sequence, const char *name,
                                          kdl_slot *out_slot);

/* Iterates over the kernel parameters that a slot is passed to, in the order of the launches. Each
 * call gives the type in the kernel's signature, as "ptr<f32>", and advances `*at`, which starts as
 * 0; an empty type is the end. Kernels without a signature are skipped. The text lives as long as
 * the sequence. */
KDL_API kdl_status kdl_sequence_slot_type(const kdl_sequence *sequence, kdl_slot slot, uint64_t *at,
                                          kdl_string *out_type);

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

typedef struct kdl_sequence_save_opts {
  size_t size;       /* sizeof(kdl_sequence_save_opts) */
  const char *name;  /* the sequence's name in the file, up to 255 bytes; NULL: "sequence" */
  uint32_t flags;    /* KDL_SEQUENCE_ */
  uint32_t reserved; /* 0 */
} kdl_sequence_save_opts;

enum {
  KDL_SEQUENCE_NO_IMAGES = 1, /* omit the images of its kernels, which come from other libraries */
};

/* Writes a finished sequence as an OffloadBinary: the recorded calls with the names of their
 * kernels, and every image of the kernels' libraries, for whatever device, that holds one of them.
 * `opts` may be NULL.
 *
 * The file has work-items, values and patterns, but no memory: KDL_UNSUPPORTED for a buffer or host
 * memory that is not a slot, and for an event; the message names the node. KDL_UNSUPPORTED also for
 * kernels of one name from two libraries, unless images are omitted. */
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
      *select; /* for the kernels, as in kdl_sym; the file's constants replace those here */
  kdl_library *const *libraries; /* searched, in this order, for kernels that `lib` lacks; after
                                    them those opened with KDL_OPEN_GLOBAL */
  size_t library_count;
} kdl_sequence_open_opts;

/* Reads a saved sequence from a library and finishes it for a device, which need not be of the kind
 * it was recorded on. Kernels are found by name and bound as by kdl_sym; grids are computed from
 * the work-items by the tiles of the selected images. `device` may be NULL: the best one for the
 * first kernel. `opts` may be NULL. KDL_NO_MATCH where no library has a kernel, or where its image
 * has other parameters than were recorded, or another block or tile than a recorded grid. */
KDL_API kdl_status kdl_sequence_open(kdl_library *lib, kdl_device *device,
                                     const kdl_sequence_open_opts *opts,
                                     kdl_sequence **out_sequence);

/* ------------------------------------------------------------------------------------------ */
/* Capturing                                                                                    */

/* Until kdl_capture_end, launches, copies, fills and events on the queue are recorded instead of
 * done, runs of sequences are nested, and kdl_sync is refused. Other queues are not affected. Other
 * threads must not use the queue while a capture begins or ends. KDL_UNSUPPORTED where all queues
 * of a backend have the same handle.
 *
 * Argument values are recorded as constants. A copy uses its host memory in each run. A launch
 * fails where the image's parameters are unknown. */
KDL_API kdl_status kdl_capture_begin(kdl_queue *queue);

/* Makes the buffer a slot of the captured sequence: later calls that use memory of the buffer are
 * recorded with the slot and an offset. KDL_BAD_CALL where another slot overlaps it. */
KDL_API kdl_status kdl_capture_add_slot(kdl_queue *queue, const kdl_buffer *buffer,
                                        const char *name, kdl_slot *out_slot);

/* Ends the capture and gives the finished sequence. A failure also ends the capture. */
KDL_API kdl_status kdl_capture_end(kdl_queue *queue, kdl_sequence **out_sequence);

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

/* The value of a slot in one run. */
typedef struct kdl_binding {
  kdl_slot slot;
  uint32_t reserved; /* 0 */
  union {
    kdl_buffer buffer;
    kdl_extent items;
    struct {
      const void *data;
      uint64_t bytes;
    } value; /* a scalar, which is read before kdl_sequence_run returns */
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
/* KDL_BIND_SCALAR(a, &two): binds the value that a typed pointer points to. */
#define KDL_BIND_SCALAR(slot, pointer) kdl_bind_scalar((slot), (pointer), sizeof *(pointer))

/* Runs a finished sequence once. `bindings` binds every slot exactly once, fastest in the order of
 * the slots. `queue` may be NULL: the device's own. Fails before anything runs if a slot is not
 * bound, a buffer is of another device, memory is too small, or a scalar has another size. */
KDL_API kdl_status kdl_sequence_run(kdl_sequence *sequence, kdl_queue *queue,
                                    const kdl_binding *bindings, size_t binding_count);

#ifdef __cplusplus
}
#endif

#endif
