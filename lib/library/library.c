/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries: the public API over a container. */
#include "lib/library/library.h"

#include "lib/container/writer.h"
#include "lib/hooks.h"
#include "lib/inspect/images.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/sized.h"
#include "support/base/text.h"
#include "support/base/trace_phase.h"
#include "support/system/environment.h"
#include "support/system/lock.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *kdl_version(void) {
  return VERSION_TEXT(KDL_VERSION_MAJOR, KDL_VERSION_MINOR, KDL_VERSION_PATCH);
}

static kdl_status read_open_opts(const kdl_open_opts *opts, kdl_open_opts *out_opts) {
  const kdl_sized what = {"kdl_open", "opts", offsetof(kdl_open_opts, flags), sizeof *out_opts};
  *out_opts = (kdl_open_opts){.size = sizeof *out_opts};
  KDL_TRY(opts ? kdl_sized_read(what, opts, out_opts) : KDL_OK);
  const uint32_t known = KDL_OPEN_FILE | KDL_OPEN_GLOBAL | KDL_OPEN_NO_HOST;
  if (out_opts->flags & ~known)
    return kdl_fail(KDL_BAD_CALL, "kdl_open: opts.flags is 0x%x, expected no more than 0x%x",
                    (unsigned)out_opts->flags, (unsigned)known);
  return KDL_OK;
}

static kdl_status create_library(kdl_container *container, const kdl_open_opts *opts,
                                 kdl_library **out_lib) {
  kdl_library *lib = kdl_arena_alloc(&container->arena, sizeof *lib);
  kdl_catalog *catalog;
  if (!lib || kdl_catalog_create(container, &catalog) != KDL_OK) {
    kdl_container_close(container);
    return kdl_fail(KDL_NO_MEMORY, "kdl_open: out of memory");
  }
  *lib = (kdl_library){
      .container = container, .catalog = catalog, .references = 1, .flags = opts->flags};
  kdl_container_publish(container);
  if (lib->flags & KDL_OPEN_GLOBAL)
    kdl_scope_add(lib);
  *out_lib = lib;
  return KDL_OK;
}

static void end_open_phase(kdl_status status, const char *name) {
  kdl_trace_phase_end(KDL_TRACE_PHASE_OPEN,
                      &(kdl_trace_phase_info){.library = name, .failed = status != KDL_OK});
}

kdl_status kdl_open(const char *path, const kdl_open_opts *given, kdl_library **out_lib) {
  KDL_NOT_CANCELLED;
  const void *caller = __builtin_return_address(0);
  kdl_open_opts opts;
  kdl_container *container;
  char *found = NULL;
  KDL_TRY(KDL_GIVEN(out_lib));
  kdl_trace_phase_begin(KDL_TRACE_PHASE_OPEN);
  kdl_status status = read_open_opts(given, &opts);
  if (status == KDL_OK && opts.flags & KDL_OPEN_FILE && !path)
    status = kdl_fail(KDL_BAD_CALL, "kdl_open: found no path, expected a file with KDL_OPEN_FILE");
  if (status == KDL_OK && !path) {
    status = kdl_embedded_open(caller, opts.name, &container);
  } else if (status == KDL_OK && opts.flags & KDL_OPEN_FILE) {
    status = kdl_search_check(path);
    if (status == KDL_OK)
      status = kdl_container_open_file(path, opts.name, &container);
  } else if (status == KDL_OK) {
    status = kdl_search(path, caller, &found);
    if (status == KDL_OK)
      status = kdl_search_open(found, opts.name, &container);
  }
  end_open_phase(status, status == KDL_OK ? container->name : path);
  free(found);
  return status == KDL_OK ? create_library(container, &opts, out_lib) : status;
}

kdl_status kdl_open_memory(const void *data, size_t size, const kdl_open_opts *given,
                           kdl_library **out_lib) {
  kdl_open_opts opts;
  kdl_container *container;
  KDL_TRY(KDL_GIVEN(data, out_lib));
  kdl_trace_phase_begin(KDL_TRACE_PHASE_OPEN);
  kdl_status status = read_open_opts(given, &opts);
  if (status == KDL_OK)
    status = kdl_container_open_memory(data, size, opts.name, &container);
  end_open_phase(status, status == KDL_OK ? container->name : NULL);
  return status == KDL_OK ? create_library(container, &opts, out_lib) : status;
}

