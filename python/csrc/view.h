/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Memory by the buffer protocol, and which of it is refused. */
#ifndef KDL_PYTHON_VIEW_H
#define KDL_PYTHON_VIEW_H

#include "kdl_python.h"

/* As PyObject_GetBuffer; masked arrays are refused with TypeError, and so is what has references to
 * Python's objects, since they would be read or written without being counted. */
int py_get_view(PyObject *object, Py_buffer *view, int flags);

/* Whether elements of that format, or of NumPy's dtype, which may be NULL, have such references. */
bool py_format_has_objects(const char *format);
bool py_dtype_has_objects(PyObject *dtype);

/* Whether it is a masked array of NumPy's. */
bool py_is_masked(PyObject *object);

/* The messages. */
extern const char py_message_objects[], py_message_masked[];

#endif
