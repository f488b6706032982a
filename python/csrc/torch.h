/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is PyTorch's own among arrays. */
#ifndef KDL_PYTHON_TORCH_H
#define KDL_PYTHON_TORCH_H

#include "arguments.h"
#include "dlpack.h"

/* The methods of a type that report whether a tensor's values are those in its memory with another
 * sign, or their conjugates; NULL where it has none. Both are the caller's references. */
typedef struct py_torch_bits {
  PyObject *is_negative, *is_conjugate;
} py_torch_bits;
py_torch_bits py_torch_bits_of(PyTypeObject *type);

/* Whether the memory has the tensor's values; false with the exception set. `layout` is NULL where
 * it is not known. */
bool py_torch_is_plain(const py_torch_bits *bits, const py_target *target, PyObject *tensor,
                       const dl_tensor *layout, size_t index);

/* As py_array_address, for a tensor of a PyTorch that is older than DLPack's exchange. */
bool py_torch_address(const py_torch_bits *bits, const py_target *target, const py_param *param,
                      PyObject *object, py_arguments *arguments, size_t index);

/* The current stream of a device. */
bool py_torch_stream(int32_t ordinal, void **out_stream);

#endif
