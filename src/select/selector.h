/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The choices of one library on one device, remembered. Images are matched when the selector is
 * made; each kernel is ranked when it is first asked for; afterwards a choice is a lookup that
 * takes no lock.
 */
#ifndef KDL_SELECT_SELECTOR_H
#define KDL_SELECT_SELECTOR_H

#include "select/holders.h"
#include "select/ranking.h"

#include <stdatomic.h>
#include <string.h>

typedef struct kdl_selector kdl_selector;

/* A kernel's name with its hash, computed once by callers that ask often; cheapest with the name of
 * the selection that the first answer was. The empty name means any kernel: images need not hold
 * anything. */
typedef struct kdl_kernel_id {
  kdl_string name;
  uint64_t hash; /* never 0 */
} kdl_kernel_id;

kdl_kernel_id kdl_kernel_id_of(kdl_string name);

/* The images that take a kernel, best first, and how many. Lies in the container's arena. */
typedef struct kdl_selection {
  uint64_t hash;
  kdl_string name;
  _Atomic(struct kdl_kernel *) handle; /* what binding/kernel.h made of it, or NULL */
  size_t count;
  bool is_one_module; /* the images are variants of the same code */
  kdl_kernel_key key; /* of the first image; `text.data` is NULL where it has none */
  const kdl_eligible *images;
} kdl_selection;

/* `query.kernel` must be unset. The query's device must outlive the selector; the variant tag is
 * copied. A selector lies in the container's arena, and has nothing else to be freed. */
kdl_status kdl_selector_create(kdl_catalog *catalog, const kdl_query *query,
                               kdl_selector **out_selector);

/* The hash table: slots are filled once and never change; a larger table replaces a full one, and
 * the old one stays, for those who are still reading it. */
typedef struct kdl_selector_table {
  size_t mask;
  _Atomic(kdl_selection *) slots[];
} kdl_selector_table;

struct kdl_selector {
  _Atomic(kdl_selector_table *) table; /* the first one lies behind the selector */
  kdl_selector *next;                  /* of the library's */
  kdl_catalog *catalog;
  kdl_query query;
  size_t used; /* slots of the table; guarded, as its growth, by the container's lock */
  const kdl_eligible *admitted; /* what may run on the device, best first; no keys */
  size_t admitted_count;
  atomic_uint choice_count;
  _Atomic(const kdl_holders *) holders; /* of those, where choices are many; NULL: not yet */
};

/* Whether it answers queries of that device, policy and variant tag. */
bool kdl_selector_is_for(const kdl_selector *selector, const kdl_query *query);

/* Ranks the kernel and adds it, while no other thread has the selector. */
kdl_status kdl_selector_begin(kdl_selector *selector, const kdl_kernel_id *kernel,
                              const kdl_selection **out_selection);

/* The same for any thread; the slow half of kdl_selector_find. */
kdl_status kdl_selector_add(kdl_selector *selector, const kdl_kernel_id *kernel,
                            const kdl_selection **out_selection);

/* Who asks with the name that a selection handed out is answered without comparing it. */
static inline bool kdl_kernel_name_same(kdl_string a, kdl_string b) {
  return a.data == b.data || (a.length == b.length && memcmp(a.data, b.data, a.length) == 0);
}

/* What is known already, or NULL. */
static inline const kdl_selection *kdl_selector_peek(const kdl_selector *selector,
                                                     const kdl_kernel_id *kernel) {
  const kdl_selector_table *table = atomic_load_explicit(&selector->table, memory_order_acquire);
  for (size_t at = kernel->hash & table->mask;; at = (at + 1) & table->mask) {
    const kdl_selection *found = atomic_load_explicit(&table->slots[at], memory_order_acquire);
    if (!found || (found->hash == kernel->hash && kdl_kernel_name_same(found->name, kernel->name)))
      return found;
  }
}

static inline kdl_status kdl_selector_find(kdl_selector *selector, const kdl_kernel_id *kernel,
                                           const kdl_selection **out_selection) {
  *out_selection = kdl_selector_peek(selector, kernel);
  return *out_selection ? KDL_OK : kdl_selector_add(selector, kernel, out_selection);
}

#endif
