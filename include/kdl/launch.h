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
 * Work on a queue runs in the order in which it was enqueued. The call that enqueues it does not
 * wait for it, except on the host and for some copies (kdl_alloc_host, kdl_copy). The host memory
 * of a copy must not change until the copy is done. A late error of the device is returned by the
 * next call that waits, usually kdl_sync.
 *
 * In the child of a fork without exec, host kernels work. Other devices that were found before the
 * fork fail there with KDL_DEVICE, because drivers do not survive a fork.
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

/* Finds a kernel for a device. The images that hold it are ranked now. The first launch, or
 * kdl_prefetch, loads the best one, once per process. If it does not load, the next one is tried;
 * if none loads, that launch and every later one fail with the reason of each image.
 *
 * With a NULL `lib`, the libraries opened with KDL_OPEN_GLOBAL are searched in the order of their
 * opening. The libraries that KDL_PRELOAD names are always searched first. As in ld.so, the first
 * library that has an image for the device is used.
 *
 * The same arguments give the same handle. It belongs to its library and lives until that is
 * closed, or longer with kdl_kernel_retain. */
KDL_API kdl_status kdl_sym(kdl_library *lib, kdl_device *device, const char *name,
                           const kdl_select_opts *opts, kdl_kernel **out_kernel);

/* Keeps the kernel's library open until kdl_kernel_release. */
KDL_API kdl_kernel *kdl_kernel_retain(kdl_kernel *kernel);

KDL_API void kdl_kernel_release(kdl_kernel *kernel);

/* Loads the image that the first launch would load. */
KDL_API kdl_status kdl_prefetch(kdl_kernel *kernel);

/* One parameter as the loaded image takes it. */
typedef struct kdl_param_info {
  uint32_t offset; /* among the arguments of a launch; UINT32_MAX where it is unknown */
  uint32_t size;
} kdl_param_info;

/* Why an image that fits better was not loaded. */
typedef struct kdl_load_failure {
  size_t image;
  const char *name;    /* "image 1 (object x86-64-v2)" */
  const char *message; /* as kdl_error_message gives it */
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
  size_t position;     /* in the ranking; above 0 where better ones did not load or have a
                          condition */
  size_t image_count;  /* images in the ranking */
  kdl_image_kind kind;
  uint32_t block[3];                /* work-items in a group; 0 where the caller decides */
  uint32_t tile[3];                 /* items of the problem that a group covers; 0: as the block */
  int64_t param_count;              /* -1 where it is unknown */
  const kdl_param_info *params;     /* NULL where they are unknown */
  size_t route;                     /* its number, for kdl_device_route_get */
  const kdl_load_failure *failures; /* of the images before it, in rank order; NULL: none */
  size_t failure_count;             /* `position`, or less where memory ran out */
} kdl_kernel_info;

/* Describes what a launch runs. Loads the image if it is not loaded. Where images have conditions
 * (docs/metadata.md, `when`), it describes the best one without, which is for every launch. */
KDL_API kdl_status kdl_kernel_get(kdl_kernel *kernel, kdl_kernel_info *out_info);

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

/* The size of a problem, in items. A work-item computes one, or several where a kernel's tile is
 * larger than its block. */
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
 * before the launch returns. A buffer is passed by a pointer to its kdl_buffer or to a device
 * address. `sizes` may be NULL; otherwise sizes are compared with the image's parameters, and a
 * kdl_buffer must be of the kernel's device. Memory that two devices share is passed by address. */
typedef struct kdl_args {
  size_t count;
  const void *const *pointers;
  const size_t *sizes;
} kdl_args;

/* 1: arguments are checked before the driver gets them; the default in programs built without
 * NDEBUG. KDL_CHECK=1 in the environment turns the check on in any program; in C code that was
 * compiled with KDL_CHECK_ARGUMENTS 0, KDL_ARGS has no sizes, and the number of arguments alone is
 * compared. */
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
  uint32_t block[3];   /* work-items in a group; block[0] = 0: the image's own block */
  uint32_t shared;     /* bytes of dynamic group memory; if the image declares more, that is used */
  uint32_t flags;      /* KDL_LAUNCH_ */
  uint32_t cluster[3]; /* groups in a cluster; cluster[0] = 0: none */
  uint32_t threads;    /* of the CPU that run it, at most, the caller's among them; 0: as many as
                          the queue allows. Other devices do not read it */
} kdl_launch_desc;

enum {
  KDL_LAUNCH_COOPERATIVE = 1, /* the groups run at the same time and may synchronise */
  KDL_LAUNCH_EARLY = 2, /* CUDA: groups may begin while the launch before on the queue runs. The
                           kernel itself waits for that (griddepcontrol.wait), in every group.
                           Not together with another flag; sequences do without */
};

