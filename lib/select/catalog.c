/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/select/catalog.h"

#include "lib/image/readers.h"
#include "lib/inspect/images.h"
#include "lib/inspect/kinds.h"
#include "lib/select/kernel_map.h"
#include "support/base/array.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The kernels of one image: created by one thread, then constant. */
typedef struct kdl_kernel_list {
  bool unresolved;
  const char *error;
  kdl_string *names; /* in the order of compare_names */
  size_t count;
  size_t capacity;
  const kdl_pair **keys; /* of an index, by name, the last of equal ones last */
  size_t key_count;
  kdl_arena arena; /* for names that were read from the image */
} kernel_list;

typedef struct {
  uint16_t major, minor;
  uint8_t generic;
  uint32_t capabilities;
} image_version;

static const kernel_list no_memory_list = {.error = "out of memory"};

/* ------------------------------------------------------------------------------------------ */
/* Rules                                                                                        */

static bool has_kernel_index(const kdl_image *image) {
  return image->metadata_flags & KDL_METADATA_HAS_KERNELS;
}

/* "1.2" under a key. Of repeated keys the last counts. */
static image_version version_under_key(const kdl_image *image, kdl_string key) {
  for (uint32_t i = image->pair_count; i-- > 0;) {
    kdl_string text = kdl_image_pairs(image)[i].value;
    uint32_t major, minor = 0;
    size_t at = 0;
    if (!kdl_text_equal(kdl_image_pairs(image)[i].key, key))
      continue;
    bool has_major = kdl_text_parse_number(text, &at, &major) && major <= UINT16_MAX;
    bool has_dot = has_major && at < text.length && text.data[at] == '.';
    at += has_dot;
    bool has_minor = !has_dot || (kdl_text_parse_number(text, &at, &minor) && minor <= UINT16_MAX);
    if (has_major && has_minor && at == text.length)
      return (image_version){(uint16_t)major, (uint16_t)minor, 0, 0};
    break;
  }
  return (image_version){0};
}

/* Writers of a kernel index add kdl.version; the reader of fatbins adds the kind's own key. */
static image_version declared_version(const kdl_image *image) {
  if (!(image->metadata_flags & KDL_METADATA_HAS_VERSION))
    return (image_version){0};
  image_version version = version_under_key(image, KDL_TEXT("kdl.version"));
  const char *key = kdl_image_kind_get(image->kind)->version_key;
  return version.major ? version : version_under_key(image, kdl_text_of(key));
}

/* The version is in the image's header, and SPIR-V capabilities follow it. They are read only where
 * that is cheap: not from compressed images, and not from images with a kernel index, which must
 * not be read; keys may give the version there. A malformed image keeps version 0, and fails when
 * it is loaded. */
static image_version image_version_of(kdl_container *container, uint32_t index) {
  const kdl_image *image = &container->images[index];
  const void *data;
  size_t size;
  kdl_image_target target;
  if (has_kernel_index(image) || image->codec != KDL_CODEC_NONE)
    return declared_version(image);
  if (kdl_container_acquire_bytes(container, index, &data, &size) != KDL_OK)
    return (image_version){0};
  kdl_status status = kdl_image_read_target(image->kind, data, size, &target);
  kdl_container_release_bytes(container, index);
  if (status != KDL_OK)
    return (image_version){0};
  kdl_feature_set tokens = {{0, 0}};
  if (target.features[0])
    kdl_feature_parse(KDL_CLASS_GPU, kdl_text_of(target.features), &tokens, NULL);
  return (image_version){(uint16_t)target.version_major, (uint16_t)target.version_minor,
                         (uint8_t)target.generic_version, (uint32_t)tokens.word[0]};
}

static bool kind_has_version(kdl_image_kind kind) {
  return kdl_image_kind_get(kind)->version_key != NULL;
}

bool kdl_catalog_rule_is_shared(const kdl_image *image) {
  const unsigned more =
      KDL_METADATA_HAS_VERSION | KDL_METADATA_HAS_RULES | KDL_METADATA_HAS_UNKNOWN_KIND;
  bool is_read =
      kind_has_version(image->kind) && !has_kernel_index(image) && image->codec == KDL_CODEC_NONE;
  return !(image->metadata_flags & more) && !image->is_link_input && !is_read;
}

