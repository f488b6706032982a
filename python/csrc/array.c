/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "array.h"

#include "fast_path.h"
#include "numpy_head.h"
#include "torch.h"
#include "view.h"

/* ------------------------------------------------------------------------------------------ */
/* Whether an array matches the parameter                                                       */

/* Integers of either sign have the same bytes, and so do booleans. */
static bool is_integer(uint8_t kind) {
  return kind == PY_SIGNED || kind == PY_UNSIGNED;
}

static bool is_same_element(uint8_t wanted, size_t wanted_size, uint8_t kind, size_t size) {
  return wanted_size == size && (wanted == kind || (is_integer(kind) && is_integer(wanted)));
}

/* NumPy has no bfloat16: its bits as uint16 are accepted. */
static bool is_slot_element(py_elements *slot, uint8_t kind, size_t size) {
  if (!slot->is_known) {
    slot->declared = (py_param){.element_kind = kind, .element_size = (uint16_t)size};
    return true;
  }
  const py_param *own = &slot->declared;
  bool is = !slot->count || is_same_element(own->element_kind, own->element_size, kind, size);
  for (size_t i = 0; i < slot->count && !is; ++i)
    is = is_same_element(slot->params[i].element_kind, slot->params[i].element_size, kind, size) ||
         (slot->params[i].element_kind == PY_BFLOAT && kind == PY_UNSIGNED && size == 2);
  return is;
}

bool py_array_check_element(const py_target *target, const py_param *param, size_t index,
                            uint8_t kind, size_t size) {
  char name[32], found[32];
  if (param->kind != PY_POINTER &&
      !(param->kind == PY_ANY && (!param->size || param->size == sizeof(void *))))
    return py_argument_error(target, index, "found an array, expected %s",
                             py_param_name(param, name));
  if (!param->element_size) {
    if (!target->elements || is_slot_element(&target->elements[index], kind, size))
      return true;
    param = &target->elements[index].params[0];
  } else if (is_same_element(param->element_kind, param->element_size, kind, size)) {
    return true;
  }
  py_param element = {.kind = kind, .size = (uint32_t)size};
  return py_argument_error(target, index, "found an array of %s, expected %s",
                           py_param_name(&element, found), py_param_name(param, name));
}

bool py_array_check_device(const py_target *target, size_t index, int32_t type, int32_t ordinal) {
  if (target->is_host ? type == dl_cpu || type == dl_cuda_host || type == dl_rocm_host ||
                            type == dl_cuda_managed
                      : type == dl_cuda_managed && target->dl_type == dl_cuda)
    return true;
  bool is_kind = type == target->dl_type ||
                 (type == dl_cuda && target->dl_type == dl_rocm); /* PyTorch for ROCm */
  if (is_kind && ordinal == target->ordinal)
    return true;
  const char *kind = type == dl_cpu    ? "the host's memory"
                     : type == dl_cuda ? "CUDA"
                     : type == dl_rocm ? "HIP"
                                       : "";
  return py_argument_error(
      target, index, "the array is in memory of %s%s%d (DLPack's device %d), the kernel runs on %s",
      *kind ? kind : "device", type == dl_cpu ? ", number " : " ", ordinal, type,
      py_device_label(target->device));
}

/* Arrays without elements need no memory. */
static bool has_elements(const dl_tensor *tensor) {
  bool has = tensor->shape || !tensor->dimensions;
  for (int32_t i = 0; has && i < tensor->dimensions; ++i)
    has = tensor->shape[i] != 0;
  return has;
}

static bool fail_no_memory(const py_target *target, size_t index) {
  return py_argument_error(target, index,
                           "the array has no memory, as fake tensors of PyTorch's have none");
}

