/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "select/selector.h"

#include "base/error.h"
#include "base/layer.h"
#include "device/spec.h"
#include "system/lock.h"

#include <stdlib.h>
#include <sys/auxv.h>

enum { smallest_table = 16 };

/* Another in each process, so that no file can have names that all fall together. */
static uint64_t first_hash(void) {
  static _Atomic(uint64_t) kept;
  uint64_t hash = atomic_load_explicit(&kept, memory_order_relaxed);
  if (hash)
    return hash;
  const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM); /* 16 bytes */
  if (random)
    memcpy(&hash, random, sizeof hash);
  hash = (hash | 1) * 0xcbf29ce484222325u;
  atomic_store_explicit(&kept, hash, memory_order_relaxed);
  return hash;
}

/* FNV-1a, finished so that the low bits depend on every byte. */
kdl_kernel_id kdl_kernel_id_of(kdl_string name) {
  uint64_t hash = first_hash();
  for (size_t i = 0; i < name.length; ++i)
    hash = (hash ^ (unsigned char)name.data[i]) * 0x100000001b3u;
  hash ^= hash >> 32;
  return (kdl_kernel_id){name, hash ? hash : 1};
}

/* Room for `count` elements: what the caller has on its stack, where that is enough. NULL when out
 * of memory. */
enum { few = 16 };
static void *room_for(size_t count, size_t size, void *some) {
  return count <= few ? some : calloc(count, size);
}

static void *in_container(const kdl_catalog *catalog, size_t size) {
  return kdl_container_alloc(kdl_catalog_container(catalog), size);
}

static kdl_selector *lay_out(kdl_catalog *catalog, const kdl_query *query, const kdl_place *places,
                             size_t admitted) {
  kdl_selector_table *table;
  kdl_string tag = query->variant_tag;
  size_t table_size = sizeof *table + smallest_table * sizeof *table->slots;
  size_t images_size = admitted * sizeof(kdl_eligible);
  kdl_selector *selector =
      in_container(catalog, sizeof *selector + table_size + images_size + tag.length);
  if (!selector)
    return NULL;
  table = (kdl_selector_table *)(selector + 1);
  memset(table, 0, table_size);
  table->mask = smallest_table - 1;
  kdl_eligible *images = (kdl_eligible *)((char *)table + table_size);
  for (size_t i = 0; i < admitted; ++i)
    images[i] = (kdl_eligible){places[i].image, (kdl_image_kind)places[i].kind, {NULL, 0}};
  *selector = (kdl_selector){.table = table,
                             .catalog = catalog,
                             .query = *query,
                             .admitted = images,
                             .admitted_count = admitted};
  if (tag.data)
    selector->query.variant_tag.data = memcpy((char *)images + images_size, tag.data, tag.length);
  return selector;
}

kdl_status kdl_selector_create(kdl_catalog *catalog, const kdl_query *query,
                               kdl_selector **out_selector) {
  kdl_place some[few];
  kdl_place *places = room_for(kdl_catalog_count(catalog), sizeof *places, some);
  kdl_selector *selector = NULL;
  if (places) {
    size_t admitted = kdl_rank_admitted(catalog, query, places);
    selector = lay_out(catalog, query, places, admitted);
  }
  if (places != some)
    free(places);
  if (!selector)
    return kdl_fail(KDL_NO_MEMORY, "out of memory to remember choices");
  *out_selector = selector;
  return KDL_OK;
}

bool kdl_selector_is_for(const kdl_selector *selector, const kdl_query *query) {
  const kdl_query *own = &selector->query;
  return own->device == query->device && own->policy == query->policy &&
         !own->variant_tag.data == !query->variant_tag.data &&
         kdl_kernel_name_same(own->variant_tag, query->variant_tag);
}

static void put(kdl_selector_table *table, kdl_selection *selection) {
  size_t at = selection->hash & table->mask;
  while (atomic_load_explicit(&table->slots[at], memory_order_relaxed))
    at = (at + 1) & table->mask;
  atomic_store_explicit(&table->slots[at], selection, memory_order_release);
}

/* At most half full, so that a walk ends soon. Called with the lock held, or by the only thread
 * that has the selector, which is then empty. */
static kdl_selector_table *table_with_room(kdl_selector *selector) {
  kdl_selector_table *table = atomic_load_explicit(&selector->table, memory_order_relaxed);
  if ((selector->used + 1) * 2 <= table->mask + 1)
    return table;
  size_t slots = (table->mask + 1) * 2;
  size_t size = sizeof *table + slots * sizeof *table->slots;
  kdl_selector_table *larger =
      kdl_arena_alloc(&kdl_catalog_container(selector->catalog)->arena, size);
  if (!larger)
    return NULL;
  memset(larger, 0, size);
  larger->mask = slots - 1;
  for (size_t i = 0; i <= table->mask; ++i) {
    kdl_selection *selection = atomic_load_explicit(&table->slots[i], memory_order_relaxed);
    if (selection)
      put(larger, selection);
  }
  atomic_store_explicit(&selector->table, larger, memory_order_release);
  return larger;
}

