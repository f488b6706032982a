/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Linking and launching: the second half of <kdl/kdl.h>, which includes it.
 *
 *     kdl_device_for(lib, "saxpy", NULL, &dev);
 *     kdl_queue_create(dev, NULL, &q);
 *     kdl_alloc(dev, n * 4, &x);
 *     kdl_write(q, &x, 0, host_x, n * 4);
 *     kdl_sym(lib, dev, "saxpy", NULL, &k);
 *     kdl_launch_items(k, q, kdl_extent1(n), KDL_ARGS(&a, &x, &y, &n));
 *     kdl_read(q, host_y, &y, 0, n * 4);
 *     kdl_sync(q);
 *
 * Work on a queue runs in the order in which it was given; libkdl does not wait for it. Host memory
 * that a copy names must stay as it is until the queue has passed it. An error of the device that
 * shows late is returned by the next call that waits, usually kdl_sync.
 *
 * A process that forks without exec keeps its host kernels in the child, whatever its other threads
 * were doing in libkdl; any other device that was found before fails there with KDL_DEVICE, since
 * drivers do not survive a fork.
 */
#ifndef KDL_LAUNCH_H
#define KDL_LAUNCH_H

#ifndef KDL_KDL_H
#error "include <kdl/kdl.h>, which includes this header"
#endif

#include <kdl/each.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kdl_kernel kdl_kernel;
typedef struct kdl_queue kdl_queue;
typedef struct kdl_event kdl_event;

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

/* The kernel `name` for a device: its images are ranked now, and the best one that loads is loaded
 * at the first launch, once per process however many threads come. Where it does not load, the next
 * one is taken, and so on; where none does, the launch fails and tells what each of them said, also
 * the next time, without trying again.
 *
 * `lib` may be NULL: then the libraries that were opened with KDL_OPEN_GLOBAL are searched in the
 * order in which they were opened. Either way the libraries that KDL_PRELOAD names come first, and
 * of several libraries the first that has an image for the device wins, as in ld.so.
 *
 * The handle belongs to its library and the same question gives the same handle. It lives until the
 * library is closed; kdl_kernel_retain lets it outlive that. */
KDL_API kdl_status kdl_sym(kdl_library *lib, kdl_device *device, const char *name,
                           const kdl_select_opts *opts, kdl_kernel **out_kernel);

/* Keeps the kernel's library open until kdl_kernel_release. */
KDL_API kdl_kernel *kdl_kernel_retain(kdl_kernel *kernel);

/* NULL is allowed. */
KDL_API void kdl_kernel_release(kdl_kernel *kernel);

/* Loads now what the first launch would load. */
KDL_API kdl_status kdl_prefetch(kdl_kernel *kernel);

/* One parameter as the loaded image takes it. */
typedef struct kdl_param_info {
  uint32_t offset; /* in the packed form; UINT32_MAX where the image does not tell */
  uint32_t size;
} kdl_param_info;

/* Why an image that fits better was not loaded. */
typedef struct kdl_load_failure {
  size_t image;
  const char *name;    /* "image 1 (object x86-64-v2)" */
  const char *message; /* what kdl_error_message said of it */
  kdl_status status;
  int64_t code; /* the driver's own number, as kdl_error_code */
} kdl_load_failure;

typedef struct kdl_kernel_info {
  size_t size;         /* set to sizeof(kdl_kernel_info) before the call */
  const char *name;    /* strings live as long as the kernel */
  const char *library; /* the file */
  const char *device;  /* spec of the route */
  const char *fit;     /* how the image fits the device: "exact", "PTX", ... */
  size_t image;        /* index of the image that was loaded */
  size_t place;        /* in the ranking; above 0 where better ones did not load */
  size_t image_count;  /* of those that may run */
  kdl_image_kind kind;
  uint32_t block[3];                /* work-items in a group; 0 where the caller decides */
  uint32_t tile[3];                 /* work-items of the problem that a group covers; 0 likewise */
  int64_t param_count;              /* -1 where neither metadata nor the image tells */
  const kdl_param_info *params;     /* NULL likewise */
  size_t route;                     /* its number, for kdl_device_route_get */
  const kdl_load_failure *failures; /* of the images before it, in rank order; NULL: none */
  size_t failure_count;             /* `place`, or less where memory ran out */
} kdl_kernel_info;