static bool convert_tensor(const py_target *target, const py_param *param, size_t index,
                           const dl_tensor *tensor, py_arguments *arguments) {
  uint8_t kind = tensor->code == dl_int                               ? PY_SIGNED
                 : tensor->code == dl_uint || tensor->code == dl_bool ? PY_UNSIGNED
                 : tensor->code == dl_bfloat                          ? PY_BFLOAT
                 : tensor->code == dl_float || (tensor->code >= 7 && tensor->code <= 14) ? PY_FLOAT
                                                                                         : PY_BYTES;
  if (!py_array_check_element(target, param, index, kind,
                              tensor->bits * (size_t)tensor->lanes / 8) ||
      !py_array_check_device(target, index, tensor->device_type, tensor->device_id))
    return false;
  if (!tensor->data && has_elements(tensor))
    return fail_no_memory(target, index);
  arguments->values[index].number = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* The protocols                                                                                */

typedef enum protocol {
  protocol_none,
  protocol_exchange,
  protocol_torch,
  protocol_cupy,
  protocol_cuda_interface,
  protocol_numpy,
  protocol_buffer,
  protocol_dlpack,
  protocol_masked,
} protocol;

/* A cache of types, which it keeps alive; when full, it starts over. The interpreter's lock guards
 * it. */
enum { type_cache_size = 16 };
static struct type_cache {
  PyTypeObject *type;
  protocol protocol;
  const dl_exchange *exchange;
  py_torch_bits bits;
} type_cache[type_cache_size];
static size_t type_cache_next;

/* The package's reason why it cannot describe an array may have several lines, with locations in
 * its own code. An exception that is not such a reason, such as an interrupt, is kept. */
static PY_COLD bool fail_no_description(const py_target *target, size_t index) {
  if (!PyErr_ExceptionMatches(PyExc_RuntimeError) && !PyErr_ExceptionMatches(PyExc_BufferError))
    return false;
  return py_argument_raised(target, index);
}

bool py_argument_raised(const py_target *target, size_t index) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *text = value ? PyObject_Str(value) : NULL;
  PyObject *lines = text ? PyObject_CallMethod(text, "partition", "s", "\n") : NULL;
  PyErr_Clear();
  if (lines)
    py_argument_error(target, index, "%U", PyTuple_GetItem(lines, 0));
  else
    py_argument_error(target, index, "its package does not describe it");
  Py_XDECREF(lines);
  Py_XDECREF(text);
  Py_XDECREF(trace);
  Py_XDECREF(value);
  Py_XDECREF(type);
  return false;
}

static bool convert_by_exchange(const struct type_cache *type, const py_target *target,
                                const py_param *param, PyObject *object, py_arguments *arguments,
                                size_t index) {
  const dl_exchange *api = type->exchange;
  dl_tensor tensor;
  if (api->describe(object, &tensor) != 0)
    return PyErr_Occurred() && fail_no_description(target, index);
  if (!py_torch_is_plain(&type->bits, target, object, &tensor, index) ||
      !convert_tensor(target, param, index, &tensor, arguments))
    return false;
  if (!target->is_host && !arguments->has_stream) {
    if (api->current_stream(tensor.device_type, tensor.device_id, &arguments->stream.handle) != 0)
      return false;
    arguments->has_stream = true;
    arguments->stream.from = PY_STREAM_EXCHANGE;
    arguments->stream.type = tensor.device_type;
    arguments->stream.exchange = api;
  }
  return true;
}

static bool element_of_typestr(const char *text, uint8_t *out_kind, size_t *out_size) {
  *out_kind = text[0] && text[1] == 'f'                       ? PY_FLOAT
              : text[0] && text[1] == 'i'                     ? PY_SIGNED
              : text[0] && (text[1] == 'u' || text[1] == 'b') ? PY_UNSIGNED
                                                              : PY_BYTES;
  *out_size = text[0] && text[1] ? strtoul(text + 2, NULL, 10) : 0;
  return text[0] != '>' || *out_size < 2;
}

