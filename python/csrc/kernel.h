/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels, and the two halves of a launch: converting its arguments, and submitting it to a
 * queue. */
#ifndef KDL_PYTHON_CSRC_KERNEL_H
#define KDL_PYTHON_CSRC_KERNEL_H

#include "arguments.h"

typedef struct py_kernel {
  PyObject head;
  kdl_kernel *kernel;
  py_library *library;
  char *name;
  py_target target;
  bool is_loaded; /* the signature and the result of kdl_kernel_get are valid */
  py_signature signature;
} py_kernel;

/* The shape of a launch: by items, or by groups. */
typedef struct py_shape {
  bool is_grid;
  kdl_extent items;
  kdl_launch_desc desc;
} py_shape;

/* Loads the kernel if needed; then as py_arguments_convert_with_queue. */
bool py_kernel_convert_arguments(py_kernel *self, PyObject *queue_object, PyObject *const *objects,
                                 size_t count, py_arguments *out_arguments, kdl_queue **out_queue);

/* On the host the launch does the work; other Python threads may run, unless it is recorded. */
kdl_status py_kernel_submit(py_kernel *self, kdl_queue *queue, const py_shape *shape,
                            const py_arguments *arguments, bool is_recorded);

/* A launch with its arguments, for repeated calls; NULL with the exception set. */
PyObject *py_prepared_new(py_kernel *kernel, const py_shape *shape, PyObject *queue_object,
                          PyObject *const *objects, size_t count);
int py_prepared_init(PyObject *module);

#endif