/* What runs when the kernel is launched. Loads it where that has not happened yet. */
KDL_API kdl_status kdl_kernel_get(kdl_kernel *kernel, kdl_kernel_info *out_info);

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

/* The size of a problem, in work-items. */
typedef struct kdl_extent {
  uint64_t x, y, z;
} kdl_extent;

static inline kdl_extent kdl_extent3(uint64_t x, uint64_t y, uint64_t z) {
  kdl_extent extent;
  extent.x = x;
  extent.y = y;
  extent.z = z;
  return extent;
}
static inline kdl_extent kdl_extent2(uint64_t x, uint64_t y) {
  return kdl_extent3(x, y, 1);
}
static inline kdl_extent kdl_extent1(uint64_t x) {
  return kdl_extent3(x, 1, 1);
}

/* Arguments, in the order of the kernel's parameters: pointers to their values, which are read
 * before the launch returns. A buffer is passed by a pointer to its kdl_buffer, or to a raw device
 * address. `sizes` may be NULL; where given, it is checked against what the image takes, and a
 * kdl_buffer has to be the kernel's device's own (pass the raw address of memory that two share).
 */
typedef struct kdl_args {
  size_t count;
  const void *const *pointers;
  const size_t *sizes;
} kdl_args;

/* Arguments are checked before the driver sees them where this is 1: by default in programs built
 * without NDEBUG. KDL_CHECK=1 in the environment turns the check on in any program; where this is 0
 * KDL_ARGS gives no sizes in C, and the number of arguments is what is left to compare. */
#ifndef KDL_CHECK_ARGUMENTS
#ifdef NDEBUG
#define KDL_CHECK_ARGUMENTS 0
#else
#define KDL_CHECK_ARGUMENTS 1
#endif
#endif

/* KDL_ARGS(&a, &x, &n): the arguments of one launch, 1 to 32 typed pointers; KDL_NO_ARGS for none.
 * Valid until the end of the enclosing block (in C++, of the full expression). */
#ifndef __cplusplus
#define KDL_ARGS(...)                                                                              \
  ((kdl_args){KDL_COUNT(__VA_ARGS__), (const void *const[]){__VA_ARGS__}, KDL_SIZES(__VA_ARGS__)})
#define KDL_NO_ARGS ((kdl_args){0, NULL, NULL})
#if KDL_CHECK_ARGUMENTS
#define KDL_SIZES(...) ((const size_t[]){KDL_EACH(KDL_SIZE_OF, _, __VA_ARGS__)})
#define KDL_SIZE_OF(p, a) sizeof *(a),
#else
#define KDL_SIZES(...) NULL
#endif
#endif

/* How an explicit launch is shaped. Start from kdl_grid() and set what differs. */
typedef struct kdl_launch_desc {
  size_t size;         /* sizeof(kdl_launch_desc) */
  uint32_t grid[3];    /* groups */
  uint32_t block[3];   /* work-items in a group; block[0] = 0: as the image says */
  uint32_t shared;     /* bytes of dynamic group memory; what the image declares is the least */
  uint32_t flags;      /* KDL_LAUNCH_ */
  uint32_t cluster[3]; /* groups in a cluster; cluster[0] = 0: none */
} kdl_launch_desc;

enum { KDL_LAUNCH_COOPERATIVE = 1 /* the groups run at the same time and may synchronise */ };

