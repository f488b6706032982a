/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels, and launching them: kernel[items](arguments...) and kernel.launch(arguments...,
 * grid=...). */
#include "kernel.h"

#include "sequence.h"

#include <inttypes.h>
#include <stdio.h>
#include <structmember.h>

PyTypeObject *py_kernel_type, *py_launcher_type;
static PyObject *queue_keyword; /* "queue" */

typedef struct py_launcher {
  PyObject head;
  vectorcallfunc call;
  py_kernel *kernel;
  py_shape shape;
} py_launcher;

static PyObject *wrap_kernel(py_library *library, const char *name, kdl_device *device,
                             kdl_kernel *kernel) {
  py_target target;
  if (!py_target_of(device, NULL, &target))
    return NULL;
  char *copy = PyMem_Malloc(strlen(name) + 1);
  if (!copy)
    return PyErr_NoMemory();
  py_kernel *self = PyObject_New(py_kernel, py_kernel_type);
  if (!self) {
    PyMem_Free(copy);
    return NULL;
  }
  self->kernel = kdl_kernel_retain(kernel);
  self->library = library;
  Py_INCREF(library);
  self->name = strcpy(copy, name);
  self->target = target;
  self->target.kernel = self->name;
  self->is_loaded = false;
  self->signature.count = -1;
  return (PyObject *)self;
}

PyObject *py_kernel_new(py_library *library, const char *name, kdl_device *device,
                        const kdl_select_opts *opts) {
  kdl_kernel *kernel;
  kdl_status status = kdl_sym(library->library, device, name, opts, &kernel);
  return status == KDL_OK ? wrap_kernel(library, name, device, kernel) : py_raise(status);
}

static void kernel_destroy(PyObject *object) {
  py_kernel *self = (py_kernel *)object;
  kdl_kernel_release(self->kernel);
  Py_DECREF(self->library);
  PyMem_Free(self->name);
  py_object_free(object);
}

/* The signature of the loaded image: from its metadata, else the sizes in the image. */
static void read_kernel_signature(py_kernel *self, const kdl_kernel_info *info) {
  char key[512];
  const kdl_string *value = NULL;
  if ((size_t)snprintf(key, sizeof key, "kdl.kernel.%s", self->name) < sizeof key)
    value = kdl_image_value(self->library->library, info->image, key);
  if (value)
    self->signature.count = py_signature_of(value->data, value->length, self->signature.params);
  if (self->signature.count >= 0 || info->param_count < 0 || info->param_count > py_max_params ||
      !info->params)
    return;
  self->signature.count = (int)info->param_count;
  for (int i = 0; i < self->signature.count; ++i)
    self->signature.params[i] = (py_param){.kind = PY_ANY, .size = info->params[i].size};
}

static PY_COLD bool load_kernel(py_kernel *self) {
  kdl_kernel_info info = {.size = sizeof info};
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS status = kdl_kernel_get(self->kernel, &info);
  Py_END_ALLOW_THREADS if (status != KDL_OK) {
    py_raise(status);
    return false;
  }
  if (!self->is_loaded)
    read_kernel_signature(self, &info);
  self->is_loaded = true;
  return true;
}

static inline bool ensure_loaded(py_kernel *self) {
  return self->is_loaded || load_kernel(self);
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

static bool unsigned_from(PyObject *object, uint64_t most, const char *what, uint64_t *out_number) {
  PyObject *integer = PyNumber_Index(object);
  unsigned long long number = integer ? PyLong_AsUnsignedLongLong(integer) : 0;
  if (!integer && PyErr_ExceptionMatches(PyExc_TypeError))
    PyErr_Format(PyExc_TypeError, "%s: found %R, expected an integer", what,
                 (PyObject *)Py_TYPE(object));
  bool is_outside = integer && (PyErr_Occurred() || number > most);
  if (is_outside) {
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "%s: found %R, expected 0 to %llu", what, integer,
                 (unsigned long long)most);
  }
  *out_number = number;
  bool ok = integer && !is_outside;
  Py_XDECREF(integer);
  return ok;
}