kdl_status kdl_library_open_path(const char *path, bool is_installed, kdl_library **out_lib) {
  kdl_container *container;
  const kdl_open_opts opts = {.size = sizeof opts};
  KDL_TRY(kdl_search_open(path, path, &container));
  container->is_installed = is_installed;
  return create_library(container, &opts, out_lib);
}

kdl_status kdl_library_open_part(const char *path, const char *name, uint64_t offset, uint64_t size,
                                 kdl_library **out_lib) {
  kdl_container *container;
  const kdl_open_opts opts = {.size = sizeof opts};
  kdl_trace_phase_begin(KDL_TRACE_PHASE_OPEN);
  kdl_status status = kdl_container_open_part(path, name, offset, size, &container);
  end_open_phase(status, name);
  return status == KDL_OK ? create_library(container, &opts, out_lib) : status;
}

/* Destroys in reverse order of creation: kernels and loaded images use images, which are read from
 * the container. */
static void free_library(kdl_library *lib) {
  KDL_NOT_CANCELLED;
  if (lib->flags & KDL_OPEN_GLOBAL)
    kdl_scope_remove(lib);
  kdl_attachment *next;
  for (kdl_attachment *at = atomic_load(&lib->attachments); at; at = next) {
    next = at->next;
    at->destroy(at, lib);
  }
  kdl_catalog_destroy(lib->catalog);
  kdl_container_close(lib->container);
}

void kdl_close(kdl_library *lib) {
  if (lib && atomic_fetch_sub_explicit(&lib->references, 1, memory_order_acq_rel) == 1)
    free_library(lib);
}

kdl_status kdl_library_catalog(kdl_library *lib, kdl_catalog **out_catalog) {
  KDL_TRY(kdl_fork_check());
  KDL_TRY(kdl_catalog_compile_all(lib->catalog));
  *out_catalog = lib->catalog;
  return KDL_OK;
}

static kdl_attachment *
find_attachment(kdl_attachment *at, void (*destroy)(kdl_attachment *attachment, kdl_library *lib)) {
  while (at && at->destroy != destroy)
    at = at->next;
  return at;
}

/* The exchange succeeds only if the list that was searched is unchanged. */
kdl_attachment *kdl_library_attach(kdl_library *lib, size_t size,
                                   void (*destroy)(kdl_attachment *attachment, kdl_library *lib)) {
  kdl_attachment *made = kdl_container_alloc(lib->container, size);
  if (!made)
    return NULL;
  memset(made, 0, size);
  made->destroy = destroy;
  made->next = atomic_load_explicit(&lib->attachments, memory_order_acquire);
  kdl_attachment *known;
  do
    known = find_attachment(made->next, destroy);
  while (!known &&
         !atomic_compare_exchange_weak_explicit(&lib->attachments, &made->next, made,
                                                memory_order_acq_rel, memory_order_acquire));
  return known ? known : made;
}

size_t kdl_image_count(const kdl_library *lib) {
  return KDL_GIVEN(lib) == KDL_OK ? lib->container->count : 0;
}

static kdl_status check_image_index(const kdl_library *lib, size_t index) {
  if (index < lib->container->count)
    return KDL_OK;
  return kdl_fail(KDL_BAD_CALL, "%s: image %zu does not exist, expected less than %u",
                  lib->container->name, index, (unsigned)lib->container->count);
}

kdl_status kdl_image_get(const kdl_library *lib, size_t index, kdl_image_info *out_info) {
  KDL_TRY(KDL_GIVEN(lib, out_info));
  KDL_TRY(check_image_index(lib, index));
  const kdl_sized what = {"kdl_image_get", "info", offsetof(kdl_image_info, module),
                          sizeof *out_info};
  KDL_TRY(kdl_sized_check(what, out_info));
  const kdl_image_info info = kdl_container_image(lib->container, index);
  kdl_sized_write(what, &info, out_info);
  return KDL_OK;
}