static inline kdl_launch_desc kdl_grid(uint32_t x, uint32_t y, uint32_t z) {
  kdl_launch_desc desc = {sizeof(kdl_launch_desc), {x, y, z}, {0, 0, 0}, 0, 0, {0, 0, 0}};
  return desc;
}

/* What a handle begins with. `entry` is libkdl's resolver until the first launch, then the
 * backend's own function; programs call kdl_launch. The queue comes last, as drivers take it. */
typedef struct kdl_kernel_head kdl_kernel_head;
typedef kdl_status kdl_launch_entry(const kdl_kernel_head *kernel, const kdl_launch_desc *desc,
                                    const kdl_args *args, void *queue);
struct kdl_kernel_head {
  kdl_launch_entry *entry;
  void *queue;   /* the backend's: where launches without a queue go */
  void *context; /* the backend's: its kernel */
};
typedef struct kdl_queue_head {
  void *queue; /* the backend's; never NULL */
} kdl_queue_head;

/* The same as kdl_launch, for bindings and for pointers to functions. */
KDL_API kdl_status kdl_launch_call(kdl_kernel *kernel, kdl_queue *queue,
                                   const kdl_launch_desc *desc, const kdl_args *args);

/* The same, with the arguments, the descriptor and the queue checked first. */
KDL_API kdl_status kdl_launch_checked(kdl_kernel *kernel, kdl_queue *queue,
                                      const kdl_launch_desc *desc, const kdl_args *args);

/* Calls `run` for 0 to count - 1, on the threads that the host device runs groups on, and returns
 * when all are done: for code that was compiled into the program, as kdl-mlir does. The caller
 * begins alone, and others join where it takes longer than to wake them. In the child of a fork
 * that `run` makes, it is to exec or to exit: docs/launching.md. */
KDL_API kdl_status kdl_host_parallel(uint64_t count, void (*run)(void *context, uint64_t index),
                                     void *context);

/* Launches with a grid of the caller's making. `queue` may be NULL: the device's own, which
 * kdl_device_queue gives. Refused where the images that may run disagree on block or tile: a
 * fallback would silently compute something else. Without checks this is the one function that does
 * not look whether it was given NULL for the kernel, the descriptor or the arguments. */
static inline kdl_status kdl_launch(kdl_kernel *kernel, kdl_queue *queue,
                                    const kdl_launch_desc *desc, kdl_args args) {
#if KDL_CHECK_ARGUMENTS
  return kdl_launch_checked(kernel, queue, desc, &args);
#else
  kdl_kernel_head *head = (kdl_kernel_head *)kernel;
  kdl_launch_entry *entry = __atomic_load_n(&head->entry, __ATOMIC_ACQUIRE);
  void *where =
      queue ? ((kdl_queue_head *)queue)->queue : __atomic_load_n(&head->queue, __ATOMIC_RELAXED);
  return entry(head, desc, &args, where);
#endif
}

/* The exported twin of kdl_launch_items. */
KDL_API kdl_status kdl_launch_items_call(kdl_kernel *kernel, kdl_queue *queue,
                                         const kdl_extent *items, const kdl_args *args);

/* Launches as many groups as cover `items`, from the block and tile of the image that was loaded;
 * nothing where one of the three is 0. The number of arguments is always checked, and their sizes
 * where they are given. */
static inline kdl_status kdl_launch_items(kdl_kernel *kernel, kdl_queue *queue, kdl_extent items,
                                          kdl_args args) {
  return kdl_launch_items_call(kernel, queue, &items, &args);
}

/* The two launches with the arguments in one buffer, laid out as kdl_kernel_get tells: what a
 * compiler that knows the layout has at hand. KDL_UNSUPPORTED where the image does not tell it. */
KDL_API kdl_status kdl_launch_packed(kdl_kernel *kernel, kdl_queue *queue,
                                     const kdl_launch_desc *desc, const void *args, size_t size);
KDL_API kdl_status kdl_launch_items_packed(kdl_kernel *kernel, kdl_queue *queue,
                                           const kdl_extent *items, const void *args, size_t size);