/* One to three numbers; missing ones are 1. */
static bool extent_from(PyObject *object, uint64_t most, const char *what,
                        uint64_t out_numbers[3]) {
  out_numbers[0] = out_numbers[1] = out_numbers[2] = 1;
  if (!PyTuple_Check(object))
    return unsigned_from(object, most, what, &out_numbers[0]);
  Py_ssize_t count = PyTuple_Size(object);
  if (count < 1 || count > 3) {
    PyErr_Format(PyExc_ValueError, "%s: found %zd numbers, expected 1 to 3", what, count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!unsigned_from(PyTuple_GetItem(object, i), most, what, &out_numbers[i]))
      return false;
  return true;
}

static bool items_from(PyObject *object, py_shape *out_shape) {
  uint64_t numbers[3];
  if (!extent_from(object, UINT64_MAX, "items", numbers))
    return false;
  out_shape->is_grid = false;
  out_shape->items = kdl_extent3(numbers[0], numbers[1], numbers[2]);
  return true;
}

static kdl_status submit_launch(py_kernel *self, kdl_queue *queue, const py_shape *shape,
                                const py_arguments *arguments) {
  kdl_args args = {arguments->count, arguments->pointers, arguments->sizes};
  if (self->signature.count >= 0)
    args.sizes = NULL; /* they were already checked */
  if (shape->is_grid)
    return args.sizes ? kdl_launch_checked(self->kernel, queue, &shape->desc, &args)
                      : kdl_launch_call(self->kernel, queue, &shape->desc, &args);
  return kdl_launch_items_call(self->kernel, queue, &shape->items, &args);
}

kdl_status py_kernel_submit(py_kernel *self, kdl_queue *queue, const py_shape *shape,
                            const py_arguments *arguments, bool is_recorded) {
  if (!self->target.is_host || is_recorded)
    return submit_launch(self, queue, shape, arguments);
  kdl_status status;
  py_queue_use use;
  py_queue_use_begin(&use, self->target.device, queue);
  Py_BEGIN_ALLOW_THREADS status = submit_launch(self, queue, shape, arguments);
  Py_END_ALLOW_THREADS py_queue_use_end(&use);
  return status;
}

bool py_kernel_convert_arguments(py_kernel *self, PyObject *queue_object, PyObject *const *objects,
                                 size_t count, py_arguments *out_arguments, kdl_queue **out_queue) {
  out_arguments->keepalive_count = 0;
  return ensure_loaded(self) &&
         py_arguments_convert_with_queue(&self->target, &self->signature, queue_object, objects,
                                         count, out_arguments, out_queue);
}

static PyObject *convert_and_launch(py_kernel *self, const py_shape *shape, PyObject *queue_object,
                                    PyObject *const *objects, size_t count) {
  py_arguments arguments;
  kdl_queue *queue;
  kdl_status status = KDL_OK;
  py_sequence *recording = NULL;
  bool ok = py_kernel_convert_arguments(self, queue_object, objects, count, &arguments, &queue);
  if (ok && py_recording_count)
    ok = py_recording_on_thread(self->target.device, queue, &recording);
  if (ok && recording)
    ok = py_recording_retain(recording, (PyObject *)self->library) &&
         py_recording_retain_arguments(recording, objects, count, &arguments);
  if (ok)
    status = py_kernel_submit(self, queue, shape, &arguments, recording);
  py_arguments_free(&arguments);
  if (!ok)
    return NULL;
  if (status != KDL_OK)
    return py_raise_for(status, self->name);
  Py_RETURN_NONE;
}

static void launcher_destroy(PyObject *object) {
  Py_DECREF(((py_launcher *)object)->kernel);
  py_object_free(object);
}

enum {
  key_items,
  key_grid,
  key_block,
  key_shared,
  key_queue,
  key_cooperative,
  key_cluster,
  key_threads,
  key_count
};
static const char *const launch_names[] = {"items",       "grid",    "block",   "shared", "queue",
                                           "cooperative", "cluster", "threads", NULL};

/* kernel[items](...) takes no such keyword: names the call of the method that does, `method`. */
static PY_COLD bool fail_keyword(const py_launcher *self, const char *method, PyObject *name,
                                 PyObject *value) {
  const kdl_extent *items = &self->shape.items;
  char grid[96] = "";
  const char *kernel = self->kernel->name;
  int key = 0;
  while (launch_names[key] && PyUnicode_CompareWithASCIIString(name, launch_names[key]))
    ++key;
  if (!launch_names[key]) {
    PyErr_Format(PyExc_TypeError, "%s[items](...) has no argument '%U', expected queue", kernel,
                 name);
    return false;
  }
  if (key != key_items && key != key_grid && items->y == 1 && items->z == 1)
    snprintf(grid, sizeof grid, "grid=%" PRIu64 ", ", items->x);
  else if (key != key_items && key != key_grid)
    snprintf(grid, sizeof grid, "grid=(%" PRIu64 ", %" PRIu64 ", %" PRIu64 "), ", items->x,
             items->y, items->z);
  PyErr_Format(PyExc_TypeError, "%s[items](...) has no argument '%U': use %s.%s(..., %s%s=%R)%s",
               kernel, name, kernel, method, grid, launch_names[key], value,
               *grid ? ", where grid counts groups" : "");
  return false;
}

/* The queue of a call, from the keywords' values after the arguments. False with the exception
 * set. */
static bool queue_argument(const py_launcher *self, const char *method, PyObject *const *objects,
                           size_t count, PyObject *names, PyObject **out_queue) {
  *out_queue = NULL;
  /* The compiler interns the keyword; another str object is compared as text. */
  Py_ssize_t named = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject *name = PyTuple_GetItem(names, i);
    if (name != queue_keyword && PyUnicode_CompareWithASCIIString(name, "queue"))
      return fail_keyword(self, method, name, objects[count + (size_t)i]);
    *out_queue = objects[count + (size_t)i];
  }
  return true;
}

