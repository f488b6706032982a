/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One process uses one device: compiled code allocates memory before the kernel that uses it is
 * known. The runtime selects the device when it is first needed, from what all libraries registered
 * by then can run on; after a program's constructors these are all of its libraries.
 */
#ifndef KDL_MLIR_RUNTIME_RUNTIME_H
#define KDL_MLIR_RUNTIME_RUNTIME_H

#define KDL_CHECK_ARGUMENTS 0 /* KDL_CHECK in the environment still enables checks */
#include "kdl_mlir.h"

#include <stdbool.h>

/* ------------------------------------------------------------------------------------------ */
/* Errors                                                                                       */

/* Records a failure of the runtime itself for kdl_mlir_report_error; returns `status`. */
kdl_status kdl_mlir_set_error(kdl_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Calls the error handler with "WHAT: why": the error of kdl_mlir_set_error, else libkdl's
 * message. */
void kdl_mlir_report_error(const char *what);

/* True for KDL_OK; otherwise calls the error handler. */
static inline bool kdl_mlir_ok(kdl_status status, const char *what) {
  if (status != KDL_OK)
    kdl_mlir_report_error(what);
  return status == KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Libraries                                                                                    */

/* What slots point to on the CPU, in place of the kernel: host_streams.c. */
typedef struct kdl_mlir_host_kernel {
  kdl_kernel_head head;
  kdl_kernel *kernel;
} kdl_mlir_host_kernel;

/* A kernel that was looked up before: MLIR's own lowering looks up the name at every launch. */
typedef struct kdl_mlir_cached_kernel {
  struct kdl_mlir_cached_kernel *next;
  kdl_mlir_host_kernel on_host;
  kdl_kernel *kernel;
  char name[];
} kdl_mlir_cached_kernel;

typedef struct kdl_mlir_contraction kdl_mlir_contraction;
typedef struct kdl_mlir_module kdl_mlir_module;
struct kdl_mlir_module {
  kdl_mlir_module *next;
  kdl_mlir_library declared;
  kdl_library *library;                   /* NULL until it is opened */
  kdl_mlir_cached_kernel *cached_kernels; /* a list that only grows at its head */
  kdl_mlir_contraction *contractions;     /* likewise */
};

/* Adds a module to those that the device is selected for; NULL when out of memory. `declared` is
 * copied. */
kdl_mlir_module *kdl_mlir_module_add(const kdl_mlir_library *declared);
void kdl_mlir_module_remove(kdl_mlir_module *module);

/* Opens the module's library, unless it is open. */
kdl_status kdl_mlir_module_open(kdl_mlir_module *module);

/* The kernel of that name on the device. */
kdl_status kdl_mlir_module_kernel(kdl_mlir_module *module, const char *name,
                                  kdl_kernel **out_kernel);

/* Calls `visit` with each module until it returns other than KDL_OK; holds the list's lock. */
kdl_status kdl_mlir_modules_visit(kdl_status (*visit)(void *user, kdl_mlir_module *module),
                                  void *user);

/* The selection settings of the module's attribute, which the environment may override. */
typedef struct kdl_mlir_select {
  kdl_select_opts opts;
  const kdl_select_opts *overrides; /* NULL if KDL_POLICY decides */
} kdl_mlir_select;
void kdl_mlir_module_select(const kdl_mlir_module *module, kdl_mlir_select *out_select);

/* ------------------------------------------------------------------------------------------ */
/* The device                                                                                   */

typedef struct kdl_mlir_device {
  kdl_device *device;
  kdl_queue *queue; /* for launches without a stream */
  bool is_host;
} kdl_mlir_device;

/* Selects the device at the first call. */
kdl_status kdl_mlir_device_get(const kdl_mlir_device **out_device);

/* The device, or NULL after reporting that `what` failed. */
const kdl_mlir_device *kdl_mlir_device_for(const char *what);

/* The handle of a contraction, whose name begins with KDL_MLIR_CONTRACTION, of an open module. */
kdl_status kdl_mlir_contraction_get(kdl_mlir_module *module, const kdl_mlir_device *device,
                                    const char *name, kdl_kernel **out_kernel);
void kdl_mlir_contractions_free(kdl_mlir_contraction *list);

/* Selects the N-th device of the default backend; call it before the device is used. */
kdl_status kdl_mlir_device_set_default(int32_t number);

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

/* The allocations on a device other than the host, by address: compiled code copies between
 * addresses without a direction. */
typedef struct kdl_mlir_range {
  uint64_t start, size;
  bool is_shared; /* with the host */
} kdl_mlir_range;
bool kdl_mlir_range_add(const kdl_mlir_range *range);

/* False if no range starts at the address. */
bool kdl_mlir_range_remove(uint64_t start, kdl_mlir_range *out_range);

/* The allocation that contains an address. */
bool kdl_mlir_range_find(uint64_t address, kdl_mlir_range *out_range);

/* ------------------------------------------------------------------------------------------ */
/* Driver functions that libkdl does not have                                                   */

kdl_status kdl_mlir_native_register(const kdl_mlir_device *device, void *data, uint64_t size);
kdl_status kdl_mlir_native_unregister(const kdl_mlir_device *device, void *data);

/* The device address of registered host memory. */
kdl_status kdl_mlir_native_device_pointer(const kdl_mlir_device *device, void *data,
                                          uint64_t *out_address);

/* Memory that host and device share. */
kdl_status kdl_mlir_native_alloc_shared(const kdl_mlir_device *device, uint64_t size,
                                        uint64_t *out_address);
kdl_status kdl_mlir_native_free_shared(const kdl_mlir_device *device, uint64_t address);

/* A CUtensorMap; the numbers are those of the driver's enums. */
typedef struct kdl_mlir_tensor_map {
  uint32_t rank;
  void *address;
  const uint64_t *sizes;   /* elements, the fastest dimension first */
  const uint64_t *strides; /* bytes, of all but the fastest */
  const uint32_t *box;
  const uint32_t *element_strides;
  int data_type, interleave, swizzle, l2_promotion, out_of_bounds;
} kdl_mlir_tensor_map;

enum { KDL_MLIR_TENSOR_MAP_SIZE = 128 };
kdl_status kdl_mlir_native_tensor_map(const kdl_mlir_device *device, const kdl_mlir_tensor_map *map,
                                      void *out_map);

#endif
