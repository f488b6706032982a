/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * For those who write backends: what libkdl asks of a driver, as one table of functions.
 *
 * The CPU and the vendors' drivers in libkdl are such tables. A shared object that
 * KDL_BACKEND_PATH names (a colon-separated list of files) can bring another: it exports
 *
 *     const kdl_backend_table *kdl_backend_open(const kdl_backend_services *services);
 *
 * which is called once and returns its table, or NULL after services->fail(). The table serves
 * every device whose spec begins with its name ("cuda:sm_90 ...") in place of a built-in one, and
 * may bring devices of its own. It is never closed.
 *
 * Threads. libkdl calls any function from any thread at any time, with these exceptions: a device
 * is opened once; a module is loaded once and unloaded when it can no longer be reached; an object
 * is destroyed by one thread after its last use.
 *
 * Ownership. void pointers named device, module, queue and event are the backend's own objects:
 * libkdl hands them back unchanged, gives them back by the matching function, and never frees them
 * itself. Modules, queues and events belong to the device they were made with. A device stays open
 * as long as the process.
 *
 * Failure. A function that returns kdl_status returns KDL_OK, or calls services->fail() with the
 * driver's own code and words and returns what that returns. A function that fails leaves no trace:
 * it has undone what it had done, its out-parameters are not read, and it may be called again.
 * After a fork without exec no function is called in the child, except in backends that declare
 * KDL_BACKEND_SURVIVES_FORK.
 *
 * Growth. Structs begin with their size, set by the side that fills them; what lies beyond the size
 * is as good as zero. New functions are added at the end of the table; a table that is shorter does
 * without them. Members marked optional may be NULL.
 */
#ifndef KDL_BACKEND_H
#define KDL_BACKEND_H

#include <kdl/kdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a struct changes otherwise than by growing. */
enum { KDL_BACKEND_ABI = 1 };

/* What libkdl does for a backend. Lives as long as the process. */
typedef struct kdl_backend_services {
  size_t size;
  uint32_t abi;
  /* Records a failure for the calling thread and returns `status`. `code` is the driver's own
   * number, which kdl_error_code() gives to the program; the words should carry its name:
   * fail(KDL_DEVICE, 200, "cuModuleLoadData: CUDA_ERROR_INVALID_IMAGE: %s", text). */
  kdl_status (*fail)(kdl_status status, int64_t code, const char *format, ...)
#if defined(__GNUC__)
      __attribute__((format(printf, 3, 4)))
#endif
      ;
  /* A line for KDL_DEBUG=load. */
  void (*log)(const char *format, ...)
#if defined(__GNUC__)
      __attribute__((format(printf, 1, 2)))
#endif
      ;
  /* The value of a KDL_ variable; NULL where it is unset, empty, or not to be trusted because the
   * program runs with more rights than its user. */
  const char *(*environment)(const char *name);
} kdl_backend_services;

typedef struct kdl_backend_device {
  size_t size;
  const char *spec;     /* the device as one line: "cuda:sm_90 ordinal=0 ..." */
  uint32_t ordinal;     /* its number in the backend; 0 where the spec does not say */
  void *native_context; /* use this one (CUcontext, ...) instead of the usual one, where not NULL */
  const void *identity; /* differs where a device came to have the number of one that is gone */
} kdl_backend_device;

typedef struct kdl_backend_image {
  size_t size;
  kdl_image_kind kind;
  const void
      *data; /* lives until the module is unloaded; of any alignment; text has no NUL behind */
  size_t data_size;
  const char *arch;
  const char *name;      /* for messages: "saxpy.offload: image 2 (cubin sm_90)" */
  const kdl_pair *pairs; /* every metadata pair; NULL for KDL_BACKEND_READS_NO_PAIRS */
  size_t pair_count;
} kdl_backend_image;

/* What metadata says of a kernel; 0 where it does not. */
typedef struct kdl_kernel_request {
  size_t size;
  const char *name;
  uint32_t block[3];
  uint32_t tile[3];
  uint64_t shared; /* bytes of dynamic group memory it will be launched with, unless told more */
  kdl_string sig;  /* the parameters, as docs/metadata.md writes them; `data` is NULL: not said */
  uint32_t hidden; /* pointers that follow them, which libkdl adds */
} kdl_kernel_request;

