/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The head of a NumPy array, which NumPy's headers have compiled into other packages since 1.7: the
 * buffer protocol returns the same at ten times the cost. It is used if the two agree on the first
 * array. */
#ifndef KDL_PYTHON_CSRC_NUMPY_HEAD_H
#define KDL_PYTHON_CSRC_NUMPY_HEAD_H

#include "kdl_python.h"

typedef struct py_numpy_array {
  PyObject head;
  void *data;
  int dimensions;
  Py_ssize_t *shape, *strides;
  PyObject *base, *dtype;
  int flags;
} py_numpy_array;

enum {
  py_numpy_c_order = 0x1,
  py_numpy_contiguous = 0x3, /* in C's or Fortran's order */
  py_numpy_aligned = 0x100,
  py_numpy_writable = 0x400
};

/* Whether the head agrees with the buffer protocol on this array, which is contiguous; false
 * without an exception. */
bool py_numpy_head_agrees(PyObject *array);

#endif
