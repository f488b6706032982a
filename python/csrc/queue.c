/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Queues and events. */
#include "sequence.h"

#include <time.h>

PyTypeObject *py_queue_type, *py_event_type;

/* ------------------------------------------------------------------------------------------ */
/* Queues for a driver's streams                                                                */

/* Programs use few streams, repeatedly: each is wrapped once. A full table replaces entries in
 * turn. The interpreter's lock guards it. */
enum { native_count = 64 };
static struct native {
  kdl_device *device;
  void *native;
  kdl_queue *queue;
} natives[native_count];
static size_t native_next;

/* Newest first. The interpreter's lock guards it, too. */
static py_queue_use *uses;

void py_queue_use_begin(py_queue_use *use, kdl_device *device, const kdl_queue *queue) {
  *use = (py_queue_use){device, queue, uses, &uses};
  if (uses)
    uses->link = &use->next;
  uses = use;
}

void py_queue_use_end(py_queue_use *use) {
  *use->link = use->next;
  if (use->next)
    use->next->link = use->link;
}

static bool is_queue_in_use(kdl_device *device, const kdl_queue *queue, bool is_own) {
  const py_queue_use *use = uses;
  while (use && (use->device != device || (use->queue ? use->queue != queue : !is_own)))
    use = use->next;
  return use != NULL;
}

bool py_queue_wait(kdl_device *device, const kdl_queue *queue) {
  kdl_queue *own;
  bool is_own = kdl_device_queue(device, &own) == KDL_OK && own == queue;
  while (is_queue_in_use(device, queue, is_own)) {
    static const struct timespec a_while = {.tv_nsec = 100000};
    Py_BEGIN_ALLOW_THREADS nanosleep(&a_while, NULL);
    Py_END_ALLOW_THREADS if (PyErr_CheckSignals() < 0) return false;
  }
  return true;
}

/* The next entry in turn without a use outside of the interpreter's lock, or NULL. */
static struct native *find_unused_native(void) {
  for (size_t i = 0; i < native_count; ++i) {
    struct native *slot = &natives[native_next++ % native_count];
    if (!slot->queue || !is_queue_in_use(slot->device, slot->queue, false))
      return slot;
  }
  return NULL;
}

bool py_queue_of_native(kdl_device *device, void *native, kdl_queue **out_queue) {
  kdl_queue *recorded = py_recording_count ? py_recording_queue(device, native) : NULL;
  if (recorded) {
    *out_queue = recorded;
    return true;
  }
  for (size_t i = 0; i < native_count && natives[i].queue; ++i)
    if (natives[i].native == native && natives[i].device == device) {
      *out_queue = natives[i].queue;
      return true;
    }
  kdl_queue *queue;
  kdl_status status = kdl_queue_adopt(device, native, &queue);
  if (status != KDL_OK) {
    py_raise(status);
    return false;
  }
  struct native *slot = find_unused_native();
  if (!slot) {
    kdl_queue_destroy(queue);
    PyErr_Format(PyExc_RuntimeError, "queue: more than %d streams are worked on at once",
                 native_count);
    return false;
  }
  kdl_queue_destroy(slot->queue);
  *slot = (struct native){device, native, queue};
  *out_queue = queue;
  return true;
}

/* The handle of a stream object, as in CUDA's Python packages. */
static bool handle_of(PyObject *object, void **out_handle) {
  PyObject *number = NULL;
  if (PyLong_Check(object)) {
    number = object;
    Py_INCREF(number);
  } else if (PyObject_HasAttrString(object, "__cuda_stream__")) {
    PyObject *pair = PyObject_CallMethod(object, "__cuda_stream__", NULL);
    number = pair ? PySequence_GetItem(pair, 1) : NULL;
    Py_XDECREF(pair);
  } else if (PyObject_HasAttrString(object, "cuda_stream")) {
    number = PyObject_GetAttrString(object, "cuda_stream");
  } else {
    PyErr_Format(PyExc_TypeError,
                 "queue: found %R, expected a kdl.Queue, an object with __cuda_stream__, or a "
                 "driver's handle",
                 (PyObject *)Py_TYPE(object));
  }
  *out_handle = number ? PyLong_AsVoidPtr(number) : NULL;
  Py_XDECREF(number);
  return !PyErr_Occurred();
}

