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

/* What is held of an argument until the launch is done, so that no other code frees it: a view, a
 * tensor of DLPack's, a kdl.Buffer with a user more, or one that each call of a prepared launch
 * holds. */
typedef enum py_hold_kind {
  PY_HOLD_VIEW,
  PY_HOLD_TENSOR,
  PY_HOLD_VERSIONED,
  PY_HOLD_BUFFER,
  PY_HOLD_BUFFER_IN_CALLS
} py_hold_kind;

typedef struct py_hold {
  uint8_t kind;  /* py_hold_kind */
  uint8_t index; /* of the argument */
  union {
    Py_buffer view;
    struct dl_managed *tensor;
    struct dl_versioned *versioned;
    py_buffer *buffer;
  } of;
} py_hold;

/* Where the stream of a launch is from: nowhere, for good, or the one that is current in the
 * package. */
enum { PY_STREAM_NONE, PY_STREAM_FIXED, PY_STREAM_EXCHANGE, PY_STREAM_TORCH };

typedef struct py_stream {
  uint8_t from;
  int32_t type; /* the kind of device that the exchange was asked with */
  const struct dl_exchange *exchange;
  void *handle;
} py_stream;

/* What every launch touches comes first, close together. */
typedef struct py_arguments {
  size_t count;
  size_t hold_count;
  size_t late_count;
  bool has_stream; /* an array names the stream that it is worked on, or none is asked any more */
  py_stream stream;
  const void *pointers[py_most_params];
  py_value values[py_most_params];
  size_t sizes[py_most_params];  /* for a kernel without a signature */
  uint8_t late[py_most_params];  /* arguments that are told the queue: see py_arguments_late */
  py_hold holds[py_most_params]; /* the first `hold_count` of them; an argument takes one at most */
} py_arguments;

/* The kernel's side of it. */
typedef struct py_signature {
  int count; /* -1: not known */
  py_param params[py_most_params];
} py_signature;

/* The elements of arrays that a slot of a sequence takes: those of the parameters that its launches
 * give it to, and of the array that it was declared with. */
enum { py_most_elements = 12 };
typedef struct py_elements {
  bool is_known; /* the sequence is recorded; until then the array's are noted */
  uint8_t count; /* of the parameters' types; 0: whatever an array has */
  py_param params[py_most_elements];
  py_param declared; /* its element, or nothing */
} py_elements;

typedef struct py_target {
  kdl_device *device;
  const char *kernel; /* for messages */
  PyObject *names;    /* of the arguments, for messages: a tuple, or NULL where they are counted */
  py_elements *elements; /* of a sequence's slots; else NULL */
  int32_t dl_type;       /* of DLPack's kinds of devices, or 0 */
  int32_t ordinal;
  bool is_host;
} py_target;

/* Of a device; false with the exception set. `kernel` is for messages. */
bool py_target_of(kdl_device *device, const char *kernel, py_target *out_target);

/* False with the exception set, which names the argument; py_arguments_end is called either way.
 * Where the launch names its queue, arrays are not asked for streams. */
bool py_arguments_begin(const py_target *target, const py_signature *signature,
                        PyObject *const *objects, size_t count, bool names_queue,
                        py_arguments *out_arguments);
void py_arguments_end(py_arguments *arguments);

/* The same with the queue: the one that is named, else the one around the stream that an array is
 * worked on, else NULL: the device's own. Arrays whose package is told the queue, so that what it
 * has given to its own is done before, are taken last. `queue_object` may be NULL. */
bool py_arguments_and_queue(const py_target *target, const py_signature *signature,
                            PyObject *queue_object, PyObject *const *objects, size_t count,
                            py_arguments *out_arguments, kdl_queue **out_queue);

/* The queue around the stream, for one more launch; the device's own, NULL, where this thread
 * records that. */
bool py_stream_queue(const py_target *target, const py_stream *stream, kdl_queue **out_queue);

/* The next hold, for the caller to fill and then to count. */
py_hold *py_hold_next(py_arguments *arguments, py_hold_kind kind, size_t index);
void py_hold_end(py_hold *hold);

/* For a launch that is prepared: its buffers are held by each of its calls, and may be freed
 * between them. py_arguments_hold is false with the exception set where one was. */
void py_arguments_hold_in_calls(py_arguments *arguments);
bool py_arguments_hold(const py_target *target, const py_arguments *arguments);
void py_arguments_release(const py_arguments *arguments);

#endif
