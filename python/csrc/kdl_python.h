/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The Python extension kdl._kdl: declarations that its files share. It uses Python's stable ABI of
 * 3.9, so that one build serves every later Python, and links libkdl statically.
 *
 * Objects hold libkdl's handles and what keeps them alive: a kernel holds its library; a queue and
 * a buffer are destroyed with their last reference. Devices have the lifetime of the process.
 */
#ifndef KDL_PYTHON_CSRC_KDL_PYTHON_H
#define KDL_PYTHON_CSRC_KDL_PYTHON_H

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The stable ABI has these in later versions, but every Python since 3.7 has them unchanged. */
#if Py_LIMITED_API + 0 < 0x030a0000
const char *PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *out_size);
#endif
#if Py_LIMITED_API + 0 < 0x030b0000
typedef struct bufferinfo {
  void *buf;
  PyObject *obj;
  Py_ssize_t len, itemsize;
  int readonly, ndim;
  char *format;
  Py_ssize_t *shape, *strides, *suboffsets;
  void *internal;
} Py_buffer;
enum {
  PyBUF_SIMPLE = 0,
  PyBUF_WRITABLE = 1,
  PyBUF_FORMAT = 4,
  PyBUF_ND = 8,
  PyBUF_STRIDES = 0x10 | PyBUF_ND,
  PyBUF_ANY_CONTIGUOUS = 0x80 | PyBUF_STRIDES,
};
int PyObject_CheckBuffer(PyObject *object);
int PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
void PyBuffer_Release(Py_buffer *view);
int PyBuffer_FillInfo(Py_buffer *view, PyObject *object, void *data, Py_ssize_t size, int readonly,
                      int flags);
#endif
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
typedef PyObject *(*vectorcallfunc)(PyObject *callable, PyObject *const *args, size_t count,
                                    PyObject *names);
PyObject *PyVectorcall_Call(PyObject *callable, PyObject *args, PyObject *keywords);
#endif

/* ------------------------------------------------------------------------------------------ */
/* Objects                                                                                      */

typedef struct py_device {
  PyObject head;
  kdl_device *device;
} py_device;

typedef struct py_library {
  PyObject head;
  kdl_library *library;
  PyObject *path;   /* str or None */
  PyObject *memory; /* bytes of a library in memory; else NULL */
} py_library;

typedef struct py_queue {
  PyObject head;
  kdl_queue *queue;
  kdl_device *device;
  PyObject *owner; /* of an adopted queue, or NULL */
} py_queue;

typedef struct py_event {
  PyObject head;
  kdl_event *event;
  kdl_device *device;
} py_event;

typedef struct py_buffer {
  PyObject head;
  kdl_buffer buffer;
  bool is_freed;
  size_t users; /* calls that use it while other Python code may run: it is not freed then */
} py_buffer;

/* Created by the files of the same names, with the module. */
extern PyTypeObject *py_device_type, *py_library_type, *py_kernel_type, *py_launcher_type,
    *py_queue_type, *py_event_type, *py_buffer_type;
int py_device_init(PyObject *module);
int py_library_init(PyObject *module);
int py_kernel_init(PyObject *module);
int py_queue_init(PyObject *module);
int py_buffer_init(PyObject *module);
int py_sequence_init(PyObject *module);
int py_writer_init(PyObject *module);
int py_matmul_init(PyObject *module);
int py_model_init(PyObject *module);
int py_error_init(PyObject *module);

/* Methods of the module, for shared objects of models. */
PyObject *py_model_symbols(PyObject *module, PyObject *args);
PyObject *py_model_text(PyObject *module, PyObject *address);

/* Adds a type to the module, under its name after "kdl._kdl."; NULL with the exception set. `flags`
 * are added to Py_TPFLAGS_DEFAULT. */
PyTypeObject *py_add_type(PyObject *module, const char *name, size_t size, unsigned long flags,
                          PyType_Slot *slots);

/* Frees an object of such a type. */
void py_object_free(PyObject *self);

/* Py_tp_new of types that only other calls create: raises TypeError. */
PyObject *py_no_new(PyTypeObject *type, PyObject *args, PyObject *keywords);

/* A text of libkdl or of a driver: bytes that are not UTF-8 become \xNN. */
PyObject *py_text(const char *text);

/* The limit of threads in an argument; NULL and None: 0. False with the exception set. */
bool py_thread_limit(PyObject *object, uint32_t *out_threads);

/* A number of bytes for PyArg_Parse's "O&", into a uint64_t: OverflowError if it does not fit. */
int py_byte_count(PyObject *object, void *out_count);

/* PyLong_Check, which is a call in the stable ABI; exact ints, the usual case, need none. */
static inline bool py_is_int(PyObject *object) {
  return Py_TYPE(object) == &PyLong_Type || PyLong_Check(object);
}

PyObject *py_device_new(kdl_device *device);

/* "cuda:sm_90": for messages. */
const char *py_device_label(kdl_device *device);

/* The device for a str (kdl_device_find) or a Device; false with the exception set. */
bool py_device_from(PyObject *object, kdl_device **out_device);

PyObject *py_kernel_new(py_library *library, const char *name, kdl_device *device,
                        const kdl_select_opts *opts);

/* The queue on `device` for `object`: a Queue, an object with __cuda_stream__ or cuda_stream, or a
 * driver's handle as an int. NULL, the device's own, for None. */
bool py_queue_from(PyObject *object, kdl_device *device, kdl_queue **out_queue);

/* The queue for a driver's stream, cached. */
bool py_queue_of_native(kdl_device *device, void *native, kdl_queue **out_queue);

/* Work on a queue, NULL for the device's own, without the interpreter's lock. In between, the queue
 * is not destroyed, and no recording of it begins. The caller owns the struct. */
typedef struct py_queue_use {
  kdl_device *device;
  const kdl_queue *queue;
  struct py_queue_use *next, **link;
} py_queue_use;
void py_queue_use_begin(py_queue_use *use, kdl_device *device, const kdl_queue *queue);
void py_queue_use_end(py_queue_use *use);

/* Waits until no such use of the queue is left. False with the exception set, as by an
 * interrupt. */
bool py_queue_wait(kdl_device *device, const kdl_queue *queue);

/* ------------------------------------------------------------------------------------------ */
/* Errors                                                                                       */

/* Not on the path of a successful launch: compilers move it elsewhere, so that the launch is
 * short. */
#define PY_COLD __attribute__((cold))

/* Raises libkdl's error on this thread, as the exception of the status; returns NULL. */
PyObject *py_raise(kdl_status status) PY_COLD;

/* The same with `prefix: ` in front of the message. */
PyObject *py_raise_for(kdl_status status, const char *prefix) PY_COLD;

/* None for a successful call, else as py_raise. */
PyObject *py_none_or_raise(kdl_status status);

/* The index of a keyword in the NULL-terminated list; -1 with TypeError set if it is unknown. */
int py_keyword(PyObject *name, const char *const *names, const char *function);

#endif