/* The top bit of the count belongs to the interpreter. */
static PyObject *launcher_call(PyObject *object, PyObject *const *objects, size_t flagged_count,
                               PyObject *names) {
  py_launcher *self = (py_launcher *)object;
  size_t count = flagged_count << 1 >> 1;
  PyObject *queue;
  return queue_argument(self, "launch", objects, count, names, &queue)
             ? convert_and_launch(self->kernel, &self->shape, queue, objects, count)
             : NULL;
}

/* METH_FASTCALL | METH_KEYWORDS */
static PyObject *launcher_prepare(PyObject *object, PyObject *const *objects, Py_ssize_t count,
                                  PyObject *names) {
  py_launcher *self = (py_launcher *)object;
  PyObject *queue;
  return queue_argument(self, "prepare", objects, (size_t)count, names, &queue)
             ? py_prepared_new(self->kernel, &self->shape, queue, objects, (size_t)count)
             : NULL;
}

static PyObject *kernel_subscript(PyObject *object, PyObject *items) {
  py_shape shape;
  if (!items_from(items, &shape))
    return NULL;
  py_launcher *launcher = PyObject_New(py_launcher, py_launcher_type);
  if (!launcher)
    return NULL;
  launcher->call = launcher_call;
  launcher->kernel = (py_kernel *)object;
  launcher->shape = shape;
  Py_INCREF(object);
  return (PyObject *)launcher;
}

/* kernel(...), which lacks the number of work-items. */
static PyObject *kernel_call(PyObject *object, PyObject *args, PyObject *keywords) {
  (void)args, (void)keywords;
  const char *name = ((py_kernel *)object)->name;
  return PyErr_Format(PyExc_TypeError,
                      "%s(...): found no number of work-items: use %s[items](...), or "
                      "%s.launch(..., grid=..., block=...)",
                      name, name, name);
}

static bool grid_from(PyObject *grid, PyObject *block, PyObject *cluster, py_shape *out_shape) {
  uint64_t groups[3], threads[3] = {0, 0, 0}, clusters[3] = {0, 0, 0};
  if (!extent_from(grid, UINT32_MAX, "grid", groups) ||
      (block && !extent_from(block, UINT32_MAX, "block", threads)) ||
      (cluster && !extent_from(cluster, UINT32_MAX, "cluster", clusters)))
    return false;
  out_shape->is_grid = true;
  out_shape->desc = kdl_grid((uint32_t)groups[0], (uint32_t)groups[1], (uint32_t)groups[2]);
  for (int i = 0; i < 3; ++i) {
    out_shape->desc.block[i] = (uint32_t)threads[i];
    out_shape->desc.cluster[i] = (uint32_t)clusters[i];
  }
  return true;
}

static bool shape_from(PyObject *const keys[key_count], py_shape *out_shape) {
  bool by_items = keys[key_items] != NULL;
  if (by_items == (keys[key_grid] != NULL)) {
    PyErr_SetString(PyExc_TypeError, "launch() takes either items or grid");
    return false;
  }
  if (by_items && (keys[key_block] || keys[key_shared] || keys[key_cooperative] ||
                   keys[key_cluster] || keys[key_threads])) {
    PyErr_SetString(PyExc_TypeError, "launch(): block, shared, cooperative, cluster and threads go "
                                     "with grid, not with items");
    return false;
  }
  if (by_items)
    return items_from(keys[key_items], out_shape);
  uint64_t shared = 0;
  if (!grid_from(keys[key_grid], keys[key_block], keys[key_cluster], out_shape) ||
      (keys[key_shared] && !unsigned_from(keys[key_shared], UINT32_MAX, "shared", &shared)) ||
      !py_thread_limit(keys[key_threads], &out_shape->desc.threads))
    return false;
  out_shape->desc.shared = (uint32_t)shared;
  int cooperative = keys[key_cooperative] ? PyObject_IsTrue(keys[key_cooperative]) : 0;
  out_shape->desc.flags = cooperative > 0 ? KDL_LAUNCH_COOPERATIVE : 0;
  return cooperative >= 0;
}