static kdl_selection *make_selection(const kdl_selector *selector, const kdl_kernel_id *kernel,
                                     const kdl_eligible *eligible, size_t count,
                                     const kdl_kernel_key *key) {
  kdl_selection *made;
  size_t images_size = count * sizeof *eligible;
  made = in_container(selector->catalog, sizeof *made + images_size + kernel->name.length + 1);
  if (!made)
    return NULL;
  kdl_eligible *images = (kdl_eligible *)(made + 1);
  char *name = (char *)(images + count);
  memcpy(images, eligible, images_size);
  memcpy(name, kernel->name.data, kernel->name.length);
  name[kernel->name.length] = '\0';
  made->hash = kernel->hash;
  made->name = (kdl_string){name, kernel->name.length};
  atomic_init(&made->handle, NULL);
  made->count = count;
  made->key = *key;
  made->images = images;
  made->is_one_module = true;
  for (size_t i = 1; i < count; ++i)
    made->is_one_module &= kdl_catalog_image(selector->catalog, images[i].image)->module ==
                           kdl_catalog_image(selector->catalog, images[0].image)->module;
  return made;
}

/* What was asked, and the best of the answer. */
static void leave_layer(const kdl_selector *selector, const kdl_selection *made) {
  char device[192];
  kdl_layer_about about = {.device = device, .failed = !made};
  if (!kdl_layer_is_heard())
    return;
  kdl_device_spec_name(&selector->query.device->spec, &(kdl_out){device, sizeof device, 0});
  if (made) {
    about.kernel = made->name.length ? made->name.data : NULL;
    about.has_image = made->count > 0;
    about.image = made->count ? made->images[0].image : 0;
    about.target =
        made->count ? kdl_catalog_image(selector->catalog, made->images[0].image)->arch.data : NULL;
  }
  kdl_layer_leave(KDL_LAYER_SELECT, &about);
}

/* Called with the lock held, or by the only thread that has the selector. */
static const kdl_selection *add(kdl_selector *selector, kdl_selection *made) {
  kdl_selector_table *table = table_with_room(selector);
  if (!table)
    return NULL;
  ++selector->used;
  put(table, made);
  return made;
}

/* Unless another thread was first: then that one's stays. */
static const kdl_selection *add_shared(kdl_selector *selector, const kdl_kernel_id *kernel,
                                       kdl_selection *made) {
  pthread_mutex_t *lock = &kdl_catalog_container(selector->catalog)->lock;
  kdl_lock(lock);
  const kdl_selection *known = kdl_selector_peek(selector, kernel);
  if (!known)
    known = add(selector, made);
  kdl_unlock(lock);
  return known;
}

/* Which admitted images hold what, once a few kernels were chosen among many images; NULL before
 * and when out of memory. What two threads make is the same. */
static const kdl_holders *holders_of(kdl_selector *selector) {
  enum { few_choices = 8 };
  const kdl_holders *holders = atomic_load_explicit(&selector->holders, memory_order_acquire);
  unsigned choices = atomic_load_explicit(&selector->choice_count, memory_order_relaxed);
  if (choices < few_choices)
    atomic_store_explicit(&selector->choice_count, choices + 1, memory_order_relaxed);
  if (holders || selector->admitted_count <= few || choices < few_choices)
    return holders;
  size_t size = kdl_holders_size(selector->catalog, selector->admitted, selector->admitted_count);
  void *memory = size ? in_container(selector->catalog, size) : NULL;
  if (!memory)
    return NULL;
  holders = kdl_holders_fill(selector->catalog, selector->admitted, selector->admitted_count,
                             memory, size);
  atomic_store_explicit(&selector->holders, holders, memory_order_release);
  return holders;
}

static kdl_selection *choose(kdl_selector *selector, const kdl_kernel_id *kernel) {
  const bool is_any = kernel->name.length == 0;
  const kdl_holders *holders = is_any ? NULL : holders_of(selector);
  size_t count = selector->admitted_count;
  const kdl_holder *held = holders ? kdl_holders_find(holders, kernel->name, &count) : NULL;
  kdl_eligible some[few];
  kdl_eligible *eligible = room_for(count, sizeof *eligible, some);
  kdl_selection *chosen = NULL;
  if (eligible) {
    kdl_query query = selector->query;
    if (!is_any)
      query.kernel = kernel->name;
    for (size_t i = 0; held && i < count; ++i)
      eligible[i] = selector->admitted[held[i].place];
    kdl_kernel_key key;
    size_t shortages = kdl_catalog_shortages(selector->catalog);
    count = kdl_rank_eligible(selector->catalog, &query, held ? eligible : selector->admitted,
                              count, eligible, &key);
    if (kdl_catalog_shortages(selector->catalog) == shortages)
      chosen = make_selection(selector, kernel, eligible, count, &key);
  }
  if (eligible != some)
    free(eligible);
  return chosen;
}

static kdl_status choose_and_add(kdl_selector *selector, const kdl_kernel_id *kernel,
                                 bool is_shared, const kdl_selection **out_selection) {
  kdl_layer_enter(KDL_LAYER_SELECT);
  kdl_selection *made = choose(selector, kernel);
  *out_selection = !made       ? NULL
                   : is_shared ? add_shared(selector, kernel, made)
                               : add(selector, made);
  leave_layer(selector, *out_selection);
  return *out_selection ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory to remember a choice");
}

kdl_status kdl_selector_begin(kdl_selector *selector, const kdl_kernel_id *kernel,
                              const kdl_selection **out_selection) {
  return choose_and_add(selector, kernel, false, out_selection);
}

kdl_status kdl_selector_add(kdl_selector *selector, const kdl_kernel_id *kernel,
                            const kdl_selection **out_selection) {
  return choose_and_add(selector, kernel, true, out_selection);
}
