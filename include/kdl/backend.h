/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The backend interface: one table of functions between libkdl and a driver. CUDA, HIP, Level Zero,
 * OpenCL and the host are such tables in libkdl. A shared object that KDL_BACKEND_PATH names (a
 * list of files separated by ':') can add one. It exports
 *
 *     const kdl_backend_table *kdl_backend_open(const kdl_backend_services *services);
 *
 * libkdl calls this function once. It returns the backend's table, or NULL after services->fail().
 * The table serves every device whose spec begins with its name ("cuda:sm_90 ..."), in place of the
 * built-in backend of that name if there is one, and may list more devices. The shared object is
 * never closed. examples/backend/null_backend.c is a complete one.
 *
 * Order. libkdl calls `devices` to find devices, `device_open` and then `queue_create` at the first
 * use of a device (kdl_sym at the latest), `image_load` and then `kernel_find` at the first launch
 * of a kernel or before it (kdl_prefetch), and for each launch the function that `kernel_find`
 * returned.
 *
 * Threads. libkdl calls any function from any thread at any time, except that a device is opened
 * once, an image that is loaded on a device is not loaded on it again, and an image is unloaded, or
 * another object destroyed, by one thread after its last use.
 *
 * Ownership. The void pointers named device, loaded, queue and event are the backend's objects.
 * libkdl passes them unchanged and destroys them by the matching function. A loaded image is one
 * image on one device. Loaded images, queues and events belong to the device that they were created
 * with. A device stays open until exit.
 *
 * Failure. A function that returns kdl_status returns KDL_OK, or calls services->fail() with the
 * driver's code and message and returns its result. A function that fails must undo what it did,
 * so that it can be called again; libkdl does not read its out-parameters. In the child of a fork
 * without exec, libkdl calls only backends with KDL_BACKEND_SURVIVES_FORK.
 *
 * Growth. Structs begin with their size, set by the side that fills them; a member beyond that size
 * counts as zero. New functions are added at the end of the table; libkdl works with shorter
 * tables. Members marked optional may be NULL.
 */
#ifndef KDL_BACKEND_H
#define KDL_BACKEND_H

#include <kdl/sequence.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Incremented when a struct changes in another way than by new members at its end. */
enum { KDL_BACKEND_ABI = 1 };

/* What libkdl provides to a backend. Lives as long as the process. */
typedef struct kdl_backend_services {
  size_t size;
  uint32_t abi;
  /* Records a failure for the calling thread and returns `status`. `code` is the driver's own
   * number, which kdl_error_code() gives to the program; the message should contain its name:
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
  /* The value of a KDL_ variable; NULL where it is unset or empty, and in a program that runs with
   * more rights than its user. */
  const char *(*environment)(const char *name);
} kdl_backend_services;

typedef struct kdl_backend_device {
  size_t size;
  const char *spec;     /* the device as one line: "cuda:sm_90 ordinal=0 ..." */
  uint32_t ordinal;     /* its number in the backend; 0 where the spec has none */
  void *native_context; /* use this context (CUcontext, ...) instead of the default; NULL: none */
  const void *identity; /* distinguishes a new device from a lost one with the same ordinal */
} kdl_backend_device;

typedef struct kdl_backend_image {
  size_t size;
  kdl_image_kind kind;
  const void *data; /* lives until the image is unloaded; of any alignment; text has no final NUL */
  size_t data_size;
  const char *arch;
  const char *name;      /* for messages: "saxpy.offload: image 2 (cubin sm_90)" */
  const kdl_pair *pairs; /* every metadata pair; NULL for KDL_BACKEND_READS_NO_PAIRS */
  size_t pair_count;
} kdl_backend_image;

/* A kernel by name, and what the image's metadata declares about it; 0 where it has no value. */
typedef struct kdl_kernel_request {
  size_t size;
  const char *name;
  uint32_t block[3];
  uint32_t tile[3];
  uint64_t shared; /* least number of bytes of dynamic group memory of every launch */
  kdl_string sig;  /* the parameters in the syntax of docs/metadata.md; `data` NULL: unknown */
  uint32_t hidden; /* further pointer parameters at the end, which libkdl passes */
} kdl_kernel_request;