kdl_image_desc kdl_catalog_desc(const kdl_catalog *catalog, size_t index) {
  const kdl_image *image = &catalog->container->images[index];
  image_version version = {0};
  if (kind_has_version(image->kind))
    version = image_version_of(catalog->container, (uint32_t)index);
  bool has_rules = image->metadata_flags & (KDL_METADATA_HAS_RULES | KDL_METADATA_HAS_UNKNOWN_KIND);
  return (kdl_image_desc){
      .kind = image->kind,
      .triple = image->triple,
      .arch = image->arch,
      .pairs = has_rules ? kdl_image_pairs(image) : NULL,
      .pair_count = has_rules ? image->pair_count : 0,
      .version_major = version.major,
      .version_minor = version.minor,
      .generic_version = version.generic,
      .capabilities = version.capabilities,
      .is_link_input = image->is_link_input,
      .is_unknown_kind = image->metadata_flags & KDL_METADATA_HAS_UNKNOWN_KIND,
      .kind_number = image->declared_kind,
  };
}

void kdl_catalog_compile(const kdl_catalog *catalog, size_t index, kdl_image_rule *out_rule) {
  kdl_image_desc desc = kdl_catalog_desc(catalog, index);
  kdl_image_compile(&desc, out_rule);
}

kdl_status kdl_catalog_create(kdl_container *container, kdl_catalog **out_catalog) {
  kdl_catalog *catalog;
  size_t size = sizeof *catalog + container->count * sizeof *catalog->images;
  catalog = kdl_arena_alloc(&container->arena, size);
  if (!catalog)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory for %u images", container->name,
                    (unsigned)container->count);
  memset(catalog, 0, size);
  catalog->container = container;
  *out_catalog = catalog;
  return KDL_OK;
}

static void free_kernel_list(const kernel_list *list) {
  kernel_list *own = (kernel_list *)(uintptr_t)list;
  free(own->names);
  free((void *)own->keys);
  kdl_arena_free(&own->arena);
  free(own);
}

void kdl_catalog_destroy(kdl_catalog *catalog) {
  if (!catalog)
    return;
  for (size_t i = 0; i < catalog->container->count; ++i) {
    const kernel_list *list =
        atomic_load_explicit(&catalog->images[i].kernels, memory_order_relaxed);
    if (list)
      free_kernel_list(list);
  }
  kdl_image_rule *rules = atomic_load_explicit(&catalog->rules, memory_order_relaxed);
  if (rules) /* most libraries are closed without */
    free(rules);
  free(atomic_load_explicit(&catalog->kernel_map, memory_order_relaxed));
}

/* Called by the one thread that compiles. */
static kdl_image_rule *make_rules(const kdl_catalog *catalog) {
  size_t count = kdl_catalog_count(catalog);
  kdl_image_rule *rules = malloc(count * sizeof *rules + 1);
  for (size_t i = 0; rules && i < count; ++i)
    kdl_catalog_compile(catalog, i, &rules[i]);
  return rules;
}

