/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Arguments of a launch, from Python's objects, by the kernel's signature. What is converted stays
 * valid until py_arguments_end.
 */
#ifndef KDL_PYTHON_ARGUMENTS_H
#define KDL_PYTHON_ARGUMENTS_H

#include "kdl_python.h"
#include "signature.h"

typedef union py_value {
  uint64_t number;
  int64_t integer;
  double real;
  float single;
  uint8_t bytes[16];
} py_value;

/* What an argument has lent until the launch is done. */
typedef struct py_loan {
  Py_buffer view;    /* .obj is NULL where there is none */
  PyObject *capsule; /* of DLPack, or NULL */
} py_loan;

/* Where the stream of a launch is from: nowhere, for good, or the one that is current in the
 * package. */
enum { PY_STREAM_NONE, PY_STREAM_FIXED, PY_STREAM_EXCHANGE, PY_STREAM_TORCH };

/* What every launch touches comes first, close together. */
typedef struct py_arguments {
  size_t count;
  size_t loan_count;
  size_t late_count;
  bool has_stream; /* an array names the stream that it is worked on, or none is asked any more */
  uint8_t stream_from;
  int32_t stream_type; /* the kind of device that the exchange was asked with */
  const struct dl_exchange *exchange;
  void *stream;
  const void *pointers[py_most_params];
  py_value values[py_most_params];
  size_t sizes[py_most_params];  /* for a kernel without a signature */
  uint8_t late[py_most_params];  /* arguments that are told the queue: see py_arguments_late */
  py_loan loans[py_most_params]; /* the first `loan_count` of them; an argument takes one at most */
} py_arguments;

/* The kernel's side of it. */
typedef struct py_signature {
  int count; /* -1: not known */
  py_param params[py_most_params];
} py_signature;

typedef struct py_target {
  kdl_device *device;
  const char *kernel; /* for messages */
  int32_t dl_type;    /* of DLPack's kinds of devices, or 0 */
  int32_t ordinal;
  bool is_host;
} py_target;

/* False with the exception set, which names the argument; py_arguments_end is called either way.
 * Where the launch names its queue, arrays are not asked for streams. */
bool py_arguments_begin(const py_target *target, const py_signature *signature,
                        PyObject *const *objects, size_t count, bool names_queue,
                        py_arguments *out_arguments);
void py_arguments_end(py_arguments *arguments);

/* The arguments that were left because their package is told the queue of the launch, so that what
 * it has given to its own is done before: `handle` is the driver's. */
bool py_arguments_late(const py_target *target, const py_signature *signature,
                       PyObject *const *objects, void *handle, py_arguments *arguments);

/* The next loan, for the caller to fill and then to count. */
py_loan *py_loan_take(py_arguments *arguments);

#endif
