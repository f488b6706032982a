/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Arguments of a launch, from Python's objects, by the kernel's signature. What is converted stays
 * valid until py_arguments_free.
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
typedef enum py_keepalive_kind {
  PY_KEEPALIVE_VIEW,
  PY_KEEPALIVE_TENSOR,
  PY_KEEPALIVE_VERSIONED,
  PY_KEEPALIVE_BUFFER,
  PY_KEEPALIVE_BUFFER_PER_CALL
} py_keepalive_kind;

typedef struct py_keepalive {
  uint8_t kind;  /* py_keepalive_kind */
  uint8_t index; /* of the argument */
  union {
    Py_buffer view;
    struct dl_managed *tensor;
    struct dl_versioned *versioned;
    py_buffer *buffer;
  } of;
} py_keepalive;

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
  size_t keepalive_count;
  size_t deferred_count;
  bool has_stream; /* an array names the stream that it is worked on, or none is asked any more */
  py_stream stream;
  const void *pointers[py_max_params];
  py_value values[py_max_params];
  size_t sizes[py_max_params];     /* for a kernel without a signature */
  uint8_t deferred[py_max_params]; /* arguments that are told the queue: see py_arguments_late */
  py_keepalive
      keepalives[py_max_params]; /* the first `hold_count` of them; an argument takes one at most */
} py_arguments;

/* The kernel's side of it. */
typedef struct py_signature {
  int count; /* -1: not known */
  py_param params[py_max_params];
} py_signature;

/* The elements of arrays that a slot of a sequence takes: those of the parameters that its launches
 * give it to, and of the array that it was declared with. */
enum { py_max_elements = 12 };
typedef struct py_elements {
  bool is_known; /* the sequence is recorded; until then the array's are noted */
  uint8_t count; /* of the parameters' types; 0: whatever an array has */
  py_param params[py_max_elements];
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

/* False with the exception set, which names the argument; py_arguments_free is called either way.
 * Where the launch names its queue, arrays are not asked for streams. */
bool py_arguments_convert(const py_target *target, const py_signature *signature,
                          PyObject *const *objects, size_t count, bool names_queue,
                          py_arguments *out_arguments);
void py_arguments_free(py_arguments *arguments);

/* The same with the queue: the one that is named, else the one around the stream that an array is
 * worked on, else NULL: the device's own. Arrays whose package is told the queue, so that what it
 * has given to its own is done before, are taken last. `queue_object` may be NULL. */
bool py_arguments_convert_with_queue(const py_target *target, const py_signature *signature,
                                     PyObject *queue_object, PyObject *const *objects, size_t count,
                                     py_arguments *out_arguments, kdl_queue **out_queue);

/* The queue around the stream, for one more launch; the device's own, NULL, where this thread
 * records that. */
bool py_stream_queue(const py_target *target, const py_stream *stream, kdl_queue **out_queue);

/* The next hold, for the caller to fill and then to count. */
py_keepalive *py_keepalive_next(py_arguments *arguments, py_keepalive_kind kind, size_t index);
void py_keepalive_release(py_keepalive *hold);

/* For a launch that is prepared: its buffers are held by each of its calls, and may be freed
 * between them. py_arguments_pin_buffers is false with the exception set where one was. */
void py_arguments_pin_per_call(py_arguments *arguments);
bool py_arguments_pin_buffers(const py_target *target, const py_arguments *arguments);
void py_arguments_unpin_buffers(const py_arguments *arguments);

#endif
