/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "select/selector.h"

#include "base/error.h"
#include "base/layer.h"
#include "device/spec.h"
#include "system/lock.h"

#include <stdlib.h>

enum { smallest_table = 16 };

/* FNV-1a, finished so that the low bits depend on every byte. */
kdl_kernel_id kdl_kernel_id_of(kdl_string name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < name.length; ++i)
    hash = (hash ^ (unsigned char)name.data[i]) * 0x100000001b3u;
  hash ^= hash >> 32;
  return (kdl_kernel_id){name, hash ? hash : 1};
}

kdl_status kdl_selector_create(kdl_catalog *catalog, const kdl_query *query,
                               kdl_selector **out_selector) {
  kdl_selector_table *table;
  kdl_string tag = query->variant_tag;
  size_t table_size = sizeof *table + smallest_table * sizeof *table->slots;
  kdl_selector *selector = malloc(sizeof *selector + table_size + tag.length + 1);
  if (!selector)
    return kdl_fail(KDL_NO_MEMORY, "out of memory to remember choices");
  table = (kdl_selector_table *)(selector + 1);
  memset(table, 0, table_size);
  table->mask = smallest_table - 1;
  *selector = (kdl_selector){
      .table = table, .catalog = catalog, .query = *query, .lock = PTHREAD_MUTEX_INITIALIZER};
  if (tag.data)
    selector->query.variant_tag.data = memcpy((char *)table + table_size, tag.data, tag.length);
  *out_selector = selector;
  return KDL_OK;
}

void kdl_selector_destroy(kdl_selector *selector) {
  if (!selector)
    return;
  for (kdl_selection *selection = selector->newest; selection;) {
    kdl_selection *older = selection->older;
    free(selection);
    selection = older;
  }
  kdl_selector_table *table = atomic_load(&selector->table);
  while (table->older) {
    kdl_selector_table *older = table->older;
    free(table);
    table = older;
  }
  pthread_mutex_destroy(&selector->lock);
  free(selector);
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

/* At most half full, so that a walk ends soon. Called with the lock held. */
static kdl_selector_table *table_with_room(kdl_selector *selector) {
  kdl_selector_table *table = atomic_load_explicit(&selector->table, memory_order_relaxed);
  if ((selector->used + 1) * 2 <= table->mask + 1)
    return table;
  size_t slots = (table->mask + 1) * 2;
  kdl_selector_table *larger = calloc(1, sizeof *larger + slots * sizeof *larger->slots);
  if (!larger)
    return NULL;
  larger->mask = slots - 1;
  larger->older = table;
  for (size_t i = 0; i <= table->mask; ++i) {
    kdl_selection *selection = atomic_load_explicit(&table->slots[i], memory_order_relaxed);
    if (selection)
      put(larger, selection);
  }
  atomic_store_explicit(&selector->table, larger, memory_order_release);
  return larger;
}

static kdl_selection *make_selection(const kdl_selector *selector, const kdl_kernel_id *kernel) {
  enum { few = 16 };
  kdl_candidate some[few], *candidates = some;
  size_t images = kdl_catalog_count(selector->catalog);
  if (images > few)
    candidates = malloc(images * sizeof *candidates);
  if (!candidates)
    return NULL;
  kdl_query query = selector->query;
  if (kernel->name.length) /* else any kernel */
    query.kernel = kernel->name;
  size_t shortages = kdl_catalog_shortages(selector->catalog);
  kdl_kernel_key key;
  size_t eligible = kdl_rank_eligible(selector->catalog, &query, candidates, &key);
  bool is_right = kdl_catalog_shortages(selector->catalog) == shortages;
  kdl_selection *made =
      is_right ? malloc(sizeof *made + eligible * sizeof *made->images + kernel->name.length + 1)
               : NULL;
  if (made) {
    char *name = (char *)(made->images + eligible);
    memcpy(name, kernel->name.data, kernel->name.length);
    name[kernel->name.length] = '\0';
    made->hash = kernel->hash;
    made->name = (kdl_string){name, kernel->name.length};
    atomic_init(&made->handle, NULL);
    made->count = eligible;
    made->key = key;
    made->is_one_module = true;
    for (size_t i = 0; i < eligible; ++i) {
      made->images[i] = candidates[i].image;
      made->is_one_module &= kdl_catalog_image(selector->catalog, made->images[i])->module ==
                             kdl_catalog_image(selector->catalog, made->images[0])->module;
    }
  }
  if (candidates != some)
    free(candidates);
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
    about.image = made->count ? made->images[0] : 0;
    about.target =
        made->count ? kdl_catalog_image(selector->catalog, made->images[0])->arch.data : NULL;
  }
  kdl_layer_leave(KDL_LAYER_SELECT, &about);
}

/* Adds the selection, unless another thread was first: then that one is kept. */
static const kdl_selection *add(kdl_selector *selector, const kdl_kernel_id *kernel,
                                kdl_selection *made) {
  kdl_lock(&selector->lock);
  const kdl_selection *known = kdl_selector_peek(selector, kernel);
  kdl_selector_table *table = known ? NULL : table_with_room(selector);
  if (table) {
    made->older = selector->newest;
    selector->newest = made;
    ++selector->used;
    put(table, made);
  }
  kdl_unlock(&selector->lock);
  if (!table)
    free(made);
  return table ? made : known;
}

kdl_status kdl_selector_add(kdl_selector *selector, const kdl_kernel_id *kernel,
                            const kdl_selection **out_selection) {
  kdl_layer_enter(KDL_LAYER_SELECT);
  kdl_selection *made = make_selection(selector, kernel);
  *out_selection = made ? add(selector, kernel, made) : NULL;
  leave_layer(selector, *out_selection);
  return *out_selection ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory to remember a choice");
}