bool py_queue_from(PyObject *object, kdl_device *device, kdl_queue **out_queue) {
  *out_queue = NULL;
  if (!object || object == Py_None)
    return true;
  if (Py_TYPE(object) != py_queue_type) {
    void *handle;
    return handle_of(object, &handle) && py_queue_of_native(device, handle, out_queue);
  }
  py_queue *queue = (py_queue *)object;
  if (queue->device != device) {
    PyErr_Format(PyExc_ValueError, "queue: it belongs to %s, the kernel runs on %s",
                 py_device_label(queue->device), py_device_label(device));
    return false;
  }
  *out_queue = queue->queue;
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Queues                                                                                       */

static PyObject *queue_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"device", "native", "priority", "threads", NULL};
  PyObject *where, *native = Py_None, *limit = NULL;
  int priority = 0;
  uint32_t threads = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OiO:Queue", names, &where, &native, &priority,
                                   &limit) ||
      !py_thread_limit(limit, &threads))
    return NULL;
  kdl_device *device;
  void *handle = NULL;
  if (!py_device_from(where, &device) || (native != Py_None && !handle_of(native, &handle)))
    return NULL;
  kdl_queue *queue;
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS kdl_queue_opts opts = {
      .size = sizeof opts, .priority = priority, .threads = threads};
  status = native == Py_None ? kdl_queue_create(device, &opts, &queue)
                             : kdl_queue_adopt(device, handle, &queue);
  Py_END_ALLOW_THREADS if (status != KDL_OK) return py_raise(status);
  py_queue *self = PyObject_New(py_queue, type);
  if (!self) {
    kdl_queue_destroy(queue);
    return NULL;
  }
  self->queue = queue;
  self->device = device;
  self->owner = native == Py_None ? NULL : native;
  Py_XINCREF(self->owner);
  return (PyObject *)self;
}

static void queue_destroy(PyObject *object) {
  py_queue *self = (py_queue *)object;
  Py_BEGIN_ALLOW_THREADS kdl_queue_destroy(self->queue);
  Py_END_ALLOW_THREADS Py_XDECREF(self->owner);
  py_object_free(object);
}

static PyObject *queue_sync(PyObject *object, PyObject *unused) {
  (void)unused;
  py_queue *self = (py_queue *)object;
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS status = kdl_sync(self->queue);
  Py_END_ALLOW_THREADS return py_none_or_raise(status);
}

static PyObject *queue_device(PyObject *self, void *closure) {
  (void)closure;
  return py_device_new(((py_queue *)self)->device);
}

static PyObject *queue_native(PyObject *self, void *closure) {
  (void)closure;
  void *handle;
  kdl_status status = kdl_queue_native(((py_queue *)self)->queue, &handle);
  return status == KDL_OK ? PyLong_FromVoidPtr(handle) : py_raise(status);
}

/* The protocol by which other packages use our queues: a version and the handle. */
static PyObject *queue_cuda_stream(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *handle = queue_native(self, NULL);
  return handle ? Py_BuildValue("(iN)", 0, handle) : NULL;
}