const kdl_string *kdl_image_value(const kdl_library *lib, size_t index, const char *key) {
  if (KDL_GIVEN(lib, key) != KDL_OK || check_image_index(lib, index) != KDL_OK)
    return NULL;
  const kdl_image *image = &lib->container->images[index];
  return kdl_find_value(kdl_image_pairs(image), image->pair_count, key);
}

kdl_status kdl_image_bytes(kdl_library *lib, size_t index, const void **out_data,
                           size_t *out_size) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(lib, out_data, out_size);
  if (status == KDL_OK)
    status = check_image_index(lib, index);
  return status == KDL_OK ? kdl_container_bytes(lib->container, (uint32_t)index, out_data, out_size)
                          : status;
}

kdl_status kdl_library_acquire_bytes(kdl_library *lib, size_t index, const void **out_data,
                                     size_t *out_size) {
  kdl_status status = check_image_index(lib, index);
  return status == KDL_OK
             ? kdl_container_acquire_bytes(lib->container, (uint32_t)index, out_data, out_size)
             : status;
}

void kdl_library_release_bytes(kdl_library *lib, size_t index) {
  kdl_container_release_bytes(lib->container, (uint32_t)index);
}

/* ------------------------------------------------------------------------------------------ */
/* Kernel names                                                                                 */

bool kdl_name_buffer_set(kdl_name_buffer *buffer, kdl_string *name) {
  if (name->length >= buffer->capacity) {
    size_t capacity = (name->length + 1) * 2;
    char *data = realloc(buffer->data, capacity);
    if (!data)
      return false;
    *buffer = (kdl_name_buffer){data, capacity};
  }
  memcpy(buffer->data, name->data, name->length);
  buffer->data[name->length] = '\0';
  name->data = buffer->data;
  return true;
}

typedef struct {
  int (*visit)(void *user, const kdl_string *name);
  void *user;
  kdl_name_buffer buffer;
  bool out_of_memory;
} name_visitor;

static int visit_raw_name(void *user, const char *name, size_t length) {
  name_visitor *visitor = user;
  kdl_string text = {name, length};
  visitor->out_of_memory = !kdl_name_buffer_set(&visitor->buffer, &text);
  return visitor->out_of_memory || visitor->visit(visitor->user, &text);
}

/* True where the metadata carries the names, and the image need not be read. */
static bool visit_indexed_names(const kdl_image *image, name_visitor *visitor) {
  bool indexed = false;
  for (uint32_t i = 0; i < image->pair_count; ++i) {
    kdl_string name;
    if (!kdl_kernel_name(kdl_image_pairs(image)[i].key, &name))
      continue;
    indexed = true;
    if (visitor->visit(visitor->user, &name) != 0)
      break;
  }
  return indexed;
}

kdl_status kdl_image_kernels(kdl_library *lib, size_t index,
                             int (*visit)(void *user, const kdl_string *name), void *user) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(lib, visit);
  if (status == KDL_OK)
    status = check_image_index(lib, index);
  if (status != KDL_OK)
    return status;
  const kdl_image *image = &lib->container->images[index];
  name_visitor visitor = {.visit = visit, .user = user};
  if (visit_indexed_names(image, &visitor))
    return KDL_OK;
  const void *data;
  size_t size;
  status = kdl_library_acquire_bytes(lib, index, &data, &size);
  if (status != KDL_OK)
    return status;
  status = kdl_image_read_kernels(image->kind, data, size, visit_raw_name, &visitor);
  kdl_library_release_bytes(lib, index);
  free(visitor.buffer.data);
  if (status == KDL_OK && visitor.out_of_memory)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for a kernel name");
  if (status != KDL_OK)
    kdl_error_prefix("%s: image %zu", lib->container->name, index);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Names of images                                                                              */

/* Every load formats a name, for messages that are rare. snprintf would take ten times as long; it
 * is used only for names that exceed the buffer. */