kdl_status kdl_catalog_compile_all(kdl_catalog *catalog) {
  while (!atomic_load_explicit(&catalog->rules, memory_order_acquire)) {
    if (kdl_work_begin(&catalog->compiling) == KDL_WORK_WAITED)
      continue;
    kdl_image_rule *rules = atomic_load_explicit(&catalog->rules, memory_order_relaxed);
    if (!rules)
      rules = make_rules(catalog);
    atomic_store_explicit(&catalog->rules, rules, memory_order_release);
    kdl_work_end(&catalog->compiling);
    if (!rules)
      return kdl_fail(KDL_NO_MEMORY, "%s: out of memory to compile %zu images",
                      catalog->container->name, kdl_catalog_count(catalog));
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

typedef struct {
  kernel_list *list;
  bool out_of_memory;
} name_collector;

static bool append_name(kernel_list *list, kdl_string name) {
  kdl_string *names = kdl_array_grow(list->names, list->count, &list->capacity, 8, sizeof *names);
  if (!names)
    return false;
  list->names = names;
  list->names[list->count++] = name;
  return true;
}

static int collect_name(void *user, const char *name, size_t length) {
  name_collector *collector = user;
  kdl_string copy = kdl_arena_string(&collector->list->arena, name, length);
  collector->out_of_memory = !copy.data || !append_name(collector->list, copy);
  return collector->out_of_memory;
}

static int compare_kernel_names(const void *left, const void *right) {
  const kdl_string *a = left;
  const kdl_string *b = right;
  if (a->length != b->length)
    return a->length < b->length ? -1 : 1;
  return memcmp(a->data, b->data, a->length);
}

static int compare_kernel_keys(const void *left, const void *right) {
  const kdl_pair *a = *(const kdl_pair *const *)left;
  const kdl_pair *b = *(const kdl_pair *const *)right;
  int order = compare_kernel_names(&a->key, &b->key); /* both with the same prefix */
  return order ? order : (a > b) - (a < b);
}

/* Up to so many keys are searched without sorting. */
enum { few_pairs = 32 };

static bool collect_index(const kdl_image *image, kernel_list *list) {
  bool sorts = image->pair_count > few_pairs;
  if (sorts)
    list->keys = calloc(image->pair_count, sizeof *list->keys);
  if (sorts && !list->keys)
    return false;
  for (uint32_t i = 0; i < image->pair_count; ++i) {
    kdl_string name;
    if (!kdl_kernel_name(kdl_image_pairs(image)[i].key, &name))
      continue;
    if (!append_name(list, name))
      return false;
    if (sorts)
      list->keys[list->key_count++] = &kdl_image_pairs(image)[i];
  }
  kdl_sort(list->keys, list->key_count, sizeof *list->keys, compare_kernel_keys);
  return true;
}

static kdl_status read_names(kdl_catalog *catalog, size_t index, kernel_list *list) {
  const kdl_image *image = &catalog->container->images[index];
  name_collector collector = {list, false};
  kdl_status status = KDL_OK;
  if (has_kernel_index(image)) {
    collector.out_of_memory = !collect_index(image, list);
  } else {
    const void *data;
    size_t size;
    status = kdl_container_acquire_bytes(catalog->container, (uint32_t)index, &data, &size);
    if (status == KDL_OK) {
      status = kdl_image_read_kernels(image->kind, data, size, collect_name, &collector);
      if (status == KDL_OK)
        status = kdl_image_read_unresolved(image->kind, data, size, &list->unresolved);
      kdl_container_release_bytes(catalog->container, (uint32_t)index);
    }
  }
  if (collector.out_of_memory)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for kernel names");
  if (status != KDL_OK) {
    list->error = kdl_arena_format(&list->arena, "%s", kdl_error_message());
    status = list->error ? status : KDL_NO_MEMORY;
  } else {
    kdl_sort(list->names, list->count, sizeof *list->names, compare_kernel_names);
  }
  return status;
}

/* Called by the one thread that reads the image. NULL when out of memory. */
static const kernel_list *read_kernel_list(kdl_catalog *catalog, size_t index) {
  kernel_list *list = calloc(1, sizeof *list);
  if (list && read_names(catalog, index, list) != KDL_NO_MEMORY)
    return list;
  if (list)
    free_kernel_list(list);
  atomic_fetch_add_explicit(&catalog->memory_failures, 1, memory_order_relaxed);
  return NULL;
}

static const kernel_list *image_kernels(kdl_catalog *catalog, size_t index) {
  kdl_catalog_entry *image = &catalog->images[index];
  const kernel_list *list;
  while (!(list = atomic_load_explicit(&image->kernels, memory_order_acquire))) {
    if (kdl_work_begin(&image->reading) == KDL_WORK_WAITED)
      continue;
    list = atomic_load_explicit(&image->kernels, memory_order_relaxed);
    if (!list)
      list = read_kernel_list(catalog, index);
    atomic_store_explicit(&image->kernels, list, memory_order_release);
    kdl_work_end(&image->reading);
    if (!list)
      return &no_memory_list;
  }
  return list;
}

static kdl_string key_name(const kdl_pair *pair) {
  kdl_string name = {"", 0};
  kdl_kernel_name(pair->key, &name);
  return name;
}

/* In an index that was sorted: the last key of that name. */
static kdl_string find_sorted_key(const kernel_list *list, kdl_string kernel) {
  size_t low = 0;
  size_t high = list->key_count;
  while (low < high) { /* to the first key of a greater name */
    size_t middle = low + (high - low) / 2;
    kdl_string name = key_name(list->keys[middle]);
    if (compare_kernel_names(&name, &kernel) <= 0)
      low = middle + 1;
    else
      high = middle;
  }
  kdl_string last = low ? key_name(list->keys[low - 1]) : (kdl_string){"", 0};
  return low && compare_kernel_names(&last, &kernel) == 0 ? list->keys[low - 1]->value
                                                          : (kdl_string){NULL, 0};
}

/* Excluded by kdl_catalog_restrict. */
static bool is_excluded(const kdl_catalog *catalog, size_t index) {
  return catalog->admitted && !catalog->admitted[index];
}

kdl_presence kdl_catalog_find(kdl_catalog *catalog, size_t index, kdl_string kernel,
                              kdl_string *out_key) {
  const kdl_image *image = &catalog->container->images[index];
  const bool has_index = has_kernel_index(image);
  kdl_string key;
  if (!out_key)
    out_key = &key;
  *out_key = (kdl_string){NULL, 0};
  if (is_excluded(catalog, index))
    return KDL_KERNEL_ABSENT;
  if (has_index && image->pair_count <= few_pairs)
    return kdl_image_find_kernel(image, kernel, out_key) ? KDL_KERNEL_PRESENT : KDL_KERNEL_ABSENT;
  const kernel_list *list = image_kernels(catalog, index);
  if (list->error)
    return KDL_KERNEL_UNREADABLE;
  if (has_index)
    *out_key = find_sorted_key(list, kernel);
  bool held = has_index ? out_key->data != NULL
                        : list->count && bsearch(&kernel, list->names, list->count, sizeof kernel,
                                                 compare_kernel_names);
  return held ? KDL_KERNEL_PRESENT : KDL_KERNEL_ABSENT;
}

kdl_string kdl_catalog_kernel_key(kdl_catalog *catalog, size_t index, kdl_string kernel) {
  kdl_string key = {NULL, 0};
  if (kdl_catalog_image(catalog, index)->metadata_flags & KDL_METADATA_HAS_KERNELS)
    kdl_catalog_find(catalog, index, kernel, &key);
  return key;
}

void kdl_catalog_restrict(kdl_catalog *catalog, const bool *images) {
  catalog->admitted = images;
}

/* NULL while too few images were searched, and when out of memory. */
static const kdl_kernel_map *catalog_kernel_map(kdl_catalog *catalog) {
  enum { often = 8, few_images = 16 };
  size_t count = kdl_catalog_count(catalog);
  kdl_kernel_map *known = atomic_load_explicit(&catalog->kernel_map, memory_order_acquire);
  size_t searched = atomic_load_explicit(&catalog->images_searched, memory_order_relaxed);
  if (known || count <= few_images || searched / often < count)
    return known;
  size_t size = kdl_kernel_map_size(catalog, NULL, count);
  void *memory = size ? malloc(size) : NULL;
  if (!memory)
    return NULL;
  kdl_kernel_map *created = kdl_kernel_map_build(catalog, NULL, count, memory, size);
  if (atomic_compare_exchange_strong(&catalog->kernel_map, &known, created))
    return created;
  free(created); /* another thread was first */
  return known;
}

bool kdl_catalog_any_has_kernel(kdl_catalog *catalog, kdl_string kernel) {
  const kdl_kernel_map *kernel_map = catalog_kernel_map(catalog);
  size_t count = kdl_catalog_count(catalog), at = 0;
  if (kernel_map)
    return kdl_kernel_map_find(kernel_map, kernel, &count) != NULL;
  while (at < count && kdl_catalog_find(catalog, at, kernel, NULL) != KDL_KERNEL_PRESENT)
    ++at;
  atomic_fetch_add_explicit(&catalog->images_searched, at, memory_order_relaxed);
  return at < count;
}

uint32_t kdl_catalog_families(kdl_catalog *catalog, kdl_string kernel) {
  uint32_t families = 0;
  for (size_t i = 0; i < kdl_catalog_count(catalog); ++i) {
    const kdl_image_rule *rule = kdl_catalog_rule(catalog, i);
    bool ruled_out = kernel.data && has_kernel_index(kdl_catalog_image(catalog, i)) &&
                     kdl_catalog_find(catalog, i, kernel, NULL) == KDL_KERNEL_ABSENT;
    if (!rule->faults && !ruled_out)
      families |= 1u << rule->family;
  }
  return families;
}

bool kdl_catalog_unresolved(kdl_catalog *catalog, size_t index) {
  return !has_kernel_index(kdl_catalog_image(catalog, index)) &&
         image_kernels(catalog, index)->unresolved;
}

size_t kdl_catalog_memory_failures(const kdl_catalog *catalog) {
  return atomic_load_explicit(&catalog->memory_failures, memory_order_relaxed);
}

const char *kdl_catalog_error(kdl_catalog *catalog, size_t index) {
  const kernel_list *list = image_kernels(catalog, index);
  return list->error ? list->error : "";
}

kdl_kernel_names kdl_catalog_kernels(kdl_catalog *catalog, size_t index) {
  const kernel_list *list = image_kernels(catalog, index);
  size_t count = list->error || is_excluded(catalog, index) ? 0 : list->count;
  return (kdl_kernel_names){.items = count ? list->names : NULL,
                            .count = count,
                            .is_unreadable = list->error && !is_excluded(catalog, index),
                            .is_unresolved = list->unresolved};
}
