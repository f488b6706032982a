/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Memory by the buffer protocol, and which of it is refused. */
#ifndef KDL_PYTHON_CSRC_VIEW_H
#define KDL_PYTHON_CSRC_VIEW_H

#include "kdl_python.h"

/* As PyObject_GetBuffer; refuses masked arrays with TypeError, and elements that refer to Python
 * objects, whose references a kernel would not count. */
int py_get_view(PyObject *object, Py_buffer *view, int flags);

/* Whether elements of that format, or of NumPy's dtype, which may be NULL, contain such
 * references. */
bool py_format_has_objects(const char *format);
bool py_dtype_has_objects(PyObject *dtype);

/* Whether it is a NumPy masked array. */
bool py_is_masked(PyObject *object);

/* The error messages. */
extern const char py_message_objects[], py_message_masked[];

#endif