/* A stream of 1 or 2 is CUDA's legacy or per-thread default stream, as in CUDA's headers. */
static bool cai_stream(PyObject *description, const py_target *target, py_arguments *arguments,
                       size_t index) {
  PyObject *stream = PyDict_GetItemString(description, "stream");
  if (!stream || stream == Py_None || arguments->has_stream)
    return true;
  if (!PyLong_Check(stream))
    return py_argument_error(target, index, "its __cuda_array_interface__ has %R as its stream",
                             stream);
  arguments->stream.handle = PyLong_AsVoidPtr(stream);
  arguments->has_stream = true;
  arguments->stream.from = PY_STREAM_FIXED;
  return !PyErr_Occurred();
}

static bool convert_by_cuda_interface(PyObject *description, const py_target *target,
                                      const py_param *param, py_arguments *arguments,
                                      size_t index) {
  PyObject *data = PyDict_GetItemString(description, "data");
  PyObject *type = PyDict_GetItemString(description, "typestr");
  const char *text = type ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
  uint8_t kind;
  size_t size;
  if (!data || !text || !PyTuple_Check(data) || PyTuple_Size(data) < 1 ||
      !PyLong_Check(PyTuple_GetItem(data, 0)))
    return py_argument_error(target, index, "its __cuda_array_interface__ lacks data or typestr");
  if (target->is_host || target->dl_type != dl_cuda)
    return py_argument_error(target, index, "the array is in memory of CUDA, the kernel runs on %s",
                             py_device_label(target->device));
  if (!element_of_typestr(text, &kind, &size))
    return py_argument_error(target, index, "found an array of the other byte order");
  arguments->values[index].number = PyLong_AsUnsignedLongLong(PyTuple_GetItem(data, 0));
  return !PyErr_Occurred() && py_array_check_element(target, param, index, kind, size) &&
         cai_stream(description, target, arguments, index);
}

static bool element_of_format(const char *format, uint8_t *out_kind) {
  const char *at = format ? format : "B";
  if (*at == '@' || *at == '=' || *at == '<')
    ++at;
  if (*at == '>' || *at == '!')
    return false;
  *out_kind = PY_BYTES;
  if (at[0] && at[1] == '\0')
    *out_kind = strchr("efd", *at)        ? PY_FLOAT
                : strchr("bhilqn", *at)   ? PY_SIGNED
                : strchr("BHILQN?c", *at) ? PY_UNSIGNED
                                          : PY_BYTES;
  return true;
}

/* The exception set is the reason why the view was refused. */
static PY_COLD bool fail_buffer(const py_target *target, const py_param *param, PyObject *object,
                                size_t index) {
  PyObject *type, *value, *trace;
  Py_buffer view;
  if (!PyErr_ExceptionMatches(PyExc_Exception))
    return false; /* an interrupt */
  PyErr_Fetch(&type, &value, &trace);
  const char *found = NULL;
  if (PyObject_GetBuffer(object, &view, PyBUF_STRIDES) == 0) {
    bool is_readonly = view.readonly && !param->is_const;
    PyBuffer_Release(&view);
    bool is_contiguous = PyObject_GetBuffer(object, &view, PyBUF_ANY_CONTIGUOUS) == 0;
    if (is_contiguous)
      PyBuffer_Release(&view);
    if (is_readonly)
      found = "read-only, expected one that the kernel can write: pass a copy";
    else if (!is_contiguous && param->is_const)
      found = "not contiguous: pass numpy.ascontiguousarray(array)";
    else if (!is_contiguous)
      found = "not contiguous: pass numpy.ascontiguousarray(array), which then has the kernel's "
              "results";
  }
  PyErr_Clear();
  if (!found) {
    PyErr_Restore(type, value, trace);
    return py_argument_raised(target, index);
  }
  Py_XDECREF(trace);
  Py_XDECREF(value);
  Py_XDECREF(type);
  return py_argument_error(target, index, "found an array that is %s", found);
}

