/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A lock-free map that is written once per key and read often, by any thread: a tree in which two
 * bits of the hash at a time choose one of four children. Nodes are never removed. They are fields
 * of the owner's structs, which provide their memory.
 */
#ifndef KDL_SUPPORT_BASE_TRIE_H
#define KDL_SUPPORT_BASE_TRIE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before it is added, all zero except for the hash. */
typedef struct kdl_trie_node {
  uint64_t hash;
  _Atomic(struct kdl_trie_node *) children[4];
} kdl_trie_node;

/* The root; NULL where it is empty. */
typedef _Atomic(kdl_trie_node *) kdl_trie;

/* Whether the node has that key; called only where the hashes are equal. */
typedef bool kdl_trie_is(const kdl_trie_node *node, const void *key);

/* The node with that key, or NULL; *out_end is then the place to add one. */
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

/* Adds `made`, which has that key. Returns the other node where another thread added one first. */
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
