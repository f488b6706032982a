/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The backend's devices, memory, queues, events, programs and kernels. */
#ifndef KDL_LIB_BACKENDS_OPENCL_OBJECTS_H
#define KDL_LIB_BACKENDS_OPENCL_OBJECTS_H

#include "lib/backends/common/arguments/argument_cache.h"
#include "lib/backends/opencl/driver.h"

#include <pthread.h>
#include <stdatomic.h>

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): declarations name the object;
 * definitions take a `handle` and cast it. */

/* The functions of the table. */
#define KDL_BACKEND_FUNCTION(result, name, parameters) result kdl_opencl_##name parameters;
#define KDL_BACKEND_ADDRESSES(result, name, parameters)
#include "lib/backends/common/functions.def"

typedef struct kdl_opencl_device kdl_opencl_device;

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

/* The kind of a buffer's word: an address of unified shared memory, an address of shared virtual
 * memory, or a cl_mem. A device has one kind; each function returns an OpenCL error. */
typedef struct kdl_opencl_memory {
  const char *name; /* for KDL_OPENCL_MEMORY */
  const char *alloc_call, *free_call, *write_call, *read_call, *copy_call, *fill_call, *set_call;
  bool (*is_supported)(const kdl_opencl_device *device);
  int32_t (*alloc)(const kdl_opencl_device *device, uint64_t size, uint64_t *out_word);
  int32_t (*free)(const kdl_opencl_device *device, uint64_t word);
  int32_t (*write)(const kdl_opencl_device *device, void *queue, uint64_t to, uint64_t offset,
                   const void *from, uint64_t size);
  int32_t (*read)(const kdl_opencl_device *device, void *queue, void *to, uint64_t from,
                  uint64_t offset, uint64_t size);
  int32_t (*copy)(const kdl_opencl_device *device, void *queue, uint64_t to, uint64_t to_offset,
                  uint64_t from, uint64_t from_offset, uint64_t size);
  int32_t (*fill)(const kdl_opencl_device *device, void *queue, uint64_t to, uint64_t offset,
                  uint64_t size, const void *pattern, size_t pattern_size);
  int32_t (*set)(const kdl_opencl_device *device, void *kernel, uint32_t index, uint64_t word);
} kdl_opencl_memory;

/* Selects the best kind that the device offers, or the one that KDL_OPENCL_MEMORY names. */
kdl_status kdl_opencl_memory_select(kdl_opencl_device *device);

kdl_status kdl_opencl_address_at(void *device, uint64_t address, uint64_t offset,
                                 uint64_t *out_address);

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

typedef struct kdl_opencl_extensions {
#define KDL_DRIVER_SYMBOL(extension, field, name, result, parameters) result(*field) parameters;
#include "lib/backends/opencl/extensions.def"
#undef KDL_DRIVER_SYMBOL
} kdl_opencl_extensions;

struct kdl_opencl_device {
  kdl_ranges ranges; /* memory that libkdl allocated */
  void *platform;
  void *id;      /* cl_device_id */
  void *context; /* of this device, or the caller's */
  void *adopted; /* of kdl_device_adopt; NULL: none */
  uint32_t ordinal;
  uint32_t version; /* of OpenCL, as KDL_VERSION_OF */
  uint64_t memory_size;
  bool has_il;
  bool has_priorities;
  bool is_nvidia;
  _Atomic bool has_queue;    /* the queue for launches without one exists */
  kdl_opencl_extensions ext; /* NULL where the device lacks the extension */
  const kdl_opencl_memory *memory;
};

/* A number of 4 or 8 bytes; 0 where the device has none. */
uint64_t kdl_opencl_device_number(const kdl_opencl_device *device, uint32_t what);

/* ------------------------------------------------------------------------------------------ */
/* Programs                                                                                     */

typedef struct kdl_opencl_kernel kdl_opencl_kernel;

typedef struct kdl_opencl_loaded_image {
  void *program;
  kdl_image_reference image;
  kdl_opencl_kernel *_Atomic kernels; /* freed with the loaded image */
} kdl_opencl_loaded_image;

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

/* Determines a kernel's parameters from the driver, the image and the metadata. */
kdl_status kdl_opencl_params_resolve(const kdl_opencl_device *device,
                                     const kdl_opencl_loaded_image *loaded, void *kernel,
                                     const kdl_kernel_request *request, kdl_arguments *out_params);

/*
 * A cl_kernel holds its arguments, and setting them is the one thing in OpenCL that two threads may
 * not do at once. So each thread that launches has its own cl_kernel, found by comparing one word.
 * It caches the arguments, and only those that differ are set.
 */
typedef struct kdl_opencl_instance kdl_opencl_instance;

struct kdl_opencl_instance {
  _Atomic uintptr_t owner;        /* the thread; 0: free */
  void *kernel;                   /* cl_kernel */
  _Alignas(16) uint64_t shape[4]; /* grid, block, group memory and flags of the last launch, in the
                                     layout of its descriptor ... */
  size_t global[3];               /* ... and in the driver's form */
  size_t local[3];
  kdl_opencl_device *device;
  kdl_opencl_kernel *of;
  kdl_opencl_instance *next;
  kdl_argument_cache given;
  uint64_t values[]; /* of the argument cache */
};

struct kdl_opencl_kernel {
  kdl_argument_list list;
  kdl_opencl_instance *first; /* context of launches */
  kdl_opencl_device *device;
  uint32_t block[3]; /* default block */
  void *program;
  char *name;
  pthread_mutex_t lock; /* held to add an instance */
  kdl_opencl_instance *_Atomic instances;
  unsigned instance_count;
  kdl_opencl_kernel *next;
};

void kdl_opencl_kernel_free(kdl_opencl_kernel *kernel);

kdl_status kdl_opencl_instance_create(kdl_opencl_kernel *kernel,
                                      kdl_opencl_instance **out_instance);
void kdl_opencl_instance_free(kdl_opencl_kernel *kernel, kdl_opencl_instance *instance);

extern const kdl_argument_setter kdl_opencl_setter;

/* Selects a kernel's launch entry. */
kdl_launch_entry *kdl_opencl_entry_of(const kdl_argument_list *list);

/* The slow paths of a launch that differs from the last one, and of another thread. */
__attribute__((noinline)) kdl_launch_entry kdl_opencl_launch_changed;
__attribute__((noinline)) kdl_launch_entry kdl_opencl_launch_other_thread;

/* ------------------------------------------------------------------------------------------ */
/* Queues                                                                                       */

/* clEnqueueNDRangeKernel, or the same followed by clFlush. */
typedef int32_t kdl_opencl_enqueue(void *queue, void *kernel, uint32_t dimensions,
                                   const size_t *offset, const size_t *global, const size_t *local,
                                   uint32_t count, void *const *events, void **event);

typedef struct kdl_opencl_queue {
  kdl_opencl_enqueue *launch;
  void *queue; /* cl_command_queue */
} kdl_opencl_queue;

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

#endif