/* ------------------------------------------------------------------------------------------ */
/* Queues                                                                                       */

typedef struct kdl_queue_opts {
  size_t size;      /* sizeof(kdl_queue_opts) */
  int32_t priority; /* 0 is normal, less is more urgent; a hint */
} kdl_queue_opts;

/* A queue of the device. On the host, work is done by the call that gives it, so a queue is empty
 * whenever no thread is inside such a call. */
KDL_API kdl_status kdl_queue_create(kdl_device *device, const kdl_queue_opts *opts,
                                    kdl_queue **out_queue);

/* A queue around the caller's own: a CUstream, a hipStream_t, a cl_command_queue. The caller keeps
 * it, and it must outlive the kdl_queue. NULL is the driver's default queue where there is one. */
KDL_API kdl_status kdl_queue_adopt(kdl_device *device, void *native, kdl_queue **out_queue);

/* The device's own queue, where launches that name none go: to wait for them, to order other work
 * behind them. It belongs to libkdl and is the same at every call; kdl_queue_destroy leaves it. */
KDL_API kdl_status kdl_device_queue(kdl_device *device, kdl_queue **out_queue);

/* Waits for the queue's work first where libkdl created it. NULL is allowed. */
KDL_API void kdl_queue_destroy(kdl_queue *queue);

/* Waits until everything given to the queue is done. For launches without a queue, that is the one
 * which kdl_device_queue gives. */
KDL_API kdl_status kdl_sync(kdl_queue *queue);

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

/* Memory of a device: a value, to be copied at will. A kernel's argument is the first word: the
 * address on the device, or a cl_mem. */
typedef struct kdl_buffer {
  uint64_t address;
  uint64_t size;
  kdl_device *device;
} kdl_buffer;

/* `size` may be 0: such a buffer has the address 0. The memory is aligned for any type. */
KDL_API kdl_status kdl_alloc(kdl_device *device, uint64_t size, kdl_buffer *out_buffer);

/* Frees what kdl_alloc gave and clears the struct; the device must be done with it. Clearing makes
 * a second call harmless. NULL is allowed. */
KDL_API kdl_status kdl_free(kdl_buffer *buffer);

/* Memory that other code allocated on the device, and frees. */
static inline kdl_buffer kdl_buffer_adopt(kdl_device *device, uint64_t address, uint64_t size) {
  kdl_buffer buffer;
  buffer.address = address;
  buffer.size = size;
  buffer.device = device;
  return buffer;
}

/* The device that the buffer belongs to, which must be that of the queue or kernel it is used with.
 * KDL_BAD_CALL where it belongs to none, as one that was freed. */
KDL_API kdl_status kdl_buffer_device(const kdl_buffer *buffer, kdl_device **out_device);

/* Bytes of the device's memory: how many are free now, for every process, and how many there are.
 * On the host it is the machine's, whatever a container allows. KDL_UNSUPPORTED where the driver
 * does not tell: Level Zero and OpenCL. Either pointer may be NULL. */
KDL_API kdl_status kdl_memory_info(kdl_device *device, uint64_t *out_free, uint64_t *out_total);

/* Memory of the host that the device's driver copies from and to directly (pinned memory), so that
 * kdl_write and kdl_read need not wait; plain memory, aligned for any type, where the driver has
 * none: on the host and behind OpenCL. `size` may be 0: then *out_data is NULL. */
KDL_API kdl_status kdl_alloc_host(kdl_device *device, uint64_t size, void **out_data);

/* Frees what kdl_alloc_host gave for the same device; its copies must be done. NULL for `data` is
 * allowed. */
KDL_API kdl_status kdl_free_host(kdl_device *device, void *data);

KDL_API kdl_status kdl_write(kdl_queue *queue, const kdl_buffer *buffer, uint64_t offset,
                             const void *data, uint64_t size);