/* Host memory: the view keeps it alive until the launch is done. */
static bool convert_by_buffer(const py_target *target, const py_param *param, PyObject *object,
                              py_arguments *arguments, size_t index) {
  if (!target->is_host)
    return py_argument_error(
        target, index,
        "found an array in the host's memory, the kernel runs on %s: copy it to a kdl.Buffer",
        py_device_label(target->device));
  Py_buffer *view = &py_keepalive_next(arguments, PY_KEEPALIVE_VIEW, index)->of.view;
  uint8_t kind;
  int flags = PyBUF_ANY_CONTIGUOUS | PyBUF_FORMAT;
  if (PyObject_GetBuffer(object, view, flags | (param->is_const ? 0 : PyBUF_WRITABLE)) < 0)
    return fail_buffer(target, param, object, index);
  ++arguments->keepalive_count;
  if (py_format_has_objects(view->format))
    return py_argument_error(target, index, py_message_objects);
  if (!element_of_format(view->format, &kind))
    return py_argument_error(target, index, "found an array of the other byte order");
  if (param->element_kind == PY_BFLOAT && view->itemsize == 2 && kind == PY_UNSIGNED)
    kind = PY_BFLOAT; /* NumPy has none: its bits as uint16 */
  arguments->values[index].number = (uint64_t)(uintptr_t)view->buf;
  return py_array_check_element(target, param, index, kind, (size_t)view->itemsize);
}

/* In DLPack CUDA's default stream is 1, and 0 is no stream; HIP's default stream is 0. */
static PyObject *capsule_for(const py_target *target, PyObject *object, void *handle) {
  if (target->is_host)
    return PyObject_CallMethod(object, "__dlpack__", NULL);
  PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
  PyObject *none = method ? PyTuple_New(0) : NULL;
  unsigned long long stream = (unsigned long long)(uintptr_t)handle;
  if (!stream && target->dl_type == dl_cuda)
    stream = 1;
  PyObject *keywords = none ? Py_BuildValue("{s:K}", "stream", stream) : NULL;
  PyObject *capsule = keywords ? PyObject_Call(method, none, keywords) : NULL;
  Py_XDECREF(keywords);
  Py_XDECREF(none);
  Py_XDECREF(method);
  return capsule;
}

/* Takes ownership of the capsule's contents, so that no other consumer frees them. NULL if it is
 * empty, or already consumed. */
static const dl_tensor *consume_capsule(PyObject *capsule, py_arguments *arguments, size_t index) {
  bool is_versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
  const char *name = is_versioned ? "dltensor_versioned" : "dltensor";
  void *managed = PyCapsule_IsValid(capsule, name) ? PyCapsule_GetPointer(capsule, name) : NULL;
  if (!managed ||
      PyCapsule_SetName(capsule, is_versioned ? "used_dltensor_versioned" : "used_dltensor") < 0)
    return NULL;
  py_keepalive *hold = py_keepalive_next(
      arguments, is_versioned ? PY_KEEPALIVE_VERSIONED : PY_KEEPALIVE_TENSOR, index);
  ++arguments->keepalive_count;
  if (is_versioned) {
    hold->of.versioned = managed;
    return &hold->of.versioned->tensor;
  }
  hold->of.tensor = managed;
  return &hold->of.tensor->tensor;
}

static bool convert_by_dlpack(const py_target *target, const py_param *param, PyObject *object,
                              void *handle, py_arguments *arguments, size_t index) {
  PyObject *capsule = capsule_for(target, object, handle);
  if (!capsule)
    return false;
  const dl_tensor *tensor = consume_capsule(capsule, arguments, index);
  Py_DECREF(capsule);
  if (!tensor)
    return py_argument_error(target, index, "its __dlpack__ gave no capsule of DLPack");
  return convert_tensor(target, param, index, tensor, arguments);
}

/* Checks that the array is on the kernel's device. On a GPU its package must know the queue, which
 * later arguments may still decide: so the conversion is deferred. */