/* A kernel, ready to be launched. Its pointers are valid until its image is unloaded. */
typedef struct kdl_backend_kernel {
  size_t size; /* set by libkdl; fill no more than that */
  /* Launches the kernel. kdl_launch calls it directly from the program, from any number of threads
   * at once: `kernel->context` is `context` below, `queue` is a queue of this backend and never
   * NULL, `args->pointers` may be passed to the driver unchanged. Where `desc->block[0]` is 0, the
   * block below is used. The function need not check arguments: libkdl or the driver does. */
  kdl_launch_entry *launch;
  void *context;
  /* Three numbers, each all 0 or without a 0. */
  uint32_t block[3];     /* the only block the image works with; 0: any */
  uint32_t tile[3];      /* items of the problem that a group covers; 0: as the block */
  uint32_t suggested[3]; /* a good block, where any block works; 0: libkdl uses 256x1x1 */
  /* The parameters as the image declares them; `params` NULL where it does not. */
  const kdl_param_info *params;
  uint32_t param_count;
  /* Optional: a number of the backend's. libkdl sets it to 1 before the kernel's first launch, so
   * that the backend need not wait when it unloads an image of which no kernel was launched. */
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
  KDL_NODE_JOIN = 8,   /* does no work; waits for several nodes */
  KDL_NODE_WHILE = 9,  /* begins a loop that runs while the 32-bit number at `from` is not 0 */
  KDL_NODE_END = 10,   /* ends the loop. Its nodes wait for KDL_NODE_WHILE; this waits for them */
} kdl_node_kind;

#define KDL_NO_NODE UINT32_MAX

/* One node of a sequence, with the values of the next run. Between runs libkdl changes its members
 * and the values at `args.pointers`, but not these pointers. */
typedef struct kdl_backend_node {
  size_t size;
  kdl_node_kind kind;
  uint32_t after;         /* the earlier node that it waits for; KDL_NO_NODE: none */
  const uint32_t *joined; /* KDL_NODE_JOIN waits for these */
  uint32_t joined_count;
  uint32_t is_skipped; /* 1: a launch of no work-items, which this run omits */

  /* KDL_NODE_LAUNCH. `launch` is the one of kernel_find. desc.block is never 0. */
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

  uint32_t other; /* KDL_NODE_WHILE, KDL_NODE_END: the node at the other end of the loop */
} kdl_backend_node;

enum {
  KDL_SEQUENCE_READS_ARGUMENTS = 1, /* each run reads args.pointers, so `changed` omits nodes in
                                       which only argument values changed */
  KDL_SEQUENCE_REFUSED = 2,         /* with KDL_UNSUPPORTED: single launches would fail too */
};

typedef struct kdl_backend_sequence {
  size_t size;
  const kdl_backend_node *const *nodes; /* in topological order; as long-lived as the sequence */
  size_t node_count;
  uint32_t flags;     /* KDL_SEQUENCE_, set by the backend */
  const char *replay; /* set by the backend: how it runs the sequence, in one word: "graph" */
} kdl_backend_sequence;

enum {
  KDL_BACKEND_SURVIVES_FORK = 1,  /* its objects work in a child that did not exec */
  KDL_BACKEND_READS_NO_PAIRS = 2, /* kdl_backend_image.pairs is NULL for it */
  /* libkdl calls sequence_create in the first run, when the nodes have their values, because
   * changing them later is slower. */
  KDL_BACKEND_BINDS_SEQUENCES = 4,
};