KDL_API kdl_status kdl_read(kdl_queue *queue, void *data, const kdl_buffer *buffer, uint64_t offset,
                            uint64_t size);

/* Ranges of one buffer must not overlap. The buffers may be on different devices, then `queue` is
 * one of the destination's and the copy goes through the host, done when the call returns, unless
 * one driver knows both. */
KDL_API kdl_status kdl_copy(kdl_queue *queue, const kdl_buffer *to, uint64_t to_offset,
                            const kdl_buffer *from, uint64_t from_offset, uint64_t size);

/* Repeats a pattern of 1, 2, 4, 8 or 16 bytes; `offset` and `size` are multiples of it. */
KDL_API kdl_status kdl_fill(kdl_queue *queue, const kdl_buffer *buffer, uint64_t offset,
                            uint64_t size, const void *pattern, size_t pattern_size);

/* A variable of the image that the kernel runs from. Loads it where that has not happened yet. The
 * buffer is not to be freed and lives as long as the kernel. */
KDL_API kdl_status kdl_global(kdl_kernel *kernel, const char *name, kdl_buffer *out_buffer);

/* ------------------------------------------------------------------------------------------ */
/* Events                                                                                       */

KDL_API kdl_status kdl_event_create(kdl_device *device, kdl_event **out_event);
KDL_API void kdl_event_destroy(kdl_event *event);

/* Marks the point that the queue has reached. */
KDL_API kdl_status kdl_event_record(kdl_event *event, kdl_queue *queue);

/* Waits until the point is reached. */
KDL_API kdl_status kdl_event_sync(kdl_event *event);

/* Whether the point is reached, without waiting: *out_done is 1 or 0. An event that was not
 * recorded yet holds nothing up, and is done. KDL_UNSUPPORTED where a backend cannot tell. */
KDL_API kdl_status kdl_event_query(kdl_event *event, int *out_done);

/* Lets the queue's later work wait for the point. */
KDL_API kdl_status kdl_event_wait(kdl_event *event, kdl_queue *queue);

/* Nanoseconds between two points that were reached, by the device's clock. */
KDL_API kdl_status kdl_event_elapsed(kdl_event *start, kdl_event *end, double *out_ns);

/* ------------------------------------------------------------------------------------------ */
/* Beneath                                                                                      */

typedef enum kdl_native {
  KDL_NATIVE_DEVICE = 0,  /* CUdevice as a number, hipDevice_t, cl_device_id, ... */
  KDL_NATIVE_CONTEXT = 1, /* CUcontext, cl_context, ... */
} kdl_native;

/* The driver's own handles, for calls that libkdl does not make. The host has none: NULL. */
KDL_API kdl_status kdl_device_native(kdl_device *device, kdl_native which, void **out_handle);
KDL_API kdl_status kdl_queue_native(kdl_queue *queue, void **out_handle);
KDL_API kdl_status kdl_event_native(kdl_event *event, void **out_handle);
KDL_API kdl_status kdl_kernel_native(kdl_kernel *kernel, void **out_handle);

/* Lets libkdl use the caller's context on the device instead of the driver's usual one. To be
 * called before anything else is done with the device; KDL_BAD_CALL afterwards. */
KDL_API kdl_status kdl_device_adopt(kdl_device *device, void *native_context);

#ifdef __cplusplus
}

/* C++ has no compound literals: the same by a value that lives until the end of the expression. */
template <size_t count> struct kdl_args_value {
  const void *pointers[count];
  size_t sizes[count];
  operator kdl_args() const { return kdl_args{count, pointers, sizes}; }
};
template <typename... types> kdl_args_value<sizeof...(types)> kdl_args_of(types *...pointers) {
  return {{pointers...}, {sizeof(types)...}};
}
#define KDL_ARGS(...) (kdl_args_of(__VA_ARGS__))
#define KDL_NO_ARGS (kdl_args{0, nullptr, nullptr})
#endif

#endif