/* A kernel, ready to be launched. What is pointed to lives until the module is unloaded. */
typedef struct kdl_backend_kernel {
  size_t size; /* set by libkdl; fill no more than that */
  /* Launches. From then on this is what kdl_launch calls, straight from the program, by any number
   * of threads at once: `kernel->context` is `context` below, `queue` is one of the backend's own
   * and never NULL, `args->pointers` may be handed to the driver as they are. `desc->block[0]` may
   * be 0, then the block below is meant. What libkdl checks is checked; what the driver refuses is
   * the driver's to say. */
  kdl_launch_entry *launch;
  void *context;
  uint32_t block[3];     /* the only block the image works with; 0: any */
  uint32_t tile[3];      /* work-items of the problem that a group covers; 0: as the block */
  uint32_t suggested[3]; /* a good block, where any would do; 0: 256x1x1 is taken */
  /* The parameters as the image tells them; `params` NULL where it does not. */
  const kdl_param_info *params;
  uint32_t param_count;
  uint32_t packed_size; /* of the packed form */
  /* Optional: set to 1 before the kernel's first launch, so that unloading what was never launched
   * need not wait. */
  uint32_t *launched;
} kdl_backend_kernel;

/* ------------------------------------------------------------------------------------------ */
/* Sequences                                                                                    */

typedef enum kdl_node_kind {
  KDL_NODE_LAUNCH = 1,
  KDL_NODE_COPY = 2,
  KDL_NODE_WRITE = 3, /* from the host */
  KDL_NODE_READ = 4,  /* to the host */
  KDL_NODE_FILL = 5,
  KDL_NODE_RECORD = 6, /* an event */
  KDL_NODE_WAIT = 7,   /* for an event */
  KDL_NODE_JOIN = 8,   /* nothing by itself: waits for several */
  KDL_NODE_WHILE = 9,  /* begins what is repeated while the 32-bit number at `from` is not 0 */
  KDL_NODE_END = 10,   /* ends it; everything between waits for the first and is waited for */
} kdl_node_kind;

#define KDL_NO_NODE UINT32_MAX

/* A part of a sequence as the next run has it. What lies behind `args.pointers` changes between
 * runs as well as the members here; the pointers themselves do not. */
typedef struct kdl_backend_node {
  size_t size;
  kdl_node_kind kind;
  uint32_t after;         /* the node before it that it waits for; KDL_NO_NODE: none */
  const uint32_t *joined; /* KDL_NODE_JOIN waits for these */
  uint32_t joined_count;
  uint32_t is_skipped; /* 1: a launch of no work-items, which this run leaves out */

  /* KDL_NODE_LAUNCH. `launch` is what kernel_find gave. desc.block is never 0. */
  kdl_launch_entry *launch;
  const kdl_kernel_head *kernel;
  kdl_launch_desc desc;
  kdl_args args;

  /* Copies and fills: `bytes` bytes, never 0, at `to` plus `to_offset`. */
  uint64_t to, to_offset;
  uint64_t from, from_offset;
  uint64_t bytes;
  void *host;
  uint8_t pattern[16];
  size_t pattern_size;

  void *event;

  uint32_t other; /* KDL_NODE_WHILE, KDL_NODE_END: the node at the other end of it */
} kdl_backend_node;

enum {
  KDL_SEQUENCE_READS_ARGUMENTS = 1, /* at each run, so that a node of which nothing but what lies
                                       behind args.pointers changed need not be told */
  KDL_SEQUENCE_REFUSED = 2,         /* with KDL_UNSUPPORTED: launches would be refused as well */
};

typedef struct kdl_backend_sequence {
  size_t size;
  const kdl_backend_node *const *nodes; /* in an order in which they may run; all live as long as
                                           the sequence */
  size_t node_count;
  uint32_t flags;     /* KDL_SEQUENCE_, set by the backend */
  const char *replay; /* set by the backend: what it makes of it, in one word: "graph" */
} kdl_backend_sequence;

enum {
  KDL_BACKEND_SURVIVES_FORK = 1,  /* its objects work in a child that did not exec */
  KDL_BACKEND_READS_NO_PAIRS = 2, /* those of images need not be read for it, and are NULL */
  /* A sequence is created when its slots are bound, in its first run: what is set later costs more.
   */
  KDL_BACKEND_BINDS_SEQUENCES = 4,
};