static bool defer_dlpack(const py_target *target, const py_param *param, PyObject *object,
                         py_arguments *arguments, size_t index) {
  if (PyObject_HasAttrString(object, "__dlpack_device__")) {
    PyObject *place = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    int type, ordinal;
    bool ok = place && PyTuple_Check(place) && PyArg_ParseTuple(place, "ii", &type, &ordinal);
    if (place && !PyTuple_Check(place))
      py_argument_error(target, index, "its __dlpack_device__ gave %R, expected two numbers",
                        place);
    Py_XDECREF(place);
    if (!ok || !py_array_check_device(target, index, type, ordinal))
      return false;
  }
  if (target->is_host)
    return convert_by_dlpack(target, param, object, NULL, arguments, index);
  arguments->deferred[arguments->deferred_count++] = (uint8_t)index;
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* NumPy arrays                                                                                 */

bool py_numpy_head_agrees(PyObject *object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_ANY_CONTIGUOUS) < 0) {
    PyErr_Clear();
    return false;
  }
  const py_numpy_array *array = (const py_numpy_array *)object;
  bool agrees = array->data == view.buf && array->dimensions == view.ndim &&
                (array->flags & py_numpy_writable) == (view.readonly ? 0 : py_numpy_writable) &&
                (array->flags & py_numpy_contiguous);
  PyBuffer_Release(&view);
  return agrees;
}

static bool is_numpy(PyObject *object) {
  PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__module__");
  PyObject *name = module ? PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__") : NULL;
  bool is_named = name && PyUnicode_Check(module) &&
                  PyUnicode_CompareWithASCIIString(module, "numpy") == 0 &&
                  PyUnicode_CompareWithASCIIString(name, "ndarray") == 0;
  Py_XDECREF(name);
  Py_XDECREF(module);
  PyErr_Clear();
  return is_named && py_numpy_head_agrees(object);
}

/* A cache of dtypes, which it keeps alive; when full, it starts over. */
enum { dtype_cache_size = 16 };
static struct dtype {
  PyObject *object;
  uint8_t kind;
  uint16_t size;
  bool is_swapped, has_objects;
} dtype_cache[dtype_cache_size];
static size_t dtype_cache_next;

static const struct dtype *find_dtype(PyObject *object) {
  for (size_t i = 0; i < dtype_cache_size && dtype_cache[i].object; ++i)
    if (dtype_cache[i].object == object)
      return &dtype_cache[i];
  struct dtype found = {.object = object, .has_objects = py_dtype_has_objects(object)};
  PyObject *text = PyObject_GetAttrString(object, "str");
  PyObject *name = text ? PyObject_GetAttrString(object, "name") : NULL;
  PyObject *width = name ? PyObject_GetAttrString(object, "itemsize") : NULL;
  const char *type = name ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  const char *said = type ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  if (said) {
    size_t size; /* of strings, the number of characters: use the item's size */
    found.is_swapped = !element_of_typestr(type, &found.kind, &size);
    size = width ? PyLong_AsSize_t(width) : size;
    found.size = size < UINT16_MAX ? (uint16_t)size : UINT16_MAX;
    if (found.kind == PY_BYTES && strcmp(said, "bfloat16") == 0) /* from the package ml_dtypes */
      found.kind = PY_BFLOAT;
  }
  Py_XDECREF(width);
  Py_XDECREF(name);
  Py_XDECREF(text);
  if (!said || PyErr_Occurred())
    return NULL;
  struct dtype *slot = &dtype_cache[dtype_cache_next++ % dtype_cache_size];
  PyObject *former = slot->object;
  Py_INCREF(object);
  *slot = found;
  Py_XDECREF(former);
  return slot;
}

/* The caller's reference keeps the array alive until the launch is done. */
static bool convert_by_numpy(const py_target *target, const py_param *param, PyObject *object,
                             py_arguments *arguments, size_t index) {
  const py_numpy_array *array = (const py_numpy_array *)object;
  if (!target->is_host || !(array->flags & py_numpy_contiguous) ||
      !(array->flags & py_numpy_writable || param->is_const))
    return convert_by_buffer(target, param, object, arguments,
                             index); /* it reports what is wrong */
  const struct dtype *dtype = find_dtype(array->dtype);
  if (!dtype)
    return false;
  if (dtype->has_objects)
    return py_argument_error(target, index, py_message_objects);
  if (dtype->is_swapped)
    return py_argument_error(target, index, "found an array of the other byte order");
  bool is_bits = param->element_kind == PY_BFLOAT && dtype->kind == PY_UNSIGNED && dtype->size == 2;
  arguments->values[index].number = (uint64_t)(uintptr_t)array->data;
  return py_array_check_element(target, param, index, is_bits ? (uint8_t)PY_BFLOAT : dtype->kind,
                                dtype->size);
}

