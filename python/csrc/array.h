/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arrays of other packages as pointers: NumPy's, PyTorch's, CuPy's, JAX's, and whatever has one of
 * their protocols. */
#ifndef KDL_PYTHON_ARRAY_H
#define KDL_PYTHON_ARRAY_H

#include "arguments.h"

/* The address of the array's first element, in values[index]; false with the exception set, or
 * without one where the object is no array. */
bool py_array_address(const py_target *target, const py_param *param, PyObject *object,
                      py_arguments *arguments, size_t index);

/* The same for an argument that was left until the driver's handle of the queue is known. */
bool py_array_late(const py_target *target, const py_param *param, PyObject *object, void *handle,
                   py_arguments *arguments, size_t index);

/* The stream of a launch that is prepared, for one more: see stream_from. */
bool py_array_stream(const py_target *target, const py_arguments *arguments, void **out_stream);

/* Raises TypeError for one argument, as "saxpy: argument 2: ..."; returns false. */
bool py_argument_error(const py_target *target, size_t index, const char *format, ...) PY_COLD;

#endif
