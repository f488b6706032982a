/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Between the library and its extensions. The library calls an extension through a table of
 * functions that it fills in, and includes none of its headers; a NULL table means no extension.
 */
#ifndef KDL_LIB_HOOKS_H
#define KDL_LIB_HOOKS_H

#include "support/base/blake2b.h"
#include "support/base/trace_phase.h"

#include <kdl/backend.h>

#include <stdbool.h>

/* ------------------------------------------------------------------------------------------ */
/* ext/trace                                                                                    */

/* What a trace record is about: one kernel, or one sequence. */
typedef struct kdl_trace_subject kdl_trace_subject;

/* A trace phase that has begun. */
typedef struct kdl_trace_mark {
  uint64_t begin; /* ticks */
  uint64_t begin_ns;
  const struct kdl_trace_device *device; /* NULL: the time on the device is not measured */
  struct kdl_trace_event_pair *events;
} kdl_trace_mark;

/* Records launches. support/base/trace_phase.h marks the phases of a first launch. */
typedef struct kdl_trace_hooks {
  /* Called once for a device that was opened with `table`. Returns the table to use instead, which
   * records copies, memory and waits. */
  const kdl_backend_table *(*open_device)(const kdl_backend_table *table, void *device,
                                          const char *name, bool is_host);

  /* Never NULL, and never freed. */
  const kdl_trace_subject *(*subject_of)(const kdl_trace_phase_info *about);

  /* Begins a phase. `device` and `queue` are those of a launch whose device time is measured; else
   * NULL. */
  void (*begin)(void *device, void *queue, kdl_trace_mark *out_mark);

  /* Ends a launch on a queue of the backend. */
  void (*end_launch)(const kdl_trace_subject *subject, const kdl_trace_mark *mark,
                     const uint32_t grid[3], const uint32_t block[3], void *queue,
                     kdl_status status);

  /* Ends the phase in which libkdl processes the arguments of a launch. */
  void (*end_arguments)(const kdl_trace_subject *subject, const kdl_trace_mark *mark);
} kdl_trace_hooks;

/* NULL where the process is not traced. Set before any device is opened, and constant afterwards.
 * Defined in ext/trace, so that a program that links libkdl.a has it, or in lib/without.c. */
extern const kdl_trace_hooks *kdl_tracing;

/* ------------------------------------------------------------------------------------------ */
/* ext/jit                                                                                      */

/* One image of bitcode for one device. */
typedef struct kdl_link_task {
  kdl_library *lib;
  uint32_t image;
  kdl_device *device;
  size_t route;       /* of the device */
  const char *kernel; /* the only one to keep; NULL: all */
  /* Lines: those of print_constants, then "fold VALUE" for values of the launch (kdl-ld --fold).
   * NULL: none. */
  const char *constants;
} kdl_link_task;

/* Loads an image that was linked, for the caller of `load`. */
typedef kdl_status kdl_linked_load(void *user, kdl_image_kind kind, const void *data, size_t size);

typedef struct kdl_jit_hooks {
  /* Prints specialization constants as text; equal constants give equal text. *out_text is
   * malloc'ed; NULL where there are none. */
  kdl_status (*print_constants)(const kdl_constant *constants, size_t count, char **out_text);

  /* Links the bitcode, or finds the linked image in the cache, and calls `load` with the image. An
   * image that loads is stored in the cache; a cached image that does not load is linked again.
   * *out_memory holds the image; the caller frees it with free() when it unloads the image.
   * `about` describes the task in traces. */
  kdl_status (*load)(const kdl_link_task *task, const kdl_trace_phase_info *about,
                     kdl_linked_load *load, void *user, void **out_memory);

  /* Whether the linked image is in the cache of this machine. Links nothing. */
  bool (*is_cached)(const kdl_link_task *task);
} kdl_jit_hooks;

/* NULL where the library was built without ext/jit. */
extern const kdl_jit_hooks *const kdl_jit;

/* ------------------------------------------------------------------------------------------ */
/* ext/adaptive                                                                                 */