typedef struct kdl_backend_table {
  size_t size;
  uint32_t abi;   /* KDL_BACKEND_ABI */
  uint32_t flags; /* KDL_BACKEND_ */
  const char *name;

  /* Optional. Calls `visit` with the spec of each device of the backend; libkdl lists them before
   * those that it finds itself. Must not create contexts. kdl_devices_refresh calls it again. */
  kdl_status (*devices)(void (*visit)(void *user, const char *spec), void *user);

  /* Called once per device, at its first use; again if this or the first queue_create failed. */
  kdl_status (*device_open)(const kdl_backend_device *desc, void **out_device);

  /* Loaded images. An image is loaded at most once per device at a time. KDL_UNSUPPORTED where the
   * backend does not take the kind of image. Unloading waits for launches that still run. */
  kdl_status (*image_load)(void *device, const kdl_backend_image *image, void **out_loaded);
  void (*image_unload)(void *device, void *loaded);
  kdl_status (*kernel_find)(void *device, void *loaded, const kdl_kernel_request *request,
                            kdl_backend_kernel *out_kernel);
  kdl_status (*global_find)(void *device, void *loaded, const char *name, uint64_t *out_address,
                            uint64_t *out_size);

  /* Queues. The first queue of a device is for launches without a queue. `queue_adopt` wraps the
   * caller's queue, which queue_destroy does not destroy. */
  kdl_status (*queue_create)(void *device, int32_t priority, void **out_queue);
  kdl_status (*queue_adopt)(void *device, void *native, void **out_queue);
  void (*queue_destroy)(void *device, void *queue);
  kdl_status (*queue_sync)(void *device, void *queue);
  /* Optional. Whether the queue is being captured, so that loading an image would break that. */
  kdl_status (*queue_capturing)(void *device, void *queue, int *out_capturing);

  /* Events. */
  kdl_status (*event_create)(void *device, void **out_event);
  void (*event_destroy)(void *device, void *event);
  kdl_status (*event_record)(void *device, void *event, void *queue);
  kdl_status (*event_sync)(void *device, void *event);
  kdl_status (*event_wait)(void *device, void *event, void *queue);
  kdl_status (*event_elapsed)(void *device, void *start, void *end, double *out_ns);

  /* Memory. Sizes are never 0; libkdl has checked the ranges of known buffers. `copy` is for one
   * device; `copy_peer`, optional, for two devices of this backend, on a queue of the second. Where
   * it returns KDL_UNSUPPORTED, the copy passes through the host. */
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

  /* Optional; for KDL_BACKEND_SURVIVES_FORK. Called first in the child: other threads do not exist
   * there, and locks that they held are still held. */
  void (*after_fork)(void);

  /* Optional. Closes the device and its first queue when the process ends by exit() and no other
   * object of the device is left. Exit handlers that the driver registered before the device was
   * opened have not run yet. */
  void (*device_close)(void *device, void *queue);

  /* Optional. Whether the point that event_sync would wait for is reached. */
  kdl_status (*event_query)(void *device, void *event, int *out_done);

  /* Optional. Bytes of the device's memory: free, and in total. */
  kdl_status (*memory_info)(void *device, uint64_t *out_free, uint64_t *out_total);

  /* Optional, both or neither: host memory that the driver copies from and to directly. The size is
   * never 0. Without them kdl_alloc_host gives plain memory. */
  kdl_status (*alloc_host)(void *device, uint64_t size, void **out_data);
  kdl_status (*free_host)(void *device, void *data);

  /* Optional, all three or none: sequences. Without them, and where they return KDL_UNSUPPORTED,
   * libkdl enqueues the nodes one by one. One thread at a time runs a backend's sequence: libkdl
   * creates one for each thread that runs the same kdl_sequence. `changed` lists the nodes that
   * changed since the last successful run. `sequence_run` returns KDL_UNSUPPORTED only if no node
   * ran; after another failure libkdl destroys the sequence. A run may start on another queue while
   * the last one is in progress. */
  kdl_status (*sequence_create)(void *device, kdl_backend_sequence *sequence, void **out_sequence);
  void (*sequence_destroy)(void *device, void *sequence);
  kdl_status (*sequence_run)(void *device, void *sequence, void *queue, const uint32_t *changed,
                             size_t changed_count);

  /* Optional. The kernel argument for `address` + `offset`, where `offset` is not 0. Without this
   * function libkdl passes the sum. KDL_UNSUPPORTED where memory has no addresses. */
  kdl_status (*address_at)(void *device, uint64_t address, uint64_t offset, uint64_t *out_address);

  /* Optional. A queue whose launches run on at most so many threads of the CPU, which is not 0;
   * without this function, queue_create. */
  kdl_status (*queue_create_limited)(void *device, int32_t priority, uint32_t threads,
                                     void **out_queue);

  /* Optional. The highest clock of the device's processors in kHz, which is part of what identifies
   * the device where measured times are stored. */
  kdl_status (*clock_rate)(void *device, uint64_t *out_khz);
} kdl_backend_table;

/* The name and the type of the function that a shared object exports. */
#define KDL_BACKEND_SYMBOL "kdl_backend_open"
typedef const kdl_backend_table *kdl_backend_open_function(const kdl_backend_services *services);
kdl_backend_open_function kdl_backend_open; /* defined by the backend, not by libkdl */

#ifdef __cplusplus
}
#endif

#endif
