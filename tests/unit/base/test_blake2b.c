/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* BLAKE2b with 32-byte digests: known answers, made by Python's hashlib, and pieces of any size. */
#include "support.h"

#include "support/base/blake2b.h"

static const struct {
  size_t length; /* of 0, 1, ... 250, 0, 1, ... */
  const char *digest;
} answers[] = {
    {0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
    {1, "03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314"},
    {3, "3d8c3d594928271f44aad7a04b177154806867bcf918e1549c0bc16f9da2b09b"},
    {127, "f2fe67ff342e21b8f45e8f2e0bcd1d9243245d50ee6c78042e9c491388791c72"},
    {128, "c3582f71ebb2be66fa5dd750f80baae97554f3b015663c8be377cfcb2488c1d1"},
    {129, "f7f3c46ba2564ff4c4c162da1f5b605f9f1c4aa6a20652a9f9a337c1a2f5b9c9"},
    {255, "d9ef0fc521b4266d16df662bec231bc2ec3989e7adeaf63169c295dc239dbbea"},
    {256, "582f782226018ec33076bd8d1c42413530ac7e1126260ffc0f306ba3befc3f24"},
    {257, "227e15ed64ee8e93eb7bc53828f76eed974f2c4ab1408c3d08f212b7f8d69904"},
    {1000, "b372d0608f720c8c3dd41e9c8eecb10143b41abe520b616607e754bf79c08331"},
    {100000, "916cfaa800ee55811e82095babeb88ea29c9ef8a36e8d7e20c7b772c344c9e1c"},
};

static uint8_t *make_message(size_t length) {
  uint8_t *message = malloc(length + 1);
  for (size_t i = 0; i < length; ++i)
    message[i] = (uint8_t)(i % 251);
  return message;
}

static void assert_digest(kdl_digest digest, const char *expected) {
  char text[KDL_DIGEST_TEXT];
  kdl_digest_print(&digest, text);
  assert_string_equal(text, expected);
}

static void known_answers(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof answers / sizeof *answers; ++i) {
    uint8_t *message = make_message(answers[i].length);
    assert_digest(kdl_digest_of(message, answers[i].length), answers[i].digest);
    free(message);
  }
  assert_digest(kdl_digest_of("abc", 3),
                "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

static void pieces_do_not_matter(void **state) {
  (void)state;
  enum { length = 1000 };
  uint8_t *message = make_message(length);
  for (size_t piece = 1; piece <= 300; ++piece) {
    kdl_blake2b hash;
    kdl_blake2b_start(&hash);
    for (size_t at = 0; at < length; at += piece) {
      kdl_blake2b_add(&hash, message + at, piece < length - at ? piece : length - at);
      kdl_blake2b_add(&hash, message, 0);
    }
    assert_digest(kdl_blake2b_finish(&hash),
                  "b372d0608f720c8c3dd41e9c8eecb10143b41abe520b616607e754bf79c08331");
  }
  free(message);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(pieces_do_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
