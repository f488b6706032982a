/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences, and those that are being recorded, of which work on their queues becomes a part. */
#ifndef KDL_PYTHON_SEQUENCE_H
#define KDL_PYTHON_SEQUENCE_H

#include "arguments.h"

enum { py_max_slots = 32 };

typedef enum py_sequence_state {
  PY_SEQUENCE_NEW,
  PY_SEQUENCE_RECORDING,
  PY_SEQUENCE_READY,
  PY_SEQUENCE_FAILED
} py_sequence_state;

typedef struct py_sequence {
  PyObject head;
  struct py_sequence *next; /* of those that are being recorded */
  PyObject *queue;          /* a Queue, or NULL: the device's own */
  py_target target;         /* for messages, and to take arrays */
  kdl_sequence *sequence;
  py_sequence_state state;
  unsigned long thread; /* that records it */
  kdl_queue *recorded;  /* while it is recorded */
  py_stream stream;     /* of arrays that were recorded on the device's own queue */
  PyObject *retained;   /* a dict of what was recorded, by its address, or NULL */
  py_buffer **memory;   /* buffers among it that are no slots, for each run to look at */
  size_t memory_count, memory_capacity;
  py_keepalive *keepalives; /* of arrays that were recorded */
  size_t keepalive_count, keepalive_capacity;
  size_t slot_count;
  PyObject *names;               /* of the slots: a tuple of str */
  PyObject *bound[py_max_slots]; /* what each slot is unless a run names another, or None */
  kdl_slot slots[py_max_slots];
  py_elements elements[py_max_slots]; /* of their arrays */
} py_sequence;

/* How many there are: while there are none, nothing else here need be asked. */
extern size_t py_recording_count;

/* The sequence that records what is given to the queue, or to the device's own where that is NULL;
 * NULL where none does. Such calls keep the interpreter's lock, so that the recording does not end
 * in their midst. */
py_sequence *py_recording_of(kdl_device *device, const kdl_queue *queue);

/* The same for what this thread gives. False with RuntimeError where another thread records it. */
bool py_recording_on_thread(kdl_device *device, const kdl_queue *queue,
                            py_sequence **out_recording);

/* Whether this thread records the device's own queue: what names none goes there then. */
bool py_recording_is_default_queue(kdl_device *device);

/* The queue around the driver's handle that is being recorded, or NULL. */
kdl_queue *py_recording_queue(kdl_device *device, void *native);

/* Holds what is recorded as long as the sequence is there: an object, or all of a launch's, whose
 * holds are the sequence's from then on. False with the exception set. */
bool py_recording_retain(py_sequence *self, PyObject *object);
bool py_recording_retain_arguments(py_sequence *self, PyObject *const *objects, size_t count,
                                   py_arguments *arguments);

/* Views and tensors of DLPack's are the sequence's from then on; buffers stay with the arguments.
 */
bool py_recording_retain_keepalives(py_sequence *self, py_arguments *arguments);

/* Learns which elements the slots of a sequence that is recorded take. False with the exception
 * set.
 */
bool py_recording_learn_elements(py_sequence *self);

/* The queue is captured, and is no more: what came of it is the sequence's. */
void py_recording_begin(py_sequence *self, kdl_queue *queue);
kdl_status py_recording_end(py_sequence *self);

#endif