static void write_name(const kdl_library *lib, uint32_t image, kdl_string before, char *buffer,
                       size_t size) {
  const kdl_image *what = &lib->container->images[image];
  /* An indexed image was not read, and producers often declare no kind. */
  bool has_kind = what->kind != KDL_IMAGE_UNKNOWN;
  kdl_string kind = has_kind ? kdl_text_of(kdl_image_kind_name(what->kind)) : KDL_TEXT("");
  char room[KDL_TEXT_SHORT + 1];
  kdl_string arch = kdl_text_short(what->arch, room);
  const char *space = has_kind && arch.length ? " " : "";
  if (before.length + kind.length + arch.length + sizeof ": image 4294967295 ( )" > size) {
    kdl_out_format(&(kdl_out){buffer, size, 0}, "%s%simage %u (%s%s%s)", before.data,
                   before.length ? ": " : "", (unsigned)image, kind.data, space, arch.data);
    return;
  }
  char number[10], *digit = number + sizeof number;
  do
    *--digit = (char)('0' + image % 10);
  while (image /= 10);
  char *at = mempcpy(buffer, before.data, before.length);
  at = before.length ? mempcpy(at, ": image ", 8) : mempcpy(at, "image ", 6);
  while (digit < number + sizeof number)
    *at++ = *digit++;
  at = mempcpy(at, " (", 2);
  at = mempcpy(at, kind.data, kind.length);
  if (*space)
    *at++ = *space;
  at = mempcpy(at, arch.data, arch.length);
  memcpy(at, ")", 2);
}

void kdl_image_name(const kdl_library *lib, uint32_t image, char *buffer, size_t size) {
  write_name(lib, image, KDL_TEXT(""), buffer, size);
}

void kdl_image_name_in_library(const kdl_library *lib, uint32_t image, char *buffer, size_t size) {
  write_name(lib, image, kdl_text_of(lib->container->name), buffer, size);
}

