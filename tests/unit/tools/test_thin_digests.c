/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SHA-256 as in a wheel's RECORD, and MD5 as in Clang's compressed bundles, against coreutils. */
#include "tools/common/digests/digests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { longest = 1000000 };

static const struct {
  size_t length; /* of 'a's */
  const char *sha256, *md5;
} cases[] = {
    {0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
     "d41d8cd98f00b204e9800998ecf8427e"},
    {1, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
     "0cc175b9c0f1b6a831c399e269772661"},
    {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318",
     "ef1772b6dff9a122358552954ad0df65"},
    {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a",
     "3b0c8ac703f828b04c6c197006d17218"},
    {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34",
     "b06521f39153d618550606be297466d5"},
    {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb",
     "014842d480b571495a4a0363793f7367"},
    {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0",
     "c743a45e0d2e6a95cb859adae0248435"},
    {119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb",
     "8a7bd0732ed6a28ce75f6dabc90e1613"},
    {120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c",
     "5f61c0ccad4cac44c75ff505e1f1e537"},
    {128, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e",
     "e510683b3f5ffe4093d021808bc6ff70"},
    {1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
     "7707d6ae4e027c70eea2a935c2296f21"},
};

static const char *hex(const uint8_t *bytes, size_t size, char *text) {
  for (size_t i = 0; i < size; ++i)
    sprintf(text + 2 * i, "%02x", bytes[i]);
  return text;
}

static void digests_of_every_kind_of_last_block(void **state) {
  char text[65], *as = malloc(longest);
  (void)state;
  assert_non_null(as);
  memset(as, 'a', longest);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    uint8_t digest[SHA256_SIZE], short_digest[MD5_SIZE];
    sha256(as, cases[i].length, digest);
    assert_string_equal(hex(digest, sizeof digest, text), cases[i].sha256);
    sha256_plain(as, cases[i].length, digest);
    assert_string_equal(hex(digest, sizeof digest, text), cases[i].sha256);
    md5(as, cases[i].length, short_digest);
    assert_string_equal(hex(short_digest, sizeof short_digest, text), cases[i].md5);
  }
  free(as);
}

/* By the CPU's instructions, where it has them, and without. */
static void both_ways_digest_the_same(void **state) {
  uint8_t bytes[517], fast[SHA256_SIZE], plain[SHA256_SIZE];
  uint32_t seed = 1;
  (void)state;
  for (size_t i = 0; i < sizeof bytes; ++i) {
    seed = seed * 1664525 + 1013904223;
    bytes[i] = (uint8_t)(seed >> 24);
  }
  for (size_t size = 0; size <= sizeof bytes; ++size) {
    sha256(bytes + sizeof bytes - size, size, fast);
    sha256_plain(bytes + sizeof bytes - size, size, plain);
    assert_memory_equal(fast, plain, sizeof fast);
  }
}

static void records_are_base64_for_addresses_without_padding(void **state) {
  uint8_t digest[SHA256_SIZE];
  char text[SHA256_RECORD];
  (void)state;
  sha256("abc", 3, digest);
  sha256_record(digest, text);
  assert_string_equal(text, "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(digests_of_every_kind_of_last_block),
      cmocka_unit_test(both_ways_digest_the_same),
      cmocka_unit_test(records_are_base64_for_addresses_without_padding),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