static PyMethodDef queue_methods[] = {
    {"sync", queue_sync, METH_NOARGS,
     "sync($self)\n--\n\nWaits until everything given to the queue is done."},
    {"__cuda_stream__", queue_cuda_stream, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef queue_properties[] = {
    {"device", queue_device, NULL, "whose queue it is", NULL},
    {"native", queue_native, NULL, "the driver's handle", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot queue_slots[] = {
    {Py_tp_doc,
     "Queue(device, native=None, priority=0, threads=None)\n--\n\nA queue of a device; with "
     "native, "
     "one around a stream of other code: a handle, or an object with __cuda_stream__. threads: how "
     "many at most run a launch on the CPU."},
    {Py_tp_new, queue_new},
    {Py_tp_dealloc, queue_destroy},
    {Py_tp_methods, queue_methods},
    {Py_tp_getset, queue_properties},
    {0, NULL},
};

/* ------------------------------------------------------------------------------------------ */
/* Events                                                                                       */

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"device", NULL};
  PyObject *where;
  kdl_device *device;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:Event", names, &where) ||
      !py_device_from(where, &device))
    return NULL;
  kdl_event *event;
  kdl_status status = kdl_event_create(device, &event);
  if (status != KDL_OK)
    return py_raise(status);
  py_event *self = PyObject_New(py_event, type);
  if (!self) {
    kdl_event_destroy(event);
    return NULL;
  }
  self->event = event;
  self->device = device;
  return (PyObject *)self;
}

static void event_destroy(PyObject *object) {
  kdl_event_destroy(((py_event *)object)->event);
  py_object_free(object);
}

/* Calls `act` with the given queue, or the device's own. */
static PyObject *event_with_queue(PyObject *object, PyObject *queue_object,
                                  kdl_status (*act)(kdl_event *event, kdl_queue *queue)) {
  py_event *self = (py_event *)object;
  kdl_queue *queue;
  if (!py_queue_from(queue_object, self->device, &queue))
    return NULL;
  kdl_status status = queue ? KDL_OK : kdl_device_queue(self->device, &queue);
  py_sequence *recording;
  if (!py_recording_on_thread(self->device, queue, &recording) ||
      (recording && !py_recording_retain(recording, object)))
    return NULL;
  return py_none_or_raise(status == KDL_OK ? act(self->event, queue) : status);
}

static PyObject *event_record(PyObject *self, PyObject *queue) {
  return event_with_queue(self, queue, kdl_event_record);
}

static PyObject *event_wait(PyObject *self, PyObject *queue) {
  return event_with_queue(self, queue, kdl_event_wait);
}

static PyObject *event_sync(PyObject *self, PyObject *unused) {
  (void)unused;
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS status = kdl_event_sync(((py_event *)self)->event);
  Py_END_ALLOW_THREADS return py_none_or_raise(status);
}

static PyObject *event_query(PyObject *self, PyObject *unused) {
  (void)unused;
  int is_done;
  kdl_status status = kdl_event_query(((py_event *)self)->event, &is_done);
  return status == KDL_OK ? PyBool_FromLong(is_done) : py_raise(status);
}

static PyObject *event_elapsed(PyObject *self, PyObject *end) {
  if (Py_TYPE(end) != py_event_type) {
    PyErr_SetString(PyExc_TypeError, "elapsed() takes a kdl.Event");
    return NULL;
  }
  double ns;
  kdl_status status = kdl_event_elapsed(((py_event *)self)->event, ((py_event *)end)->event, &ns);
  return status == KDL_OK ? PyFloat_FromDouble(ns * 1e-9) : py_raise(status);
}

static PyMethodDef event_methods[] = {
    {"record", event_record, METH_O,
     "record($self, queue, /)\n--\n\nMarks the point that a queue has reached."},
    {"wait", event_wait, METH_O,
     "wait($self, queue, /)\n--\n\nLets a queue's later work wait for the point."},
    {"sync", event_sync, METH_NOARGS, "sync($self)\n--\n\nWaits until the point is reached."},
    {"query", event_query, METH_NOARGS, "query($self)\n--\n\nWhether the point is reached."},
    {"elapsed", event_elapsed, METH_O,
     "elapsed($self, end, /)\n--\n\nSeconds to another event, by the device's clock."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot event_slots[] = {
    {Py_tp_doc, "Event(device)\n--\n\nA point in a queue's work."},
    {Py_tp_new, event_new},
    {Py_tp_dealloc, event_destroy},
    {Py_tp_methods, event_methods},
    {0, NULL},
};

int py_queue_init(PyObject *module) {
  py_queue_type = py_add_type(module, "kdl._kdl.Queue", sizeof(py_queue), 0, queue_slots);
  py_event_type = py_queue_type
                      ? py_add_type(module, "kdl._kdl.Event", sizeof(py_event), 0, event_slots)
                      : NULL;
  return py_event_type ? 0 : -1;
}
