/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Converts arrays of other packages to pointers: NumPy, PyTorch, CuPy, JAX, and any type with one
 * of their protocols. */
#ifndef KDL_PYTHON_CSRC_ARRAY_H
#define KDL_PYTHON_CSRC_ARRAY_H

#include "arguments.h"

/* Stores the address of the array's first element in values[index]; false with the exception set,
 * or without one if the object is not an array. */
bool py_array_address(const py_target *target, const py_param *param, PyObject *object,
                      py_arguments *arguments, size_t index);

/* The same for an argument that was deferred until the driver's handle of the queue is known. */
bool py_array_convert_deferred(const py_target *target, const py_param *param, PyObject *object,
                               void *handle, py_arguments *arguments, size_t index);

/* The stream of a prepared or recorded launch, for one more launch. */
bool py_array_stream(const py_target *target, const py_stream *stream, void **out_handle);

/* Whether the parameter accepts an array of such elements, on a device in DLPack's numbers. False
 * with the exception set. */
bool py_array_check_element(const py_target *target, const py_param *param, size_t index,
                            uint8_t kind, size_t size);
bool py_array_check_device(const py_target *target, size_t index, int32_t type, int32_t ordinal);

/* The type's exchange of DLPack, if it has one that describes its arrays; else NULL, without an
 * exception. */
const struct dl_exchange *py_exchange_of(PyTypeObject *type);

/* Raises TypeError for one argument, as "saxpy: argument 2: ..." or "run(): y: ..."; returns false.
 */
bool py_argument_error(const py_target *target, size_t index, const char *format, ...) PY_COLD;

/* The same with the first line of the current exception. */
bool py_argument_raised(const py_target *target, size_t index) PY_COLD;

#endif
