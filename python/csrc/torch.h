/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* PyTorch's tensors, where they differ from other arrays. */
#ifndef KDL_PYTHON_CSRC_TORCH_H
#define KDL_PYTHON_CSRC_TORCH_H

#include "arguments.h"
#include "dlpack.h"

/* The methods of a type that report whether a tensor's values are the negatives, or the conjugates,
 * of those in memory; NULL if it has none. The caller owns both references. */
typedef struct py_torch_bits {
  PyObject *is_negative, *is_conjugate;
} py_torch_bits;
py_torch_bits py_torch_bits_of(PyTypeObject *type);

/* Whether the memory holds the tensor's values; false with the exception set. `layout` is NULL if
 * unknown. */
bool py_torch_is_plain(const py_torch_bits *bits, const py_target *target, PyObject *tensor,
                       const dl_tensor *layout, size_t index);

/* As py_array_address, for a tensor of a PyTorch before DLPack's exchange. */
bool py_torch_address(const py_torch_bits *bits, const py_target *target, const py_param *param,
                      PyObject *object, py_arguments *arguments, size_t index);

/* The current stream of a device. */
bool py_torch_stream(int32_t ordinal, void **out_stream);

#endif