/* METH_FASTCALL | METH_KEYWORDS: the keywords' values follow the arguments. */
static bool launch_keys(PyObject *const *objects, Py_ssize_t count, PyObject *names,
                        PyObject **out_queue, py_shape *out_shape) {
  PyObject *keys[key_count] = {NULL};
  Py_ssize_t named = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    int key = py_keyword(PyTuple_GetItem(names, i), launch_names, "launch");
    if (key < 0)
      return false;
    keys[key] = objects[count + i] == Py_None && key != key_queue ? NULL : objects[count + i];
  }
  *out_queue = keys[key_queue];
  return shape_from(keys, out_shape);
}

static PyObject *kernel_launch(PyObject *object, PyObject *const *objects, Py_ssize_t count,
                               PyObject *names) {
  PyObject *queue;
  py_shape shape;
  return launch_keys(objects, count, names, &queue, &shape)
             ? convert_and_launch((py_kernel *)object, &shape, queue, objects, (size_t)count)
             : NULL;
}

static PyObject *kernel_prepare(PyObject *object, PyObject *const *objects, Py_ssize_t count,
                                PyObject *names) {
  PyObject *queue;
  py_shape shape;
  return launch_keys(objects, count, names, &queue, &shape)
             ? py_prepared_new((py_kernel *)object, &shape, queue, objects, (size_t)count)
             : NULL;
}

static PyObject *kernel_variant(PyObject *object, PyObject *const *objects, Py_ssize_t count,
                                PyObject *names) {
  py_kernel *self = (py_kernel *)object;
  PyObject *queue_object;
  py_shape shape;
  py_arguments arguments;
  kdl_queue *queue;
  kdl_kernel *variant = NULL;
  kdl_status status = KDL_OK;
  if (!launch_keys(objects, count, names, &queue_object, &shape))
    return NULL;
  bool ok =
      py_kernel_convert_arguments(self, queue_object, objects, (size_t)count, &arguments, &queue);
  if (ok) {
    const kdl_args args = {arguments.count, arguments.pointers, NULL};
    Py_BEGIN_ALLOW_THREADS status =
        kdl_kernel_variant(self->kernel, shape.is_grid ? NULL : &shape.items, &args, &variant);
    Py_END_ALLOW_THREADS
  }
  py_arguments_free(&arguments);
  if (!ok || status != KDL_OK)
    return ok ? py_raise_for(status, self->name) : NULL;
  if (variant != self->kernel)
    return wrap_kernel(self->library, self->name, self->target.device, variant);
  Py_INCREF(object);
  return object;
}

/* ------------------------------------------------------------------------------------------ */
/* Properties                                                                                   */

static PyObject *failures_of(const kdl_kernel_info *info) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < info->failure_count; ++i) {
    const kdl_load_failure *failure = &info->failures[i];
    PyObject *item = Py_BuildValue("(nNNi)", (Py_ssize_t)failure->image, py_text(failure->name),
                                   py_text(failure->message), (int)failure->status);
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *signature_of(const py_kernel *self) {
  if (self->signature.count < 0)
    Py_RETURN_NONE;
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < self->signature.count; ++i) {
    char name[32];
    PyObject *text = PyUnicode_FromString(py_param_name(&self->signature.params[i], name));
    if (!text || PyList_Append(list, text) < 0)
      Py_CLEAR(list);
    Py_XDECREF(text);
  }
  return list;
}

static PyObject *kernel_info(PyObject *object, PyObject *unused) {
  (void)unused;
  py_kernel *self = (py_kernel *)object;
  kdl_kernel_info info = {.size = sizeof info};
  if (!ensure_loaded(self))
    return NULL;
  kdl_status status = kdl_kernel_get(self->kernel, &info);
  if (status != KDL_OK)
    return py_raise(status);
  return Py_BuildValue(
      "{s:N,s:N,s:N,s:N,s:n,s:n,s:n,s:s,s:(III),s:(III),s:N,s:N}", "name", py_text(info.name),
      "library", PyUnicode_DecodeFSDefault(info.library), "device", py_text(info.device), "fit",
      py_text(info.fit), "image", (Py_ssize_t)info.image, "place", (Py_ssize_t)info.position,
      "image_count", (Py_ssize_t)info.image_count, "kind", kdl_image_kind_name(info.kind), "block",
      info.block[0], info.block[1], info.block[2], "tile", info.tile[0], info.tile[1], info.tile[2],
      "failures", failures_of(&info), "signature", signature_of(self));
}

