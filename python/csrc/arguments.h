/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Converts Python objects to the arguments of a launch, by the kernel's signature. The results are
 * valid until py_arguments_free.
 */
#ifndef KDL_PYTHON_CSRC_ARGUMENTS_H
#define KDL_PYTHON_CSRC_ARGUMENTS_H

#include "kdl_python.h"
#include "signature.h"

typedef union py_value {
  uint64_t number;
  int64_t integer;
  double real;
  float single;
  uint8_t bytes[16];
} py_value;

/* What keeps an argument alive until the launch is done: a view, a DLPack tensor, a kdl.Buffer with
 * its user count raised, or one that each call of a prepared launch pins. */
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

/* Where the stream of a launch comes from: none, a fixed one, or the package's current one. */
enum { PY_STREAM_NONE, PY_STREAM_FIXED, PY_STREAM_EXCHANGE, PY_STREAM_TORCH };

typedef struct py_stream {
  uint8_t from;
  int32_t type; /* the DLPack device type for the exchange */
  const struct dl_exchange *exchange;
  void *handle;
} py_stream;

/* The members that every launch uses come first, close together. */
typedef struct py_arguments {
  size_t count;
  size_t keepalive_count;
  size_t deferred_count;
  bool has_stream; /* an array named its stream, or no array is queried any more */
  py_stream stream;
  const void *pointers[py_max_params];
  py_value values[py_max_params];
  size_t sizes[py_max_params];            /* for a kernel without a signature */
  uint8_t deferred[py_max_params];        /* arguments converted once the queue is known: see
                                           * py_array_convert_deferred */
  py_keepalive keepalives[py_max_params]; /* the first `keepalive_count` are set; an argument uses
                                             one at most */
} py_arguments;

/* The parameters of a kernel. */
typedef struct py_signature {
  int count; /* -1: unknown */
  py_param params[py_max_params];
} py_signature;

/* The element types that a slot of a sequence takes: those of the parameters that its launches pass
 * it to, and that of the array it was declared with. */
enum { py_max_elements = 12 };
typedef struct py_elements {
  bool is_known; /* the sequence is recorded; before, the array's element is noted */
  uint8_t count; /* of the parameters' types; 0: any element */
  py_param params[py_max_elements];
  py_param declared; /* its element, or nothing */
} py_elements;

typedef struct py_target {
  kdl_device *device;
  const char *kernel;    /* for messages */
  PyObject *names;       /* of the arguments, for messages: a tuple, or NULL for numbers */
  py_elements *elements; /* of a sequence's slots; else NULL */
  int32_t dl_type;       /* DLPack's device type, or 0 */
  int32_t ordinal;
  bool is_host;
} py_target;

/* The target for a device; false with the exception set. `kernel` is for messages. */
bool py_target_of(kdl_device *device, const char *kernel, py_target *out_target);

/* False with the exception set, which names the argument; call py_arguments_free in either case. If
 * the launch names its queue, arrays are not queried for streams. */
bool py_arguments_convert(const py_target *target, const py_signature *signature,
                          PyObject *const *objects, size_t count, bool names_queue,
                          py_arguments *out_arguments);
void py_arguments_free(py_arguments *arguments);

/* Converts a number to an integer or a float of the parameter's size, in the low bytes of the
 * value; false with the exception set. */
bool py_number_convert(const py_target *target, const py_param *param, PyObject *object,
                       py_value *out_value, size_t index);

/* The same with the queue: the named one, else the one for the stream of an array, else NULL, the
 * device's own. Arrays whose package must know the queue, so that its earlier work completes first,
 * are converted last. `queue_object` may be NULL. */
bool py_arguments_convert_with_queue(const py_target *target, const py_signature *signature,
                                     PyObject *queue_object, PyObject *const *objects, size_t count,
                                     py_arguments *out_arguments, kdl_queue **out_queue);

/* The queue for the stream, for one more launch; NULL, the device's own, if this thread records
 * that. */
bool py_stream_queue(const py_target *target, const py_stream *stream, kdl_queue **out_queue);

/* The next keepalive, for the caller to fill and then to count. */
py_keepalive *py_keepalive_next(py_arguments *arguments, py_keepalive_kind kind, size_t index);
void py_keepalive_release(py_keepalive *hold);

/* For a prepared launch: each of its calls pins its buffers, which may be freed between calls.
 * py_arguments_pin_buffers is false with the exception set if one was freed. */
void py_arguments_pin_per_call(py_arguments *arguments);
bool py_arguments_pin_buffers(const py_target *target, const py_arguments *arguments);
void py_arguments_unpin_buffers(const py_arguments *arguments);

#endif