/* The times of one kernel's variants on one device, by classes of problems. */
typedef struct kdl_adaptive kdl_adaptive;

/* An integer argument that describes the size of a problem. */
typedef struct kdl_shape_argument {
  uint16_t index;
  uint8_t size; /* bytes: 1, 2, 4 or 8 */
  bool is_signed;
  kdl_string name;
} kdl_shape_argument;

typedef struct kdl_adaptive_variant {
  uint64_t id;     /* of the image's bytes and its key for the kernel: the same in every process */
  const char *tag; /* variant_tag; "" where it has none */
  const char *refusal; /* why it may not be tried; NULL: it may */
  uint64_t order[2];   /* in the ranking; larger is first */
  uint32_t tile[3];    /* items that a group covers; 0: unknown */
  uint32_t image;
  bool is_compiled; /* when it is loaded, by a linker or the driver, which takes long */
} kdl_adaptive_variant;

/* Everything is copied. */
typedef struct kdl_adaptive_subject {
  const char *kernel, *library;
  const char *device;  /* the route's label */
  kdl_string identity; /* kernel and device as text, by which the table is found */
  kdl_string tuned;    /* lines of a table that the library carries; `data` NULL: none */
  const kdl_backend_table *table;
  void *handle; /* the backend's device */
  bool is_host; /* a launch has ended when it returns */
  /* Makes at most so many threads of the host wait awake, returns how many did; NULL elsewhere. */
  unsigned (*wake_threads)(unsigned count);
  uint32_t units; /* of the device; 0: unknown */
  const kdl_shape_argument *arguments;
  size_t argument_count;
  const kdl_adaptive_variant *variants; /* in rank order */
  uint32_t variant_count;
} kdl_adaptive_subject;

/* A launch that is measured. */
typedef struct kdl_adaptive_trial {
  struct kdl_class_entry *entry; /* NULL: the launch is not measured */
  struct kdl_sample *sample;     /* NULL: it cannot be measured, or the measurement has ended */
  uint32_t leader;               /* the variant to use where the trial fails */
  bool is_trial;                 /* of a variant that does not lead */
} kdl_adaptive_trial;

enum { KDL_ADAPTIVE_GRID = 1, KDL_ADAPTIVE_CONDITIONS_AT = 1, KDL_ADAPTIVE_CONDITIONS = 28 };

typedef struct kdl_adaptive_hooks {
  /* NULL when out of memory. */
  kdl_adaptive *(*open)(const kdl_adaptive_subject *subject);
  /* `is_usable`: the device can be called, to destroy events. */
  void (*close)(kdl_adaptive *adaptive, bool is_usable);

  /* The variant for a launch over `extent` (items, or groups with KDL_ADAPTIVE_GRID). The bits from
   * KDL_ADAPTIVE_CONDITIONS_AT on are the variants, from the first, whose condition does not hold.
   * With a NULL trial the launch is not measured. */
  uint32_t (*choose)(kdl_adaptive *adaptive, const kdl_extent *extent, uint32_t flags,
                     const kdl_args *args, kdl_adaptive_trial *out_trial);

  /* Whether launches of that class are not measured any more. */
  bool (*is_decided)(kdl_adaptive *adaptive, const kdl_extent *extent, uint32_t flags,
                     const kdl_args *args);

  /* Before and after a launch with a trial that has an entry. */
  void (*begin)(kdl_adaptive *adaptive, kdl_adaptive_trial *trial, void *queue);
  void (*end)(kdl_adaptive *adaptive, kdl_adaptive_trial *trial, void *queue, kdl_status status);

  /* The variant was loaded for a trial, which took so long. */
  void (*loaded)(kdl_adaptive *adaptive, kdl_adaptive_trial *trial, uint64_t ns);

  /* The variant cannot be used by this process: it does not load; or, with a trial, for its
   * class. */
  void (*exclude)(kdl_adaptive *adaptive, kdl_adaptive_trial *trial, uint32_t variant,
                  const char *reason);
} kdl_adaptive_hooks;

/* NULL where the library was built without ext/adaptive. */
extern const kdl_adaptive_hooks *const kdl_adaptive_choice;

