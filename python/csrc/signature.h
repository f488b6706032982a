/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parameters of a kernel: from the field `sig` of its metadata, else only their sizes. */
#ifndef KDL_PYTHON_CSRC_SIGNATURE_H
#define KDL_PYTHON_CSRC_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum py_kind {
  PY_ANY, /* only the size is known, or nothing if it is 0 */
  PY_SIGNED,
  PY_UNSIGNED,
  PY_FLOAT,  /* IEEE */
  PY_BFLOAT, /* of 2 bytes */
  PY_POINTER,
  PY_BYTES,
} py_kind;

typedef struct py_param {
  uint8_t kind;         /* py_kind */
  uint8_t element_kind; /* of the pointee; PY_ANY for void and for pointers to pointers */
  uint16_t element_size;
  uint32_t size;
  bool is_const;            /* a pointer through which the kernel does not write */
  uint8_t dl_code, dl_bits; /* the element in DLPack's terms; without a known element, bits that no
                             * array has */
} py_param;

enum { py_max_params = 128 };

/* Reads the fields `sig` and `const` of a key kdl.kernel.NAME: the number of parameters, or -1
 * without a signature. */
int py_signature_of(const char *value, size_t length, py_param out_params[py_max_params]);

/* Reads one type of a signature, such as "ptr<f32>". */
bool py_param_of(const char *text, size_t length, py_param *out_param);

/* "f32", "ptr<i8>": for messages; in the caller's memory. */
const char *py_param_name(const py_param *param, char out_name[32]);

#endif
