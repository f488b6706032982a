/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences, and recording: work on a queue that is being recorded becomes part of its sequence. */
#ifndef KDL_PYTHON_CSRC_SEQUENCE_H
#define KDL_PYTHON_CSRC_SEQUENCE_H

#include "arguments.h"

#include <kdl/sequence.h>

enum { py_max_slots = 32 };

typedef enum py_sequence_state {
  PY_SEQUENCE_NEW,
  PY_SEQUENCE_RECORDING,
  PY_SEQUENCE_READY,
  PY_SEQUENCE_FAILED
} py_sequence_state;

typedef struct py_sequence {
  PyObject head;
  struct py_sequence *next; /* in the list of recordings */
  PyObject *queue;          /* a Queue, or NULL: the device's own */
  py_target target;         /* for messages, and to convert arrays */
  kdl_sequence *sequence;
  py_sequence_state state;
  unsigned long thread; /* the recording thread */
  kdl_queue *recorded;  /* the queue, while it is recorded */
  py_stream stream;     /* of arrays that were recorded on the device's own queue */
  PyObject *retained;   /* a dict of what was recorded, by its address, or NULL */
  py_buffer **memory;   /* recorded buffers that are not slots, which each run checks */
  size_t memory_count, memory_capacity;
  py_keepalive *keepalives; /* of recorded arrays */
  size_t keepalive_count, keepalive_capacity;
  size_t slot_count;
  PyObject *names;               /* of the slots: a tuple of str */
  PyObject *bound[py_max_slots]; /* the default value of each slot, or None */
  kdl_slot slots[py_max_slots];
  py_elements elements[py_max_slots]; /* of the slots' arrays */
} py_sequence;

/* The number of recordings: while it is 0, nothing else in this file is needed. */
extern size_t py_recording_count;

/* The sequence that records work on the queue, or on the device's own if that is NULL; NULL if none
 * does. Such calls keep the interpreter's lock, so that the recording cannot end during them. */
py_sequence *py_recording_of(kdl_device *device, const kdl_queue *queue);

/* The same for work of this thread. False with RuntimeError if another thread records the queue. */
bool py_recording_on_thread(kdl_device *device, const kdl_queue *queue,
                            py_sequence **out_recording);

/* Whether this thread records the device's own queue: work without a queue then goes there. */
bool py_recording_is_default_queue(kdl_device *device);

/* The queue for the driver's handle that is being recorded, or NULL. */
kdl_queue *py_recording_queue(kdl_device *device, void *native);

/* Keeps what is recorded alive as long as the sequence: an object, or all arguments of a launch,
 * whose keepalives move to the sequence. False with the exception set. */
bool py_recording_retain(py_sequence *self, PyObject *object);
bool py_recording_retain_arguments(py_sequence *self, PyObject *const *objects, size_t count,
                                   py_arguments *arguments);

/* Moves views and DLPack tensors to the sequence; buffers stay with the arguments. */
bool py_recording_retain_keepalives(py_sequence *self, py_arguments *arguments);

/* Learns the element types of the slots of a recorded sequence. False with the exception set. */
bool py_recording_learn_elements(py_sequence *self);

/* Begins and ends the capture of a queue: the result belongs to the sequence. */
void py_recording_begin(py_sequence *self, kdl_queue *queue);
kdl_status py_recording_end(py_sequence *self);

#endif