typedef struct kdl_backend_table {
  size_t size;
  uint32_t abi;   /* KDL_BACKEND_ABI */
  uint32_t flags; /* KDL_BACKEND_ */
  const char *name;

  /* Optional. Calls `visit` with the spec of each device that the backend brings; they come before
   * those that libkdl finds. Must not create contexts. Called again by kdl_devices_refresh. */
  kdl_status (*devices)(void (*visit)(void *user, const char *spec), void *user);

  /* Called once per device, when it is first used; again where this or the first queue_create
   * failed. */
  kdl_status (*device_open)(const kdl_backend_device *desc, void **out_device);

  /* Modules. An image is loaded at most once per device at a time. KDL_UNSUPPORTED where the kind
   * is not one the backend takes. Unloading waits for what still runs. */
  kdl_status (*module_load)(void *device, const kdl_backend_image *image, void **out_module);
  void (*module_unload)(void *device, void *module);
  kdl_status (*kernel_find)(void *device, void *module, const kdl_kernel_request *request,
                            kdl_backend_kernel *out_kernel);
  kdl_status (*global_find)(void *device, void *module, const char *name, uint64_t *out_address,
                            uint64_t *out_size);

  /* Queues. The first one that is created on a device is for launches that name none. `queue_adopt`
   * wraps the caller's own; destroying that wrapper leaves it alone. */
  kdl_status (*queue_create)(void *device, int32_t priority, void **out_queue);
  kdl_status (*queue_adopt)(void *device, void *native, void **out_queue);
  void (*queue_destroy)(void *device, void *queue);
  kdl_status (*queue_sync)(void *device, void *queue);
  /* Optional. Whether work on the queue is being captured, so that loading now would break the
   * capture. */
  kdl_status (*queue_capturing)(void *device, void *queue, int *out_capturing);

  /* Events. */
  kdl_status (*event_create)(void *device, void **out_event);
  void (*event_destroy)(void *device, void *event);
  kdl_status (*event_record)(void *device, void *event, void *queue);
  kdl_status (*event_sync)(void *device, void *event);
  kdl_status (*event_wait)(void *device, void *event, void *queue);
  kdl_status (*event_elapsed)(void *device, void *start, void *end, double *out_ns);

  /* Memory. Sizes are never 0, and ranges were checked where their buffer is known. `copy` is asked
   * for one device; `copy_peer`, optional, for two of this backend, on a queue of the second; where
   * it returns KDL_UNSUPPORTED, the copy goes through the host. */
  kdl_status (*alloc)(void *device, uint64_t size, uint64_t *out_address);
  kdl_status (*free)(void *device, uint64_t address);
  kdl_status (*write)(void *device, void *queue, uint64_t address, uint64_t offset,
                      const void *data, uint64_t size);
  kdl_status (*read)(void *device, void *queue, void *data, uint64_t address, uint64_t offset,
                     uint64_t size);
  kdl_status (*copy)(void *device, void *queue, uint64_t to, uint64_t to_offset, uint64_t from,
                     uint64_t from_offset, uint64_t size);
  kdl_status (*copy_peer)(void *from_device, void *to_device, void *queue, uint64_t to,
                          uint64_t to_offset, uint64_t from, uint64_t from_offset, uint64_t size);
  kdl_status (*fill)(void *device, void *queue, uint64_t address, uint64_t offset, uint64_t size,
                     const void *pattern, size_t pattern_size);

  /* The driver's own handles; NULL where there is none. */
  void *(*device_native)(void *device, kdl_native which);
  void *(*queue_native)(void *device, void *queue);
  void *(*event_native)(void *device, void *event);
  void *(*kernel_native)(void *device, void *context);

  /* Optional; for KDL_BACKEND_SURVIVES_FORK. Called in the child before anything else: threads are
   * gone, locks that they held are not released. */
  void (*after_fork)(void);

  /* Optional. Gives back the device and the first queue that was created on it, when the process
   * ends by exit() and nothing else that was made on the device is left. Handlers that the driver
   * registered before the device was opened have not run yet. */
  void (*device_close)(void *device, void *queue);

  /* Optional. Whether the point that event_sync would wait for is reached. */
  kdl_status (*event_query)(void *device, void *event, int *out_done);

  /* Optional. Bytes of the device's memory that are free, and all of them. */
  kdl_status (*memory_info)(void *device, uint64_t *out_free, uint64_t *out_total);

  /* Optional, both or neither: host memory that the driver copies from and to directly. The size is
   * never 0. Without them it is plain memory. */
  kdl_status (*alloc_host)(void *device, uint64_t size, void **out_data);
  kdl_status (*free_host)(void *device, void *data);

  /* Optional, all three or none: sequences. Without them, and where they return KDL_UNSUPPORTED,
   * the nodes are given to the queue one by one. A sequence is run by one thread at a time; where
   * several run the same one, each has one of its own. `sequence_run` is told which nodes have
   * changed since its last run that succeeded; it fails before anything ran, or the sequence is
   * destroyed. It may be run on another queue while the last run is still under way. */
  kdl_status (*sequence_create)(void *device, kdl_backend_sequence *sequence, void **out_sequence);
  void (*sequence_destroy)(void *device, void *sequence);
  kdl_status (*sequence_run)(void *device, void *sequence, void *queue, const uint32_t *changed,
                             size_t changed_count);

  /* Optional. What a kernel is given for memory from `offset` on, which is not 0; without it, the
   * sum. KDL_UNSUPPORTED where memory is no addresses. */
  kdl_status (*address_at)(void *device, uint64_t address, uint64_t offset, uint64_t *out_address);
} kdl_backend_table;

/* The name and the type of what a shared object exports. */
#define KDL_BACKEND_SYMBOL "kdl_backend_open"
typedef const kdl_backend_table *kdl_backend_open_function(const kdl_backend_services *services);
kdl_backend_open_function kdl_backend_open; /* defined by the backend, not by libkdl */

#ifdef __cplusplus
}
#endif

#endif