/* ------------------------------------------------------------------------------------------ */
/* Protocols of types                                                                           */

const dl_exchange *py_exchange_of(PyTypeObject *type) {
  PyObject *capsule = PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__");
  const dl_exchange *api = NULL;
  if (capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
    api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  Py_XDECREF(capsule);
  PyErr_Clear();
  while (api && api->major > 1)
    api = api->older;
  return api && api->major == 1 && api->describe && api->current_stream ? api : NULL;
}

static bool is_cupy(PyObject *type) {
  PyObject *module = PyObject_GetAttrString(type, "__module__");
  const char *name = module ? PyUnicode_AsUTF8AndSize(module, NULL) : NULL;
  bool is = name && strncmp(name, "cupy", 4) == 0 && (name[4] == '.' || name[4] == '\0') &&
            PyObject_HasAttrString(type, "data") && PyObject_HasAttrString(type, "dtype");
  Py_XDECREF(module);
  PyErr_Clear();
  return is;
}

static protocol protocol_of(PyObject *object, const dl_exchange *exchange) {
  PyObject *type = (PyObject *)Py_TYPE(object);
  if (exchange)
    return protocol_exchange;
  if (PyObject_HasAttrString(type, "data_ptr") && PyObject_HasAttrString(type, "get_device"))
    return protocol_torch;
  if (PyObject_HasAttrString(type, "__cuda_array_interface__"))
    return is_cupy(type) ? protocol_cupy : protocol_cuda_interface;
  if (py_is_masked(object))
    return protocol_masked;
  if (PyObject_CheckBuffer(object))
    return is_numpy(object) ? protocol_numpy : protocol_buffer;
  return PyObject_HasAttrString(type, "__dlpack__") ? protocol_dlpack : protocol_none;
}

/* Looking up attributes of a type may run Python code, which may launch kernels: the table is
 * written once all is known. */
static struct type_cache find_type(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  for (size_t i = 0; i < type_cache_size && type_cache[i].type; ++i)
    if (type_cache[i].type == type)
      return type_cache[i];
  const dl_exchange *exchange = py_exchange_of(type);
  struct type_cache found = {type, protocol_of(object, exchange), exchange, py_torch_bits_of(type)};
  struct type_cache *slot = &type_cache[type_cache_next++ % type_cache_size];
  struct type_cache former = *slot;
  Py_INCREF(type);
  *slot = found;
  if (exchange && !py_fast.array_type) { /* for good: it is kept alive */
    Py_INCREF(type);
    Py_XINCREF(found.bits.is_negative);
    py_fast.is_negative = found.bits.is_negative;
    py_fast.exchange = exchange;
    py_fast.array_type = type;
  }
  Py_XDECREF(former.type);
  Py_XDECREF(former.bits.is_negative);
  Py_XDECREF(former.bits.is_conjugate);
  return found;
}

/* A type may have CUDA's interface for some of its arrays only, as JAX's does. */
static bool convert_by_cuda_interface_or_other(const py_target *target, const py_param *param,
                                               PyObject *object, py_arguments *arguments,
                                               size_t index) {
  PyObject *description = PyObject_GetAttrString(object, "__cuda_array_interface__");
  if (description) {
    bool ok = PyDict_Check(description)
                  ? convert_by_cuda_interface(description, target, param, arguments, index)
                  : py_argument_error(target, index, "its __cuda_array_interface__ is no dict");
    Py_DECREF(description);
    return ok;
  }
  PyErr_Clear();
  return target->is_host && PyObject_CheckBuffer(object)
             ? convert_by_buffer(target, param, object, arguments, index)
             : defer_dlpack(target, param, object, arguments, index);
}

/* The address, the device number and the dtype of a CuPy array. */
static bool cupy_parts(PyObject *object, uint64_t *out_address, int32_t *out_ordinal,
                       const struct dtype **out_dtype) {
  static PyObject *names[4];
  static const char *const texts[4] = {"data", "ptr", "device_id", "dtype"};
  for (int i = 0; i < 4; ++i)
    if (!names[i] && !(names[i] = PyUnicode_InternFromString(texts[i])))
      return false;
  PyObject *data = PyObject_GetAttr(object, names[0]);
  PyObject *address = data ? PyObject_GetAttr(data, names[1]) : NULL;
  PyObject *ordinal = address ? PyObject_GetAttr(data, names[2]) : NULL;
  PyObject *dtype = ordinal ? PyObject_GetAttr(object, names[3]) : NULL;
  if (dtype) {
    *out_address = PyLong_AsUnsignedLongLong(address);
    *out_ordinal = (int32_t)PyLong_AsLong(ordinal);
    *out_dtype = find_dtype(dtype);
  }
  Py_XDECREF(dtype);
  Py_XDECREF(ordinal);
  Py_XDECREF(address);
  Py_XDECREF(data);
  return dtype && *out_dtype && !PyErr_Occurred();
}

/* The description of a CuPy array costs as much as a launch. It is needed for the stream, and so
 * for one array of a launch; for the others the parts are read. */
static bool convert_by_cupy(const py_target *target, const py_param *param, PyObject *object,
                            py_arguments *arguments, size_t index) {
  if (!arguments->has_stream || target->dl_type != dl_cuda)
    return convert_by_cuda_interface_or_other(target, param, object, arguments, index);
  int32_t ordinal;
  const struct dtype *dtype;
  if (!cupy_parts(object, &arguments->values[index].number, &ordinal, &dtype)) {
    PyErr_Clear();
    return convert_by_cuda_interface_or_other(target, param, object, arguments, index);
  }
  if (dtype->is_swapped)
    return py_argument_error(target, index, "found an array of the other byte order");
  return py_array_check_element(target, param, index, dtype->kind, dtype->size) &&
         py_array_check_device(target, index, dl_cuda, ordinal);
}

bool py_array_address(const py_target *target, const py_param *param, PyObject *object,
                      py_arguments *arguments, size_t index) {
  struct type_cache type = find_type(object);
  switch (type.protocol) {
  case protocol_exchange:
    return convert_by_exchange(&type, target, param, object, arguments, index);
  case protocol_torch:
    return py_torch_address(&type.bits, target, param, object, arguments, index);
  case protocol_cupy:
    return convert_by_cupy(target, param, object, arguments, index);
  case protocol_cuda_interface:
    return convert_by_cuda_interface_or_other(target, param, object, arguments, index);
  case protocol_numpy:
    return convert_by_numpy(target, param, object, arguments, index);
  case protocol_buffer:
    return convert_by_buffer(target, param, object, arguments, index);
  case protocol_dlpack:
    return defer_dlpack(target, param, object, arguments, index);
  case protocol_masked:
    return py_argument_error(target, index, py_message_masked);
  default:
    return false;
  }
}

bool py_array_convert_deferred(const py_target *target, const py_param *param, PyObject *object,
                               void *handle, py_arguments *arguments, size_t index) {
  if (convert_by_dlpack(target, param, object, handle, arguments, index))
    return true;
  if (!PyErr_Occurred())
    py_argument_error(target, index, "its __dlpack__ failed");
  return false;
}

bool py_array_stream(const py_target *target, const py_stream *stream, void **out_handle) {
  *out_handle = stream->handle;
  if (stream->from == PY_STREAM_TORCH)
    return py_torch_stream(target->ordinal, out_handle);
  if (stream->from != PY_STREAM_EXCHANGE ||
      stream->exchange->current_stream(stream->type, target->ordinal, out_handle) == 0)
    return true;
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_RuntimeError, "%s: the package tells no current stream", target->kernel);
  return false;
}
