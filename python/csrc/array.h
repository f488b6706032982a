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
bool py_array_convert_deferred(const py_target *target, const py_param *param, PyObject *object,
                               void *handle, py_arguments *arguments, size_t index);

/* The stream of a launch that is prepared or recorded, for one more. */
bool py_array_stream(const py_target *target, const py_stream *stream, void **out_handle);

/* Whether the parameter takes an array of such elements, and of a device by DLPack's numbers. False
 * with the exception set. */
bool py_array_check_element(const py_target *target, const py_param *param, size_t index,
                            uint8_t kind, size_t size);
bool py_array_check_device(const py_target *target, size_t index, int32_t type, int32_t ordinal);

/* Raises TypeError for one argument, as "saxpy: argument 2: ..." or "run(): y: ..."; returns false.
 */
bool py_argument_error(const py_target *target, size_t index, const char *format, ...) PY_COLD;

/* The same with the first line of the exception that is set. */
bool py_argument_raised(const py_target *target, size_t index) PY_COLD;

#endif
