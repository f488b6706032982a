/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the fake libOpenCL keeps beyond its objects. */
#ifndef KDL_TESTS_FAKES_FAKE_OPENCL_STATE_H
#define KDL_TESTS_FAKES_FAKE_OPENCL_STATE_H

#include "fake_objects.h"
#include "lib/backends/opencl/abi.h"

#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) FAKE_EXPORT result name parameters;
#include "lib/backends/opencl/symbols.def"
#undef KDL_DRIVER_SYMBOL

/* Functions of extensions, which the loader does not export. */
#define KDL_DRIVER_SYMBOL(extension, field, name, result, parameters) result name parameters;
#include "lib/backends/opencl/extensions.def"
#undef KDL_DRIVER_SYMBOL

/* Those of command buffers, by what libkdl calls them: some have two forms of one name. */
#define KDL_DRIVER_SYMBOL(field, name, result, parameters) result fake_cl_##field parameters;
#include "lib/backends/opencl/commands.def"
#undef KDL_DRIVER_SYMBOL

/* The version of an extension of command buffers that a setting names, "opencl.commands" or
 * "opencl.mutable"; 0: none. */
uint32_t fake_opencl_version(const char *setting);

/* The function of that name; NULL where the version has none. */
void *fake_opencl_command(const char *name);

/* The number of the device that a handle stands for; SIZE_MAX where it is none. */
size_t fake_opencl_device(const void *handle);
void *fake_opencl_device_handle(size_t index);

/* Where memory comes from decides what may be done with it. */
typedef enum { FAKE_BUFFER, FAKE_SVM, FAKE_USM } fake_opencl_memory;

/* Gives the bytes of a property out, as every clGet function does. */
int32_t fake_opencl_give(const void *bytes, size_t length, size_t room, void *value, size_t *size);

/* The memory that a word stands for; NULL where it stands for none of that kind. */
fake_object *fake_opencl_memory_at(uint64_t word, fake_opencl_memory kind);

/* The queue, if it is one and its context is whole; else the error. */
int32_t fake_opencl_queue(const void *handle, fake_object **out_queue);

/* What clSetKernelArg and its sister for addresses do, and a launch. */
int32_t fake_opencl_set(const void *kernel, uint32_t index, size_t size, const void *value);
int32_t fake_opencl_set_svm(const void *kernel, uint32_t index, const void *address);
int32_t fake_opencl_launch(const void *queue, const void *kernel, uint32_t dimensions,
                           const size_t *global, const size_t *local);

/* A copy of the arguments that a kernel has, which the caller frees, and putting those of a copy in
 * place of the kernel's, and back. */
void *fake_opencl_arguments(const fake_object *kernel);
void fake_opencl_swap(fake_object *kernel, void *arguments);

/* What clEnqueueCopyBuffer and its sisters do, on the queue's context. */
int32_t fake_opencl_copy(const fake_object *queue, void *from, void *to, size_t from_offset,
                         size_t to_offset, size_t size);
int32_t fake_opencl_fill(const fake_object *queue, void *to, const void *pattern,
                         size_t pattern_size, size_t offset, size_t size);
int32_t fake_opencl_svm_copy(void *to, const void *from, size_t size);
int32_t fake_opencl_svm_fill(void *to, const void *pattern, size_t pattern_size, size_t size);

/* For functions that return an object and the error aside. */
#define FAKE_CL_ENTER(error)                                                                       \
  do {                                                                                             \
    int fault_ = fake_enter(__func__);                                                             \
    if (fault_) {                                                                                  \
      *(error) = fault_;                                                                           \
      return NULL;                                                                                 \
    }                                                                                              \
    pthread_mutex_lock(&fake_lock);                                                                \
  } while (0)

static inline void *fake_cl_leave(void *object, int32_t outcome, int32_t *error) {
  *error = outcome;
  pthread_mutex_unlock(&fake_lock);
  return object;
}

/* Counts one reference more or less; deletes what has no reference left. Faults are told, but what
 * is given back is given back, as by drivers that report an earlier error. */
int32_t fake_opencl_retain(const void *handle, fake_kind kind, int32_t stale, const char *function);
int32_t fake_opencl_release(const void *handle, fake_kind kind, int32_t stale,
                            const char *function);

/* For tests that look inside: how often two threads set arguments of one cl_kernel, and how often a
 * kernel was launched with memory that was given back since its argument was set. */
FAKE_EXPORT unsigned fake_opencl_races(void);
FAKE_EXPORT unsigned fake_opencl_stale(void);

/* A context for tests that bring their own. */
FAKE_EXPORT void *fake_opencl_device_id(unsigned index);

#endif
