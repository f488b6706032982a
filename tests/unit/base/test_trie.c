/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support.h"

#include "support/base/hash.h"
#include "support/base/text.h"
#include "support/base/trie.h"

typedef struct {
  kdl_trie_node node;
  unsigned number;
} entry;

static bool is_number(const kdl_trie_node *node, const void *key) {
  return ((const entry *)node)->number == *(const unsigned *)key;
}

/* Also where the hashes of many are the same, or differ in their last bits alone. */
static void what_was_added_is_found(void **state) {
  (void)state;
  enum { count = 200 };
  static entry entries[count];
  kdl_trie trie = NULL;
  for (unsigned i = 0; i < count; ++i) {
    entries[i] = (entry){.node.hash = i % 3 ? i % 7 : (uint64_t)i << 57, .number = i};
    assert_null(kdl_trie_find(&trie, entries[i].node.hash, is_number, &i));
    assert_ptr_equal(kdl_trie_add(&trie, &entries[i].node, is_number, &i), &entries[i].node);
  }
  for (unsigned i = 0; i < count; ++i) {
    entry again = {.node.hash = entries[i].node.hash, .number = i};
    assert_ptr_equal(kdl_trie_find(&trie, again.node.hash, is_number, &i), &entries[i].node);
    assert_ptr_equal(kdl_trie_add(&trie, &again.node, is_number, &i), &entries[i].node);
  }
}

/* Of every length up to three words; a change of any byte is seen, whatever lies behind the text.
 */
static void hashes_depend_on_every_byte(void **state) {
  (void)state;
  char text[26], other[26];
  for (size_t length = 0; length < 25; ++length) {
    memset(text, 'x', sizeof text);
    memset(other, 'y', sizeof other);
    memcpy(other, text, length);
    assert_true(kdl_hash_same((kdl_string){text, length}, (kdl_string){other, length}));
    assert_true(kdl_hash_text((kdl_string){text, length}) ==
                kdl_hash_text((kdl_string){other, length}));
    assert_false(kdl_hash_same((kdl_string){text, length}, (kdl_string){text, length + 1}));
    assert_true(kdl_hash_text((kdl_string){text, length}) !=
                kdl_hash_text((kdl_string){text, length + 1}));
    for (size_t i = 0; i < length; ++i) {
      other[i] = 'z';
      assert_false(kdl_hash_same((kdl_string){text, length}, (kdl_string){other, length}));
      assert_true(kdl_hash_text((kdl_string){text, length}) !=
                  kdl_hash_text((kdl_string){other, length}));
      other[i] = 'x';
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_added_is_found),
      cmocka_unit_test(hashes_depend_on_every_byte),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