const char *kdl_image_variant_tag(const kdl_library *lib, uint32_t image) {
  const kdl_image *what = &lib->container->images[image];
  if (!(what->metadata_flags & KDL_METADATA_HAS_RULES))
    return NULL;
  const kdl_string *tag = kdl_find_value(kdl_image_pairs(what), what->pair_count, "variant_tag");
  return tag ? tag->data : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Stored images                                                                                */

/* Libraries for other components: bytes, and images as their file stores them. */

const char *kdl_library_name(const kdl_library *lib) {
  return lib->container->name;
}

kdl_image_info kdl_library_image(const kdl_library *lib, size_t index) {
  return kdl_container_image(lib->container, index);
}

kdl_status kdl_library_bytes(kdl_library *lib, uint32_t index, kdl_bytes_use use,
                             const void **out_data, size_t *out_size) {
  const void *verified =
      atomic_load_explicit(&lib->container->images[index].verified, memory_order_relaxed);
  return use == KDL_BYTES_VERIFIED || verified
             ? kdl_container_verified_bytes(lib->container, index, out_data, out_size)
             : kdl_container_private_bytes(lib->container, index, out_data, out_size);
}

kdl_status kdl_writer_add_copy(kdl_writer *writer, const kdl_writer_image *image, kdl_library *from,
                               uint32_t index, bool with_digest) {
  const kdl_image_ref ref = {from->container, index};
  return with_digest ? kdl_writer_add_ref_digested(writer, image, ref)
                     : kdl_writer_add_ref(writer, image, ref);
}

static kdl_stored_image read_stored(const kdl_image *image) {
  return (kdl_stored_image){
      .kind = image->kind,
      .offload_kind = image->offload_kind,
      .is_link_input = image->is_link_input,
      .is_packed = image->source->codec != KDL_CODEC_NONE,
      .codec = (uint8_t)image->codec,
      .header_offset = image->header_offset,
      .offset = image->offset,
      .stored_size = image->stored_size,
      .size = image->size,
      .parent = image->parent == KDL_PARENT_NONE ? KDL_NO_PARENT : image->parent,
      .module = image->module,
      .arch = image->arch,
      .label = image->label,
      .problem = image->problem,
      .source = image->source,
  };
}

/* If two threads race, the result of one stays unused in the arena. */
const kdl_stored_image *kdl_stored_images(kdl_library *lib) {
  kdl_container *container = lib->container;
  kdl_stored_image *known = atomic_load_explicit(&lib->stored_images, memory_order_acquire);
  if (known)
    return known;
  kdl_stored_image *made = kdl_container_alloc(container, (container->count + 1) * sizeof *made);
  for (uint32_t i = 0; made && i < container->count; ++i)
    made[i] = read_stored(&container->images[i]);
  if (!made || atomic_compare_exchange_strong_explicit(&lib->stored_images, &known, made,
                                                       memory_order_acq_rel, memory_order_acquire))
    return made;
  return known;
}

/* ------------------------------------------------------------------------------------------ */
/* The scope                                                                                    */

/* ------------------------------------------------------------------------------------------ */
/* KDL_PRELOAD                                                                                  */

enum { limit_preloads = 64 };

static pthread_once_t preload_once = PTHREAD_ONCE_INIT;
static kdl_library *preloads[limit_preloads];
static size_t preload_count;
static kdl_status preload_status;
static char preload_message[1024];

static kdl_status preload(const char *path) {
  if (preload_count == limit_preloads)
    return kdl_fail(KDL_NO_MEMORY, "found more than %d libraries", limit_preloads);
  KDL_TRY(kdl_open(path, NULL, &preloads[preload_count]));
  kdl_debug(KDL_DEBUG_FILES, "preloaded %s", preloads[preload_count++]->container->name);
  return KDL_OK;
}

/* After a fork in between, the child starts again. */
static void preload_all(void) {
  preload_count = 0;
  char path[PATH_MAX];
  const char *list = kdl_environment(KDL_VARIABLE_PRELOAD);
  kdl_string rest = kdl_text_of(list ? list : "");
  while (preload_status == KDL_OK && rest.length) {
    preload_status = kdl_path_next(&rest, path);
    if (preload_status == KDL_OK && *path)
      preload_status = preload(path);
  }
  if (preload_status != KDL_OK)
    snprintf(preload_message, sizeof preload_message, "KDL_PRELOAD: %s", kdl_error_message());
}

/* ------------------------------------------------------------------------------------------ */
/* KDL_OPEN_GLOBAL                                                                              */

static pthread_mutex_t globals_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_library *globals;

void kdl_scope_add(kdl_library *lib) {
  kdl_lock(&globals_lock);
  kdl_library **end = &globals;
  while (*end)
    end = &(*end)->next_global;
  *end = lib;
  kdl_unlock(&globals_lock);
}

void kdl_scope_remove(kdl_library *lib) {
  kdl_lock(&globals_lock);
  kdl_library **at = &globals;
  while (*at != lib)
    at = &(*at)->next_global;
  *at = lib->next_global;
  kdl_unlock(&globals_lock);
}

/* The first library from `at` on that is not being closed, retained. */
static kdl_library *retain_open(kdl_library *at) {
  for (; at; at = at->next_global) {
    size_t references = atomic_load_explicit(&at->references, memory_order_relaxed);
    while (references &&
           !atomic_compare_exchange_weak(&at->references, &references, references + 1))
      ;
    if (references)
      break;
  }
  return at;
}

/* Each library is retained while it is visited, and so stays in the list. */
static void visit_globals(bool (*visit)(void *user, kdl_library *lib), void *user) {
  kdl_lock(&globals_lock);
  kdl_library *at = retain_open(globals);
  kdl_unlock(&globals_lock);
  while (at) {
    kdl_library *next = NULL;
    if (!visit(user, at)) {
      kdl_lock(&globals_lock);
      next = retain_open(at->next_global);
      kdl_unlock(&globals_lock);
    }
    kdl_close(at);
    at = next;
  }
}

kdl_status kdl_scope_visit(kdl_library *lib, bool (*visit)(void *user, kdl_library *lib),
                           void *user) {
  pthread_once(&preload_once, preload_all);
  if (preload_status != KDL_OK)
    return kdl_fail(preload_status, "%s", preload_message);
  for (size_t i = 0; i < preload_count; ++i) {
    if (visit(user, preloads[i]))
      return KDL_OK;
  }
  if (lib)
    visit(user, lib);
  else
    visit_globals(visit, user);
  return KDL_OK;
}