/* ------------------------------------------------------------------------------------------ */
/* ext/specialize                                                                               */

/* A launch as numbers, one for each part of the kernel's field `specialize`: the bits of an
 * argument, the alignment of a pointer, the block. */
enum { KDL_FOLD_WORDS = 8 };

/* What was seen of the launches of one handle. Calls about one observer must not overlap. */
typedef struct kdl_observer kdl_observer;

typedef enum kdl_observation {
  KDL_OBSERVE_MORE, /* nothing to do */
  KDL_OBSERVE_FOLD, /* these values repeat: make an image for them */
  KDL_OBSERVE_END,  /* nothing further will be decided */
} kdl_observation;

/* Work on the background thread. Owned by the caller, and zero at first. */
typedef struct kdl_background_task {
  struct kdl_background_task *next;
  void (*run)(struct kdl_background_task *task);
  bool is_queued, is_running;
} kdl_background_task;

typedef struct kdl_specialize_hooks {
  /* NULL where KDL_SPECIALIZE=off, and when out of memory. */
  kdl_observer *(*open)(size_t word_count);
  void (*close)(kdl_observer *observer);

  /* A launch for which there is no image. *out_mask: the words to fold; *out_times: how often they
   * were seen. */
  kdl_observation (*observe)(kdl_observer *observer, const uint64_t *words, uint32_t *out_mask,
                             uint32_t *out_times);

  /* Runs the task on a thread of its own, one after the other. False where there can be none: in
   * the end of the process, and when no thread can be created. */
  bool (*start)(kdl_background_task *task);

  /* Removes the task, or cancels it and waits until it has ended. */
  void (*stop)(kdl_background_task *task);
} kdl_specialize_hooks;

/* The most images that one handle has for values, besides its own. */
enum { KDL_SPECIALIZED_LIMIT = 4 };

/* NULL where the library was built without ext/specialize. */
extern const kdl_specialize_hooks *const kdl_specializing;

/* ------------------------------------------------------------------------------------------ */
/* What extensions call                                                                         */

struct kdl_catalog;
struct kdl_device_spec;
struct kdl_kernel_key;
struct kdl_out;

/* Prints the values in the key of a link, its lines "fold ...", with the names of the parameters:
 * "n=64 alpha=2.5 block=256x1x1". False where it has none. */
bool kdl_fold_lines_print(const struct kdl_kernel_key *key, kdl_string lines, struct kdl_out *out);

/* Of an image's bytes and the value of its key for a kernel; never 0. Reads the image where its
 * metadata has no digest. */
uint64_t kdl_adaptive_variant_id(kdl_library *lib, uint32_t image, kdl_string key);

/* A library's name in messages. */
const char *kdl_library_name(const kdl_library *lib);

/* As kdl_image_get; the index must be valid. */
kdl_image_info kdl_library_image(const kdl_library *lib, size_t index);

/* Whether the device admits an image of a catalog (lib/inspect/selection.h) through the route. */
bool kdl_device_route_admits(const kdl_device *device, size_t route,
                             const struct kdl_catalog *catalog, size_t image);

/* Requests all permissions for the device's features, for code that will be compiled for it.
 * kdl_device_route_spec then gives what was granted. */
void kdl_device_permit_all(kdl_device *device, size_t route);

/* The driver's version as KDL_VERSION_OF, for CUDA and HIP; 0 where it is unknown. */
uint32_t kdl_device_spec_driver(const struct kdl_device_spec *spec);

typedef enum kdl_trust_policy {
  KDL_TRUST_OFF,
  KDL_TRUST_WARN,
  KDL_TRUST_REQUIRE,
} kdl_trust_policy;

/* KDL_TRUST, else /etc/kdl/trust, else off; read once. In a program with more rights than its user,
 * the stricter of the two. KDL_BAD_CALL for an unknown word. */
kdl_status kdl_trust_read_policy(kdl_trust_policy *out_policy);

/* The policy's name, or where images need a signature the digest of the trusted keys. */
void kdl_trust_identify(char out_text[KDL_DIGEST_TEXT]);

#endif