static PyObject *kernel_load(PyObject *self, PyObject *unused) {
  (void)unused;
  if (!ensure_loaded((py_kernel *)self))
    return NULL;
  Py_RETURN_NONE;
}

static PyObject *kernel_sync(PyObject *object, PyObject *unused) {
  (void)unused;
  kdl_queue *queue;
  kdl_status status = kdl_device_queue(((py_kernel *)object)->target.device, &queue);
  if (status == KDL_OK) {
    Py_BEGIN_ALLOW_THREADS status = kdl_sync(queue);
    Py_END_ALLOW_THREADS
  }
  return py_none_or_raise(status);
}

static PyObject *kernel_get_name(PyObject *self, void *closure) {
  (void)closure;
  return PyUnicode_FromString(((py_kernel *)self)->name);
}

static PyObject *kernel_get_device(PyObject *self, void *closure) {
  (void)closure;
  return py_device_new(((py_kernel *)self)->target.device);
}

static PyObject *kernel_repr(PyObject *object) {
  py_kernel *self = (py_kernel *)object;
  return PyUnicode_FromFormat("<kdl.Kernel %s on %s>", self->name,
                              py_device_label(self->target.device));
}

static PyMethodDef methods[] = {
    {"launch", (PyCFunction)(void (*)(void))kernel_launch, METH_FASTCALL | METH_KEYWORDS,
     "launch($self, *arguments, items=None, grid=None, block=None, shared=0, queue=None, "
     "cooperative=False, "
     "cluster=None, threads=None)\n--\n\nLaunches the kernel over so many work-items, or with a "
     "grid of groups."},
    {"prepare", (PyCFunction)(void (*)(void))kernel_prepare, METH_FASTCALL | METH_KEYWORDS,
     "prepare($self, *arguments, items=None, grid=None, block=None, shared=0, queue=None, "
     "cooperative=False, "
     "cluster=None, threads=None)\n--\n\nThe launch as an object to be called often: its arguments "
     "are converted "
     "now."},
    {"variant", (PyCFunction)(void (*)(void))kernel_variant, METH_FASTCALL | METH_KEYWORDS,
     "variant($self, *arguments, items=None, grid=None, queue=None)\n--\n\nThe kernel of the image "
     "that such a launch uses now, where images have conditions or the policy is adaptive; else "
     "the kernel itself."},
    {"info", kernel_info, METH_NOARGS,
     "info($self)\n--\n\nWhat runs when the kernel is launched, as a dict. Loads it."},
    {"load", kernel_load, METH_NOARGS,
     "load($self)\n--\n\nLoads now what the first launch would load."},
    {"sync", kernel_sync, METH_NOARGS,
     "sync($self)\n--\n\nWaits for launches that named no queue."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"name", kernel_get_name, NULL, "the kernel's name", NULL},
    {"device", kernel_get_device, NULL, "where it runs", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A kernel for a device: kernel[items](arguments...) launches it."},
    {Py_tp_new, py_no_new},
    {Py_tp_dealloc, kernel_destroy},
    {Py_tp_repr, kernel_repr},
    {Py_tp_call, kernel_call},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_mp_subscript, kernel_subscript},
    {0, NULL},
};

static PyMethodDef launcher_methods[] = {
    {"prepare", (PyCFunction)(void (*)(void))launcher_prepare, METH_FASTCALL | METH_KEYWORDS,
     "prepare($self, *arguments, queue=None)\n--\n\nThe launch as an object to be called often: "
     "its "
     "arguments are converted now."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef launcher_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(py_launcher, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot launcher_slots[] = {
    {Py_tp_doc,
     "A kernel with the number of work-items: call it with the arguments, and queue=... ."},
    {Py_tp_new, py_no_new},
    {Py_tp_dealloc, launcher_destroy},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, launcher_methods},
    {Py_tp_members, launcher_members},
    {0, NULL},
};

int py_kernel_init(PyObject *module) {
  py_kernel_type = py_add_type(module, "kdl._kdl.Kernel", sizeof(py_kernel), 0, slots);
  py_launcher_type = py_kernel_type ? py_add_type(module, "kdl._kdl.Launcher", sizeof(py_launcher),
                                                  Py_TPFLAGS_HAVE_VECTORCALL, launcher_slots)
                                    : NULL;
  queue_keyword = PyUnicode_InternFromString("queue");
  return py_launcher_type && queue_keyword ? py_prepared_init(module) : -1;
}