static inline kdl_launch_desc kdl_grid(uint32_t x, uint32_t y, uint32_t z) {
  kdl_launch_desc desc = {sizeof(kdl_launch_desc), {x, y, z}, {0, 0, 0}, 0, 0, {0, 0, 0}, 0};
  return desc;
}

/* The beginning of a kernel handle. `entry` resolves the kernel at the first launch; then it is
 * the backend's own function, or one that does more and calls it. Programs call kdl_launch. */
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

/* The same as kdl_launch, for other languages and for pointers to functions. */
KDL_API kdl_status kdl_launch_call(kdl_kernel *kernel, kdl_queue *queue,
                                   const kdl_launch_desc *desc, const kdl_args *args);

/* The same, with the arguments, the descriptor and the queue checked first. */
KDL_API kdl_status kdl_launch_checked(kdl_kernel *kernel, kdl_queue *queue,
                                      const kdl_launch_desc *desc, const kdl_args *args);

/* Launches an explicit grid. With a NULL `queue`, the device's own queue is used
 * (kdl_device_queue). Fails where the images of the ranking differ in block or tile, because a
 * fallback image would compute something else: kdl_launch_items takes the block and tile of the
 * image that was loaded. Without KDL_CHECK_ARGUMENTS this function does not test its pointers for
 * NULL; all others do. */
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

/* The same as kdl_launch_items, for other languages and for pointers to functions. */
KDL_API kdl_status kdl_launch_items_call(kdl_kernel *kernel, kdl_queue *queue,
                                         const kdl_extent *items, const kdl_args *args);

/* Launches as many groups as cover `items`, by the block and tile of the loaded image: with a tile
 * of 256, 1000 items take 4 groups. An extent of 0 launches nothing. The number of arguments is
 * always checked, and so are their sizes if `args` has them. */
static inline kdl_status kdl_launch_items(kdl_kernel *kernel, kdl_queue *queue, kdl_extent items,
                                          kdl_args args) {
  return kdl_launch_items_call(kernel, queue, &items, &args);
}

/* The handle of the image that a launch uses, where images have conditions (`when` in
 * docs/metadata.md); the kernel itself where none has one. A launch of the handle uses that image
 * without testing conditions. `items` is NULL for an explicit grid, which fulfils no condition on
 * items. An argument may be NULL: it fulfils no condition. */
KDL_API kdl_status kdl_kernel_variant(kdl_kernel *kernel, const kdl_extent *items,
                                      const kdl_args *args, kdl_kernel **out_kernel);

/* ------------------------------------------------------------------------------------------ */
/* Queues                                                                                       */

typedef struct kdl_queue_opts {
  size_t size;      /* sizeof(kdl_queue_opts) */
  int32_t priority; /* 0 is normal, less is more urgent; a hint */
  uint32_t threads; /* of the CPU that run one of its launches, at most, unless the launch sets its
                       own limit; 0: as many as the process has. Other devices do not read it */
} kdl_queue_opts;

/* A queue of the device. On the host, a call that enqueues work returns when the work is done. */
KDL_API kdl_status kdl_queue_create(kdl_device *device, const kdl_queue_opts *opts,
                                    kdl_queue **out_queue);

/* Wraps the caller's own queue: a CUstream, a hipStream_t, a cl_command_queue. The caller owns it;
 * it must outlive the kdl_queue. NULL is the driver's default queue where there is one. */
KDL_API kdl_status kdl_queue_adopt(kdl_device *device, void *native, kdl_queue **out_queue);

/* The device's own queue, which launches without a queue use. It belongs to libkdl and is the same
 * at every call; kdl_queue_destroy does nothing to it. */
KDL_API kdl_status kdl_device_queue(kdl_device *device, kdl_queue **out_queue);

/* Waits for the queue's work first, unless the queue was adopted. */
KDL_API void kdl_queue_destroy(kdl_queue *queue);

/* Waits until all work on the queue is done. Launches without a queue are on the device's own
 * queue: kdl_device_queue. */
KDL_API kdl_status kdl_sync(kdl_queue *queue);

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

/* Memory of a device: a value that may be copied. A kernel receives the first member: the address
 * on the device, or a cl_mem. */
typedef struct kdl_buffer {
  uint64_t address;
  uint64_t size;
  kdl_device *device; /* that of the queue or kernel it is used with; NULL after kdl_free */
} kdl_buffer;

/* Allocates memory, aligned for any type. `size` may be 0: such a buffer has the address 0. */
KDL_API kdl_status kdl_alloc(kdl_device *device, uint64_t size, kdl_buffer *out_buffer);

/* Frees memory of kdl_alloc and clears the struct, so that a second call does nothing. The device
 * must be done with it. NULL is accepted. */
KDL_API kdl_status kdl_free(kdl_buffer *buffer);

/* A buffer over device memory that other code owns. */
static inline kdl_buffer kdl_buffer_adopt(kdl_device *device, uint64_t address, uint64_t size) {
  kdl_buffer buffer;
  buffer.address = address;
  buffer.size = size;
  buffer.device = device;
  return buffer;
}

