/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What was made once and is looked up often, by any thread and without a lock: a tree in which each
 * two bits of a hash choose the next of four children. Nodes are added and never leave; they lie in
 * what they are nodes of, and their memory is the owner's.
 */
#ifndef KDL_BASE_TRIE_H
#define KDL_BASE_TRIE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero but for the hash, before it is added. */
typedef struct kdl_trie_node {
  uint64_t hash;
  _Atomic(struct kdl_trie_node *) children[4];
} kdl_trie_node;

/* The root; NULL where it is empty. */
typedef _Atomic(kdl_trie_node *) kdl_trie;

/* Whether the node is the one with that key; only asked where the hashes are the same. */
typedef bool kdl_trie_is(const kdl_trie_node *node, const void *key);

/* The node with that key, or NULL; *out_end is then where it would be. */
static inline kdl_trie_node *kdl_trie_walk(kdl_trie *trie, uint64_t hash, kdl_trie_is *is,
                                           const void *key, kdl_trie **out_end) {
  kdl_trie_node *node;
  for (uint64_t path = hash; (node = atomic_load_explicit(trie, memory_order_acquire));
       path <<= 2) {
    if (node->hash == hash && is(node, key))
      break;
    trie = &node->children[path >> 62];
  }
  *out_end = trie;
  return node;
}

static inline kdl_trie_node *kdl_trie_find(kdl_trie *trie, uint64_t hash, kdl_trie_is *is,
                                           const void *key) {
  return kdl_trie_walk(trie, hash, is, key, &trie);
}

/* Adds `made`, whose key that is. Where another thread was first, that one's node is returned. */
static inline kdl_trie_node *kdl_trie_add(kdl_trie *trie, kdl_trie_node *made, kdl_trie_is *is,
                                          const void *key) {
  kdl_trie_node *known, *none;
  kdl_trie *end;
  do {
    none = NULL;
    known = kdl_trie_walk(trie, made->hash, is, key, &end);
  } while (!known && !atomic_compare_exchange_strong_explicit(
                         end, &none, made, memory_order_release, memory_order_relaxed));
  return known ? known : made;
}

#endif