/* Bytes of the device's memory: free now, for all processes, and in total. On the host these are
 * the machine's, regardless of the limits of a cgroup. KDL_UNSUPPORTED on Level Zero and OpenCL,
 * which have no such query. Either pointer may be NULL. */
KDL_API kdl_status kdl_memory_info(kdl_device *device, uint64_t *out_free, uint64_t *out_total);

/* Pinned memory of the host, which the driver copies from and to directly, so that kdl_write and
 * kdl_read need not wait, as they may with other memory. On the host and with OpenCL it is plain
 * memory, aligned for any type. `size` may be 0: then *out_data is NULL. */
KDL_API kdl_status kdl_alloc_host(kdl_device *device, uint64_t size, void **out_data);

/* Frees memory of kdl_alloc_host of the same device. Copies must be done. `data` may be NULL. */
KDL_API kdl_status kdl_free_host(kdl_device *device, void *data);

/* Enqueue a copy from the host to a buffer, and from a buffer to the host. */
KDL_API kdl_status kdl_write(kdl_queue *queue, const kdl_buffer *buffer, uint64_t offset,
                             const void *data, uint64_t size);
KDL_API kdl_status kdl_read(kdl_queue *queue, void *data, const kdl_buffer *buffer, uint64_t offset,
                            uint64_t size);

/* Copies between buffers; ranges of one buffer must not overlap. The buffers may be of different
 * devices: `queue` is then one of the destination's. Unless one driver has both devices, the copy
 * passes through the host and is done when the call returns. */
KDL_API kdl_status kdl_copy(kdl_queue *queue, const kdl_buffer *to, uint64_t to_offset,
                            const kdl_buffer *from, uint64_t from_offset, uint64_t size);

/* Fills with a pattern of 1, 2, 4, 8 or 16 bytes; `offset` and `size` are multiples of it. */
KDL_API kdl_status kdl_fill(kdl_queue *queue, const kdl_buffer *buffer, uint64_t offset,
                            uint64_t size, const void *pattern, size_t pattern_size);

/* A global variable of the kernel's image. Loads the image if it is not loaded. The buffer must not
 * be freed and lives as long as the kernel. */
KDL_API kdl_status kdl_global(kdl_kernel *kernel, const char *name, kdl_buffer *out_buffer);

/* ------------------------------------------------------------------------------------------ */
/* Events                                                                                       */

KDL_API kdl_status kdl_event_create(kdl_device *device, kdl_event **out_event);
KDL_API void kdl_event_destroy(kdl_event *event);

/* Sets the event's point: after all work that has been enqueued on the queue so far. The point is
 * reached when that work is done. */
KDL_API kdl_status kdl_event_record(kdl_event *event, kdl_queue *queue);

/* Waits until the point is reached. */
KDL_API kdl_status kdl_event_sync(kdl_event *event);

/* Whether the point is reached, without waiting: *out_done is 1 or 0. An event that was never
 * recorded is done. KDL_UNSUPPORTED where a backend has no such query. */
KDL_API kdl_status kdl_event_query(kdl_event *event, int *out_done);

/* Makes later work of the queue wait for the point. */
KDL_API kdl_status kdl_event_wait(kdl_event *event, kdl_queue *queue);

/* Nanoseconds from the point of `start` to that of `end`, by the device's clock. Both must have
 * been reached. */
KDL_API kdl_status kdl_event_elapsed(kdl_event *start, kdl_event *end, double *out_ns);

/* ------------------------------------------------------------------------------------------ */
/* Native handles                                                                               */

typedef enum kdl_native {
  KDL_NATIVE_DEVICE = 0,  /* CUdevice as a number, hipDevice_t, cl_device_id, ... */
  KDL_NATIVE_CONTEXT = 1, /* CUcontext, cl_context, ... */
} kdl_native;

/* The driver's own handles, for calls that libkdl does not make. The host has none: NULL. The
 * handle of a kernel is that of one image: from then on, launches of the kernel use that image,
 * also where others have conditions. */
KDL_API kdl_status kdl_device_native(kdl_device *device, kdl_native which, void **out_handle);
KDL_API kdl_status kdl_queue_native(kdl_queue *queue, void **out_handle);
KDL_API kdl_status kdl_event_native(kdl_event *event, void **out_handle);
KDL_API kdl_status kdl_kernel_native(kdl_kernel *kernel, void **out_handle);

/* Makes libkdl use the caller's context on the device instead of the driver's default one. Must
 * come before any other use of the device; KDL_BAD_CALL afterwards. */
KDL_API kdl_status kdl_device_adopt(kdl_device *device, void *native_context);

#ifdef __cplusplus
}

/* C++ has no compound literals: KDL_ARGS makes a value that lives until the expression ends. */
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
